"""What a model is shown of a conversation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.history.conversation import Conversations
from core.history.window import HistoryLimits
from core.storage.history import SqlHistory
from core.types import ChatKey, ConversationKey, Message, MessageRole, Modal, UserKey
from tests.fakes.clock import START, FakeClock
from tests.fakes.ram import RamDatabase

KEY = ConversationKey(ChatKey("console", "c"), UserKey("console", "ana"))


@pytest.fixture
def history() -> SqlHistory:
    return SqlHistory(RamDatabase())


@pytest.fixture
def conversations(history: SqlHistory, clock: FakeClock) -> Conversations:
    return Conversations(history, clock)


def said(role: MessageRole, text: str, turn: str, *, in_history: bool = True) -> Message:
    return Message(role, text, in_history=in_history, turn=turn)


async def test_what_is_added_gets_an_id_and_the_time_unless_it_has_one(
    conversations: Conversations, clock: FakeClock
) -> None:
    conversation = await conversations.open(KEY)
    await clock.advance(5)
    stored = await conversation.add(said(MessageRole.USER, "oi", "t1"))
    assert (stored.id, stored.at) == (1, clock.now())
    assert (await conversation.add(replace(stored, at=START))).at == START


@pytest.mark.spec("T3", "T7", "L1")
async def test_a_turn_reads_its_own_marked_messages_and_all_that_was_said_before(conversations: Conversations) -> None:
    conversation = await conversations.open(KEY)
    before = [
        said(MessageRole.USER, "Olá, me chamo Edmar", "t1"),
        Message(MessageRole.SYSTEM, {"id": "m1"}, Modal.MEMORY, turn="t1", memory_id="m1"),
        said(MessageRole.ASSISTANT, "Olá, Edmar!", "t1", in_history=False),
    ]
    now = [
        said(MessageRole.USER, "Como é meu nome?", "t2"),
        said(MessageRole.ASSISTANT, "Procurei.", "t2"),
        said(MessageRole.ASSISTANT, "Edmar.", "t2", in_history=False),
    ]
    for message in (*before, said(MessageRole.SYSTEM, "a note of the first turn", "t1"), *now):
        await conversation.add(message)
    context = await conversation.context("t2")
    assert [message.content for message in context.messages] == [message.content for message in (*before, *now[:2])]
    assert context.summary == ""


async def test_only_the_newest_messages_are_shown(history: SqlHistory, clock: FakeClock) -> None:
    conversation = await Conversations(history, clock, HistoryLimits(policy="last-messages", max_messages=2)).open(KEY)
    for number in range(4):
        await conversation.add(said(MessageRole.USER, str(number), f"t{number}"))
    assert [message.content for message in (await conversation.context("t3")).messages] == ["2", "3"]


@pytest.mark.spec("T11", "T12")
async def test_it_knows_the_memories_it_has_shown(conversations: Conversations) -> None:
    conversation = await conversations.open(KEY)
    await conversation.add(Message(MessageRole.SYSTEM, {}, Modal.MEMORY, memory_id="m1"))
    assert await conversation.store.shown_memories(conversation.thread.id) == {"m1"}
