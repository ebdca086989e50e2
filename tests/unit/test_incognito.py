"""Incognito: for an hour nothing of what a person says is kept, and nothing of what is kept is used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pytest

from core.answering.incognito import IncognitoTalks
from core.answering.outcomes import INCOGNITO, NOT_REMEMBERING
from core.answering.parts import TurnLimits
from core.answering.questions import purge_answered
from core.dialogue import Prompt, Task
from core.features.preferences.commands import BEGIN, END, ENDED, LASTS, NOT_ON, OVER
from core.limited import LimitedMind
from core.models import Cycle
from core.text.replies import incognito_word
from core.types import ChatKey, Locale, UserKey
from tests.fakes.channel import OneChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA, House
from tests.fakes.model import Answer, HashEmbedder, call
from tests.fakes.talk import Talk, talking

EN, PT, ES = Locale.EN, Locale.PT, Locale.ES
BEGUN = "🕶 Incognito for the next 60 minutes"
WORDS = (Path(__file__).parents[1] / "data" / "incognito.txt").read_text(encoding="utf-8").splitlines()
HOUR_S = LASTS.total_seconds()


def shown(prompt: Prompt) -> str:
    return "\n".join(turn.text + turn.volatile for turn in prompt.turns)


def answer(prompt: Prompt) -> Answer:
    """Save when told to, else say back what is said."""
    words = prompt.context.message
    if words.startswith("save") and prompt.tools:
        return call("MemorySave", items=[{"type": "text", "content": words[5:], "bindings": [words[5:]]}], asked=True)
    return f"you said: {words}"


@pytest.fixture
def house() -> House:
    return House({Task.SINGLE: answer}, limits=TurnLimits(cycle=Cycle.SINGLE))


class Stopping(FakeClock):
    """Ends whatever would sleep."""

    async def sleep(self, delay_s: float) -> None:
        raise asyncio.CancelledError(delay_s)


class Chat:
    """A bot in RAM; each message has an id of its own."""

    def __init__(self, house: House) -> None:
        self.house, self.bot, self.count = house, house.chatbot(), 0
        self.choices: dict[str, str] = {}

    async def say(self, text: str, user: UserKey = ANA, **more: object) -> str:
        self.count += 1
        channel = self.house.channel()
        incoming = self.house.incoming(text, user=user, message_id=str(self.count))
        await (await self.bot.receive(replace(incoming, **more), channel))  # type: ignore[arg-type]
        self.choices = {choice.label: choice.command for choice in channel.screen[-1].choices}
        return "\n".join(channel.texts)

    async def messages(self, user: UserKey = ANA) -> list[str]:
        threads = await self.house.history.threads(user)
        return [message.text for thread in threads for message in await self.house.history.get(thread.id)]


Opened: TypeAlias = Callable[[House], Awaitable[Chat]]


@pytest.fixture
async def opened() -> AsyncIterator[Opened]:
    """Opens chats, which end with the test."""
    async with AsyncExitStack() as stack:

        async def open_(house: House) -> Chat:
            chat = Chat(house)
            await stack.enter_async_context(chat.bot)
            return chat

        yield open_


async def test_the_talk_goes_on_from_what_was_said_and_nothing_of_it_is_in_the_conversation(
    house: House, opened: Opened
) -> None:
    chat = await opened(house)
    await chat.say("I like kiwis")
    assert (await chat.say("/memory incognito")).startswith(BEGUN)
    assert chat.choices == {END[EN]: "/memory incognito off"}
    await chat.say("my plan is secret")
    await chat.say("and now?")
    assert "my plan is secret" in shown(house.model.prompts[-1])
    assert "I like kiwis" not in shown(house.model.prompts[-1])
    assert "in incognito" in shown(house.model.prompts[-1])
    assert await chat.say("/memory on") == OVER[EN]
    await chat.say("after")
    assert "my plan is secret" not in shown(house.model.prompts[-1])
    assert "I like kiwis" in shown(house.model.prompts[-1])
    assert await chat.messages() == ["I like kiwis", "you said: I like kiwis", "after", "you said: after"]


async def test_what_is_known_is_not_used_and_nothing_is_saved_or_set(house: House, opened: Opened) -> None:
    chat = await opened(house)
    await chat.say("/remember the locker is 4417")
    await chat.say("/remind tomorrow at 9 water the plants")
    await chat.say("/memory incognito")
    for said in ("save the code is 9", "/remember the code is 9", "/remind tomorrow at 9 call"):
        assert INCOGNITO[EN] in await chat.say(said)
    await chat.say("what is the locker, and when are the plants due?")
    prompt = house.model.prompts[-1]
    assert "4417" not in shown(prompt)
    assert "water" not in shown(prompt).replace("plants due", "")
    assert {tool.name for tool in prompt.tools} <= {"AnswerLanguage"}
    assert [item.content for item in await house.memories.of(ANA).page(limit=9)] == ["the locker is 4417"]
    assert "4417" in await chat.say("/memories"), "a command shows what is kept"
    assert await chat.say("/memories edit 1 the locker is 5") == INCOGNITO[EN]


async def test_when_the_hour_has_passed_the_next_answer_says_so_once_and_is_kept(house: House, opened: Opened) -> None:
    chat, clock = await opened(house), house.clock
    assert isinstance(clock, FakeClock)
    await chat.say("/memory incognito")
    await clock.advance(HOUR_S - 1)
    assert await chat.say("one") == "you said: one"
    assert (await chat.say("/memory")).startswith("🕶 Incognito for one more minute")
    await clock.advance(1)
    assert await chat.say("two") == f"you said: two\n\n{ENDED[EN]}"
    assert "/memory incognito" in chat.choices.values()
    assert await chat.say("three") == "you said: three"
    assert "one" not in await chat.messages()
    assert "two" in await chat.messages()


async def test_it_is_the_persons_own_in_every_chat_and_nobody_elses(house: House, opened: Opened) -> None:
    chat = await opened(house)
    await chat.say("/memory incognito")
    await chat.say("hers", BIA)
    await chat.say("elsewhere", chat=ChatKey("test", "room"), private=False)
    assert await chat.messages() == []
    assert await chat.messages(BIA) == ["hers", "you said: hers"]


async def test_who_had_memory_off_has_it_off_afterwards(house: House, opened: Opened) -> None:
    chat = await opened(house)
    told = await chat.say("/memory off")
    assert told.startswith(NOT_REMEMBERING[EN])
    assert "/memory incognito" in told
    assert chat.choices[BEGIN[EN]] == "/memory incognito"
    await chat.say("/memory incognito")
    await chat.say("/memory on")
    assert not (await house.preferences.of(ANA)).remembers
    assert (await chat.say("/memory incognito off")).startswith(NOT_REMEMBERING[EN]), "it turns nothing on"


async def test_a_choice_that_is_made_meanwhile_holds_afterwards(house: House, opened: Opened) -> None:
    chat = await opened(house)
    await chat.say("/memory incognito")
    assert (await chat.say("/memory off")).startswith(BEGUN)
    await chat.say("/memory incognito off")
    assert (await chat.say("/memory")).startswith(NOT_REMEMBERING[EN])


@pytest.mark.parametrize(
    ("begin", "end", "locale"),
    [
        ("go incognito", "exit incognito", EN),
        ("ativa o modo anônimo", "sai do modo anônimo", PT),
        ("activa el modo incógnito", "sal del modo incógnito", ES),
    ],
)
async def test_it_begins_and_ends_by_words_without_a_model_in_each_language(
    begin: str, end: str, locale: Locale, opened: Opened
) -> None:
    house = House(embedder=HashEmbedder())
    house.answered_by(LimitedMind(house.embedder))
    chat, tag = await opened(house), {EN: "en", PT: "pt-br", ES: "es"}[locale]
    assert (await chat.say(begin, language=tag)).startswith("🕶")
    for said in ("remember that the code is 9", "lembre que o código é 9", "recuerda que el código es 9"):
        assert "/memory on" in await chat.say(said, language=tag)
    assert await chat.say(end, language=tag) == OVER[locale]
    assert await house.memories.of(ANA).count() == 0


async def test_limited_mode_says_why_it_finds_nothing(opened: Opened) -> None:
    house = House(embedder=HashEmbedder())
    house.answered_by(LimitedMind(house.embedder))
    chat = await opened(house)
    await chat.say("remember that the locker is 4417")
    await chat.say("/memory incognito")
    assert await chat.say("what is the locker?") == INCOGNITO[EN]


@pytest.mark.parametrize("line", WORDS)
def test_words_for_it_are_read_as_people_write_them(line: str) -> None:
    word, _, said = line.partition("\t")
    assert incognito_word(said) == word


async def test_who_asks_for_it_in_words_that_are_not_read_is_told_that_it_is_not_on(
    house: House, opened: Opened
) -> None:
    chat = await opened(house)
    told = await chat.say("do your incognito thing for me")
    assert told == f"you said: do your incognito thing for me\n\n{NOT_ON[EN]}"
    assert chat.choices[BEGIN[EN]] == "/memory incognito"
    await chat.say("/memory incognito")
    assert NOT_ON[EN] not in await chat.say("do your incognito thing for me")


# --- edits, crashes, restarts ------------------------------------------------------------------------------------


async def test_what_was_answered_in_incognito_takes_no_edit_afterwards(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say("/memory incognito")
        incoming = talk.house.incoming("zqold", message_id="m1")
        await (await talk.bot.receive(incoming, talk.house.channel()))
        await talk.say("/memory on")
        channel = talk.house.channel()
        edit = replace(incoming, text="zqnew", message_id="m1.1", edits="m1", at=talk.clock.now())
        await (await talk.bot.receive(edit, channel))
        assert channel.texts == []
    assert not left(tmp_path, "zqold", "zqnew")


async def test_what_a_crash_left_owed_is_answered_in_incognito_even_when_the_hour_is_over(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say("/memory incognito")
        owed = talk.house.incoming("zqowed", message_id="m1")
        await talk.house.inbox.accept(owed)
        assert left(tmp_path, "zqowed")
        await talk.clock.advance(HOUR_S + 1)
        await talk.restart()
        channel = talk.house.channel()
        await (await talk.bot.receive(owed, channel))
        assert not await talk.house.inbox.accept(owed)
        await talk.bot.resume("test", OneChannel(channel))
        await talk.bot.drain("test")
        assert channel.texts == ["ok"]
        assert await messages(talk) == []
        assert not left(tmp_path, "zqowed")


async def test_a_restart_loses_what_was_said_and_goes_on_in_incognito(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say("/memory incognito")
        await talk.say("my plan is secret")
        await talk.restart()
        await talk.say("and now?")
        assert "my plan is secret" not in shown(talk.house.model.prompts[-1])
        assert await messages(talk) == []
        assert (await talk.say("/memory")).startswith("🕶")


async def test_what_a_crash_cut_short_of_erasing_is_erased_at_the_next_start(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        inbox, owed = talk.house.inbox, talk.house.incoming("zqhalf", message_id="m1")
        await inbox.accept(owed)
        await inbox.erase(owed)
        assert left(tmp_path, "zqhalf"), "the process is killed here"
        await talk.restart()
        with pytest.raises(asyncio.CancelledError):
            await purge_answered(talk.house.inbox, Stopping())
        assert not left(tmp_path, "zqhalf")
        assert not await talk.house.inbox.accept(replace(owed, text="again", message_id="m1.1", edits="m1"))


async def test_after_forget_all_it_is_over_and_nothing_of_it_is_seen(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.say("/memory incognito")
        await talk.say("my plan is secret")
        code = (await talk.say("/forget all")).split("/forget all ")[1].split()[0].strip(".`*)")
        await talk.say(f"/forget all {code}")
        await talk.say("/memory incognito")
        await talk.say("and now?")
        assert "my plan is secret" not in shown(talk.house.model.prompts[-1])


async def test_what_is_in_ram_is_let_go_soon_after_it_is_over() -> None:
    clock, house, closed = FakeClock(), House(), list[str]()

    async def open_talk(stack: object) -> tuple[object, object]:
        stack.callback(closed.append, "closed")  # type: ignore[attr-defined]
        return house.conversations, house.memories

    talks = IncognitoTalks(open_talk, clock)  # type: ignore[arg-type]
    await talks.of(ANA, clock.now() + LASTS)
    await clock.advance(HOUR_S)
    assert not closed, "an answer may be under way"
    await clock.advance(700)
    assert closed == ["closed"]
    await talks.of(ANA, clock.now() + LASTS)
    talks.end(ANA)
    await clock.advance(700)
    assert closed == ["closed", "closed"]
    await talks.of(BIA, clock.now() + LASTS)
    await talks.close()
    assert len(closed) == 3


def left(folder: Path, *needles: str) -> list[str]:
    raw = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    return [needle for needle in needles if needle.encode() in raw]


async def messages(talk: Talk) -> list[str]:
    history = talk.house.history
    return [each.text for thread in await history.threads(ANA) for each in await history.get(thread.id)]
