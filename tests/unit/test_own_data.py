"""What a person does with what is kept of them: add to it, look through it, take it out, delete it."""

from __future__ import annotations

import re
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from core.answering.chatbot import ChatBot
from core.dialogue import Task
from core.errors import ProviderDown
from core.features.access.storage import Person, Stranger
from core.features.admin.storage import Decision, DecisionKind
from core.features.memories.card import ListedMemories
from core.memory.user_memory import UserMemory
from core.models import Models
from core.types import ChatKey, Locale, MemoryDraft, MemoryKind, Preferences, Role, UserKey
from tests.fakes.clock import START, FakeClock
from tests.fakes.house import ANA, BIA, House
from tests.fakes.model import HashEmbedder, ScriptedModel
from tests.unit.test_chatbot import stuck

SAVES = '{"items": [{"type": "text", "content": "abc123", "bindings": ["wifi password"]}]}'


class Chat:
    """Talks to one running bot."""

    def __init__(self, house: House, bot: ChatBot) -> None:
        self.house = house
        self.bot = bot

    async def say(self, text: str, user: UserKey = ANA, chat: str = "c", *, private: bool = True) -> str:
        channel = self.house.channel()
        incoming = self.house.incoming(text, user=user, message_id=uuid.uuid4().hex, chat=chat)
        await (await self.bot.receive(replace(incoming, private=private), channel))
        return "\n".join(channel.texts)


@asynccontextmanager
async def chatting(house: House) -> AsyncIterator[Chat]:
    async with house.chatbot() as bot:
        yield Chat(house, bot)


async def fill(memory: UserMemory, contents: int) -> None:
    await memory.add([MemoryDraft(MemoryKind.TEXT, f"fact {n}", (f"thing {n}",)) for n in range(contents)], {})


async def contents(house: House, user: UserKey = ANA) -> list[str]:
    return [item.content for item in await house.memories.of(user).page(limit=99)]


# --- /remember -------------------------------------------------------------------------------------------------------


async def test_what_is_to_be_remembered_is_what_the_models_make_of_it() -> None:
    house = House({Task.SAVE_DRAFTS: [SAVES], Task.DECIDE: ["Finish"]})
    async with chatting(house) as chat:
        told = await chat.say("/remember the wifi password is abc123")
        await chat.say("thanks")
    assert told == "Saved: “abc123”"
    [item] = await house.memories.of(ANA).page(limit=9)
    assert (item.content, item.bindings, len(item.source_ids)) == ("abc123", ("wifi password",), 1)
    assert house.model.asked(Task.SAVE_DRAFTS)[0].context.message == "the wifi password is abc123"
    said = [message.text for message in house.model.asked(Task.DECIDE)[0].context.history]
    assert said == ["the wifi password is abc123", told, "thanks"]


@pytest.mark.parametrize("answer", ['{"items": []}', "no JSON", ProviderDown("x")])
async def test_what_no_model_makes_anything_of_is_kept_as_it_is(answer: str | ProviderDown) -> None:
    house = House({Task.SAVE_DRAFTS: [answer]})
    async with chatting(house) as chat:
        assert await chat.say("/remember locker 7") == "Saved: “locker 7”"
        assert "locker 7" in await chat.say("/recall locker")
    assert await contents(house) == ["locker 7"]


async def test_however_long_it_is_nothing_of_it_is_lost() -> None:
    text = " ".join(str(n) for n in range(5000))
    house = House({Task.SAVE_DRAFTS: ['{"items": []}']})
    async with chatting(house) as chat:
        await chat.say(f"/remember {text}")
    kept = await contents(house)
    assert len(kept) == 3
    assert "".join(reversed(kept)).replace(" ", "") == text.replace(" ", "")


async def test_nothing_is_remembered_of_nothing_and_while_memory_is_off() -> None:
    house = House({Task.SAVE_DRAFTS: [SAVES]})
    async with chatting(house) as chat:
        assert (await chat.say("/remember")).startswith("Write what I should remember")
        await chat.say("/memory off")
        assert (await chat.say("/remember the code is 7")).startswith("Memory is off")
    assert await contents(house) == []
    assert not house.model.prompts


# --- /recall and /forget N -------------------------------------------------------------------------------------------


async def test_a_number_is_the_memory_that_it_stood_for_in_the_last_list_of_that_chat() -> None:
    house = House()
    await fill(house.memories.of(ANA), 25)
    async with chatting(house) as chat:
        assert "2. 🧠 thing 23" in await chat.say("/memories")
        assert "12. 🧠 thing 13" in await chat.say("/memories 2")
        assert (await chat.say("/forget 2")).startswith("Nothing was deleted")
        assert await chat.say("/forget 12") == "Deleted: “fact 13”"
        assert (await chat.say("/forget 12")).startswith("Nothing was deleted")
        assert (await chat.say("/forget 11", chat="other")).startswith("Nothing was deleted")
        assert "1. 🧠 thing 7" in await chat.say("/recall thing 7")
        assert "fact 7" in await chat.say("/forget 1")
        assert await chat.say("/recall anything", BIA) == "Nothing matches that."
        assert (await chat.say("/forget 1", BIA)).startswith("Nothing was deleted")
    assert len(await contents(house)) == 23


async def test_an_id_deletes_what_is_ones_own_and_nothing_else() -> None:
    house = House()
    await fill(house.memories.of(ANA), 1)
    [item] = await house.memories.of(ANA).page(limit=1)
    async with chatting(house) as chat:
        for name in (item.id, "1", "x" * 500, "0", "²"):
            assert (await chat.say(f"/forget {name}", BIA)).startswith("Nothing was deleted")
        assert await contents(house) == ["fact 0"]
        assert "fact 0" in await chat.say(f"/forget {item.id.upper()}")
    assert await contents(house) == []


@pytest.mark.parametrize(("text", "told"), [("/recall", "Write what to look for"), ("/forget", "Say what to delete")])
async def test_what_is_missing_is_told(text: str, told: str) -> None:
    async with chatting(House()) as chat:
        assert (await chat.say(text)).startswith(told)


async def test_a_persons_last_twenty_lists_are_kept_until_they_are_forgotten() -> None:
    house = House()
    listed = ListedMemories(house.kept)
    keys = [house.incoming("x", chat=str(n)).conversation for n in range(21)]
    for key in keys:
        await listed.put(key, {1: key.chat.chat})
    assert [await listed.memory_id(key, 1) for key in (keys[0], keys[1], keys[20])] == ["", "1", "20"]
    assert await listed.memory_id(keys[1], 2) == ""
    other = house.incoming("x", user=BIA, chat="1").conversation
    await listed.put(other, {1: "other"})
    await listed.forget(ANA)
    assert await listed.memory_id(keys[20], 1) == ""
    assert await listed.memory_id(other, 1) == "other"


# --- /forget all -----------------------------------------------------------------------------------------------------


def code_in(told: str) -> str:
    [code] = re.findall(r"/forget all ([A-Z]{4})", told)
    return str(code)


async def lived(house: House) -> None:
    """Let two people have a life with the bot."""
    for user in (ANA, BIA):
        await fill(house.memories.of(user), 3)
        await house.preferences.put(user, Preferences(Locale.EN))
        await house.decisions.apply(Decision(START, user, DecisionKind.ROLE, f"{user}2", "", "member"))
    async with chatting(house) as chat:
        for user in (ANA, BIA):
            await chat.say("hello", user)


async def test_who_confirms_is_forgotten_and_nobody_else_is() -> None:
    house = House()
    await lived(house)
    async with chatting(house) as chat:
        asked = await chat.say("/forget all")
        assert "memories (3)" in asked
        assert len(await contents(house)) == 3
        assert await chat.say(f"/forget all {code_in(asked).lower()}") == "Done: everything is forgotten."
    assert await contents(house) == []
    assert not await house.history.threads(ANA)
    assert await house.preferences.of(ANA) == Preferences()
    assert [decision.by for decision in await house.decisions.newest(9)] == [BIA, None]
    assert len(await contents(house, BIA)) == 3
    assert len(await house.history.threads(BIA)) == 1
    assert await house.preferences.of(BIA) == Preferences(Locale.EN)


@pytest.mark.parametrize(
    ("role", "told", "after"),
    [
        (Role.OWNER, "Only your account's id stays", Person(ANA, Role.OWNER, "", START)),
        (Role.ADMIN, "Only your account's id stays", Person(ANA, Role.ADMIN, "", START)),
        (Role.MEMBER, "somebody has to let you in again", None),
    ],
)
async def test_a_role_stays_without_a_name_and_a_member_becomes_a_stranger(
    role: Role, told: str, after: Person | None
) -> None:
    house = House(trusted=())
    await house.people.put(Person(ANA, role, "ana", START))
    await house.people.note_stranger(Stranger(ANA, "Ana", START), START - START)
    async with chatting(house) as chat:
        asked = await chat.say("/forget all")
        assert told in asked
        await chat.say(f"/forget all {code_in(asked)}")
    assert await house.people.find(ANA) == after
    assert list(await house.people.strangers(9)) == []


async def test_a_code_is_the_persons_is_used_once_and_holds_for_ten_minutes() -> None:
    house = House()
    assert isinstance(house.clock, FakeClock)
    async with chatting(house) as chat:
        code = code_in(await chat.say("/forget all"))
        of_bia = code_in(await chat.say(f"/forget all {code}", BIA))
        assert of_bia != code
        again = code_in(await chat.say("/forget all WRONG"))
        assert "To confirm" in await chat.say(f"/forget all {code}")
        assert "To confirm" in await chat.say(f"/forget all {again}")
        late = code_in(await chat.say("/forget all"))
        await house.clock.advance(601)
        assert "To confirm" in await chat.say(f"/forget all {late}")


async def test_the_log_that_holds_questions_is_named_when_everything_is_forgotten() -> None:
    async with chatting(House(log_content=True)) as chat:
        told = await chat.say(f"/forget all {code_in(await chat.say('/forget all'))}")
        assert told.startswith("Done: everything is forgotten. Except in the bot's log")
        assert "/forget does not delete it there" in await chat.say("/privacy")


# --- /privacy -------------------------------------------------------------------------------------------


async def test_privacy_names_the_models_and_how_to_delete() -> None:
    async with chatting(House()) as chat:
        told = await chat.say("/privacy", private=False)
    assert all(
        part in told for part in ("scripted:1", "hash@64", "/forget all", "/export", "contains none of your words")
    )


async def test_privacy_says_how_long_what_was_deleted_is_kept_and_who_knows_of_the_last_news() -> None:
    house = House()
    async with chatting(house) as chat:
        told = await chat.say("/privacy")
        assert "deletes a memory; for 10 minutes that can be undone (/undo), and within a minute after" in told
        assert "whether the last news for everybody reached you, until the next" in told
        house.memories.undo_within = timedelta(0)
        assert "deletes a memory at once and for good, with its earlier versions." in await chat.say("/privacy")


async def test_privacy_says_that_nobody_else_reads_where_all_is_thought_within_the_bot() -> None:
    house = House(embedder=HashEmbedder(space="usem3-x"))
    mind = ScriptedModel({}, "limited:mind")
    house.models = Models(mind, mind, mind, mind, house.embedder)
    async with chatting(house) as chat:
        told = await chat.say("/privacy")
    assert "**Who else reads it:** nobody" in told
    assert "usem3" not in told


async def test_what_is_being_answered_elsewhere_is_stopped_before_everything_is_forgotten() -> None:
    house = House()
    model = stuck(house)
    async with chatting(house) as chat:
        mine, others = house.channel(), house.channel()
        asked = house.incoming("think long", message_id="a", chat="other")
        elsewhere = await chat.bot.receive(asked, mine)
        of_bia = await chat.bot.receive(replace(asked, user=BIA, message_id="b", chat=ChatKey("test", "hers")), others)
        await model.reached.wait()
        await chat.say(f"/forget all {code_in(await chat.say('/forget all'))}")
        await elsewhere
        assert mine.texts == ["⏹ Stopped."]
        assert others.texts == []
        assert not await house.history.threads(ANA)
        await chat.bot.receive(house.incoming("/stop", user=BIA, message_id="c", chat="hers"), others)
        await of_bia
