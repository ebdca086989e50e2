"""What comes out goes back in and is equal."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.features.transfer.thread_lines import from_lines, record_of, to_lines
from core.threads import Summary, ThreadRecord, Transition, TurnState
from core.types import (
    ChatKey,
    ConversationKey,
    Message,
    MessageRole,
    Modal,
    OpenQuestion,
    Thread,
    ThreadStatus,
    UserKey,
)
from tests.fakes.clock import START
from tests.reference.history import InMemoryHistory

ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "bia")
ROOM = ConversationKey(ChatKey("telegram", "c", "topic"), ANA)

texts = st.text(st.characters(), max_size=8)
times = st.datetimes(min_value=datetime(1990, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the zone
contents = st.one_of(texts, st.dictionaries(texts, st.one_of(texts, st.integers(), st.none()), max_size=2))
messages = st.builds(
    Message,
    role=st.sampled_from(MessageRole),
    content=contents,
    modal=st.sampled_from(Modal),
    in_history=st.booleans(),
    at=st.none() | times,
    turn=texts,
    source_id=texts,
    memory_id=texts,
    tokens=st.integers(0, 99),
    duration_s=st.none() | st.floats(0, 99),
    error=texts,
    pair=texts,
    question=st.none() | st.builds(OpenQuestion, texts, st.tuples(texts), texts),
)
summaries = st.builds(Summary, texts, st.integers(1, 9), st.integers(0, 9), st.integers(0, 9), st.none() | times, texts)
transitions = st.builds(Transition, texts, st.sampled_from(TurnState), times, texts)
threads = st.builds(
    Thread,
    id=st.just("abc"),
    conversation=st.just(ROOM),
    created_at=times,
    updated_at=times,
    status=st.sampled_from(ThreadStatus),
    title=texts,
    policy=texts,
    metadata=st.dictionaries(texts, contents, max_size=2),
)


@given(threads, st.lists(messages, max_size=3), st.lists(summaries, max_size=2), st.lists(transitions, max_size=2))
def test_a_thread_is_equal_after_it_went_out_and_in(
    thread: Thread, said: list[Message], made: list[Summary], entered: list[Transition]
) -> None:
    numbered = tuple(replace(message, sequence=at) for at, message in enumerate(said, 1))
    record = ThreadRecord(thread, numbered, tuple(made), tuple(entered))
    lines = list(to_lines(record))
    assert all("\n" not in line for line in lines)
    assert from_lines(lines) == record


@pytest.mark.spec("T1")
async def test_every_message_of_a_long_thread_is_a_line_with_the_four_keys_of_a_message() -> None:
    store = InMemoryHistory()
    thread = await store.open_thread(ROOM, START)
    for number in range(1100):
        await store.append(thread.id, Message(MessageRole.USER, f"m{number}", at=START))
    record = await record_of(store, thread)
    lines = [json.loads(line) for line in to_lines(record)]
    assert [next(iter(line)) for line in lines] == ["thread"] + ["message"] * 1100
    assert list(lines[1]["message"])[:4] == ["chat-history", "modal", "role", "content"]
    await store.forget(ANA)
    restored = await store.restore(from_lines([*to_lines(record), "", " \n"]))
    assert await record_of(store, restored) == record


async def test_who_imports_a_thread_owns_it() -> None:
    store = InMemoryHistory()
    thread = await store.open_thread(ROOM, START)
    record = from_lines(to_lines(await record_of(store, thread)), owner=BIA)
    assert record.thread.conversation == ConversationKey(ChatKey("discord", "c", "topic"), BIA)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: [*lines, "no json"], 3),
        (lambda lines: [*lines, "[]"], 3),
        (lambda lines: [*lines, '{"message": {}, "more": {}}'], 3),
        (lambda lines: [*lines, '{"message": {"role": "user"}}'], 3),
        (lambda lines: [*lines, lines[0]], 3),
        (lambda lines: lines[1:], 1),
        (lambda lines: [lines[0].replace("active", "asleep")], 1),
    ],
)
async def test_a_line_that_is_none_of_ours_is_named_by_its_number(change: object, line: int) -> None:
    thread = Thread("abc", ROOM, START, START)
    lines = list(to_lines(ThreadRecord(thread, (Message(MessageRole.USER, "secret", sequence=1),))))
    assert callable(change)
    with pytest.raises(InputError, match=f"line {line} ") as caught:
        from_lines(change(lines))
    assert "secret" not in str(caught.value)


def test_an_empty_file_is_no_thread() -> None:
    with pytest.raises(InputError, match="no thread"):
        from_lines(["", "  "])
