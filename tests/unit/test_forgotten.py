"""What was deleted or replaced is in no prompt any more: as no memory, in nothing said of it, in no summary."""

from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path

import pytest

from core.answering.prompting import transcript
from core.dialogue import Prompt, Task
from core.history.conversation import Context
from core.history.withholding import Redaction, tells, told_of
from core.memory.embedding import Indexes
from core.memory.memories import Memories
from core.storage.faiss_index import FaissIndex
from core.stores import ChangeContext
from core.threads import Summary
from core.types import MemoryItem, MemoryKind, Message, MessageRole
from tests.fakes.clock import START, FakeClock
from tests.fakes.house import ANA, House, Script
from tests.fakes.talk import Talk, talking

CODE = "zk4417q"  # long enough for no random id to hold it by chance
SAVE = json.dumps({"items": [{"type": "text", "content": f"the locker code is {CODE}", "bindings": ["locker code"]}]})
QUERY = json.dumps({"items": ["locker code"]})


def every_turn(*actions: str) -> Script:
    """A model that takes these actions, one after the other, and repeats in every text whatever code it was shown."""
    decided = [json.dumps({"action": action}) for action in actions]

    def repeats(prompt: Prompt) -> str:
        whole = "\n".join(turn.text for turn in prompt.turns)
        return f"The code is {CODE}." if CODE in whole else "I know of no code."

    return {
        Task.DECIDE: decided,
        Task.SAVE_DRAFTS: [SAVE],
        Task.SEARCH_QUERIES: [QUERY],
        Task.QUESTION: repeats,
        Task.FINISH: repeats,
    }


def shown(talk: Talk, since: int = 0) -> str:
    """Everything that models were shown since that prompt."""
    prompts = talk.house.model.prompts[since:]
    return "\n".join([turn.text for prompt in prompts for turn in prompt.turns] + [
        f"{message.text} {message.quotes}" for prompt in prompts for message in prompt.context.history
    ])  # fmt: skip


def read_all(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


async def told_and_asked(talk: Talk) -> MemoryItem:
    """Save the code, ask for it, and talk on about it without looking it up again."""
    await talk.say(f"Remember that my locker code is {CODE}")
    await talk.say("What is my locker code?")
    await talk.say("And again?")
    [item] = await talk.house.memories.of(ANA).page(limit=9)
    assert CODE in shown(talk)
    return item


ACTIONS = ("MemorySave", "Finish", "MemorySearch", "Finish", "Finish")


@pytest.mark.spec("T9", "T12")
async def test_after_a_deletion_no_prompt_holds_what_was_deleted_and_an_undo_brings_it_back(tmp_path: Path) -> None:
    async with talking(tmp_path, every_turn(*ACTIONS, "Finish")) as talk:
        item = await told_and_asked(talk)
        await talk.say(f"/forget {item.id}")
        since = len(talk.house.model.prompts)
        assert await talk.say("What is my locker code?") == "I know of no code."
        assert CODE not in shown(talk, since)
        assert "<withheld>" in shown(talk, since)
        talk.script = every_turn("Finish")
        await talk.restart()
        await talk.say("Do you still know it?")
        assert CODE not in shown(talk)
        await talk.say("/undo")
        assert CODE in await talk.say("And now?")


@pytest.mark.spec("T11")
async def test_after_an_update_the_old_words_are_in_no_prompt_and_a_recalled_memory_has_the_new_ones(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path, every_turn(*ACTIONS, "Finish")) as talk:
        item = await told_and_asked(talk)
        await talk.house.memories.of(ANA).update(item.id, content="the locker code is 5120", vectors={})
        since = len(talk.house.model.prompts)
        await talk.say("What is my locker code?")
        assert CODE not in shown(talk, since)
        assert "5120" in shown(talk, since)


async def test_what_is_not_told_of_a_deleted_memory_stays_in_the_prompts(tmp_path: Path) -> None:
    async with talking(tmp_path, every_turn(*ACTIONS, "Finish")) as talk:
        item = await told_and_asked(talk)
        await talk.say("My sister is called Marta")
        await talk.say(f"/forget {item.id}")
        since = len(talk.house.model.prompts)
        await talk.say("Who is my sister?")
        assert "My sister is called Marta" in shown(talk, since)


async def test_what_is_said_anew_after_a_deletion_is_known_again(tmp_path: Path) -> None:
    async with talking(tmp_path, every_turn(*ACTIONS, "Finish")) as talk:
        item = await told_and_asked(talk)
        await talk.say(f"/forget {item.id}")
        await talk.say(f"My new locker code happens to be {CODE}")
        assert CODE in await talk.say("What is it?")


async def test_what_remember_told_is_withheld_too(tmp_path: Path) -> None:
    async with talking(tmp_path, every_turn("Finish")) as talk:
        await talk.say(f"/remember the locker code is {CODE}")
        [item] = await talk.house.memories.of(ANA).page(limit=9)
        await talk.say(f"/forget {item.id}")
        since = len(talk.house.model.prompts)
        await talk.say("What is my locker code?")
        assert CODE not in shown(talk, since)


async def test_a_memory_recalled_in_a_room_is_shown_there_only_as_long_as_it_may_be_spoken_of(tmp_path: Path) -> None:
    async with talking(tmp_path, every_turn("MemorySearch", "Finish")) as talk:
        [item] = await talk.keep(f"the locker code is {CODE}")
        await talk.say(f"/memory share {item.id}")
        assert CODE in await talk.say("What is my locker code?", chat="room", private=False)
        await talk.say(f"/memory unshare {item.id}")
        since = len(talk.house.model.prompts)
        await talk.say("And now?", chat="room", private=False)
        assert CODE not in shown(talk, since)


@pytest.mark.spec("J3")
async def test_a_summary_that_tells_of_it_is_not_shown_and_is_dropped_in_the_end(tmp_path: Path) -> None:
    async with talking(tmp_path, every_turn(*ACTIONS, "Finish")) as talk:
        item = await told_and_asked(talk)
        house = talk.house
        thread = (await house.conversations.open(house.incoming("x").conversation)).thread
        await house.conversations.set_policy(ANA, thread.id, "summary")
        last = (await house.history.tail(thread.id, 1))[0].sequence
        clean = Summary("They greeted each other.", 0 + 1, 0, 5)
        await house.history.fold(thread.id, Summary(f"The locker code is {CODE}.", last, 0, 9))
        assert CODE in await talk.say("What is it?")
        await talk.say(f"/forget {item.id}")
        since = len(house.model.prompts)
        await talk.say("What is it?")
        assert CODE not in shown(talk, since)
        await talk.clock.advance(700)
        await Redaction(house.history, house.store).run(talk.clock.now())
        assert await house.history.summary(thread.id) is None
        assert await house.history.fold(thread.id, clean), "and it can be made again"


@pytest.mark.spec("T12", "L1")
async def test_after_the_undo_time_only_the_persons_own_message_is_left_and_it_goes_at_their_wish(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path, every_turn(*ACTIONS, "Finish")) as talk:
        item = await told_and_asked(talk)
        await talk.say(f"/forget {item.id}")
        button = talk.button("Also remove what I wrote")
        house, now = talk.house, talk.clock.now()
        await Redaction(house.history, house.store).run(now)
        [thread] = await house.history.threads(ANA)
        said = await house.history.tail(thread.id, 99)
        assert any(CODE in message.text for message in said if message.role is MessageRole.ASSISTANT), (
            "it can be undone yet"
        )
        await talk.clock.advance(700)
        await Redaction(house.history, house.store).run(talk.clock.now())
        await house.store.purge(talk.clock.now())
        said = await house.history.tail(thread.id, 99)
        assert [message.text for message in said if CODE in message.text] == [f"Remember that my locker code is {CODE}"]
        talk.script = every_turn("Finish")
        await talk.restart()
        since = len(talk.house.model.prompts)
        await talk.say("What is my locker code?")
        assert CODE not in shown(talk, since)
        assert await talk.say(button.command) == "Deleted 1 message of yours about things no longer in memory."
        assert CODE.encode() not in read_all(tmp_path)
        assert "I have no message of yours" in await talk.say("/forget said")


async def test_what_was_saved_and_undone_is_withheld_as_well(tmp_path: Path) -> None:
    async with talking(tmp_path, every_turn("MemorySave", "Finish")) as talk:
        await talk.say(f"Remember that my locker code is {CODE}")
        await talk.say("/undo")
        since = len(talk.house.model.prompts)
        await talk.say("What is my locker code?")
        history = [turn.text for turn in talk.house.model.prompts[since].turns]
        assert CODE not in "\n".join(history)


async def test_the_bots_words_are_removed_by_themselves_when_the_undo_time_is_over_also_of_what_was_replaced() -> None:
    house = House(every_turn(*ACTIONS))
    redact = Redaction(house.history, house.store).run
    house.memories = Memories(
        house.store, house.embedder, Indexes(house.store, FaissIndex, max_owners=8), house.clock, redact=redact
    )
    async with house.chatbot() as bot:
        for number, text in enumerate((f"Remember that my locker code is {CODE}", "What is my locker code?")):
            await (await bot.receive(house.incoming(text, message_id=str(number)), house.channel()))
        [item] = await house.memories.of(ANA).page(limit=9)
        await house.memories.of(ANA, ChangeContext("act")).update(
            item.id, content="the locker code is 5120", vectors={}
        )
        [thread] = await house.history.threads(ANA)
        assert isinstance(house.clock, FakeClock)
        await house.clock.advance(599)
        assert any(CODE in m.text for m in await house.history.tail(thread.id, 99) if m.role is MessageRole.ASSISTANT)
        await house.clock.advance(62)
        assert not any(
            CODE in m.text for m in await house.history.tail(thread.id, 99) if m.role is MessageRole.ASSISTANT
        )
    await house.memories.close()


def item(content: str) -> MemoryItem:
    return MemoryItem("m1", MemoryKind.TEXT, content, ("x",), START, START)


WIFI = "my wifi password is tulip"
FLIGHT = "my flight is on 3 May at 9"


@pytest.mark.parametrize(
    ("text", "content", "is_told"),
    [
        ("Your code is 4417.", "my locker code is 4417", True),
        ("Ela se chama Marta.", "minha irmã se chama Marta", True),
        ("You cannot eat peanuts", "allergic to peanuts", True),
        ("The weather is fine.", "my locker code is 4417", False),
        ("Your other code is 9999.", "my locker code is 4417", False),
        ("", "4417", False),
        ("tulip", WIFI, True),
        ("It's tulip.", WIFI, True),
        ("Your wifi password is tulip, and that is a flower.", WIFI, True),
    ],
)
def test_a_text_tells_of_a_memory_by_a_number_a_name_or_half_of_its_words(
    text: str, content: str, *, is_told: bool
) -> None:
    assert tells(text, content) is is_told


@pytest.mark.parametrize(
    ("content", "said", "is_told"),
    [
        ("my sister is called Marta", "Marta is arriving on Friday, plan the dinner", False),
        (FLIGHT, "buy 3 apples, 9 pears and some flour", False),
        (FLIGHT, "what else happens in May", False),
        ("I like tea", "I like football", False),
        ("minha senha do wifi é tulipa", "qual é a minha senha do wifi?", False),
        ("my meeting in 2026 is with Ana", "what was the news of 2026", False),
        ("my locker code is 4417", "so 4417, right?", True),
        (WIFI, "is tulip my wifi password?", True),
        (FLIGHT, "I fly on 3 May, at 9", True),
    ],
)
def test_a_person_tells_of_a_memory_who_says_it_and_not_what_is_beside_it(
    content: str, said: str, *, is_told: bool
) -> None:
    assert tells(said, content, by_person=True) is is_told


def test_what_is_told_of_changes_with_the_content_and_with_nothing_else() -> None:
    assert told_of(item("a")) != told_of(item("b"))
    assert told_of(item("a")) == told_of(item("a"))


def test_a_withheld_message_is_not_said_by_the_bot() -> None:
    messages = (Message(MessageRole.ASSISTANT, ""), Message(MessageRole.USER, "oi"))
    assert [turn.role for turn in transcript(Context("", messages), UTC)] == [MessageRole.USER] * 3


async def test_what_was_deleted_by_agreeing_is_withheld_with_the_question_and_the_confirmation(tmp_path: Path) -> None:
    script = dict(every_turn("MemorySave", "Finish", "MemorySearch", "MemoryDelete", "Finish"))
    script[Task.DELETE_IDS] = lambda prompt: json.dumps({"ids": [each.id for each in prompt.context.steps[0].items]})
    async with talking(tmp_path, script) as talk:
        await talk.say(f"Remember that my locker code is {CODE}")
        assert CODE in await talk.say("forget my locker code")
        assert CODE in await talk.say("yes")
        assert talk.button("Also remove what I wrote").command.startswith("/forget said ")
        since = len(talk.house.model.prompts)
        await talk.say("What is my locker code?")
        assert CODE not in shown(talk, since)
        await talk.clock.advance(700)
        await Redaction(talk.house.history, talk.house.store).run(talk.clock.now())
        await talk.house.store.purge(talk.clock.now())
        await talk.say("/forget said")
        assert CODE.encode() not in read_all(tmp_path)
