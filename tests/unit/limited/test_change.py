"""Which memory a message changes, and what that says then."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.limited.change import MAX_CANDIDATES, MAX_CHARS, changes, relisted
from core.limited.clauses import cut, telling
from core.limited.values import swapped, values
from core.types import MemoryItem, MemoryKind
from tests.fakes.clock import START


def _item(content: str, *bindings: str) -> MemoryItem:
    return MemoryItem(content, MemoryKind.TEXT, content, bindings or (content,), START, START)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("dentista terça 9h15", ["day", "clock"]),
        ("vuelo IB6012 el 3 de mayo a las 6:40", ["code", "day", "clock"]),
        ("call Nora on 07700 900123", ["name", "phone"]),
        ("aluguel R$ 1.200,50 dia 5", ["money", "day"]),
        ("30 euros", ["money"]),
        ("placa QRT4F21, ana@x.com", ["code", "code"]),
        ("moro na Rua das Flores 12", ["place"]),
        ("tomo 20 mg", ["number"]),
        ("o gato é preto", []),
        ("", []),
    ],
)
def test_values_are_of_a_kind(text: str, kinds: list[str]) -> None:
    assert [value.kind for value in values(text)] == kinds


@pytest.mark.spec("T11")
@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        # days and hours
        ("dentist next tuesday 9:15 w/ Dr. Okafor", "The dentist moved me to 11:40",
            "dentist next tuesday 11:40 w/ Dr. Okafor"),
        ("flight LA3302 on 3 May at 6:40, ref QX7KLM", "flight moved to 8:05",
            "flight LA3302 on 3 May at 8:05, ref QX7KLM"),
        ("vuelo IB6012 el 3 de mayo a las 6:40, localizador QX7KLM", "me cambiaron el vuelo, ahora sale a las 9:10",
            "vuelo IB6012 el 3 de mayo a las 9:10, localizador QX7KLM"),
        ("dentista terça 9h15 com a dra. Lúcia", "a dentista passou pra quinta 10h",
            "dentista quinta 10h com a dra. Lúcia"),
        ("o exame de sangue é na segunda às 7h", "na verdade o exame é na terça",
            "o exame de sangue é na terça às 7h"),
        ("cita con el dentista el martes a las 10", "la cita del dentista pasa al jueves",
            "cita con el dentista el jueves a las 10"),
        ("reunião dia 12 às 14h", "a reunião mudou pro dia 15", "reunião dia 15 às 14h"),
        ("entrega 12/03", "a entrega ficou pra 15/03", "entrega 15/03"),
        ("the rent is due on the 5th of every month", "actually the rent is due on the 7th",
            "the rent is due on the 7th of every month"),
        # money
        ("Bruno owes me 25 euros", "Bruno's debt changed to 30 euros", "Bruno owes me 30 euros"),
        ("plumber Sat 9am, 80 quid", "plumber is 95 quid", "plumber Sat 9am, 95 quid"),
        ("aluguel 1200 reais dia 5", "o aluguel agora é 1350", "aluguel 1350 dia 5"),
        ("el gimnasio cuesta 30 euros", "el gimnasio subió a 35", "el gimnasio cuesta 35"),
        # phones, codes, addresses of mail
        ("Nora's number 07700 900123", "Nora got a new number: 07700 900999", "Nora's number 07700 900999"),
        ("telefone da Ana (11) 91234-5678", "o telefone da Ana mudou: (11) 99876-5432",
            "telefone da Ana (11) 99876-5432"),
        ("placa do carro QRT4F21", "a placa do carro agora é ABC1D23", "placa do carro ABC1D23"),
        ("a senha do wifi é gato1", "a senha do wifi agora é lobo3", "a senha do wifi é lobo3"),
        ("mi correo es ana@x.com", "mi correo nuevo es bea@y.org", "mi correo es bea@y.org"),
        # numbers and names
        ("a senha do aliexpress é 123456", "mudei a senha do aliexpress para 999", "a senha do aliexpress é 999"),
        ("tomo 20 mg de omeprazol", "agora tomo 40 mg", "tomo 40 mg de omeprazol"),
        ("room 118, floor 3", "room 204", "room 204, floor 3"),
        ("tenho 2 gatos", "agora tenho 3 gatos", "tenho 3 gatos"),
        ("my boss is called Helen", "my new boss is Omar", "my boss is called Omar"),
        ("my sister Ana lives in Porto", "my sister Ana moved to Braga", "my sister Ana lives in Braga"),
        ("o dentista é o Dr. Paulo", "o dentista agora é o Dr. Reis", "o dentista é o Dr. Reis"),
        ("dentist: Dr. Okafor", "my dentist is now Dr. Lind", "dentist: Dr. Lind"),
        ("the car is at Joe", "the car is at Ann now", "the car is at Ann"),
        ("our wedding venue is Oak Hall", "change of plan, the wedding is at Mill House",
            "our wedding venue is Mill House"),
        # the old value is named; the day of telling is none
        ("dentist 9:30", "not 9:30, 10:15", "dentist 10:15"),
        ("wifi: gato1", "hoje o wifi mudou: lobo3", "wifi: lobo3"),
        ("I live in Leeds", "I moved to York", "I live in York"),
        # the one that is left of several
        ("treino terça e quinta 19h", "o treino mudou agora é só quinta 20h", "treino quinta 20h"),
        ("yoga tuesday and thursday 6pm", "yoga is only on friday now", "yoga friday 6pm"),
        ("clases martes y jueves 8:00", "las clases son solo los lunes ahora", "clases lunes 8:00"),
    ],
)  # fmt: skip
def test_a_value_takes_the_place_of_its_kind_and_the_rest_stays(old: str, said: str, new: str) -> None:
    assert swapped(old, said) == new


@pytest.mark.parametrize(
    ("old", "said"),
    [
        ("the gate code is 4433 and the bike code is 8812", "it's 9001 now"),
        ("meeting monday 10:00 and thursday 15:00", "meeting moved to 16:00"),
        ("o gato é preto", "o gato agora é branco"),
        ("o gato é preto", "o gato tem 3 anos"),
        ("dentista terça às 9", "o dentista é às 9"),
        ("calle Luna 4, piso 2", "me mudé a calle Sol 18"),
        ("", "8:00"),
        ("8:00", ""),
    ],
)
def test_a_value_without_one_clear_place_takes_none(old: str, said: str) -> None:
    assert swapped(old, said) == ""


TOLD = st.lists(st.sampled_from(
    "o a the el dentista is é flight ref, em at 9:15 11h40 terça friday 3/5 QX7KLM gato1 25 € 1200 reais Omar Lúcia 07700".split()  # noqa: E501
), max_size=12).map(" ".join)  # fmt: skip


@given(TOLD | st.text(max_size=80), TOLD | st.text(max_size=80))
def test_a_swap_takes_and_gives_values_only(old: str, said: str) -> None:
    new = swapped(old, said)
    if new:
        given_up = [value.text for value in values(old)]
        taken = [value.text for value in values(said)]
        assert _without(new, taken + given_up) == _without(old, given_up + taken)
        assert new != old


def _without(text: str, spans: list[str]) -> str:
    for span in sorted(spans, key=len, reverse=True):
        text = text.replace(span, "\0")
    return text


@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("lista de compras: pão, leite", "adiciona café na lista de compras", "lista de compras: pão, leite, café"),
        ("lista de compras: pão, leite, ovos", "tira o leite da lista de compras", "lista de compras: pão, ovos"),
        ("shopping:\n- milk\n- eggs", "add rice to my shopping list", "shopping:\n- milk\n- eggs\n- rice"),
        ("shopping:\n- milk\n- eggs", "remove the milk from the shopping list", "shopping:\n- eggs"),
        ("lista de la compra:\npan\nleche", "agrega huevos a la lista", "lista de la compra:\npan\nleche\nhuevos"),
        ("lista: pão, leite", "tira a banana da lista", ""),
        ("milk, soy milk", "remove milk from the list", ""),
        ("lista: pão, leite", "o leite acabou", ""),
    ],
)
def test_a_list_has_an_entry_more_or_less(old: str, said: str, new: str) -> None:
    assert relisted(old, said) == new


GATE = _item("o código do portão é 4433", "portão")
HOME, BEACH = _item("o wifi de casa é gato1", "wifi de casa"), _item("o wifi da praia é peixe2", "wifi da praia")
EXAM = _item("o exame é às 7h", "exame")
CAT = _item("o gato é preto", "gato")


@pytest.mark.spec("T11")
@pytest.mark.parametrize(
    ("said", "known", "quoted", "news"),
    [
        ("o código do portão agora é 9988", [GATE, HOME], [], ["o código do portão é 9988"]),
        ("o wifi agora é lobo3", [GATE, HOME, BEACH], [], ["o wifi de casa é lobo3", "o wifi da praia é lobo3"]),
        ("o wifi da praia agora é lobo3", [HOME, BEACH], [], ["o wifi da praia é lobo3"]),
        ("na verdade é às 10h", [EXAM], [EXAM], ["o exame é às 10h"]),
        ("na verdade é às 10h", [EXAM, HOME], [], []),
        ("o gato agora é branco", [GATE], [], []),
        ("a placa do carro agora é ABC1D23", [GATE, CAT], [], []),
        (f"o código do portão agora é 9988{' e' * MAX_CHARS}", [GATE], [GATE], []),
    ],
)
def test_only_what_is_named_or_was_shown_last_may_change(
    said: str, known: list[MemoryItem], quoted: list[MemoryItem], news: list[str]
) -> None:
    assert [change.text for change in changes(said, known, quoted)] == news


@pytest.mark.spec("T11")
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Colegio de la Anto: reunión el 22", "La Javi terminó el colegio, asi q lo del furgón ya no corre"),
        ("Casa rural en Albarracín, 240 euros", "al final Rober no viene a la casa rural"),
        ("o Beto mora em Natal", "o Beto agora trabalha na Vivo"),
        ("my sister Ana lives in Porto", "Ana works for Sonae now"),
        ("the car is at Joe's garage", "Mum took the car to Leeds"),
        ("mi cuñado Toño vende la moto", "la Lupe ya vendió la moto"),
        ("aula de violão com o Caio na quarta", "a Duda não vai mais na aula de violão"),
        ("the plumber is Mr. Hart, 07700 900123", "Josh says the plumber came"),
    ],
)
def test_a_name_told_in_another_sentence_takes_no_place(known: str, said: str) -> None:
    assert changes(said, [_item(known)], []) == []


TRAINING = "anota: treino do sub13 terça e quinta 18h30 no parque, sub15 quarta 19h"


@pytest.mark.spec("T11")
@pytest.mark.parametrize(
    ("known", "said", "text", "is_put_in"),
    [
        (TRAINING, "o sub15 passou pra sexta, mesma hora",
            "anota: treino do sub13 terça e quinta 18h30 no parque, sub15 sexta 19h", False),
        ("la clave de la u es paisa2026 y la del apto es nevera77", "cambiaron el del apto, ahora es arepa99",
            "la clave de la u es paisa2026 y la del apto es arepa99", False),
        ("o remédio é losartana 50 de manhã e sinvastatina de noite", "agora a losartana é de 100",
            "o remédio é losartana 100 de manhã e sinvastatina de noite", False),
        ("The spare key is under the pot and Doreen has the other one",
            "I've moved the spare key, it's in the shed now",
            "I've moved the spare key, it's in the shed now and Doreen has the other one", True),
        ("prova sexta 7h e o grupo é eu a bia", "a bia saiu do grupo, entrou a manu",
            "prova sexta 7h e a bia saiu do grupo, entrou a manu", True),
        ("locker 57 at the gym, code 4417", "the locker code is 5520 now",
            "locker 57 at the gym, code 5520", False),
        ("armário 12 na academia, senha 4417", "mudaram a senha do armário, agora é 5520",
            "armário 12 na academia, senha 5520", False),
        ("hotel Sol habitación 12, código 4417", "el código de la habitación cambió, ahora es 5520",
            "hotel Sol habitación 12, código 5520", False),
    ],
)  # fmt: skip
def test_the_clause_that_is_spoken_of_changes_and_the_others_stay(
    known: str, said: str, text: str, *, is_put_in: bool
) -> None:
    [change] = changes(said, [_item(known)], [])
    assert (change.text, change.is_put_in) == (text, is_put_in)


def test_a_message_is_put_beside_no_value_that_it_contradicts() -> None:
    known, said = (
        "entreno al infantil, martes y jueves a las 18:30",
        "ahora entrenamos lunes y miércoles, a la misma hora",
    )
    assert all(not change.is_put_in for change in changes(said, [_item(known)], []))


@pytest.mark.parametrize("said", ["essa quinta não vai ter treino", "el entreno de esta semana es el jueves 20h"])
def test_what_is_so_one_time_changes_no_rule(said: str) -> None:
    assert changes(said, [_item("treino terça 19h"), _item("entreno los martes 19h")], []) == []


def test_at_most_three_are_offered() -> None:
    doors = [_item(f"a porta {name} abre com 4{at}") for at, name in enumerate("azul branca cinza preta".split())]
    assert len(changes("a porta agora abre com 99", doors, [])) == MAX_CANDIDATES


@given(st.text(max_size=120), st.lists(st.text(max_size=60), max_size=3))
def test_whatever_is_said_a_change_is_of_a_known_memory_and_into_something(said: str, known: list[str]) -> None:
    items = [_item(content) for content in known]
    for change in changes(said, items, items[:1]):
        assert change.item in items
        assert change.text


@pytest.mark.parametrize(
    ("old", "named", "new"),
    [
        ("milk, eggs and bread", "eggs", "milk and bread"),
        ("milk, eggs and bread", "bread", "milk and eggs"),
        ("compras: pan y leche", "leche", "compras: pan"),
        ("tomo losartana de manhã e sinvastatina à noite", "sinvastatina", "tomo losartana de manhã"),
        ("doctor and dentist on Friday", "dentist", ""),
        ("I owe the butcher, Big Ray", "Ray", ""),
        ("Fwd: visit\nPlace: 92 Quail Rd\nWhen: Friday", "quail", ""),
    ],
)
def test_a_part_is_left_out_where_the_rest_stays_as_it_was(old: str, named: str, new: str) -> None:
    clauses = cut(old)
    at = clauses.about(telling(named))
    assert ("" if at is None or clauses.would_lose({at}) else clauses.without({at})) == new
