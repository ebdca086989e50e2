"""What each policy shows of a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from core.errors import InputTooLong
from core.history.conversation import Conversation, Conversations
from core.history.tokens import Calibration
from core.history.window import LAST_MESSAGES, LAST_TOKENS, POLICIES, SUMMARY, HistoryLimits
from core.storage.database import Database
from core.storage.history import SqlHistory
from core.stores import HistoryStore
from core.threads import Summary
from core.types import ChatKey, ConversationKey, Message, MessageRole, Modal, UserKey
from tests.fakes.clock import START, FakeClock
from tests.fakes.ram import RamDatabase
from tests.profile import long

ANA, BIA = UserKey("console", "ana"), UserKey("console", "bia")
ROOM = ConversationKey(ChatKey("console", "c"), ANA)
MANY = """
    INSERT INTO messages
        (thread, role, modal, in_history, content, at, turn, source_id, memory_id, sequence, tokens, upto)
    WITH RECURSIVE numbered (n) AS (VALUES (3) UNION ALL SELECT n + 1 FROM numbered WHERE n < ?)
    SELECT thread, role, modal, in_history, content, at, turn, source_id, memory_id, n, tokens, n * tokens
    FROM numbered JOIN messages ON sequence = 1 + (n + 1) % 2
"""
"""Say the first two messages again in turns, until there are so many."""


@pytest.fixture
def store() -> HistoryStore:
    return SqlHistory(RamDatabase())


async def talk(conversation: Conversation, cycles: int, tokens: int = 10) -> None:
    for cycle in range(1, cycles + 1):
        for role, letter in ((MessageRole.USER, "u"), (MessageRole.ASSISTANT, "a")):
            text = f"{letter}{cycle}"
            await conversation.add(Message(role, text, turn=f"t{cycle}", tokens=tokens))


async def shown(conversation: Conversation, turn: str = "") -> list[str]:
    return [message.text for message in (await conversation.context(turn)).messages]


@pytest.mark.spec("L1", "L2")
@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (HistoryLimits(LAST_MESSAGES, max_messages=3), ["a9", "u10", "a10"]),
        (HistoryLimits(LAST_TOKENS, max_tokens=35), ["a9", "u10", "a10"]),
        (HistoryLimits(LAST_TOKENS, max_tokens=1000), [f"{x}{n}" for n in range(1, 11) for x in "ua"]),
        (HistoryLimits(SUMMARY), ["u9", "a9", "u10", "a10"]),
    ],
)
async def test_each_policy_shows_its_part_and_the_history_stays_whole(
    store: HistoryStore, clock: FakeClock, limits: HistoryLimits, expected: list[str]
) -> None:
    conversation = await Conversations(store, clock, limits).open(ROOM)
    await talk(conversation, 10)
    await store.fold(conversation.thread.id, Summary("Edmar", through=16, tokens=7))
    context = await conversation.context("")
    assert [message.text for message in context.messages] == expected
    assert context.summary == ("Edmar" if limits.policy == SUMMARY else "")
    assert [m.text for m in await store.since(conversation.thread.id, 0, 99)] == [
        f"{letter}{cycle}" for cycle in range(1, 11) for letter in "ua"
    ]


@pytest.mark.spec("L2", "H3")
@pytest.mark.parametrize("steady", [False, True])
@pytest.mark.parametrize("name", [LAST_MESSAGES, LAST_TOKENS])
async def test_a_set_number_is_shown_exactly_at_every_length_unless_prompts_are_to_begin_alike(
    store: HistoryStore, clock: FakeClock, name: str, *, steady: bool
) -> None:
    limits = HistoryLimits(name, max_messages=20, max_tokens=1_000, steady=steady)
    conversation = await Conversations(store, clock, limits).open(ROOM)
    counts = []
    for cycle in range(1, 31):
        await talk(conversation, 1, tokens=50)
        counts.append((len(await shown(conversation)), min(cycle * 2, 20)))
    assert all(found == most for found, most in counts) is not steady
    assert all(most * 0.6 <= found <= most for found, most in counts)


@pytest.mark.spec("L2")
@pytest.mark.parametrize("name", POLICIES)
async def test_a_chat_can_have_a_policy_of_its_own(store: HistoryStore, clock: FakeClock, name: str) -> None:
    conversations = Conversations(store, clock, HistoryLimits(LAST_MESSAGES, max_messages=2, max_tokens=30))
    thread = (await conversations.open(ROOM)).thread
    assert await conversations.set_policy(ANA, thread.id, name) is not None
    conversation = await conversations.open(ROOM)
    await talk(conversation, 5)
    assert len(await shown(conversation)) == {LAST_MESSAGES: 2, LAST_TOKENS: 3, SUMMARY: 10}[name]
    with pytest.raises(ValueError, match="last-tokens"):
        await conversations.set_policy(ANA, thread.id, "all")
    assert await conversations.set_policy(ANA, thread.id, "") is not None
    assert len(await shown(await conversations.open(ROOM))) == 2


@pytest.mark.spec("H3")
async def test_the_persons_last_message_is_shown_however_much_came_after_it(
    store: HistoryStore, clock: FakeClock
) -> None:
    conversation = await Conversations(store, clock, HistoryLimits(LAST_MESSAGES, max_messages=2)).open(ROOM)
    await conversation.add(Message(MessageRole.USER, "question", turn="t1"))
    for number in range(150):
        await conversation.add(Message(MessageRole.ASSISTANT, f"note {number}", turn="t2"))
    assert await shown(conversation) == ["question", "note 148", "note 149"]


async def test_what_this_turn_said_is_not_cut_by_the_policy(store: HistoryStore, clock: FakeClock) -> None:
    conversation = await Conversations(store, clock, HistoryLimits(LAST_MESSAGES, max_messages=2)).open(ROOM)
    await talk(conversation, 3)
    await conversation.add(Message(MessageRole.USER, "u4", turn="t4"))
    for number in range(5):
        await conversation.add(Message(MessageRole.SYSTEM, {"id": f"m{number}"}, Modal.MEMORY, turn="t4"))
    assert len(await shown(conversation, "t4")) == 6


@pytest.mark.spec("H2", "H3", "H4")
async def test_a_context_leaves_room_for_system_prompt_summary_and_answer(
    store: HistoryStore, clock: FakeClock
) -> None:
    limits = HistoryLimits(SUMMARY, max_context_tokens=100, answer_tokens=20)
    calibration = Calibration()
    conversations = Conversations(
        store, clock, limits, system="s" * 30, calibration=calibration, model_of=lambda _: "a:1"
    )
    conversation = await conversations.open(ROOM)
    await talk(conversation, 10)
    await store.fold(conversation.thread.id, Summary("Edmar", through=4, tokens=12))
    await conversation.add(Message(MessageRole.SYSTEM, "m", Modal.MEMORY, tokens=12))
    budget = (await conversation.context("")).budget
    assert (budget.system, budget.summary, budget.answer) == (10, 12, 20)
    assert (budget.window, budget.memories, budget.remaining) == (40, 12, 6)
    calibration.observe("a:1", counted=100, reported=400)  # four for each of ours: a quarter as many fit
    with pytest.raises(InputTooLong):
        await conversation.context("")


@pytest.mark.spec("H6")
@pytest.mark.parametrize("name", [SUMMARY, *map(long, (LAST_MESSAGES, LAST_TOKENS))])
async def test_a_context_reads_as_little_of_100_000_messages_as_of_a_thousand(clock: FakeClock, name: str) -> None:
    read = []
    for size in (1_000, 100_000):
        database = RamDatabase()
        store = CountingHistory(database)
        thread = await store.open_thread(ROOM, clock.now())
        for role in (MessageRole.USER, MessageRole.ASSISTANT):
            await store.append(thread.id, Message(role, "oi", tokens=20))
        await database.change(MANY, (size,))
        await store.fold(thread.id, Summary("Edmar", through=size - 4))
        conversation = await Conversations(store, clock, HistoryLimits(name)).open(ROOM)
        least, most = {SUMMARY: (4, 4), LAST_MESSAGES: (24, 40), LAST_TOKENS: (240, 400)}[name]
        assert least <= len(await shown(conversation)) <= most
        read.append(store.read)
    assert read[0] == read[1] < 1_000


class CountingHistory(SqlHistory):
    """Counts the messages that were read."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.read = 0

    async def tail(self, thread_id: str, limit: int, *, before: int = 0) -> Sequence[Message]:
        page = await super().tail(thread_id, limit, before=before)
        self.read += len(page)
        return page


# One turn.


@pytest.fixture
def conversations(store: HistoryStore, clock: FakeClock) -> Conversations:
    return Conversations(store, clock)


def said(role: MessageRole, text: str, turn: str, *, in_history: bool = True) -> Message:
    return Message(role, text, in_history=in_history, turn=turn)


async def test_what_is_added_gets_an_id_and_the_time_unless_it_has_one(
    conversations: Conversations, clock: FakeClock
) -> None:
    conversation = await conversations.open(ROOM)
    await clock.advance(5)
    stored = await conversation.add(said(MessageRole.USER, "oi", "t1"))
    assert (stored.id, stored.at) == (1, clock.now())
    assert (await conversation.add(replace(stored, at=START))).at == START


@pytest.mark.spec("T3", "T7", "L1")
async def test_a_turn_reads_its_own_marked_messages_and_all_that_was_said_before(conversations: Conversations) -> None:
    conversation = await conversations.open(ROOM)
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


@pytest.mark.spec("T11", "T12")
async def test_it_knows_the_memories_it_has_shown(conversations: Conversations) -> None:
    conversation = await conversations.open(ROOM)
    await conversation.add(Message(MessageRole.SYSTEM, {}, Modal.MEMORY, memory_id="m1"))
    assert await conversation.store.shown_memories(conversation.thread.id) == {"m1"}
