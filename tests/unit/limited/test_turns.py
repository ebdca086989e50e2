"""Conversations with a whole bot that has no language model, its real embedder, and a database on disk.

Each conversation begins on Saturday 2026-03-14 at 15:09 UTC, with nothing kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from core.errors import StorageError
from core.limited import LimitedMind, reading
from core.limited import sentences as say
from core.providers.usem3 import Usem3Embedder
from core.storage.history import SqlHistory
from core.storage.memories import SqlMemories
from core.threads import ToldMemory
from core.types import Locale
from tests.fakes.house import ANA, BIA
from tests.fakes.model import HashEmbedder
from tests.fakes.talk import Talk, talking

GATE, CAT = "o portão abre com 4433", "o gato é preto"
FLIGHT = "voo LA3302 sexta às 6h40, localizador QX7KLM"
MOVED = "mudaram meu voo pra 8h05"
MOVED_FLIGHT = "voo LA3302 sexta às 8h05, localizador QX7KLM"
LIST = "Lista da mala:\n- passaporte\n- remédio da Júlia\n\nreserva: X9K2"


async def told(person: Talk, *contents: str) -> None:
    """Let the bot keep each of these at once."""
    for content in contents:
        await person.say(f"lembra que {content}")
        assert content in await person.contents()


def labels(person: Talk) -> list[str]:
    return [button.label for button in person.shown.choices]


def seen(person: Talk) -> str:
    """Return all that came of the last message."""
    return "\n".join(person.seen)


def without_embedder() -> dict[str, Any]:
    """Return what a chat is given whose embedder is down: what the bot does, it does by frames."""
    embedder = HashEmbedder()
    embedder.down = True
    return {"embedder": embedder, "mind": LimitedMind(embedder)}


# --- keeping and finding ---------------------------------------------------------------------------------------------


@pytest.mark.spec("T3", "T10", "T14")
async def test_what_is_kept_is_found_again_and_quoted_with_its_date(person: Talk) -> None:
    told = await person.say("Lembre que a senha do aliexpress é 123456")
    assert told.startswith("Guardei: “a senha do aliexpress é 123456”")
    assert await person.contents() == ["a senha do aliexpress é 123456"]
    answer = await person.say("Qual é a senha do aliexpress?")
    assert answer == "Você me contou: “a senha do aliexpress é 123456” (14 mar. 2026)"


@pytest.mark.parametrize(
    ("told", "asked", "answer"),
    [
        ("remember that my locker code is 88-1", "what is my locker code?", "You told me: “my locker code is 88-1”"),
        ("recuerda que mi clave del portal es 88-1", "¿cuál es mi clave del portal?",
            "Me contaste: “mi clave del portal es 88-1”"),
        ("lembra que vou viajar dia 12", "quando eu viajo?", "“vou viajar dia 12”"),
        ("lembra que me chamo Edmar", "what am I called?", "“me chamo Edmar”"),
        ("meu aniversário é 3 de maio", "when is my birthday?", "“meu aniversário é 3 de maio”"),
        ("we parked on level 3, remember that please", "where did we park?", "“we parked on level 3”"),
    ],
)  # fmt: skip
async def test_other_words_and_languages_find_it(person: Talk, told: str, asked: str, answer: str) -> None:
    await person.say(told)
    found = await person.say(asked)
    assert answer in found
    assert len(person.seen) == 1


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("my dog's vaccine card is in the blue drawer", "whr is my dog's vaccine"),
        ("my dog's vaccine card is in the blue drawer", "were is my dog's vaccine card"),
        ("my best friend is Tola", "who is my best freind"),
        ("my mum's birthday is 4 May", "whn is mum's birthday"),
        ("my account is 0044556677", "wetin be my account"),
        ("minha carteira de vacina tá na gaveta azul", "oned ta minha carteira de vacina"),
        ("a senha do wifi é tulipa", "qaul a senha do wifi"),
        ("el cumple de Juan es el 4 de mayo", "cuado es el cumple de Juan"),
        ("mi mejor amigo es Beto", "kien es mi mejor amigo"),
    ],
)
async def test_a_question_that_begins_with_a_typo_is_searched_for(person: Talk, told: str, asked: str) -> None:
    await person.say(f"/remember {told}")
    assert told in await person.say(asked)
    assert await person.contents() == [told]


@pytest.mark.parametrize("said", ["whr is my dog's passport", "cuado es el cumple de Ana", "wen is my sister"])
async def test_what_may_be_a_question_is_asked_about_before_it_is_kept(person: Talk, said: str) -> None:
    await person.say(said)
    assert await person.contents() == []


@pytest.mark.spec("T7", "T10")
@pytest.mark.parametrize(
    "message",
    ["Olá, me chamo Edmar", "estou grávida de 3 meses", "tengo alergia al maní", LIST, f"{FLIGHT}\n\n{LIST}"],
)
async def test_a_statement_is_kept_whole_in_its_own_words(person: Talk, message: str) -> None:
    await person.say(message)
    if "Guardo" in person.shown.text:
        await person.press("Guardar")
    assert await person.contents() == [message]


async def test_a_list_is_shown_with_its_lines(person: Talk) -> None:
    await person.say(f"guarda isso:\n{LIST}")
    assert LIST in await person.say("qual é a reserva da mala?")


@pytest.mark.parametrize(("answer", "kept"), [("Guardar", True), ("sim", True), ("Não", False), ("não", False)])
async def test_it_asks_before_it_keeps_what_may_be_no_fact(
    person: Talk, monkeypatch: pytest.MonkeyPatch, answer: str, *, kept: bool
) -> None:
    monkeypatch.setattr(reading, "KEEP_FROM", 1.01)
    asked = await person.say("o Plínio comprou um violão")
    assert asked.startswith("Guardo “o Plínio comprou um violão”?")
    assert labels(person) == ["🧷 Guardar", "Não"]
    assert await person.contents() == []
    await (person.press if answer[0].isupper() else person.say)(answer)
    assert await person.contents() == (["o Plínio comprou um violão"] if kept else [])


async def test_a_fact_and_a_question_in_one_message_are_both_served(person: Talk) -> None:
    await told(person, GATE)
    await person.say("meu gato se chama Bob. Como abre o portão?")
    assert "meu gato se chama Bob." in await person.contents()
    assert GATE in seen(person)


@pytest.mark.parametrize("question", ["qual é a minha senha do netflix?", "what is my netflix password?"])
async def test_what_is_not_known_is_said_and_no_reply_is_taken_for_it(person: Talk, question: str) -> None:
    await told(person, GATE)
    answer = await person.say(question)
    assert answer in {say.NOT_FOUND[Locale.PT], say.NOT_FOUND[Locale.EN]}
    await person.say("ok gtg bye")
    assert await person.contents() == [GATE]


@pytest.mark.parametrize("question", ["¿cuál es la capital de Francia?", "what's the capital of France?"])
async def test_a_question_about_the_world_is_answered_with_no_memory(person: Talk, question: str) -> None:
    await told(person, "minha prima mora na França")
    answer = await person.say(question)
    assert answer.startswith((say.WORLD[Locale.ES], say.WORLD[Locale.EN]))


async def test_found_is_never_followed_by_not_found(person: Talk) -> None:
    await told(person, GATE, CAT)
    await person.say("como abre o portão? qual é a senha do netflix?")
    assert GATE in seen(person)
    assert "Não achei nada" not in seen(person)


# --- changing --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("T11")
@pytest.mark.parametrize(
    ("word", "left"), [("desfaz", [FLIGHT]), ("Manter os dois", [MOVED_FLIGHT, FLIGHT]), ("", [MOVED_FLIGHT])]
)
async def test_a_new_value_of_one_known_thing_is_changed_at_once(person: Talk, word: str, left: list[str]) -> None:
    await told(person, FLIGHT)
    changed = await person.say(MOVED)
    assert changed.startswith(f"Atualizei: “{MOVED_FLIGHT}”")
    assert labels(person)[:2] == ["↩️ Desfazer", "🧷 Manter os dois"]
    assert await person.contents() == [MOVED_FLIGHT]
    if word:
        await (person.press if word[0].isupper() else person.say)(word)
    assert set(await person.contents()) == set(left)


@pytest.mark.spec("T11")
@pytest.mark.parametrize(
    "order",
    [
        "mude a senha do aliexpress para 654321",
        "por favor, troque a senha do aliexpress por 654321",
        "altere a senha do aliexpress pra 654321",
        "atualiza a senha do aliexpress para 654321",
    ],
)
async def test_an_order_changes_the_value_and_is_kept_itself_nowhere(person: Talk, order: str) -> None:
    await told(person, "a senha do aliexpress é 123456")
    await person.say(order)
    assert await person.contents() == ["a senha do aliexpress é 654321"]


async def test_an_order_about_nothing_known_is_kept_as_what_it_says(person: Talk) -> None:
    await person.say("change the shed code to 8812")
    assert await person.contents() == ["the shed code: 8812"]


@pytest.mark.spec("T11")
@pytest.mark.parametrize(
    ("answer", "home", "beach", "others"),
    [("2", "gato1", "lobo3", 0), ("a primeira", "lobo3", "peixe2", 0), ("De nenhum", "gato1", "peixe2", 1)],
)
async def test_of_several_one_is_chosen_by_number_or_none(
    person: Talk, answer: str, home: str, beach: str, others: int
) -> None:
    await told(person, "o wifi da praia é peixe2", "o wifi de casa é gato1")
    await person.say("o wifi agora é lobo3")
    assert "o wifi agora é lobo3" in await person.contents(), "it is kept before anybody chooses"
    assert labels(person)[-3:] == ["1", "2", "De nenhum: ficam todos"]
    number = {"2": "praia", "a primeira": "casa"}.get(answer, "")
    lines = person.shown.text.splitlines()
    at = next((line[0] for line in lines if number and line[:1].isdigit() and number in line), "")
    await (person.say(at) if at else person.press(answer))
    kept = await person.contents()
    assert {f"o wifi de casa é {home}", f"o wifi da praia é {beach}"} <= set(kept)
    assert len(kept) == 2 + others


@pytest.mark.spec("T11")
async def test_a_correction_that_names_nothing_is_of_what_was_shown_last(person: Talk) -> None:
    await told(person, CAT, "a academia fecha às 22h")
    await person.say("que horas a academia fecha?")
    await person.say("não, é às 23h")
    assert set(await person.contents()) == {CAT, "a academia fecha às 23h"}


@pytest.mark.parametrize(
    ("known", "said", "kept"),
    [
        ("My sister lives in Leeds", "she moved to York", "My sister lives in York"),
        ("minha mãe mora em Curitiba", "ela se mudou pra Londrina", "minha mãe mora em Londrina"),
        ("mi hermano vive en Sevilla", "se mudó a Bilbao", "mi hermano vive en Bilbao"),
    ],
)
async def test_she_is_who_was_told_of_last(person: Talk, known: str, said: str, kept: str) -> None:
    await told(person, "o gato é preto", known)
    await person.say(said)
    assert set(await person.contents()) == {CAT, kept}


async def test_she_is_nobody_where_two_can_be_meant_or_none(person: Talk) -> None:
    await told(person, "minha mãe mora em Curitiba", "minha tia mora em Recife", "meu pai mora em Santos")
    await person.say("ela se mudou pra Londrina")
    assert len(await person.contents()) == 4


@pytest.mark.parametrize(
    "said", ["ela pagou 2000 hoje", "qual é a senha do portão?", "obrigado!", "vou trocar a senha do portão por 8812"]
)
async def test_what_says_of_no_change_changes_nothing(person: Talk, said: str) -> None:
    await told(person, "a senha do portão é 4433")
    await person.say(said)
    assert "a senha do portão é 4433" in await person.contents()
    assert not any("Trocar" in label for label in labels(person))


async def test_a_correction_of_nothing_changes_and_keeps_nothing(person: Talk) -> None:
    await told(person, GATE)
    assert (await person.say("na verdade é 2")).startswith(say.NOTHING_TO_CHANGE[Locale.PT])
    assert await person.contents() == [GATE]


async def test_what_may_be_over_is_told_behind_what_was_said_since(person: Talk) -> None:
    both = "I take metformin 500 twice a day and lisinopril in the morning"
    await person.say(f"remember that {both}")
    await person.clock.advance(60)
    await person.say("I no longer take lisinopril")
    assert await person.say("do I take lisinopril?") == (
        f"You told me:\n- “I no longer take lisinopril” (14 Mar 2026)\n- before: “{both}” (14 Mar 2026)"
    )


# --- removing --------------------------------------------------------------------------------------------------------


@pytest.mark.spec("T12")
@pytest.mark.parametrize(
    ("answer", "is_gone"),
    [("Apagar", True), ("sim", True), ("pode apagar", True), ("Deixar como está", False), ("não", False)],
)
async def test_nothing_is_deleted_before_the_person_agreed(person: Talk, answer: str, *, is_gone: bool) -> None:
    await told(person, GATE, CAT)
    asked = await person.say("apaga o código do portão")
    assert f"1. “{GATE}”" in asked
    assert CAT not in asked
    assert labels(person) == ["🗑️ Apagar", "Deixar como está"]
    assert set(await person.contents()) == {GATE, CAT}
    await (person.press if answer[0].isupper() else person.say)(answer)
    assert set(await person.contents()) == ({CAT} if is_gone else {GATE, CAT})


@pytest.mark.parametrize(
    "message",
    [
        "apaga a senha do netflix",
        "delete my netflix password",
        "borra lo del perro",
        "apaga tudo que eu falei sobre o cachorro",
    ],
)
async def test_nothing_is_offered_in_place_of_what_is_not_known(person: Talk, message: str) -> None:
    await told(person, "a senha do aliexpress é 123456", CAT)
    answer = await person.say(message)
    assert answer in say.NOTHING_TO_DELETE.values()
    assert not labels(person)
    assert not any(content in answer for content in await person.contents())


@pytest.mark.parametrize("order", ["apaga isso", "delete it", "bórralo", "forget that"])
async def test_delete_it_means_what_was_shown_last(person: Talk, order: str) -> None:
    await told(person, GATE, CAT)
    await person.say("como abre o portão?")
    assert GATE in await person.say(order)
    await person.say("sim")
    assert await person.contents() == [CAT]


async def test_delete_alone_asks_what_and_the_reply_names_it(person: Talk) -> None:
    await told(person, GATE, CAT)
    await person.say("oi")
    assert await person.say("apaga") == say.DELETE_WHAT[Locale.PT]
    assert CAT in await person.say("o gato")
    assert set(await person.contents()) == {GATE, CAT}


@pytest.mark.spec("T12")
@pytest.mark.parametrize(
    "order", ["apaga tudo", "olvida todo lo que sabes de mí", "forget everything you know about me"]
)
async def test_everything_is_listed_before_it_goes_and_may_partly_stay(person: Talk, order: str) -> None:
    await told(person, GATE, CAT)
    asked = await person.say(order)
    assert all(content in asked for content in (GATE, CAT))
    await person.say("1")
    assert len(await person.contents()) == 1
    await person.say(order)
    await person.say("sim")
    assert await person.contents() == []
    await person.say(order)
    assert not labels(person)


@pytest.mark.parametrize("word", ["undo", "desfaz", "deshaz", "desfaz isso", "oops, undo"])
async def test_words_for_undo_take_back_the_last_change_and_delete_nothing(person: Talk, word: str) -> None:
    await told(person, CAT)
    await person.say(f"lembra que {GATE}")
    await person.say(word)
    assert await person.contents() == [CAT]
    await person.say("apaga o gato")
    await person.say("sim")
    assert await person.contents() == []
    await person.say(word)
    assert await person.contents() == [CAT]


@pytest.mark.parametrize(
    "message", ["não salva isso: vou largar o emprego", "don't save this, but I quit", "no borres nada"]
)
async def test_a_negated_order_is_not_carried_out(person: Talk, message: str) -> None:
    await told(person, CAT)
    await person.say(message)
    assert await person.contents() == [CAT]
    assert not labels(person)


# --- all else --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "locale", "kind"),
    [
        ("oi", Locale.PT, "greeting"), ("hola", Locale.ES, "greeting"), ("hi", Locale.EN, "greeting"),
        ("tudo bem?", Locale.PT, "how"), ("how are you?", Locale.EN, "how"), ("¿cómo estás?", Locale.ES, "how"),
        ("obrigada!", Locale.PT, "thanks"), ("thanks mate", Locale.EN, "thanks"), ("gracias", Locale.ES, "thanks"),
        ("tchau", Locale.PT, "bye"), ("good night", Locale.EN, "bye"), ("adiós", Locale.ES, "bye"),
        ("kkkk", Locale.PT, "ack"), ("ok", Locale.EN, "ack"), ("vale", Locale.ES, "ack"),
        ("deixa pra lá", Locale.PT, "cancel"), ("never mind", Locale.EN, "cancel"),
        ("tô exausto hoje", Locale.PT, "sad"), ("I'm so tired", Locale.EN, "sad"), ("estoy triste", Locale.ES, "sad"),
    ],
)  # fmt: skip
async def test_small_talk_is_answered_in_one_short_sentence_that_fits(
    person: Talk, message: str, locale: Locale, kind: str
) -> None:
    answer = await person.say(message)
    fitting = {say.TALK[kind][each] for each in Locale if each is locale or len(message) <= 8}
    assert answer.split("\n\n")[0] in fitting
    assert await person.contents() == []


@pytest.mark.parametrize(
    ("question", "about"),
    [
        ("are you ChatGPT?", "who"), ("who made you?", "who"), ("¿eres humano?", "who"),
        ("where is my data stored?", "data"), ("is my data safe?", "data"),
        ("can you see photos?", "media"), ("vc entende áudio?", "media"), ("¿puedes oír audios?", "media"),
        ("what can you do?", "help"), ("o que você sabe fazer?", "help"), ("¿qué sabes hacer?", "help"),
    ],
)  # fmt: skip
async def test_a_question_about_the_bot_is_answered_and_looked_up_nowhere(
    person: Talk, question: str, about: str
) -> None:
    answer = await person.say(question)
    told = {**say.ABOUT, "help": say.CAN_DO, "media": say.MEDIA}
    assert answer.startswith(tuple(told[about].values()))


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("vlw, boa noite", "thanks_bye"), ("thanks a bunch, night!", "thanks_bye"),
        ("obrigada viu, até amanhã", "thanks_bye"), ("mil gracias, hasta mañana", "thanks_bye"),
        ("valeu, ok", "thanks"), ("oi, boa noite", "greeting"), ("boa noite", "greeting"), ("ok, boa noite", "bye"),
        ("to mt triste hj", "sad"), ("feeling really down today", "sad"), ("ando bajoneada", "sad"),
        ("I'm not sad", "chat"), ("so happy right now", "glad"), ("tô feliz demais", "glad"),
        ("conta uma piada ai", "joke"), ("tell me a joke", "joke"), ("contame un chiste", "joke"),
        ("vc é burro hein", "insult"), ("you're useless", "insult"), ("qué tonto eres", "insult"),
        ("vc é demais ❤️", "praise"), ("i love you", "praise"), ("sos un genio", "praise"),
        ("honestly i'm so sad and nobody cares", "sad"), ("ai que saco, tô muito triste com tudo", "sad"),
        ("estoy muy triste y no se que hacer", "sad"), ("lol you are the best ever omg", "praise"),
        ("happy birthday elefante!", "birthday"), ("feliz cumple elefante", "birthday"),
        ("PTM", "cry"), ("esto anda para el diablo", "cry"), ("this school go kill person 😩", "cry"),
        ("ay que dia traigo mija y apenas son las nueve", "cry"), ("we broke up last night", "grief"),
        ("terminei com meu namorado", "grief"), ("terminé con mi novio", "grief"),
        ("qmas parce todo bien?", "how"), ("brigado viu sô, agora vou la que o cafe ta esfriando", "thanks"),
        ("oii bom dia, oxe q calor da gota hj", "greeting"), ("bacan gracias po, nos vimos en la pega", "thanks_bye"),
        ("cheers pal, yer a wee gem", "thanks"), ("bom dia meu filho, dormi tao mal essa noite", "sad"),
        ("ur literally saving my life ily bye", "praise"),
    ],
)  # fmt: skip
async def test_each_kind_of_small_talk_has_a_line_of_its_own(person: Talk, message: str, kind: str) -> None:
    answer = await person.say(message)
    assert answer.split("\n\n")[0] in say.TALK[kind].values()
    assert await person.contents() == []


@pytest.mark.parametrize("message", ["quando é a formatura da Bia?", "when is the left knee?", "borra lo del gimnasio"])
async def test_what_is_not_found_is_never_said_in_tokens_of_the_message(person: Talk, message: str) -> None:
    await told(person, CAT)
    answer = await person.say(message)
    denials = (*say.NOT_FOUND.values(), *say.NOTHING_TO_DELETE.values())
    assert answer in denials


async def test_only_is_not_lonely(person: Talk) -> None:
    assert await person.say("si, solo esta semana, despues sigue los miercoles") not in say.TALK["sad"].values()


@pytest.mark.parametrize(
    "message",
    ["my gran died last night", "our old dog Duke died today", "perdi meu avô ontem", "falleció mi abuela ayer"],
)
async def test_a_loss_is_kept_with_something_kind(person: Talk, message: str) -> None:
    await person.say("hi")
    assert (await person.say(message)).endswith(tuple(say.TALK["grief"].values()))
    assert await person.contents() == [message]


@pytest.mark.parametrize("message", ["abeg save am: my matric no na 190407", "guarda isto: meu armário é o 57"])
async def test_what_follows_a_colon_is_kept(person: Talk, message: str) -> None:
    await person.say(message)
    assert await person.contents() == [message.partition(": ")[2]]


@pytest.mark.parametrize(
    "message",
    ["lista do mercado: café, pão, ovos", "packing list: passport, socks", "para la fiesta: globos, refrescos, hielo"],
)
async def test_a_list_with_a_name_is_kept_unasked(person: Talk, message: str) -> None:
    await person.say(message)
    assert await person.contents() == [message]


async def test_the_time_is_told(person: Talk) -> None:
    assert (await person.say("que horas são?")).startswith("Agora é sábado, 14 mar. 2026, 15:09 UTC.")


async def test_a_yes_to_what_was_offered_presses_its_button_also_later(person: Talk) -> None:
    await person.say("remember that the dentist is tomorrow at 10")
    assert "Remind me?" in "".join(labels(person))
    await person.say("I like tea")
    for other in ("ok", "yes, delete it"):
        await person.say(other)
        assert await person.house.reminders.of([ANA]) == []
    await person.say("yes")
    assert len(await person.house.reminders.of([ANA])) == 1


async def test_a_yes_is_for_what_was_proposed_rather_than_for_an_offer_passed_over(person: Talk) -> None:
    await person.say("remember that my locker is 57")
    await person.say("remember that the dentist is tomorrow at 10")
    await person.say("forget my locker")
    await person.say("what a day")
    await person.say("yes")
    assert await person.contents() == ["the dentist is tomorrow at 10"]
    assert await person.house.reminders.of([ANA]) == []


async def test_a_guessed_zone_is_taken_by_the_next_yes_only(person: Talk) -> None:
    await person.say("remind me tomorrow at 9am to call Bia")
    await person.say("I like tea")
    assert await person.say("aye") == say.TALK["yes"][Locale.EN]


async def test_a_yes_to_nothing_is_not_called_done(person: Talk) -> None:
    await person.say("hi")
    assert await person.say("yes") == say.TALK["yes"][Locale.EN]
    assert "👍" not in await person.say("sim")


async def test_that_it_is_limited_is_said_once_and_after_what_was_done(person: Talk) -> None:
    await person.say(f"lembre que {GATE}")
    assert seen(person).index("Guardei") < seen(person).index(say.INTRO[Locale.PT])
    for message in ("oi", "como abre o portão?", "lembre que o cofre é 1"):
        await person.say(message)
        assert say.INTRO[Locale.PT] not in seen(person)


@pytest.mark.parametrize("then", ["reset", "restart and reset", "room", "nothing"])
async def test_that_it_is_limited_is_said_once_to_a_person(person: Talk, then: str) -> None:
    assert say.INTRO[Locale.PT] in await person.say("bom dia, tudo bem?")
    if "restart" in then:
        await person.restart()
    if "reset" in then:
        await person.say("/reset")
    chat = "room" if then == "room" else "c"
    await person.say("bom dia, tudo bem?", chat=chat, private=chat == "c")
    assert say.TALK["how"][Locale.PT] in seen(person)
    assert not any(intro in seen(person) for intro in say.INTRO.values())
    await person.say("bom dia, tudo bem?", BIA)
    assert say.INTRO[Locale.PT] in seen(person)


@pytest.mark.parametrize("message", ["???", "🐘🐘🐘", "a" * 3000, "lembre " * 500, "e " * 900, ". . .", "“”", "{[("])
async def test_odd_messages_get_an_answer(person: Talk, message: str) -> None:
    assert await person.say(message)


@pytest.mark.spec("T6")
@pytest.mark.parametrize(
    ("off", "message"),
    [
        ("MemorySave", "lembre que o cofre é 1"),
        ("MemorySearch", "como abre o portão?"),
        ("MemoryDelete", "apaga o portão"),
    ],
)
async def test_what_is_switched_off_is_said_to_be(
    tmp_path: Path, embedder: Usem3Embedder, off: str, message: str
) -> None:
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder), off=(off,)) as person:
        await person.keep(GATE)
        assert say.SWITCHED_OFF[Locale.PT] in await person.say(message)
        assert await person.contents() == [GATE]


@pytest.mark.spec("T6")
async def test_without_the_question_action_it_still_asks(tmp_path: Path) -> None:
    async with talking(tmp_path, **without_embedder(), off=("Question",)) as person:
        assert say.DELETE_WHAT[Locale.EN] in await person.say("please delete")


async def test_a_failed_save_is_not_called_done(person: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    async def full(*_: Any, **__: Any) -> None:
        raise StorageError("no room")

    monkeypatch.setattr(SqlMemories, "save", full)
    await person.say(f"lembre que {GATE}")
    assert "Não consigo" in seen(person)
    assert "Guardei" not in seen(person)
    assert await person.contents() == []


async def test_with_its_embedder_down_it_keeps_finds_and_deletes(tmp_path: Path) -> None:
    async with talking(tmp_path, **without_embedder()) as person:
        await told(person, GATE)
        assert GATE in await person.say("como abre o portão?")
        assert GATE in await person.say("apaga o portão")
        await person.say("sim")
        assert await person.contents() == []


# --- deleting in any words -------------------------------------------------------------------------------------------

DEBT, SHOPPING = "don Beto: 350 pesos", "lista do mercado: arroz, feijão, café e sabão"


@pytest.mark.parametrize(
    ("known", "order"),
    [
        (DEBT, "ya le pagué a don Beto, táchalo"),
        ("the library pin is 4471", "they've done away with the library pins so put that number in the bin"),
        ("reserva del hotel: HB7K29", "la reserva del hotel la llevo impresa, así que quítamela de ahí"),
    ],
)
async def test_a_word_of_deleting_near_one_memory_is_a_proposal(person: Talk, known: str, order: str) -> None:
    await person.keep(known, GATE)
    await person.say(order)
    assert set(await person.contents()) == {known, GATE}
    await person.say("yes")
    assert await person.contents() == [GATE]


async def test_a_word_of_deleting_near_no_memory_stays_what_it_is(person: Talk) -> None:
    await person.keep(GATE)
    await person.say("remember that I need to forget about work on Sundays")
    assert len(await person.contents()) == 2


async def test_a_part_of_a_list_is_removed_and_nothing_else(person: Talk) -> None:
    await person.keep(SHOPPING)
    await person.say("tira o café da lista, já comprei")
    await person.say("sim")
    assert await person.contents() == ["lista do mercado: arroz, feijão e sabão"]


WEARS = "Rui veste G e Ana veste M"
TRIP = "viagem: carregador, adaptador, remédio e cadeado"


@pytest.mark.spec("T12")
@pytest.mark.parametrize(
    ("known", "said", "stays"),
    [
        # a clause of a sentence, an entry of a list, several of these
        ([WEARS, "Rui trabalha na Shell"], "esquece o tamanho do Rui mas deixa o da Ana", "Ana veste M"),
        (["Thiago trabalha na Ambev e mora em Jundiaí"], "apaga só a parte da Ambev", "Thiago mora em Jundiaí"),
        ([TRIP, "cadeado da bicicleta: 552"], "tira carregador e remédio da lista, o Zé leva",
            "viagem: adaptador e cadeado"),
        ([TRIP], "já comprei o adaptador e o cadeado", "viagem: carregador e remédio"),
        (["shopping: stamps, tea, marmalade", GATE], "I've got the stamps and the marmalade", "shopping: tea"),
        (["shopping: stamps, tea, marmalade", GATE], "got the stamps and the tea", "shopping: marmalade"),
        (["Falta pagar: Ana, Pedro e Zé", "Ana Clara é vegetariana"], "a Ana já pagou, tira ela da lista",
            "Falta pagar: Pedro e Zé"),
        (["Marta: 912 334 556, Rua da Boavista 12"], "esquece o número da Marta mas fica com a morada",
            "Marta: Rua da Boavista 12"),
        (["la llave la tiene Merche y la caja fuerte es 8-31-44"], "borra lo de la caja fuerte",
            "la llave la tiene Merche"),
        # the whole
        (["Tomar losartana 50 mg para pressão", "o remédio do cachorro é Apoquel"],
            "não tomo mais o remédio da pressão, remove", ""),
        (["Reunión con doña Gloria el jueves", "doña Gloria vende empanadas"],
            "la reunion con doña Gloria se canceló, quítela", ""),
        (["Planet Fitness membership number is 40021877", GATE], "forget the gym thing", ""),
        (["the boiler code is 123", "the bike code is 77"], "delte the boiler code", ""),
    ],
)  # fmt: skip
async def test_what_is_named_goes_and_what_else_a_memory_tells_stays(
    person: Talk, known: list[str], said: str, stays: str
) -> None:
    await told(person, *known)
    await person.say(said)
    await person.say("sim")
    assert set(await person.contents()) == {*known[1:], *filter(None, [stays])}


@pytest.mark.parametrize(
    "said",
    [
        "they're gonna remove my wisdom teeth on Monday, wish me luck",
        "se me olvida siempre el código del portão", "me esqueci do portão",
        "no me borre lo del portão todavía", "I've got the milk",
    ],
)  # fmt: skip
async def test_who_tells_of_deleting_or_buying_is_offered_no_deletion(person: Talk, said: str) -> None:
    await told(person, GATE, "Wisdom Tooth Fairy is for Nora", "Leite é caro")
    await person.say(said)
    assert not any("🗑️" in label for label in labels(person))


async def test_of_two_that_are_called_so_either_can_be_deleted_alone(person: Talk) -> None:
    await told(person, "o dentista é terça às 9", "a dentista da Cata se chama Ximena")
    await person.say("apaga o dentista")
    assert labels(person) == ["🗑️ 1", "🗑️ 2", "🗑️ Apagar", "Deixar como está"]
    first = person.seen[-1].split("“")[1].split("”")[0]
    await person.press("🗑️ 1")
    assert first not in await person.contents()
    assert len(await person.contents()) == 1


@pytest.mark.parametrize(
    ("reply", "left"),
    [("2", {"Take amoxicillin at 8"}), ("none", {"Take amoxicillin at 8", "Vitamin D pills every morning"})],
)
async def test_where_it_is_not_clear_which_is_to_be_deleted_it_is_asked(
    person: Talk, reply: str, left: set[str]
) -> None:
    await told(person, "Take amoxicillin at 8", "Vitamin D pills every morning")
    await person.say("course of antibiotic pills done, bin that one")
    assert labels(person) == ["🗑️ 1", "🗑️ 2", "None of them"]
    options = [line.partition(". ")[2].strip("“”") for line in person.seen[-1].splitlines()[1:]]
    await person.say("yes")
    assert labels(person) == ["🗑️ 1", "🗑️ 2", "None of them"], "a yes does not tell which"
    await person.say(reply)
    assert set(await person.contents()) == ({options[0]} if reply == "2" else left)


async def test_of_what_was_told_twice_the_newer_can_be_deleted_too(person: Talk) -> None:
    await told(person, "a Tainá marcou luzes quinta as 14h")
    await person.clock.advance(60)
    await told(person, "a Tainá vai vir as 16h30")
    await person.say("tainá desistiu das luzes, pode riscar o horário dela")
    assert labels(person) == ["🗑️ 1", "🗑️ 2", "Nenhum"]


@pytest.mark.parametrize(
    ("known", "said", "kept"),
    [
        (["Telefone da Carol: 98888-1212", "A Carol mora na Rua das Flores"],
            "apaga tudo da Carol mas guarda o endereço dela", ["A Carol mora na Rua das Flores"]),
        (["Teléfono de Marta: 612 334 455", "Teléfono de Mario: 699 887 766"],
            "quita el móvil de Mario pero guarda el de Marta", ["Teléfono de Marta: 612 334 455"]),
    ],
)  # fmt: skip
async def test_what_stays_beside_a_wish_to_delete_is_no_note(
    person: Talk, known: list[str], said: str, kept: list[str]
) -> None:
    await told(person, *known)
    await person.say(said)
    await person.say("sim")
    assert await person.contents() == kept


@pytest.mark.parametrize("said", ["don't you dare lose the code of the gate", "no saques nada del portão todavía"])
async def test_a_wish_that_nothing_be_deleted_is_neither_kept_nor_offered(person: Talk, said: str) -> None:
    await told(person, GATE)
    await person.say(said)
    assert await person.contents() == [GATE]
    assert labels(person) == []


@pytest.mark.parametrize(
    "wish", ["wait, the clerk says I still need that one. Can I have it back?", "re-add it please"]
)
async def test_what_was_just_deleted_is_asked_for_in_other_words(person: Talk, wish: str) -> None:
    await person.keep("the library pin is 4471")
    await person.say("delete the library pin")
    await person.say("yes")
    assert await person.contents() == []
    await person.say(wish)
    assert await person.contents() == ["the library pin is 4471"]


async def test_a_yes_after_a_no_takes_no_offer(person: Talk) -> None:
    await person.say("remember that the dentist is tomorrow at 10")
    assert "Remind me?" in "".join(labels(person))
    await person.say("no")
    await person.say("yes please")
    assert await person.house.reminders.of([ANA]) == []


@pytest.mark.parametrize(
    ("asked", "no", "yes"),
    [
        (["apaga o portão"], "no", "yes"),
        (["delete the cat", "apaga o portão"], "não", "sim"),
        (["delete the cat", "my name is Ana", "apaga o portão", "I have a bike"], "no, déjalo", "sí"),
    ],
)
async def test_a_yes_after_a_no_to_a_deletion_takes_nothing_that_was_open_before(
    person: Talk, asked: list[str], no: str, yes: str
) -> None:
    await person.keep(GATE, CAT)
    await person.say("remember that the dentist is tomorrow at 10")
    offer = person.button("Remind me?")
    for message in asked:
        await person.say(message)
    await person.say(no)
    assert await person.say(yes) in {say.TALK["yes"][locale] for locale in Locale}
    assert await person.house.reminders.of([ANA]) == []
    assert {GATE, CAT} <= set(await person.contents())
    await person.say(offer.command, pressed=True)  # the button stays
    assert len(await person.house.reminders.of([ANA])) == 1


@pytest.mark.parametrize("word", ["both", "as duas", "los dos, por favor"])
async def test_a_word_for_both_deletes_both_that_were_asked_about(person: Talk, word: str) -> None:
    await person.keep(GATE, CAT, "the locker is 12")
    await person.say("apaga o portão")
    await person.say("apaga o gato")
    await person.say(word)
    assert await person.contents() == ["the locker is 12"]
    await person.say("undo")
    assert set(await person.contents()) == {GATE, CAT, "the locker is 12"}


async def test_a_word_for_both_offers_asks_which_as_they_are_taken_one_by_one(person: Talk) -> None:
    await person.say("remember that the dentist is tomorrow at 10")
    await person.say("remember that the vet is tomorrow at 12")
    answer = await person.say("both")
    assert "1." in answer
    assert "2." in answer
    assert "1." in await person.say("both of them")
    await person.say("2")
    assert len(await person.house.reminders.of([ANA])) == 1


async def test_a_request_in_the_voseo_is_not_kept_with_what_it_asks_to_keep(person: Talk) -> None:
    assert "“mi casillero es el 42”" in await person.say("recordá que mi casillero es el 42")


# --- debts that are paid ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("debt", "paid", "now"),
    [
        ("o Marcos me deve 50 reais", "já pagou", "o Marcos já pagou"),
        ("Laura me debe 20 euros", "ya me pagó", "Laura ya me pagó"),
        ("Anna owes me 20 dollars", "she paid me back", "Anna paid me back"),
        ("Anna owes me 20 dollars", "paid me back!", "Anna paid me back!"),
    ],
)
async def test_who_paid_is_the_one_who_owed(person: Talk, debt: str, paid: str, now: str) -> None:
    await told(person, debt, *(f"o ônibus da linha {number} é verde" for number in range(3)))
    await person.say(paid)
    assert now in await person.contents()
    assert debt not in await person.contents()
    await person.say("undo")
    assert debt in await person.contents()


async def test_of_two_who_owe_it_is_asked_which_one_paid(person: Talk) -> None:
    await told(person, "Anna owes me 20 dollars", "Tom owes me 5")
    shown = await person.say("paid me back")
    assert "Anna owes me 20 dollars" in shown
    assert "Tom owes me 5" in shown
    assert set(await person.contents()) == {"Anna owes me 20 dollars", "Tom owes me 5", "paid me back"}


@pytest.mark.parametrize("said", ["já paguei", "he paid 300 for the tickets", "pagou 30 no táxi"])
async def test_what_was_paid_otherwise_ends_no_debt(person: Talk, said: str) -> None:
    debts = ["o Marcos me deve 50 reais", "eu devo 20 à Bia"]
    await person.keep(*debts)
    await person.say(said)
    assert set(debts) <= set(await person.contents())


@pytest.mark.parametrize(
    "address",
    [
        "moro na Rua Sete de Abril 80",
        "vivo en Avenida 9 de Julio 1200",
        "el local está en Calle 25 de Mayo 33",
        "my flat is at 12 Green Street",
    ],
)
async def test_no_reminder_is_offered_of_a_street_that_a_day_gave_its_name(person: Talk, address: str) -> None:
    await person.say(f"lembra que {address}")
    assert address in await person.contents()
    assert len(labels(person)) == 1
    await person.say("guarda que o dentista é dia 7 de abril")
    assert len(labels(person)) == 2


@pytest.mark.parametrize(
    ("known", "said", "now"),
    [
        (
            "a consulta é dia 5 às 16h",
            "a clínica ligou, a consulta passou para dia 6 às 11h",
            "a consulta é dia 6 às 11h",
        ),
        ("standup is at 9:30 with Priya's team", "standup moved to 10", "standup is at 10 with Priya's team"),
    ],
)
async def test_a_new_day_and_an_hour_without_its_sign_take_their_places(
    person: Talk, known: str, said: str, now: str
) -> None:
    await told(person, known)
    await person.say(said)
    assert await person.contents() == [now]


async def test_the_conversation_is_read_once_between_two_steps(person: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    await person.say("lembra que o portão abre com 4433")
    read: list[str] = []
    lookup = SqlHistory.told

    async def counted(self: SqlHistory, ids: Sequence[int]) -> Mapping[int, Sequence[ToldMemory]]:
        read.append("told")
        return await lookup(self, ids)

    monkeypatch.setattr(SqlHistory, "told", counted)
    assert "4433" in await person.say("qual é o código do portão?")
    assert len(read) == 2  # before the search, and after it: four prompts were made of these
