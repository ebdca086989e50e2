"""What every store of broadcasts promises: one runs, nobody is told twice unknown, and no word of it stays."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from core.features.broadcast.storage import DRAFT_KEPT, Broadcasts, BroadcastState, Receipt, ReceiptCount
from core.storage.database import Database
from core.storage.sqlite import open_database
from core.types import Locale, UserKey
from tests.fakes.clock import START

ANA, BIA, CARO = UserKey("telegram", "1"), UserKey("discord", "2:b"), UserKey("telegram", "3")
TEXT = "Amanhã o bot pára por uma hora \ud800."
KEPT = TEXT.replace("\ud800", "\ufffd")
BOTH = ("telegram", "discord")


@pytest.fixture
def store(database: Database) -> Broadcasts:
    return Broadcasts(database)


async def begun(store: Broadcasts, *users: UserKey) -> int:
    drafted = await store.draft(ANA, Locale.PT, TEXT, START)
    assert await store.begin(drafted.id, users)
    return drafted.id


async def test_a_draft_is_kept_and_is_not_the_newest_that_runs(store: Broadcasts) -> None:
    drafted = await store.draft(ANA, Locale.ES, "Hola", START)
    assert (drafted.by, drafted.locale, drafted.text, drafted.at) == (ANA, Locale.ES, "Hola", START)
    assert await store.newest() is None
    assert not await store.begin(drafted.id + 1, [ANA])
    assert await store.begin(drafted.id, [ANA])
    assert await store.newest() == replace(drafted, state=BroadcastState.RUNNING)


async def test_a_person_has_one_draft_and_yesterdays_go(store: Broadcasts) -> None:
    first = await store.draft(ANA, Locale.PT, "a", START)
    second, older = [await store.draft(user, Locale.PT, "b", START) for user in (BIA, CARO)]
    third = await store.draft(ANA, Locale.PT, "c", START + DRAFT_KEPT)
    assert not await store.discard(first.id)
    assert await store.discard(second.id)
    await store.draft(ANA, Locale.PT, "d", START + DRAFT_KEPT + timedelta(seconds=1))
    assert not await store.discard(older.id)
    assert not await store.discard(third.id)


async def test_a_draft_is_discarded_once(store: Broadcasts) -> None:
    drafted = await store.draft(ANA, Locale.PT, TEXT, START)
    assert await store.discard(drafted.id)
    assert not await store.discard(drafted.id)
    assert not await store.begin(drafted.id, [ANA])
    number = await begun(store, ANA)
    assert not await store.discard(number)


async def test_one_broadcast_runs_at_a_time_and_each_begins_once(store: Broadcasts) -> None:
    number = await begun(store, ANA, BIA)
    assert not await store.begin(number, [ANA])
    other = await store.draft(BIA, Locale.EN, "Later", START)
    assert not await store.begin(other.id, [ANA])
    assert await store.end(number, BroadcastState.CANCELLED)
    assert await store.begin(other.id, [CARO])
    newest = await store.newest()
    assert newest == replace(other, state=BroadcastState.RUNNING)
    assert await store.tally(other.id) == ReceiptCount(waiting=1)


async def test_each_is_taken_once_and_only_where_there_is_a_way_to_them(store: Broadcasts) -> None:
    number = await begun(store, ANA, BIA, CARO, ANA)
    assert await store.take(number, ()) is None
    assert await store.take(number, ("discord",)) == (BIA, False)
    await store.mark(number, BIA, Receipt.UNREACHABLE)
    assert await store.take(number, ("discord",)) is None
    first = await store.take(number, BOTH)
    assert first == (ANA, False)
    await store.mark(number, ANA, Receipt.TOLD)
    assert await store.take(number, BOTH) == (CARO, False)
    assert await store.tally(number) == ReceiptCount(told=1, unreachable=1, waiting=1)
    await store.mark(number, CARO, Receipt.TOLD)
    assert await store.take(number, BOTH) is None
    assert await store.tally(number) == ReceiptCount(told=2, unreachable=1)


async def test_who_was_being_told_when_it_stopped_comes_first_and_is_known(store: Broadcasts) -> None:
    number = await begun(store, ANA, CARO)
    assert await store.take(number, BOTH) == (ANA, False)
    assert await store.take(number, BOTH) == (ANA, True)
    await store.mark(number, ANA, Receipt.TOLD)
    assert await store.take(number, BOTH) == (CARO, False)


async def test_who_is_dropped_is_no_recipient(store: Broadcasts) -> None:
    number = await begun(store, ANA, CARO)
    await store.mark(number, ANA, None)
    await store.mark(number, BIA, None)
    await store.mark(number, BIA, Receipt.TOLD)
    assert await store.tally(number) == ReceiptCount(waiting=1)


@pytest.mark.parametrize("state", [BroadcastState.DONE, BroadcastState.CANCELLED])
async def test_of_one_that_is_over_no_word_is_kept(store: Broadcasts, state: BroadcastState) -> None:
    number = await begun(store, ANA)
    running = await store.newest()
    assert running is not None
    assert running.text in {TEXT, KEPT}
    assert await store.end(number, state)
    assert not await store.end(number, state)
    over = await store.newest()
    assert over == replace(running, text="", state=state)
    assert not await store.end((await store.draft(ANA, Locale.PT, "x", START)).id, state)


async def test_of_who_is_forgotten_nothing_is_kept(store: Broadcasts) -> None:
    number = await begun(store, ANA, CARO)
    drafted = await store.draft(ANA, Locale.PT, "later", START)
    kept = await store.draft(CARO, Locale.PT, "mine", START)
    await store.forget(ANA)
    newest = await store.newest()
    assert newest is not None
    assert newest.by is None
    assert await store.tally(number) == ReceiptCount(waiting=1)
    assert not await store.discard(drafted.id)
    assert await store.discard(kept.id)


async def test_the_text_is_in_no_file_once_it_is_over(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    store = Broadcasts(database)
    number = await begun(store, *(UserKey("telegram", str(each)) for each in range(200)))
    assert b"Amanh" in bytes_of(tmp_path)
    await store.end(number, BroadcastState.DONE)
    assert b"Amanh" not in bytes_of(tmp_path)
    await database.close()


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())
