"""Several wishes in one message are done one after the other; what asks the person comes last in the same answer."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from core.actions.memory_save import ASK_ANY_TIME
from core.dialogue import Task
from core.limited import LimitedMind
from core.limited import sentences as say
from core.limited.cutting import wishes
from core.providers.usem3 import Usem3Embedder
from core.text.senses import question_of
from core.text.unicode import flat
from core.types import Locale
from tests.fakes.house import ANA
from tests.fakes.talk import Talk, talking

_DATA = Path(__file__).parents[2] / "data"
LOCKER, WIFI = "my locker code is 4471", "the wifi password is tulip88"
ARMARIO, SENHA, PISO = "o código do armário é 12", "a senha do wifi é girassol", "estacionei no piso G2"
CASILLERO, CLAVE = "mi casillero es el 57", "la clave del wifi es girasol"


@pytest.mark.parametrize(
    ("known", "message", "told", "left"),
    [
        ((LOCKER, WIFI), "what's the wifi password? and forget my locker code", WIFI, {WIFI}),
        ((PISO, SENHA), "onde estacionei? e apaga a senha do wifi", PISO, {PISO}),
        ((CASILLERO, CLAVE), "cuál es mi casillero? y borra la clave del wifi", CASILLERO, {CASILLERO}),
    ],
)
async def test_a_question_is_answered_before_a_deletion_is_proposed(
    person: Talk, known: tuple[str, ...], message: str, told: str, left: set[str]
) -> None:
    await person.keep(*known)
    await person.say(message)
    [answer] = person.seen
    assert answer.index(told) < answer.index("?")
    assert set(await person.contents()) == set(known)
    await person.say("yes")
    assert set(await person.contents()) == left


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("omg this coffee is terrible. what's the wifi password?", ""),
        ("Hmm maybe Marcus comes for dinner. what's the wifi password?", "Keep “Hmm maybe Marcus comes for dinner.”?"),
    ],
)
async def test_a_question_is_answered_before_it_is_asked_whether_to_keep_anything(
    message: str, asked: str, person: Talk
) -> None:
    await person.keep(WIFI)
    await person.say(message)
    [answer] = person.seen
    assert WIFI in answer
    assert answer.endswith(asked) if asked else "Keep" not in answer


@pytest.mark.parametrize(
    ("known", "ask", "message", "told"),
    [
        ((LOCKER, WIFI), "forget my locker code", "yes, delete it. what's the wifi password?", WIFI),
        (
            (ARMARIO, SENHA),
            "apaga o código do armário",
            "que dia comprido. sim, pode apagar. qual a senha do wifi?",
            SENHA,
        ),
        ((CASILLERO, CLAVE), "borra lo de mi casillero", "uf, menudo lunes llevo. Sí, bórralo", ""),
        (
            (LOCKER, WIFI),
            "forget my locker code",
            "yes, delete it. remember that the gate code is 9",
            "the gate code is 9",
        ),
    ],
)
async def test_a_sentence_agrees_and_the_rest_of_the_message_is_answered(
    person: Talk, known: tuple[str, ...], ask: str, message: str, told: str
) -> None:
    await person.keep(*known)
    await person.say(ask)
    await person.say(message)
    assert known[0] not in await person.contents()
    assert told in "\n".join(person.seen)
    await person.say("undo")
    assert set(known) <= set(await person.contents()) or "gate" in message


async def test_a_question_beside_a_change_is_answered_once(person: Talk) -> None:
    await person.keep("meu dentista é terça às 15h", ARMARIO)
    await person.say("o dentista mudou pra quinta às 10h. qual o código do armário?")
    assert "\n".join(person.seen).count(ARMARIO) == 1
    assert set(await person.contents()) == {"meu dentista é quinta às 10h", ARMARIO}


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ((LOCKER, WIFI), "delete the wifi password and my locker code"),
        ((ARMARIO, SENHA), "apaga a senha do wifi e apaga o código do armário"),
        ((CASILLERO, CLAVE), "borra la clave del wifi y mi casillero"),
    ],
)
async def test_several_deletions_are_proposed_together(person: Talk, known: tuple[str, ...], message: str) -> None:
    await person.keep(*known)
    await person.say(message)
    assert all(content in person.shown.text for content in known)
    await person.say("yes")
    assert await person.contents() == []


@pytest.mark.parametrize("joint", [". and", " and"])
async def test_a_new_value_is_kept_before_a_deletion_is_proposed(person: Talk, joint: str) -> None:
    await person.keep(LOCKER, WIFI)
    await person.say(f"my locker code is 9902 now{joint} delete the wifi password")
    assert not any(content == LOCKER for content in await person.contents())
    await person.say("yes")
    [left] = await person.contents()
    assert left.startswith("my locker code is 9902")


async def test_two_new_values_each_find_their_place(person: Talk) -> None:
    await person.keep(LOCKER, "the gate code is 12")
    await person.say("my locker code is 9902 now. the gate code is 77 now")
    assert set(await person.contents()) == {"my locker code is 9902 now.", "the gate code is 77 now"}


async def test_what_belongs_together_is_not_cut(person: Talk) -> None:
    await person.say("lembra que a senha do cofre é 12 e apaga sozinha depois")
    assert await person.contents() == ["a senha do cofre é 12 e apaga sozinha depois"]


async def test_of_two_answers_the_newer_comes_first(person: Talk) -> None:
    for content in ("Ben is allergic to nuts", "Ben is allergic to shellfish"):
        await person.keep(content)
        person.clock.jump(timedelta(minutes=1))
    answer = await person.say("what is Ben allergic to?")
    assert 0 <= answer.index("shellfish") < answer.index("nuts")


@pytest.mark.parametrize(
    ("first", "line"),
    [
        ("remember my locker code is 4471", "Ask me any time: “what's my locker code?”"),
        ("lembra que a senha do wifi é girassol", "É só perguntar quando quiser: “qual é a senha do wifi?”"),
        ("recuerda que la clave del wifi es girasol", "Pregúntame cuando quieras: “¿cuál es la clave del wifi?”"),
        ("remember I parked on level 3", "Ask me about it any time, in your own words."),
        ("/remember my locker code is 4471", "Ask me any time: “what's my locker code?”"),
    ],
)
async def test_how_to_ask_is_told_with_the_first_memory_and_never_again(person: Talk, first: str, line: str) -> None:
    await person.say(first)
    assert line in "\n".join(person.seen).split("\n")
    await person.say("/remember that Ana likes tea")
    assert not any(each in "\n".join(person.seen) for each in (*ASK_ANY_TIME.values(), "“what", "“qual", "“¿cu"))


async def test_how_to_ask_is_not_told_again_once_all_is_deleted(person: Talk) -> None:
    await person.say("remember my locker code is 4471")
    await person.say("delete the locker code")
    await person.say("yes")
    assert await person.contents() == []
    await person.say("remember my gate code is 12")
    assert "Ask me" not in "\n".join(person.seen)


async def test_how_to_ask_is_not_told_again_after_undo(person: Talk) -> None:
    await person.say("remember my locker code is 4471")
    assert "Ask me" in "\n".join(person.seen)
    await person.press("Undo")
    assert await person.contents() == []
    await person.say("remember my gate code is 12")
    assert "Ask me" not in "\n".join(person.seen)


async def test_in_a_room_how_to_ask_is_not_told(person: Talk) -> None:
    await person.say("remember my locker code is 4471", chat="room", private=False)
    assert "Ask me" not in "\n".join(person.seen)


@pytest.mark.parametrize(
    ("content", "question"),
    [
        ("meus códigos são 1 e 2", "quais são meus códigos?"),
        ("O meu código do armário é 12", "qual é o meu código do armário?"),
        ("My passwords are a and b", "what are my passwords?"),
        ("my sister is a nurse", ""),
        ("o gato é preto", ""),
        ("the meeting about the alarm code changes is off", ""),
    ],
)
def test_a_question_is_made_only_of_what_surely_answers_it(content: str, question: str) -> None:
    assert question_of(content) == question


async def test_a_change_of_a_list_beside_a_deletion_is_done_and_the_deletion_is_left_to_another_message(
    person: Talk,
) -> None:
    await person.keep("shopping list: milk, eggs and bread", WIFI)
    await person.say("add butter to the shopping list. delete the wifi password")
    assert say.ONE_AT_A_TIME[Locale.EN] in "\n".join(person.seen)
    assert "butter" in " ".join(await person.contents())
    assert WIFI in await person.contents()


@pytest.mark.parametrize(
    ("message", "cut"),
    [
        ("my code is 9902 now and also what time is it?", ["my code is 9902 now", "also what time is it?"]),
        ("apaga o código e me diz que dia é hoje", ["apaga o código", "me diz que dia é hoje"]),
        ("cuál es mi turno y anota que Ana llega tarde", ["cuál es mi turno", "anota que Ana llega tarde"]),
        ("who's the vet, and add milk to the shopping list", ["who's the vet", "add milk to the shopping list"]),
        ("which school is Ben at, which bus does he take", ["which school is Ben at", "which bus does he take"]),
        ("when I get home, what do I water?", ["when I get home, what do I water?"]),
        ("what's the appointment and when is it?", ["what's the appointment and when is it?"]),
        ("she told me where she lives and what she does", ["she told me where she lives and what she does"]),
        ("hey mate, what's my code?", ["hey mate, what's my code?"]),
        ("save this: whisk it, and throw away the shells", ["save this: whisk it, and throw away the shells"]),
        ("comprei o arame, pode tirar da lista", ["comprei o arame, pode tirar da lista"]),
    ],
)
def test_a_sentence_is_cut_where_another_wish_surely_begins(message: str, cut: Sequence[str]) -> None:
    assert [message[each.start : each.end] for each in wishes(message, 0, len(message))] == cut


@pytest.mark.parametrize(("half", "least"), [("tune", 21), ("report", 18)])
async def test_several_wishes_are_all_done_and_nothing_that_is_told_is_lost(
    half: str, least: int, tmp_path: Path, embedder: Usem3Embedder
) -> None:
    rows = tomllib.loads((_DATA / "wishes.toml").read_text("utf-8"))[half]
    wrong, lost = list[str](), list[str]()
    for at, row in enumerate(rows):
        folder = tmp_path / str(at)
        folder.mkdir()
        async with talking(folder, embedder=embedder, mind=LimitedMind(embedder)) as talk:
            untold, unkept, left = await _undone(talk, row)
        wrong += [f"{row['said']}: {untold + unkept + left}"] if untold or unkept or left else []
        lost += [f"{row['said']}: {unkept}"] if unkept else []
    assert lost == []
    assert len(rows) - len(wrong) >= least, wrong


@pytest.mark.parametrize(("half", "least"), [("tune", 22), ("report", 22), ("fresh", 27), ("unseen", 32)])
async def test_near_words_of_one_memory_it_is_proposed_to_delete_that_and_no_other(
    half: str, least: int, tmp_path: Path, embedder: Usem3Embedder
) -> None:
    data = tomllib.loads((_DATA / "removals.toml").read_text("utf-8"))
    rows = [(home, said, gone) for home, listed in data[half].items() for said, gone in listed]
    wrong, harmed = list[str](), list[str]()
    for at, (home, said, gone) in enumerate(rows):
        folder = tmp_path / str(at)
        folder.mkdir()
        known = data["households"][home]
        async with talking(folder, embedder=embedder, mind=LimitedMind(embedder)) as talk:
            [_, _, left] = await _undone(talk, {"know": known, "said": said, "gone": [gone]})
            kept = await talk.contents()
        wrong += [said] if left else []
        harmed += [said for each in known if flat(gone) not in flat(each) and each not in kept]
    assert harmed == []
    assert len(rows) - len(wrong) >= least, wrong


async def _undone(talk: Talk, row: Mapping[str, Any]) -> tuple[list[str], list[str], list[str]]:
    """Say a message, and agree to what it proposes; return what was not told, not kept, and not removed."""
    await talk.keep(*row.get("know", ()))
    await talk.say(row["said"])
    shown = flat("\n".join(talk.seen))
    if talk.shown.choices and "?" in talk.seen[-1]:
        deletes = [each.label for each in talk.shown.choices if "🗑️" in each.label]
        gone = [flat(each) for each in row.get("gone", ())]
        options = [flat(line).partition(". ") for line in talk.seen[-1].splitlines()]
        meant = [number for number, _, line in options if any(each in line for each in gone)]
        is_which = bool(deletes) and all(label[-1].isdigit() for label in deletes)
        await talk.say(meant[0] if is_which and meant else "yes")
    kept = flat("\n".join(await talk.contents()))
    untold, unkept = (
        [each for each in row.get(key, ()) if flat(each) not in text] for key, text in (("told", shown), ("kept", kept))
    )
    return untold, unkept, [each for each in row.get("gone", ()) if flat(each) in kept]


@pytest.mark.parametrize(
    ("known", "message", "kept"),
    [
        ("", "bin day is tuesday and recycling every other friday", "bin day is tuesday"),
        ("a Bia veste 8", "esquece o tamanho da bia, cresceu, agora é 10", "agora é 10"),
        ("the boiler code is E119", "rent is 950 now!! also delete the boiler code", "950"),
    ],
)
async def test_what_is_told_beside_words_of_deleting_is_kept(person: Talk, known: str, message: str, kept: str) -> None:
    await person.keep(*filter(None, [known]))
    await person.say(message)
    assert any(kept in content for content in await person.contents())


async def test_a_question_what_can_be_remembered_is_nothing_to_keep(person: Talk) -> None:
    assert say.EXAMPLES[Task.SAVE_DRAFTS][Locale.EN] in await person.say("can u remember stuff for me")
    assert await person.contents() == []


@pytest.mark.parametrize(
    ("known", "message", "reminded", "deletes"),
    [
        ("my shoe size is 9", "remind me to call mom at 5pm and forget my shoe size", "call mom", True),
        ("o tamanho do sapato é 38", "me lembra de ligar pra mãe às 17h e esquece o sapato", "ligar pra mãe", True),
        ("lo del oculista es el 3", "recuérdame llamar a mamá a las 17 y borra lo del oculista", "llamar a mamá", True),
        (
            LOCKER,
            "remind me to clean the fridge at 6pm and throw away the leftovers",
            "throw away the leftovers",
            False,
        ),
    ],
)
async def test_a_deletion_beside_a_reminder_is_proposed_if_it_names_a_memory(
    person: Talk, known: str, message: str, reminded: str, deletes: bool
) -> None:
    await person.keep(known)
    await person.say(message)
    shown = "\n".join(person.seen)
    [reminder] = await person.house.reminders.of([ANA])
    assert reminder.text.endswith(reminded)
    assert (known in shown) is deletes
