"""What every store of what waits promises, and what is built on that of confirmations."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.actions.proposal import Deletion, Keeping, Replacement, Rewrite, Rewrites
from core.answering.confirmations import Confirmations, newest
from core.features.transfer.entries import Taken
from core.features.transfer.intake import Intake
from core.storage.database import Database
from core.storage.inbox import SqlConfirmations, SqlInbox, SqlPendingInputs
from core.threads import Confirmation, ConfirmationStore, PendingInput
from core.types import ChatKey, ConversationKey, Incoming, MemoryDraft, MemoryKind, UserKey
from tests.fakes.clock import FakeClock

ANA, BIA = UserKey("telegram", "1"), UserKey("telegram", "2")
HERE = ConversationKey(ChatKey("telegram", "room", "topic"), ANA)
ELSEWHERE = [
    ConversationKey(ChatKey("telegram", "room", "topic"), BIA),
    ConversationKey(ChatKey("telegram", "room", ""), ANA),
    ConversationKey(ChatKey("telegram", "other", "topic"), ANA),
    ConversationKey(ChatKey("discord", "room", "topic"), UserKey("discord", "1")),
]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ASKED = Confirmation("ABCD", "Deletion", '{"memory_ids":["x"]}', NOON)
COMMAND = PendingInput("/memories edit x", NOON)
DRAFT = MemoryDraft(MemoryKind.JSON, '{"a": "é"}', ("a", "b"))


def said_in(here: ConversationKey, message_id: str = "press") -> Incoming:
    return Incoming(here.chat, here.user, "Ana", message_id, "/confirm", NOON, pressed=True)


@pytest.fixture
def store(database: Database) -> ConfirmationStore:
    return SqlConfirmations(database)


@pytest.fixture(params=[(SqlConfirmations, ASKED), (SqlPendingInputs, COMMAND)], ids=["question", "command"])
def either(database: Database, request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """Return a store of what waits, and something that waits."""
    kind, waiting = request.param
    return kind(database), waiting


async def test_it_waits_in_that_conversation_only_and_is_taken_once(either: tuple[Any, Any]) -> None:
    store, waiting = either
    await store.put(HERE, waiting)
    for elsewhere in ELSEWHERE:
        assert await store.find(elsewhere) is None
        assert await store.take(elsewhere) is None
    assert await store.find(HERE) == waiting
    taken = await asyncio.gather(*(store.take(HERE) for _ in range(5)))
    assert [each for each in taken if each] == [waiting]
    assert await store.find(HERE) is None


async def test_a_message_that_is_owed_an_answer_takes_it_as_often_as_it_is_begun(
    store: ConfirmationStore, database: Database
) -> None:
    """And nobody else; also what was no answer, or too old, stays so. What waits by then is left for others."""
    inbox = SqlInbox(database)
    for message_id in ("press", "other", "late"):
        await inbox.accept(said_in(HERE, message_id))
    await store.put(HERE, ASKED)
    taken = [await store.take(HERE, message_id) for message_id in ("press", "other", "press")]
    assert taken == [ASKED, None, ASKED]
    await store.put(HERE, newer := replace(ASKED, code="WXYZ"))
    await store.expire(NOON - timedelta(hours=1))
    assert await store.take(HERE, "press", NOON + timedelta(hours=1)) == ASKED, "it was in time"
    assert (await store.take(HERE, "other"), await store.find(HERE)) == (None, newer)
    assert await store.take(HERE, "late", NOON + timedelta(hours=1)) is None
    assert await store.find(HERE) is None
    assert (await store.taken(HERE, "press"), await store.taken(HERE, "late")) == (ASKED, None)
    assert await store.taken(ELSEWHERE[2], "press") is None
    await inbox.close(said_in(HERE, "press"))
    assert await store.taken(HERE, "press") is None
    noted = await database.rows("SELECT message_id FROM inbox WHERE done IS NOT NULL ORDER BY id")
    assert noted == [("other",), ("late",)]


async def test_the_last_that_was_asked_waits(either: tuple[Any, Any]) -> None:
    store, waiting = either
    await store.put(HERE, waiting)
    await store.put(HERE, later := replace(waiting, at=NOON + timedelta(microseconds=1)))
    assert await store.take(HERE) == later
    assert await store.take(HERE) is None


async def test_what_is_old_is_removed_everywhere(either: tuple[Any, Any]) -> None:
    store, waiting = either
    await store.put(HERE, waiting)
    await store.put(ELSEWHERE[0], replace(waiting, at=NOON + timedelta(hours=1)))
    await store.expire(NOON + timedelta(minutes=30))
    assert await store.find(HERE) is None
    assert await store.find(ELSEWHERE[0]) is not None


async def test_for_a_person_who_is_forgotten_nothing_waits_anywhere(either: tuple[Any, Any]) -> None:
    store, waiting = either
    for conversation in (HERE, *ELSEWHERE):
        await store.put(conversation, waiting)
    await store.forget(ANA)
    assert await store.find(HERE) is None
    assert await store.find(ELSEWHERE[2]) is None
    assert await store.find(ELSEWHERE[0]) is not None


async def test_any_number_of_people_are_asked_at_once(store: ConfirmationStore) -> None:
    confirmations = Confirmations(store, FakeClock())
    asked = [ConversationKey(ChatKey("telegram", str(n)), UserKey("telegram", str(n))) for n in range(200)]
    codes = [await confirmations.ask(here, Deletion((str(n),))) for n, here in enumerate(asked)]
    for number, (here, code) in enumerate(zip(asked, codes, strict=True)):
        assert await confirmations.take(said_in(here), code.lower(), Deletion) == Deletion((str(number),))


@pytest.mark.parametrize(
    "wanted",
    [
        Deletion(("a", "b")),
        Rewrites((Rewrite("a", DRAFT), Rewrite("b", DRAFT))),
        Keeping((DRAFT, DRAFT), 7),
        Replacement((Rewrite("a", DRAFT),), "b", 7),
        Intake((Taken(DRAFT, pinned=True, rooms=("telegram:1",)), Taken(DRAFT)), refused=3),
    ],
    ids=lambda wanted: type(wanted).__name__,
)
async def test_what_was_asked_comes_back_as_it_was_after_a_restart(store: ConfirmationStore, wanted: object) -> None:
    clock = FakeClock()
    code = await Confirmations(store, clock).ask(HERE, wanted)
    assert await Confirmations(store, clock).take(said_in(HERE), code, type(wanted)) == wanted


@pytest.mark.parametrize("said", ["", "WRONG", "-"])
async def test_a_wrong_code_uses_it_up(store: ConfirmationStore, said: str) -> None:
    confirmations = Confirmations(store, FakeClock())
    code = await confirmations.ask(HERE, Deletion(()))
    assert await confirmations.take(said_in(HERE), said, Deletion) is None
    assert await confirmations.take(said_in(HERE, "later"), code, Deletion) is None


async def test_it_is_good_for_ten_minutes(store: ConfirmationStore) -> None:
    clock = FakeClock()
    confirmations = Confirmations(store, clock)
    code = await confirmations.ask(HERE, Deletion(()))
    await clock.advance(601)
    assert newest(await confirmations.all_open(HERE, confirmations.arrived(clock.now())), Deletion) is None
    assert await confirmations.take(said_in(HERE, "later"), code, Deletion) is None
