"""A question is stored as data with the message that asks it: no wording of any sentence matters to the reply."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.dialogue import Task
from core.limited import LimitedMind
from core.limited import sentences as say
from core.prompts import OPEN_QUESTION
from core.text.catalogue import sentences
from core.types import Locale, Message, MessageRole, OpenQuestion
from tests.fakes.house import ANA
from tests.fakes.talk import Talk, talking
from tests.unit.limited.tiny_cycle import TinyCycle

HOME, BEACH = "o wifi de casa é gato1", "o wifi da praia é peixe2"
WORK = "trabalho na padaria do Tonho com a Célia e o Beto desde 2019"
DIALOGUES: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    ((HOME, BEACH), ("mudei o wifi para lobo3", "a segunda")),
    ((HOME, BEACH), ("mudei o wifi para lobo3", "o da praia")),
    ((HOME, BEACH), ("mudei o wifi para lobo3", "3")),
    ((HOME, BEACH), ("mudei o wifi para lobo3", "nova")),
    ((HOME, BEACH), ("mudei o wifi para lobo3", "deixa")),
    ((WORK,), ("agora trabalho no banco", "sim")),
    ((WORK,), ("agora trabalho no banco", "2")),
    (("a senha do aliexpress é 123456",), ("atualize a senha do aliexpress", "é 777")),
    (("a senha do aliexpress é 123456",), ("qual é a minha senha do netflix?", "é banana77")),
    (("o gato é preto",), ("qual é a minha senha do netflix?", "deixa pra lá")),
    (("reunião com o Plínio na sala 3",), ("reunião com o Plínio amanhã", "1")),
    (("reunião com o Plínio na sala 3",), ("reunião com o Plínio amanhã", "2")),
    ((), ("reunião com o Plínio amanhã", "3")),
    ((), ("anota aí", "o portão abre com 4433")),
    (("o gato é preto",), ("oi", "apaga", "o gato", "sim")),
    (("o portão abre com 4433", "o gato é preto"), ("como abre o portão?", "apaga isso", "sim", "apaga isso")),
    (("a senha do banco é 1",), ("qual a senha do banco?", "na verdade é 777")),
    ((), ("a senha do banco é 1", "na verdade é 2", "guarda isso")),
    ((), ("o que você sabe sobre mim?", "na verdade é 2", "apaga isso")),
]


def reworded(sentence: str) -> str:
    """Return other words of the same length, with the same places to be filled and the same line breaks."""
    parts = re.split(r"(\{\w*\})", sentence)
    return "".join(part if at % 2 else re.sub(r"[^\W\d_]", "ø", part) for at, part in enumerate(parts))


def reword(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write every sentence of the catalogues in other words."""
    for locale in Locale:
        for table in _tables(sentences(locale)):
            for key, sentence in list(table.items()):
                if isinstance(sentence, str):
                    monkeypatch.setitem(table, key, reworded(sentence))


def _tables(table: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    assert isinstance(table, dict)
    yield table
    for value in table.values():
        if isinstance(value, dict):
            yield from _tables(value)


async def played(mind: LimitedMind, known: Sequence[str], said: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """Return the actions of each turn, and what is kept after it."""
    chat = TinyCycle(mind)
    for content in known:
        chat.know(content)
    outcome = []
    for message in said:
        await chat.say(message)
        outcome.append((chat.actions, chat.contents))
    return outcome


@pytest.mark.parametrize(("known", "said"), DIALOGUES)
async def test_no_wording_of_a_sentence_changes_what_is_done(
    mind: LimitedMind, monkeypatch: pytest.MonkeyPatch, known: tuple[str, ...], said: tuple[str, ...]
) -> None:
    before = await played(mind, known, said)
    reword(monkeypatch)
    assert say.SAVE_WHAT[Locale.PT].startswith("ø ")
    assert await played(mind, known, said) == before


@pytest.mark.parametrize(("known", "said"), DIALOGUES)
async def test_a_question_stays_open_over_an_upgrade_that_rewords_it(
    mind: LimitedMind, monkeypatch: pytest.MonkeyPatch, known: tuple[str, ...], said: tuple[str, ...]
) -> None:
    before = await played(mind, known, said)
    chat = TinyCycle(mind)
    for content in known:
        chat.know(content)
    for at, message in enumerate(said):
        if at == len(said) - 1:
            reword(monkeypatch)
        await chat.say(message)
    assert (chat.actions, chat.contents) == before[-1]


async def test_a_question_of_an_older_version_is_no_open_question(chat: TinyCycle) -> None:
    await chat.say("anota aí")
    assert chat.history[-1].question == OpenQuestion("save-what")
    chat.history[-1] = replace(chat.history[-1], question=None)
    await chat.say("reunião com o Plínio amanhã")
    assert chat.actions == ["Question"]
    assert not chat.contents


@pytest.mark.parametrize("kind", ["update-which", "new-value", "save-or-search", "not-found"])
@pytest.mark.parametrize("reply", ["sim", "1", "é 777", "não"])
async def test_a_question_without_its_options_does_no_harm(chat: TinyCycle, kind: str, reply: str) -> None:
    """A thread that is imported may hold any data."""
    chat.history.append(Message(MessageRole.ASSISTANT, "?", question=OpenQuestion(kind)))
    assert await chat.say(reply)
    assert not any(content.startswith(":") for content in chat.contents)


async def test_a_question_of_another_model_is_no_question_of_this_one(chat: TinyCycle) -> None:
    chat.history.append(Message(MessageRole.ASSISTANT, "Which?", question=OpenQuestion("colour", ("red", "blue"))))
    await chat.say("1")
    assert chat.actions == ["Finish"]


def without_a_language_model(talk: Talk) -> None:
    mind = LimitedMind(talk.house.embedder)
    for mode in (talk.house.models.heavy, talk.house.models.reasoning, talk.house.models.chat):
        mode.model = mind  # type: ignore[attr-defined]  # a HotModel


async def asked_by_last_answer(talk: Talk) -> OpenQuestion | None:
    [thread] = await talk.house.history.threads(ANA)
    return (await talk.house.history.since(thread.id))[-1].question


async def test_an_open_question_is_stored_and_answered_after_a_restart(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        without_a_language_model(talk)
        home, beach = await talk.keep("the home wifi is gato1", "the beach wifi is peixe2")
        await talk.say("I changed the wifi to lobo3")
        asked = await asked_by_last_answer(talk)
        assert asked is not None
        assert (asked.kind, set(asked.options)) == ("update-which", {home.id, beach.id, "new"})
        await talk.restart()
        without_a_language_model(talk)
        told = await talk.say(f"the {'second' if asked.options[1] == beach.id else 'first'}")
        assert told == "Updated. It now reads: “the beach wifi is lobo3”"
        assert set(await talk.contents()) == {"the home wifi is gato1", "the beach wifi is lobo3"}
        assert await asked_by_last_answer(talk) is None


async def test_a_correction_of_what_was_just_saved_changes_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        without_a_language_model(talk)
        await talk.say("remember that the locker code is 4417")
        assert await talk.say("actually it's 9923") == "Updated. It now reads: “the locker code is 9923”"
        assert await talk.contents() == ["the locker code is 9923"]


async def test_a_language_model_is_told_what_was_left_open(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        scripted = talk.house.model
        without_a_language_model(talk)
        await talk.say("what is my netflix password?")
        for mode in (talk.house.models.heavy, talk.house.models.reasoning, talk.house.models.chat):
            mode.model = scripted  # type: ignore[attr-defined]  # a HotModel
        await talk.say("banana77")
        [decided] = scripted.asked(Task.DECIDE)[:1]
        assert decided.context.question == OpenQuestion("not-found", subject="netflix password")
        line = f'{OPEN_QUESTION} {{"kind": "not-found", "options": [], "subject": "netflix password"}}'
        assert line in decided.turns[-1].text
        await talk.say("thanks")
        assert OPEN_QUESTION not in scripted.prompts[-1].turns[-1].text
