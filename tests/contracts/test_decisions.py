"""What every store of decisions promises: a value and its record change together, and an owner stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from core.people import (
    ALLOWED,
    DENIED,
    OFF,
    ON,
    Applied,
    Decision,
    Decisions,
    Matter,
    People,
    Person,
    Standing,
    Stranger,
)
from core.storage.decisions import SqliteDecisions
from core.storage.in_memory_decisions import InMemoryDecisions
from core.storage.in_memory_people import InMemoryPeople
from core.storage.people import SqlitePeople
from core.storage.sqlite import open_database
from core.types import UserKey
from tests.fakes.clock import START

ANA, BIA, ABROAD = UserKey("telegram", "1"), UserKey("telegram", "2:b"), UserKey("discord", "1")
ROOM = Decision(START, ANA, Matter.ROOM, "telegram:-100", "", ALLOWED)


@dataclass(frozen=True)
class Kept:
    people: People
    decisions: Decisions


@pytest.fixture(params=["sqlite", "in-memory"])
async def kept(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kept]:
    if request.param == "in-memory":
        people = InMemoryPeople()
        yield Kept(people, InMemoryDecisions(people))
        return
    database = await open_database(tmp_path / "decisions.db")
    yield Kept(SqlitePeople(database), SqliteDecisions(database))
    await database.close()


def standing(user: UserKey, before: str, after: str) -> Decision:
    return Decision(START, ANA, Matter.STANDING, str(user), before, after)


async def own(kept: Kept, *users: UserKey) -> None:
    for user in users:
        await kept.people.put(Person(user, Standing.OWNER, "Ana", START))


async def test_nothing_is_decided_at_first(kept: Kept) -> None:
    for matter in Matter:
        assert dict(await kept.decisions.values(matter)) == {}
        assert await kept.decisions.value(matter, "x") == ""
    assert list(await kept.decisions.newest(9)) == []
    assert await kept.decisions.undoable() is None


async def test_what_was_decided_holds_and_is_recorded(kept: Kept) -> None:
    off = Decision(START, BIA, Matter.ACTION, "MemorySave", "", OFF)
    assert await kept.decisions.apply(ROOM) is Applied.DONE
    assert await kept.decisions.apply(off) is Applied.DONE
    assert await kept.decisions.value(Matter.ROOM, "telegram:-100") == ALLOWED
    assert dict(await kept.decisions.values(Matter.ACTION)) == {"MemorySave": OFF}
    assert [replace(each, id=0) for each in await kept.decisions.newest(9)] == [off, ROOM]
    assert [replace(each, id=0) for each in await kept.decisions.newest(1)] == [off]


async def test_a_decision_on_what_has_changed_meanwhile_changes_nothing(kept: Kept) -> None:
    await kept.decisions.apply(ROOM)
    assert await kept.decisions.apply(ROOM) is Applied.STALE
    assert await kept.decisions.apply(standing(BIA, "member", "blocked")) is Applied.STALE
    assert len(await kept.decisions.newest(9)) == 1
    assert await kept.people.find(BIA) is None


async def test_of_two_who_decide_at_once_on_what_they_saw_one_is_told_so(kept: Kept) -> None:
    both = await asyncio.gather(*(kept.decisions.apply(replace(ROOM, by=user)) for user in (ANA, BIA)))
    assert sorted(each.name for each in both) == ["DONE", "STALE"]


async def test_nothing_decided_is_a_value_too(kept: Kept) -> None:
    pause = Decision(START, ANA, Matter.PAUSE, "", "", ON)
    await kept.decisions.apply(pause)
    assert await kept.decisions.value(Matter.PAUSE) == ON
    assert await kept.decisions.apply(replace(pause, before=ON, after="")) is Applied.DONE
    assert dict(await kept.decisions.values(Matter.PAUSE)) == {}


async def test_a_standing_is_the_persons(kept: Kept) -> None:
    await kept.people.note_stranger(Stranger(BIA, "Bia", START), START - START)
    await kept.decisions.apply(standing(BIA, "", "member"))
    assert await kept.people.find(BIA) == Person(BIA, Standing.MEMBER, "Bia", START)
    await kept.decisions.apply(replace(standing(BIA, "member", "blocked")))
    assert await kept.people.find(BIA) == Person(BIA, Standing.BLOCKED, "Bia", START)
    assert dict(await kept.decisions.values(Matter.STANDING)) == {"telegram:2:b": "blocked"}
    await kept.decisions.apply(standing(BIA, "blocked", ""))
    assert await kept.people.find(BIA) is None
    assert list(await kept.people.strangers(9)) == []


async def test_a_person_who_never_wrote_has_no_name_yet(kept: Kept) -> None:
    await kept.decisions.apply(standing(BIA, "", "admin"))
    assert await kept.people.find(BIA) == Person(BIA, Standing.ADMIN, "", START)


async def test_a_stranger_may_be_denied_and_that_is_taken_back_like_any_other(kept: Kept) -> None:
    await kept.people.note_stranger(Stranger(BIA, "Bia", START, "en"), START - START)
    await kept.decisions.apply(standing(BIA, "", DENIED))
    assert await kept.decisions.value(Matter.STANDING, str(BIA)) == DENIED
    assert dict(await kept.decisions.values(Matter.STANDING)) == {str(BIA): DENIED}
    assert list(await kept.people.denied()) == [Stranger(BIA, "Bia", START, "en", denied=True)]
    assert await kept.decisions.apply(standing(BIA, "", "member")) is Applied.STALE
    await kept.decisions.apply(standing(BIA, DENIED, "member"))
    assert await kept.people.find(BIA) == Person(BIA, Standing.MEMBER, "Bia", START)
    assert list(await kept.people.denied()) == []
    await kept.decisions.apply(standing(BIA, "member", DENIED))
    assert await kept.people.find(BIA) is None
    assert [each.name for each in await kept.people.denied()] == ["Bia"]
    await kept.decisions.apply(standing(BIA, DENIED, ""))
    assert dict(await kept.decisions.values(Matter.STANDING)) == {}
    assert await kept.people.stranger(BIA) is None


async def test_the_last_decision_on_something_is_known(kept: Kept) -> None:
    assert await kept.decisions.last(Matter.ROOM, ROOM.name) is None
    await kept.decisions.apply(ROOM)
    await kept.decisions.apply(replace(ROOM, by=BIA, before=ALLOWED, after=""))
    await kept.decisions.apply(replace(ROOM, name="telegram:-200"))
    last = await kept.decisions.last(Matter.ROOM, ROOM.name)
    assert last is not None
    assert (last.by, last.after, last.id) == (BIA, "", 2)


async def test_what_was_decided_for_somebody_goes_with_them(kept: Kept) -> None:
    quota = Decision(START, ANA, Matter.QUOTA, str(BIA), "", "5")
    for decision in (quota, replace(quota, name="bot")):
        await kept.decisions.apply(decision)
    await kept.decisions.forget(BIA)
    assert dict(await kept.decisions.values(Matter.QUOTA)) == {"bot": "5"}
    assert [each.name for each in await kept.decisions.newest(9)] == ["bot", ""]


@pytest.mark.parametrize("after", ["", "blocked", "member", "admin", DENIED])
async def test_a_platform_never_loses_its_last_owner(kept: Kept, after: str) -> None:
    await own(kept, ANA, ABROAD)
    assert await kept.decisions.apply(standing(ANA, "owner", after)) is Applied.LAST_OWNER
    assert list(await kept.decisions.newest(9)) == []
    await own(kept, BIA)
    assert await kept.decisions.apply(standing(ANA, "owner", after)) is Applied.DONE
    assert await kept.decisions.apply(standing(BIA, "owner", after)) is Applied.LAST_OWNER


async def test_what_was_taken_back_is_not_taken_back_again(kept: Kept) -> None:
    await kept.decisions.apply(ROOM)
    await kept.decisions.apply(Decision(START, ANA, Matter.PAUSE, "", "", ON))
    for expected in (Matter.PAUSE, Matter.ROOM):
        last = await kept.decisions.undoable()
        assert last is not None
        assert last.matter is expected
        await kept.decisions.apply(replace(last, before=last.after, after=last.before, undoes=last.id, id=0))
    assert await kept.decisions.undoable() is None
    assert len(await kept.decisions.newest(9)) == 4


async def test_who_is_forgotten_is_on_no_record_and_decisions_hold(kept: Kept) -> None:
    await own(kept, ANA)
    await kept.decisions.apply(ROOM)
    await kept.decisions.apply(replace(standing(ABROAD, "", "member"), by=BIA))
    await kept.decisions.apply(standing(BIA, "", "member"))
    await kept.decisions.forget(ANA)
    await kept.decisions.forget(BIA)
    assert [(each.by, each.name) for each in await kept.decisions.newest(9)] == [
        (None, ""),
        (None, "discord:1"),
        (None, "telegram:-100"),
    ]
    assert await kept.decisions.value(Matter.ROOM, "telegram:-100") == ALLOWED
    assert await kept.decisions.value(Matter.STANDING, str(BIA)) == "member"


async def test_what_was_decided_survives_a_restart(tmp_path: Path) -> None:
    for expected in (Applied.DONE, Applied.STALE):
        database = await open_database(tmp_path / "elefante.db")
        assert await SqliteDecisions(database).apply(ROOM) is expected
        await database.close()


async def test_what_was_done_is_on_record_and_cannot_be_taken_back(kept: Kept) -> None:
    off = Decision(START, BIA, Matter.ACTION, "MemorySave", "", OFF)
    await kept.decisions.apply(off)
    for matter, name in ((Matter.EXPORT, str(ANA)), (Matter.FORGET, "")):
        assert await kept.decisions.apply(Decision(START, BIA, matter, name, "", "then")) is Applied.DONE
    assert [each.matter for each in await kept.decisions.newest(3)] == [Matter.FORGET, Matter.EXPORT, Matter.ACTION]
    assert (await kept.decisions.undoable()) == replace(off, id=1)
    await kept.decisions.forget(ANA)
    assert await kept.decisions.value(Matter.EXPORT, str(ANA)) == ""
    assert [each.name for each in await kept.decisions.newest(2)] == ["", ""]
