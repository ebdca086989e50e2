"""What every store of reminders promises: each is claimed by one, none is lost, and of a deleted one nothing stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path

import pytest

from core.features.reminders.reminders import (
    LEASE,
    OPEN,
    REST,
    Before,
    DueClaim,
    Kind,
    Mention,
    Reminder,
    ReminderState,
    Schedule,
)
from core.features.reminders.storage import ReminderStore
from core.storage.database import Database
from core.storage.sqlite import open_database
from core.types import ChatKey, Locale, UserKey
from tests.contracts.conftest import STATEMENTS
from tests.fakes.clock import START

ANA, BIA, CARO = UserKey("telegram", "1"), UserKey("discord", "2:b"), UserKey("telegram", "3")
SCHEDULE = Schedule(datetime(2026, 3, 14, 12, 0), "America/Sao_Paulo", "FREQ=DAILY", guessed=True)  # noqa: DTZ001 - wall
SINGLE = Schedule(SCHEDULE.wall, "UTC")
BOTH = ("telegram", "discord")
ALL = frozenset(ReminderState)
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


@pytest.fixture
def stores(database: Database) -> Callable[[], ReminderStore]:
    """Make stores over the same reminders, as several workers have them."""
    return lambda: ReminderStore(database)


@pytest.fixture
def store(stores: Callable[[], ReminderStore]) -> ReminderStore:
    return stores()


def new(user: UserKey = ANA, text: str = "pay rent", due: datetime | None = START, chat: str = "") -> Reminder:
    return Reminder(user, ChatKey(user.platform, chat or user.user), text, SINGLE, due, created_at=START)


async def added(store: ReminderStore, *reminders: Reminder) -> list[Reminder]:
    found = [await store.add(each, most=1_000) for each in reminders]
    return [each for each in found if each is not None]


def texts(reminders: Sequence[Reminder]) -> list[str]:
    return [each.text for each in reminders]


async def test_a_reminder_is_kept_with_all_that_it_is(store: ReminderStore) -> None:
    whole = Reminder(
        BIA,
        ChatKey("discord", "room", "topic"),
        "água 🐘\nde novo",
        SCHEDULE,
        START + timedelta(microseconds=7),
        created_at=START - HOUR,
        private=False,
        name="Bia 'B'",
        kind=Kind.BRIEFING,
        locale=Locale.ES,
        state=ReminderState.PAUSED,
        tries=2,
        failures=3,
        sent_at=START - MINUTE,
        batch="abc",
        changed_at=START - SECOND,
        before=Before("café", SCHEDULE, START, ReminderState.WAITING),
        mention=Mention("João 🐘", each=True),
    )
    stored = await store.add(whole, most=1)
    assert stored is not None
    assert stored.id
    assert stored == replace(whole, id=stored.id)
    assert await store.find([ANA, BIA], stored.id) == stored
    assert await store.find([ANA], stored.id) is None
    assert await store.find([], stored.id) is None
    bare = replace(stored, due=None, sent_at=None, changed_at=None, before=replace(whole.before, due=None))  # type: ignore[type-var]
    assert await store.replace(stored, bare)
    assert await store.find([BIA], stored.id) == bare


def waiting(user: UserKey = ANA, text: str = "the bill", *, each: bool = False) -> Reminder:
    """Return one that waits for a mention of the dentist, for an hour."""
    return replace(new(user, text, START + HOUR), kind=Kind.MENTION, mention=Mention("dentist", each=each))


async def test_a_mention_is_said_once_by_the_act_that_has_it_however_often_that_begins(store: ReminderStore) -> None:
    once, each, others = await added(store, waiting(), waiting(text="gloves", each=True), waiting(BIA))
    ids = [once.id, each.id, others.id]
    first = await store.mention([ANA], ids, "act", START)
    assert sorted(texts(first)) == ["gloves", "the bill"]
    assert {found.state for found in first} == {ReminderState.DONE, ReminderState.WAITING}
    assert all((found.batch, found.sent_at) == ("act", START) for found in first)
    assert sorted(texts(await store.mention([ANA], ids, "act", START + MINUTE))) == ["gloves", "the bill"]
    assert await store.mention([ANA], ids, "other act", START + MINUTE) == []
    assert await store.mention([ANA], ids, "", START) == []
    assert texts(await store.mention([BIA], [others.id], "act", START)) == ["the bill"]


async def test_what_is_held_over_or_not_rested_is_said_at_no_mention(store: ReminderStore) -> None:
    states = (
        ReminderState.PAUSED,
        ReminderState.SENDING,
        ReminderState.REMOVED,
        ReminderState.DONE,
        ReminderState.FAILED,
    )
    held = await added(store, *(replace(waiting(), state=state) for state in states))
    [each, over, timed] = await added(
        store,
        replace(waiting(each=True), due=START + 9 * REST, sent_at=START),
        replace(waiting(), due=START),
        new(),
    )
    ids = [found.id for found in (*held, each, over, timed)]
    assert await store.mention([ANA], ids, "one", START + REST - SECOND) == []
    assert [found.id for found in await store.mention([ANA], ids, "two", START + REST)] == [each.id]


async def test_of_workers_that_hear_a_mention_at_once_one_says_it(stores: Callable[[], ReminderStore]) -> None:
    [made] = await added(stores(), waiting())
    acts = [stores().mention([ANA], [made.id], f"act {number}", START) for number in range(5)]
    assert sorted(map(len, await asyncio.gather(*acts))) == [0, 0, 0, 0, 1]


async def test_what_waits_for_a_mention_is_claimed_at_its_end_unless_it_was_said(store: ReminderStore) -> None:
    said, unsaid = await added(store, waiting(text="said"), waiting(text="unsaid"))
    await store.mention([ANA], [said.id], "act", START)
    assert await store.next_due(BOTH) == START + HOUR
    assert texts(await store.claim(DueClaim(START + HOUR, BOTH))) == ["unsaid"]
    assert await store.mention([ANA], [unsaid.id], "later", START) == []


async def test_what_is_no_text_does_not_keep_a_reminder_from_being_stored(store: ReminderStore) -> None:
    [stored] = await added(store, replace(new(text="rent \ud800"), name="\ud800"))
    assert await store.find([ANA], stored.id) == stored
    assert stored.text in ("rent \ud800", "rent \N{REPLACEMENT CHARACTER}")


async def test_an_account_has_so_many_open_ones_and_no_more(store: ReminderStore) -> None:
    first, _ = await store.add(new(), most=2), await store.add(new(), most=2)
    assert first is not None
    assert await store.add(new(), most=2) is None
    assert await store.add(new(BIA), most=2) is not None
    for state in (ReminderState.PAUSED, ReminderState.DONE, ReminderState.REMOVED, ReminderState.FAILED):
        assert await store.replace(first, first := replace(first, state=state))
        assert (await store.add(new(), most=2) is None) == (state in OPEN)
        await store.forget(ANA)
        [first, _] = await added(store, new(), new())


async def test_a_persons_are_found_on_all_accounts_the_next_due_first(store: ReminderStore) -> None:
    later, soon, never, other, done = await added(
        store,
        new(text="later", due=START + HOUR),
        new(BIA, text="soon"),
        new(text="never", due=None),
        new(CARO, text="other"),
        replace(new(text="done", due=None), state=ReminderState.DONE),
    )
    assert await store.of([ANA, BIA]) == [soon, later, never]
    assert await store.of([ANA, BIA], {ReminderState.DONE}) == [done]
    assert await store.of([CARO], ALL) == [other]
    assert await store.of([]) == []
    assert (await store.whose(soon.id), await store.whose("none")) == ((BIA, soon.name), None)


async def test_what_was_changed_meanwhile_is_not_written_over(store: ReminderStore) -> None:
    [old] = await added(store, new())
    mine, yours = replace(old, text="mine"), replace(old, text="yours")
    assert await store.replace(old, mine)
    assert not await store.replace(old, yours)
    assert await store.find([ANA], old.id) == mine
    assert not await store.replace(replace(old, id="nobody"), yours)


async def test_the_newest_change_of_a_person_is_found_until_it_was_taken_back(store: ReminderStore) -> None:
    first, second, other = await added(
        store,
        replace(new(text="first"), changed_at=START),
        replace(new(BIA, text="second"), changed_at=START + SECOND, state=ReminderState.REMOVED),
        replace(new(CARO), changed_at=START + HOUR),
    )
    assert await store.newest_change([ANA, BIA]) == second
    await store.replace(second, replace(second, changed_at=None))
    assert await store.newest_change([ANA, BIA]) == first
    assert await store.newest_change([CARO]) == other
    assert await store.newest_change([BIA]) is None


async def test_the_next_due_is_that_of_what_can_be_claimed_there(store: ReminderStore) -> None:
    assert await store.next_due(BOTH) is None
    there, _, later, _, _ = await added(
        store,
        new(BIA, due=START + MINUTE),
        replace(new(), state=ReminderState.PAUSED),
        new(due=START + HOUR),
        new(due=None),
        replace(new(), state=ReminderState.FAILED),
    )
    assert await store.next_due(BOTH) == there.due
    assert await store.next_due(["telegram"]) == later.due
    assert await store.next_due(["terminal"]) is None
    assert await store.next_due([]) is None
    assert await store.next_due(BOTH, ["2:b"]) == later.due
    assert await store.next_due(BOTH, ["2:b", "1"]) is None


async def test_what_is_due_is_claimed_in_order_and_nothing_else(store: ReminderStore) -> None:
    await added(
        store,
        new(CARO, "second", START - SECOND),
        new(BIA, "elsewhere", START - HOUR),
        new(ANA, "first", START - MINUTE),
        new(UserKey("telegram", "4"), "now", START),
        new(UserKey("telegram", "5"), "not yet", START + timedelta(microseconds=1)),
        replace(new(UserKey("telegram", "6")), state=ReminderState.PAUSED),
    )
    assert await store.claim(DueClaim(START, ())) == []
    claimed = await store.claim(DueClaim(START, ["telegram"], ["4"]))
    assert texts(claimed) == ["first", "second"]
    assert {(each.state, each.tries) for each in claimed} == {(ReminderState.SENDING, 1)}
    assert await store.find([ANA], claimed[0].id) == claimed[0]
    assert texts(await store.claim(DueClaim(START, ["telegram"]))) == ["now"]
    assert texts(await store.claim(DueClaim(START, BOTH))) == ["elsewhere"]
    assert await store.claim(DueClaim(START, BOTH)) == []


async def test_of_those_due_at_once_the_one_that_was_set_first_comes_first(store: ReminderStore) -> None:
    set_later = [replace(new(text=str(number)), created_at=START + number * SECOND) for number in range(9)]
    await added(store, *reversed(set_later))
    in_order = [str(number) for number in range(9)]
    assert texts(await store.of([ANA])) == in_order
    assert texts(await store.claim(DueClaim(START, ["telegram"]))) == in_order


async def test_those_of_one_person_in_one_chat_are_claimed_together(store: ReminderStore) -> None:
    room = replace(new(CARO, "room's", START - SECOND, "room"), private=False)
    await added(
        store,
        new(text="first", due=START - HOUR),
        new(BIA, text="other", due=START - MINUTE),
        room,
        replace(room, user=ANA),
        new(text="last"),
        new(text="not due", due=START + SECOND),
        replace(new(text="day"), kind=Kind.BRIEFING),
        replace(new(text="refused"), failures=2),
    )
    claimed = await store.claim(DueClaim(START, BOTH, limit=1))
    assert texts(claimed)[0] == "first"
    assert sorted(texts(claimed)) == ["day", "first", "last", "refused"]
    batch = claimed[0].batch
    assert batch
    assert [each.text for each in await store.in_batch([ANA, BIA], batch)] == ["first", "last"]
    assert len({each.batch for each in claimed}) == 3
    assert await store.in_batch([BIA], batch) == []
    rest = await store.claim(DueClaim(START, BOTH, limit=3))
    assert texts(rest) == ["other", "room's", "room's"]
    assert len({each.batch for each in (*rest, *claimed)}) == 6
    assert not list(await store.in_batch([ANA], ""))


async def test_of_many_who_claim_at_once_each_reminder_goes_to_one(stores: Callable[[], ReminderStore]) -> None:
    people = [UserKey("telegram", str(number)) for number in range(40)]
    await added(stores(), *(new(user, f"{user.user}.{each}") for user in people for each in range(2)))

    async def work(store: ReminderStore) -> list[str]:
        mine: list[str] = []
        while claimed := await store.claim(DueClaim(START, ["telegram"], limit=3)):
            await asyncio.sleep(0)
            mine += texts(claimed)
            await store.settle([(each, replace(each, state=ReminderState.DONE, due=None)) for each in claimed])
        return mine

    taken = await asyncio.gather(*(work(stores()) for _ in range(5)))
    assert all(taken)
    assert sorted(chain(*taken)) == sorted(f"{user.user}.{each}" for user in people for each in range(2))


async def test_a_claim_holds_for_its_lease_and_longer_if_it_is_renewed(store: ReminderStore) -> None:
    await added(store, new(), new(BIA))
    mine = await store.claim(DueClaim(START, BOTH))
    assert await store.next_due(BOTH) == START + LEASE
    assert await store.claim(DueClaim(START + LEASE - SECOND, BOTH)) == []
    await store.renew([each for each in mine if each.user == ANA], START + MINUTE)
    [again] = await store.claim(DueClaim(START + LEASE, BOTH))
    assert (again.user, again.tries) == (BIA, 2)
    await store.renew(mine, START + HOUR)
    assert await store.next_due(["discord"]) == START + LEASE + LEASE, "it is somebody else's now"
    assert await store.next_due(["telegram"]) == START + HOUR + LEASE


async def test_after_a_crash_what_was_claimed_can_be_claimed_at_once(store: ReminderStore) -> None:
    await added(store, new(), new(BIA), new(CARO, due=START + HOUR))
    await store.claim(DueClaim(START, BOTH))
    await store.release(["telegram"])
    [again] = await store.claim(DueClaim(START, BOTH))
    assert (again.user, again.tries) == (ANA, 2)
    assert await store.next_due(["telegram"]) == START + LEASE


async def test_one_that_was_fired_waits_for_its_next_instant_or_is_done(store: ReminderStore) -> None:
    await added(store, new(text="again"), new(text="once"))
    claimed = await store.claim(DueClaim(START, BOTH))
    settled = [
        replace(each, state=ReminderState.WAITING, due=START + HOUR, tries=0, failures=0, sent_at=START + SECOND)
        if each.text == "again"
        else replace(each, state=ReminderState.DONE, due=None, tries=0, sent_at=START + SECOND)
        for each in claimed
    ]
    await store.settle(list(zip(claimed, settled, strict=True)))
    for each in settled:
        assert await store.find([ANA], each.id) == each
    assert await store.claim(DueClaim(START + HOUR - SECOND, BOTH)) == []
    [again] = await store.claim(DueClaim(START + HOUR, BOTH))
    assert (again.text, again.tries) == ("again", 1)
    await store.settle([(claimed[0], settled[0]), (claimed[1], settled[1])])
    assert await store.find([ANA], again.id) == again, "an old claim ends no new one"


async def test_one_that_was_refused_can_be_claimed_when_it_is_to_be_tried_again(store: ReminderStore) -> None:
    [stored] = await added(store, new())
    [claimed] = await store.claim(DueClaim(START, BOTH))
    refused = replace(claimed, state=ReminderState.WAITING, tries=0, failures=1)
    await store.settle([(claimed, refused)], START + HOUR)
    assert await store.find([ANA], stored.id) == refused
    assert await store.next_due(BOTH) == START + HOUR
    assert await store.claim(DueClaim(START + HOUR - SECOND, BOTH)) == []
    reworded = replace(refused, text="pay it")
    assert await store.replace(refused, reworded)
    assert await store.next_due(BOTH) == START, "the person may have done something about it"
    [again] = await store.claim(DueClaim(START, BOTH))
    await store.settle([(again, replace(again, state=ReminderState.FAILED))])
    assert await store.next_due(BOTH) is None


async def test_what_the_person_changes_while_it_is_being_fired_is_kept(store: ReminderStore) -> None:
    stored = await added(store, *(new(text=text) for text in ("reworded", "moved", "removed", "put off", "gone")))
    claimed = {each.text: each for each in await store.claim(DueClaim(START, BOTH))}
    changed = {
        "reworded": replace(claimed["reworded"], text="other words", changed_at=START),
        "moved": replace(claimed["moved"], due=START + HOUR, schedule=SCHEDULE),
        "removed": replace(claimed["removed"], state=ReminderState.REMOVED, changed_at=START),
        "put off": replace(claimed["put off"], state=ReminderState.WAITING, due=START + HOUR, tries=0),
    }
    for name, change in changed.items():
        assert await store.replace(claimed[name], change)
    assert await store.next_due(BOTH) == START + LEASE, "whoever fires it still holds it"
    done = {
        name: replace(each, state=ReminderState.DONE, due=None, tries=0, sent_at=START)
        for name, each in claimed.items()
    }
    await store.settle([(claimed[name], done[name]) for name in claimed], START + 9 * HOUR)
    ids = {each.text: each.id for each in stored}
    for name, expected in {
        "reworded": replace(done["reworded"], text="other words", changed_at=START),
        "moved": replace(changed["moved"], state=ReminderState.WAITING, tries=0, sent_at=START),
        "removed": replace(changed["removed"], sent_at=START),
        "put off": replace(changed["put off"], sent_at=START),
        "gone": done["gone"],
    }.items():
        assert await store.find([ANA], ids[name]) == expected
    assert await store.next_due(BOTH) == START + HOUR
    await store.forget(ANA)
    await store.settle([(claimed["gone"], done["gone"])])
    assert await store.of([ANA], ALL) == []


async def test_what_is_over_for_long_is_deleted_and_nothing_else(store: ReminderStore) -> None:
    old, recent = START - HOUR, START + HOUR
    base = replace(new(due=None), created_at=old)
    kept = [
        replace(base, state=ReminderState.WAITING, due=old),
        replace(base, state=ReminderState.PAUSED),
        replace(base, state=ReminderState.DONE, sent_at=recent),
        replace(base, state=ReminderState.DONE, created_at=recent),
        replace(base, state=ReminderState.FAILED, due=recent),
        replace(base, state=ReminderState.REMOVED, changed_at=START),
        replace(base, state=ReminderState.DONE, sent_at=START),
    ]
    gone = [
        replace(base, state=ReminderState.DONE, sent_at=old, changed_at=recent),
        replace(base, state=ReminderState.FAILED, due=old),
        replace(base, state=ReminderState.REMOVED, changed_at=START - SECOND, due=recent),
    ]
    await added(store, *gone)
    left = await added(store, *kept)
    await store.purge(START, START)
    assert {each.id for each in await store.of([ANA], ALL)} == {each.id for each in left}
    await store.purge(START, START)


async def test_of_who_is_forgotten_nothing_is_kept(store: ReminderStore) -> None:
    await added(store, new(), replace(new(), state=ReminderState.DONE))
    [other] = await added(store, new(CARO))
    await store.forget(ANA)
    await store.forget(ANA)
    assert await store.of([ANA], ALL) == []
    assert await store.of([CARO]) == [other]


@pytest.mark.parametrize("way", ["forget", "purge"])
async def test_what_was_deleted_is_in_no_file(tmp_path: Path, way: str) -> None:
    database = await open_database(tmp_path / "elefante.db")
    store = ReminderStore(database)
    for number in range(200):
        text = f"xylophone {number} " + "la " * number
        stored = await store.add(new(UserKey("telegram", "ana-of-the-house"), text), most=999)
        assert stored is not None
        past = Before(f"{text} before", SINGLE, None, ReminderState.WAITING)
        await store.replace(stored, replace(stored, state=ReminderState.REMOVED, changed_at=START, before=past))
    [other] = await added(store, new(CARO, "marimba"))
    assert b"xylophone" in bytes_of(tmp_path)
    if way == "forget":
        await store.forget(UserKey("telegram", "ana-of-the-house"))
    else:
        await store.purge(START + HOUR, START + HOUR)
    raw = bytes_of(tmp_path)
    assert b"xylophone" not in raw
    assert b"ana-of-the-house" not in raw
    assert b"marimba" in raw
    assert await store.find([CARO], other.id) == other
    await database.close()


async def test_the_next_due_and_a_claim_look_at_no_more_than_what_is_due(tmp_path: Path) -> None:
    database = await open_database(tmp_path / "elefante.db")
    store = ReminderStore(database)
    await added(store, new())
    STATEMENTS.clear()
    await store.next_due(BOTH)
    await store.claim(DueClaim(START, BOTH))
    asked = [sql for sql in STATEMENTS if "claimable" in sql]
    assert len(asked) == 2
    for sql in asked:
        plan = str(await database.rows(f"EXPLAIN QUERY PLAN {sql}", [0] * sql.count("?")))
        assert "reminders_claimable (platform=?" in plan
        assert "SCAN reminders" not in plan
        assert "SCAN each" not in plan
        assert ("SEARCH each USING INDEX reminders_owner" in plan) == ("JOIN" in sql), "of many due only a person's"
    await database.close()


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())
