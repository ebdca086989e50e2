"""What programs import: `core.open_memory`, `core.open_conversation`, `bot.open_chat`."""

from __future__ import annotations

from pathlib import Path

import pytest

import bot
import core
from bot import open_chat
from core import HistoryLimits, Message, MessageRole, open_conversation, open_memory
from core.errors import InputError
from core.types import Modal

NOTHING_YET = "You have not asked me to remember anything yet."


@pytest.mark.parametrize("package", [core, bot])
def test_every_public_name_is_there_and_no_other_is(package: object) -> None:
    for name in getattr(package, "__all__"):  # noqa: B009
        assert getattr(package, name)
    with pytest.raises(AttributeError, match="nothing"):
        getattr(package, "nothing")  # noqa: B009


async def test_a_memory_is_saved_found_changed_deleted_and_taken_back() -> None:
    async with open_memory(None) as memories:
        ana = memories.of("ana")
        saved = await ana.save("my locker code is 4417")
        assert (saved.bindings[0], saved.score) == ("locker code", 0.0), "its subject, as no phrases were given"
        [found] = await ana.search("what is the locker code?")
        assert (found.id, found.text) == (saved.id, saved.text)
        assert 0 < found.score <= 1
        changed = await ana.update(saved.id, "my locker code is 9902")
        assert changed is not None
        assert (changed.id, changed.text, changed.bindings) == (saved.id, "my locker code is 9902", saved.bindings)
        assert await ana.get(saved.id) == changed
        assert await ana.delete(saved.id, "nothing") == [changed]
        assert await ana.newest() == []
        assert await ana.undo()
        assert await ana.newest() == [changed]


async def test_phrases_that_were_given_stay_when_the_text_changes() -> None:
    async with open_memory(None) as memories:
        ana = memories.of("ana")
        saved = await ana.save("abc123", bindings=["wifi password", " "])
        assert saved.bindings == ("wifi password",)
        changed = await ana.update(saved.id, "xyz789")
        assert changed is not None
        assert changed.bindings == ("wifi password",)
        other = await ana.update(saved.id, "xyz789", bindings=["router"])
        assert other is not None
        assert other.bindings == ("router",)


async def test_a_phrase_that_is_the_beginning_of_a_text_goes_with_it() -> None:
    async with open_memory(None) as memories:
        ana = memories.of("ana")
        saved = await ana.save("my locker code is 4417", bindings=["my locker code is 4417", "gym"])
        changed = await ana.update(saved.id, "my locker code is 9902")
        assert changed is not None
        assert changed.bindings == ("gym",)


async def test_nobody_reaches_what_is_anothers() -> None:
    async with open_memory(None) as memories:
        saved = await memories.of("ana").save("room 12")
        bia = memories.of("bia")
        assert await bia.search("room 12") == []
        assert await bia.newest() == []
        assert await bia.get(saved.id) is None
        assert await bia.update(saved.id, "room 13") is None
        assert await bia.delete(saved.id) == []
        assert not await bia.undo()
        assert await memories.of("ana").get(saved.id) == saved


@pytest.mark.parametrize("text", ["", "  ", "\x00"])
async def test_an_empty_text_is_refused(text: str) -> None:
    async with open_memory(None) as memories:
        ana = memories.of("ana")
        with pytest.raises(InputError, match="no text"):
            await ana.save(text)
        saved = await ana.save("room 12")
        with pytest.raises(InputError, match="no text"):
            await ana.update(saved.id, text)
        assert await ana.newest() == [saved]


@pytest.mark.spec("L6", "L2")
async def test_a_conversation_goes_on_where_it_ended_and_has_one_thread_a_place(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    for number in range(2):
        async with open_conversation(path, "ana", limits=HistoryLimits(policy="last-messages", max_messages=2)) as talk:
            await talk.add(Message(MessageRole.USER, f"one {number}"))
            await talk.add(Message(MessageRole.ASSISTANT, f"two {number}"))
            shown = [message.text for message in (await talk.context("")).messages]
            assert shown == [f"one {number}", f"two {number}"]
    async with open_conversation(path, "ana", "kitchen") as elsewhere, open_conversation(path, "bia") as hers:
        assert not (await elsewhere.context("")).messages
        assert not (await hers.context("")).messages
    async with open_conversation(path, "ana") as talk:
        assert [message.text for message in (await talk.context("")).messages] == ["one 0", "two 0", "one 1", "two 1"]


async def test_the_bot_in_ram_keeps_what_it_is_told_while_it_is_open_and_no_longer() -> None:
    for _ in range(2):
        async with open_chat(None, timezone="Europe/Lisbon") as chat:
            assert (await chat.ask("ana", "/memories", language="en")).response == NOTHING_YET
            await chat.ask("ana", "/remember room 12", language="en")
            answer = await chat.ask("ana", "what is my room?", chat_id="another", session_id="s", language="en")
            assert "room 12" in answer.response
            assert answer.session_id == "s"


@pytest.mark.spec("T1", "L1")
async def test_a_conversation_is_read_with_what_its_memories_say_now() -> None:
    async with open_chat(None, timezone="Europe/Lisbon") as chat:
        heard: list[Message] = []
        await chat.ask("ana", "remember that my room is 12", language="en", on_message=heard.append)
        await chat.ask("ana", "what is my room?", language="en", on_message=heard.append)
        said = await chat.messages("ana")
        assert [m.to_wire() for m in said if m.role is not MessageRole.USER] == [
            m.to_wire() for m in heard if m.modal is not Modal.TEXT_FOR_REPLACE
        ]
        [memory] = [m for m in said if m.modal is Modal.MEMORY]
        assert isinstance(memory.content, dict)
        assert "12" in str(memory.content["content"])
        assert await chat.messages("bia") == ()
        await chat.ask("ana", "/forget all", language="en")


@pytest.mark.spec("J6")
async def test_a_question_without_words_is_refused() -> None:
    async with open_chat(None) as chat:
        with pytest.raises(InputError, match="missing: message"):
            await chat.ask("ana")
        with pytest.raises(InputError, match="missing: message, chat_id, user_id"):
            await chat.ask()
        with pytest.raises(InputError, match="missing: message"):
            await chat.ask("ana", " ")
        with pytest.raises(InputError, match="missing: chat_id, user_id"):
            await chat.ask("", "hello")


async def test_what_a_program_raises_comes_out_as_it_is() -> None:
    async def program() -> None:
        async with open_chat(None) as chat:
            assert (await chat.ask("ana", "/memories", language="en")).response == NOTHING_YET
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        await program()
