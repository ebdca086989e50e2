"""What a search found is told as the answer, as the nearest, as something else, or not at all."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.limited.recall import RecallVerdict, Sureness, judged, told
from core.memory.search import joined, links
from core.text.senses import bindings
from core.text.subject import asked_words, other_subject
from core.times.said import asked
from core.types import NEAR, SURE, Locale, MemoryHit, MemoryItem, MemoryKind
from tests.fakes.talk import Talk

AT = datetime(2026, 5, 3, tzinfo=UTC)
LIKELY = (NEAR + SURE) / 2


def hit(content: str, chance: float = 1.0) -> MemoryHit:
    item = MemoryItem(content, MemoryKind.TEXT, content, bindings(content), AT, AT)
    return MemoryHit(item, "", chance, chance=chance)


def verdict(question: str, *hits: MemoryHit) -> RecallVerdict:
    return judged(question, hits)


def quoted(found: RecallVerdict) -> list[str]:
    return [item.content for item in found.items]


@pytest.mark.parametrize(
    ("question", "chance", "sureness"),
    [
        ("qual é a senha do wifi?", SURE, Sureness.SURE),
        ("qual é a senha do wifi?", 0.03, Sureness.NEAR),  # words alone make nothing sure
        ("o que eu assino de internet?", LIKELY, Sureness.NEAR),
        ("o que eu faço nas férias?", 0.2, Sureness.NOTHING),
    ],
)
def test_words_and_the_chance_of_the_search_decide(question: str, chance: float, sureness: Sureness) -> None:
    assert verdict(question, hit("a senha do wifi é banana", chance)).sureness is sureness


def test_beside_a_sure_memory_no_other_is_told() -> None:
    wifi, bank = hit("a senha do wifi é banana"), hit("a senha do banco é 4417", 0.9)
    assert quoted(verdict("qual é a senha do wifi?", wifi, bank)) == ["a senha do wifi é banana"]


def test_of_those_that_come_near_three_are_told() -> None:
    keys = [hit(f"the {kind} key is with Bo", 0.4) for kind in ("spare", "garage", "bike", "attic")]
    found = verdict("what did Bo borrow, a key?", *keys)
    assert (found.sureness, len(found.items)) == (Sureness.NEAR, 3)


def test_all_that_answer_to_every_word_of_a_question_are_told() -> None:
    wifi = [hit("o wifi de casa é gato1"), hit("o wifi da praia é peixe2", 0.95), hit("o wifi da escola é rã3", LIKELY)]
    assert quoted(verdict("qual é o wifi?", *wifi)) == ["o wifi de casa é gato1", "o wifi da praia é peixe2"]
    assert quoted(verdict("qual é o wifi da praia?", *wifi)) == ["o wifi da praia é peixe2"]
    due = hit("my licence expires in May"), hit("the milk expires on Friday", 0.9)
    assert quoted(verdict("when does the permit expire?", *due))[:1] == ["my licence expires in May"]


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("o que eu tenho terça?", ["aula de piano", "amanhã tem prova"]),
        ("o que eu tenho essa semana?", ["aula de piano", "amanhã tem prova", "sexta é a feira"]),
        ("o que eu tenho quarta?", []),
        ("que horas é o piano na terça?", ["aula de piano"]),
        ("quando é a feira?", ["sexta é a feira"]),
    ],
)
def test_what_means_the_day_that_is_asked_for_is_told(question: str, days: list[str]) -> None:
    now = datetime(2026, 11, 23, 10, tzinfo=UTC)
    meant = {"amanhã tem prova": "2026-11-24T15:00", "aula de piano": "2026-11-24", "sexta é a feira": "2026-11-27"}
    hits = [hit(content, 0.5) for content in ("moro em Natal", *meant)]
    hits = [replace(each, item=replace(each.item, meant=meant.get(each.item.content, ""))) for each in hits]
    found = judged(question, hits, asked(question, now, Locale.PT))
    assert quoted(found) == days


@pytest.mark.parametrize(
    ("question", "content", "about"),
    [
        ("qual a senha do banco?", "a senha do wifi é banana", "banco"),
        ("what's the bank password", "the wifi password is banana", "bank"),
        ("¿cuál es la clave de la tarjeta?", "la clave del wifi es banana", "tarjeta"),
        ("what's my daughter's shoe size?", "my son's shoe size is 33", "daughter"),
        ("que número minha filha calça?", "meu filho calça 33", "filha"),
        ("¿cómo se llama mi perro?", "mi gato se llama Tom", "perro"),
        ("what's my dog called?", "meu gato se chama Tom", "dog"),
        ("quando é o aniversário do Rui?", "o aniversário da Ana é 3 de maio", "Rui"),
        ("when is bex's birthday", "Kit's birthday is 3 May", "bex"),
        ("where does dani live?", "my sister lives in Leeds", "dani"),
        ("what time does the flight to Madrid leave?", "the flight to Porto leaves at 7", "Madrid"),
        ("what's the code at the cottage?", "the office alarm code is 4471", "cottage"),
        ("what's my passport number?", "the spare key is at number 14", "passport"),
        ("how much is bex's rent?", "my rent is 565", "bex"),
        ("what size shoes does dani wear?", "I am a 6 in shoes", "dani"),
        ("what number is my locker at school?", "my locker at the gym is number 57", "school"),
        ("when does the home insurance renew?", "the car insurance renews on 8 April", "home"),
    ],
)
def test_another_subject_is_told_as_another(question: str, content: str, about: str) -> None:
    found = verdict(question, hit(content))
    assert (found.sureness, quoted(found)) == (Sureness.OTHER, [content])
    other = other_subject(asked_words(question), content, hit(content).item.bindings)
    assert other is not None
    assert other.text == about
    assert verdict(question, hit(content, LIKELY)) == RecallVerdict(Sureness.NOTHING)


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("when does bus 76 leave?", "bus 43 leaves at 7:52"),
        ("when was my right knee operated?", "my left knee was operated in 2019"),
        ("¿cuándo vence la tarjeta del BBVA?", "la tarjeta del Santander vence en marzo"),
        ("quem é o professor de matemática da Bia?", "o professor de inglês da Bia é o Marcos"),
        ("is the kitchen tap leaking?", "the upstairs bathroom tap is leaking"),
        ("when is the chemistry exam?", "stats exam is on the 14th in hall C"),
        ("¿dónde está la llave del candado azul?", "la llave del candado rojo está en la repisa"),
        ("¿cuánto es el alquiler del depto?", "el alquiler del local son 300 lucas"),
        ("¿cada cuánto pasa el 152?", "el colectivo 60 pasa cada 10 minutos"),
    ],
)
def test_what_is_told_in_parallel_of_another_thing_is_not_sure(question: str, content: str) -> None:
    assert verdict(question, hit(content)).sureness is Sureness.NEAR


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("what's my dog called?", "meu cachorro se chama Rex"),
        ("when is mum's birthday?", "o aniversário da minha mãe é 3 de maio"),
        ("when's mum's birthday?", "mums bday is 14 march"),
        ("what's the alarm code at work?", "the office alarm code is 4471"),
        ("quando é o aniversário do Rui?", "Rui faz aniversário em 3 de maio"),
        ("que remédio a gata toma?", "a Nina, minha gata, toma Apoquel"),
        ("qual senha eu uso no wifi?", "a senha do wifi é banana"),
        ("qual o número do meu armário?", "o armário é o 57"),
        ("what's my gym locker code?", "the code of my locker at the gym is 57"),
        ("cuánto me debe la señora Yolanda?", "la seño Yolanda me debe 45 soles"),
        ("qual a senha para entrar?", "a senha do cofre é banana"),
    ],
)
def test_the_same_subject_in_other_words_is_no_other(question: str, content: str) -> None:
    assert verdict(question, hit(content)).sureness is Sureness.SURE


def test_a_name_is_no_word_that_only_begins_alike() -> None:
    assert verdict(
        "qual vinho o Marcos prefere?", hit("a Bia prefere vinho"), hit("o vinho vence em março", LIKELY)
    ) == (RecallVerdict(Sureness.OTHER, (hit("a Bia prefere vinho").item,)))


def test_the_memory_about_the_one_who_was_asked_for_comes_before_a_nearer_one() -> None:
    found = verdict(
        "quando é o aniversário da Lia?", hit("o aniversário da Ana é 3 de maio"), hit("a Lia nasceu em 9 de junho")
    )
    assert (found.sureness, quoted(found)) == (Sureness.SURE, ["a Lia nasceu em 9 de junho"])


@pytest.mark.parametrize(
    ("question", "content", "about"),
    [
        ("what's my address?", "my sister's address is 4 Elm Road", "my address"),
        ("qual é o meu cpf?", "o cpf da minha mãe é 123", "meu cpf"),
        ("onde está o cpf da minha mãe?", "meu cpf está na pasta azul", "mãe"),
        ("what's the alarm pin?", "the bank pin is 8841", "alarm"),
        ("que horas é o treino da noite?", "o treino da manhã é às 6h", "noite"),
    ],
)
def test_what_is_of_somebody_or_something_else_is_said_to_be(question: str, content: str, about: str) -> None:
    found = verdict(question, hit(content))
    other = other_subject(asked_words(question), content, hit(content).item.bindings)
    assert found.sureness is Sureness.OTHER
    assert other is not None
    assert other.text == about


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("que dia é o aniversário da minha filha?", "a Lia nasceu em 9 de junho"),
        ("is my cat or my dog allergic to chicken?", "my cat is allergic to chicken"),
        ("how much is Ade still owing me", "Ade turns 60 on 12 December, 320 guests"),
        ("quanto o Davi devia pra mim?", "o Davi calça 42"),
        ("¿cuánto me venía debiendo Marta?", "Marta cumple 40 el sábado 12"),
    ],
)
def test_what_tells_another_thing_of_the_subject_is_the_nearest_at_most(question: str, content: str) -> None:
    assert verdict(question, hit(content)).sureness is Sureness.NEAR


def test_my_address_comes_before_my_sisters() -> None:
    found = verdict(
        "what's my address?", hit("my sister's address is 4 Elm Road"), hit("my address is 9 Oak Lane", 0.9)
    )
    assert (found.sureness, quoted(found)) == (Sureness.SURE, ["my address is 9 Oak Lane"])


def test_what_was_before_is_told_with_its_last_day_where_it_was_searched_for() -> None:
    now, before = hit("moro em Porto"), hit("moro em Lisboa", 0.9)
    old = replace(before, item=replace(before.item, current="moro em Porto", until=AT + timedelta(days=9)))
    found = verdict("onde eu morava antes?", now, old)
    assert told(found, Locale.PT) == "Você me contou: “moro em Lisboa” (até seg., 11 mai. 2026)"


def test_a_text_of_many_lines_is_a_block_behind_its_day() -> None:
    booking = hit("Hotel Sol\nLocalizador: KX7PQ2").item
    block = " (3 mai. 2026)\n```\nHotel Sol\nLocalizador: KX7PQ2\n```"
    assert told(RecallVerdict(Sureness.SURE, (booking,)), Locale.PT) == f"Você me contou:{block}"
    both = RecallVerdict(Sureness.SURE, (booking, hit("moro em Natal").item))
    assert told(both, Locale.PT) == f"Você me contou:\n-{block}\n- “moro em Natal” (3 mai. 2026)"


@pytest.mark.parametrize(
    ("locale", "sure", "near", "other"),
    [
        (
            Locale.PT,
            "Você me contou: “o gato é preto” (3 mai. 2026)",
            "Não tenho certeza, mas pode ser isto: “o gato é preto” (3 mai. 2026)",
            "Tenho guardado “o gato é preto”, mas não o que você perguntou.",
        ),
        (
            Locale.EN,
            "You told me: “o gato é preto” (3 May 2026)",
            "I'm not sure, but it may be this: “o gato é preto” (3 May 2026)",
            "I know “o gato é preto”, but not what you asked.",
        ),
        (
            Locale.ES,
            "Me contaste: “o gato é preto” (3 may 2026)",
            "No estoy seguro, pero puede ser esto: “o gato é preto” (3 may 2026)",
            "Tengo guardado “o gato é preto”, pero no lo que preguntaste.",
        ),
    ],
)
def test_a_verdict_is_one_line(locale: Locale, sure: str, near: str, other: str) -> None:
    items = (hit("o gato é preto").item,)
    assert told(RecallVerdict(Sureness.SURE, items), locale) == sure
    assert told(RecallVerdict(Sureness.NEAR, items), locale) == near
    assert told(RecallVerdict(Sureness.OTHER, items), locale) == other
    assert told(RecallVerdict(Sureness.NOTHING), locale) == ""


# --- what two memories tell together ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "question"),
    [
        (
            ["minha sogra se chama Dalva", "Dalva faz aniversário dia 3 de julho"],
            "quando é o aniversário da minha sogra?",
        ),
        (["Tunde is my landlord", "Tunde banks with GTB, account 0112233445"], "what's my landlord's account number?"),
        (["mi compadre es Nacho", "a Nacho le gusta el mezcal"], "¿qué le gusta a mi compadre?"),
    ],
)
async def test_what_two_memories_tell_together_is_told(person: Talk, told: list[str], question: str) -> None:
    await person.keep(*told, "Bruno likes tea", "o aniversário da Carla é em maio")
    answer = await person.say(question)
    assert [content for content in told if content in answer] == told
    assert "Bruno" not in answer
    assert "Carla" not in answer


async def test_a_name_leads_to_nothing_that_was_not_asked_for(person: Talk) -> None:
    await person.keep("Tunde is my landlord", "Tunde has two dogs")
    assert "dogs" not in await person.say("who is my landlord?")
    assert "dogs" not in await person.say("what's my landlord's account number?")


def test_the_rest_stands_behind_what_leads_to_it() -> None:
    start, end = hit("my landlord is Tunde", 0.3), hit("Tunde banks with GTB, account 0112", 0.1)
    found = links("what's my landlord's account number?", [start, hit("the account of the club is 99", 0.2)])
    assert [link.names for link in found] == [{"tunde"}]
    shown = joined([start, hit("a plain account", 0.2)], found, [start, end])
    assert [(each.item.content, each.via) for each in shown] == [
        ("my landlord is Tunde", ""),
        ("Tunde banks with GTB, account 0112", start.item.id),
        ("a plain account", ""),
    ]
    assert links("who is my landlord?", [start]) == []


@pytest.mark.parametrize(
    ("question", "content", "chance"),
    [
        ("qual o telefone da Ana?", "a Ana prefere vinho branco", LIKELY),
        ("what's the phone number of the plumber Sal?", "the plumber Sal comes on Monday", SURE),
        ("when is Ben's birthday?", "Ben is allergic to nuts", 0.1),
        ("what's my mum's number", "my mum lives in Leeds", SURE),
        ("cuando es el cumple de la seño?", "la seño se llama Marta", LIKELY),
    ],
)
def test_of_a_known_subject_it_is_told_that_what_is_asked_is_not_known(
    question: str, content: str, chance: float
) -> None:
    found = verdict(question, hit(content, chance))
    assert (found.sureness, quoted(found)) == (Sureness.OTHER, [content])


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("a q hora es el partido", "el partido es el sábado a las 11", "ojo q el partido del sábado arranca 12:45"),
        ("que dias tem zumba?", "zumba é terça e quinta", "a prof de zumba disse que agora vai ser segunda e quarta"),
    ],
)
def test_two_values_told_of_one_thing_are_shown_newest_first_and_neither_as_sure(
    question: str, old: str, new: str
) -> None:
    later = hit(new, LIKELY)
    later = replace(later, item=replace(later.item, updated_at=later.item.updated_at + timedelta(days=1)))
    found = verdict(question, hit(old), later)
    assert (found.sureness, quoted(found)) == (Sureness.EITHER, [new, old])


@pytest.mark.parametrize(
    ("question", "content"),
    [("que horas sai o ônibus?", "o ônibus sai da rodoviária"), ("how much is the rent", "the rent is due to Mr Ode")],
)
def test_without_a_value_of_the_kind_that_is_asked_for_nothing_is_sure(question: str, content: str) -> None:
    assert verdict(question, hit(content)).sureness is Sureness.NEAR


@pytest.mark.parametrize(
    ("told", "asked", "is_found"),
    [
        ("meu avô se chama Pedro", "como se chama minha avó?", False),
        ("minha avó se chama Rita", "como se chama meu avô?", False),
        ("meu avô se chama Pedro", "como se chama meu avô?", True),
        ("meu avô se chama Pedro", "como se chama meu avo?", True),
        ("minha avo mora em Recife", "onde mora minha avó?", True),
    ],
)
async def test_a_grandmother_is_no_grandfather(person: Talk, told: str, asked: str, *, is_found: bool) -> None:
    await person.say(f"/remember {told}")
    assert (told in await person.say(asked)) is is_found
