"""What every store of decisions promises: a value and its record change together, and an owner stays."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from core.features.access.storage import DENIED, People, Person, Stranger
from core.features.admin.storage import (
    ALL_MODES,
    ALLOWED,
    OFF,
    ON,
    Applied,
    Decision,
    DecisionKind,
    Decisions,
    of_modes,
)
from core.features.privacy.forget import FORGET
from core.features.quotas.limits import QUOTA
from core.features.transfer.export import EXPORT
from core.storage.database import Database
from core.storage.sqlite import open_database
from core.types import Role, UserKey
from tests.fakes.clock import START

ANA, BIA, ABROAD = UserKey("telegram", "1"), UserKey("telegram", "2:b"), UserKey("discord", "1")
ROOM = Decision(START, ANA, DecisionKind.ROOM, "telegram:-100", "", ALLOWED)


@dataclass(frozen=True)
class Stores:
    people: People
    decisions: Decisions
    another: Decisions
    """The same, as another worker has them."""


@pytest.fixture
def kept(database: Database) -> Stores:
    return Stores(People(database), Decisions(database), Decisions(database))


def role(user: UserKey, before: str, after: str) -> Decision:
    return Decision(START, ANA, DecisionKind.ROLE, str(user), before, after)


async def own(kept: Stores, *users: UserKey) -> None:
    for user in users:
        await kept.people.put(Person(user, Role.OWNER, "Ana", START))


async def test_nothing_is_decided_at_first(kept: Stores) -> None:
    for matter in DecisionKind:
        assert dict(await kept.decisions.values(matter)) == {}
        assert await kept.decisions.value(matter, "x") == ""
    assert list(await kept.decisions.newest(9)) == []
    assert await kept.decisions.undoable() is None


async def test_what_was_decided_holds_and_is_recorded(kept: Stores) -> None:
    off = Decision(START, BIA, DecisionKind.ACTION, "MemorySave", "", OFF)
    assert await kept.decisions.apply(ROOM) is Applied.DONE
    assert await kept.decisions.apply(off) is Applied.DONE
    assert await kept.decisions.value(DecisionKind.ROOM, "telegram:-100") == ALLOWED
    assert dict(await kept.decisions.values(DecisionKind.ACTION)) == {"MemorySave": OFF}
    assert [replace(each, id=0) for each in await kept.decisions.newest(9)] == [off, ROOM]
    assert [replace(each, id=0) for each in await kept.decisions.newest(1)] == [off]


async def test_a_decision_on_what_has_changed_meanwhile_changes_nothing(kept: Stores) -> None:
    await kept.decisions.apply(ROOM)
    assert await kept.decisions.apply(ROOM) is Applied.STALE
    assert await kept.decisions.apply(role(BIA, "member", "blocked")) is Applied.STALE
    assert len(await kept.decisions.newest(9)) == 1
    assert await kept.people.find(BIA) is None


async def test_of_two_who_decide_at_once_on_what_they_saw_one_is_told_so(kept: Stores) -> None:
    both = await asyncio.gather(*(kept.decisions.apply(replace(ROOM, by=user)) for user in (ANA, BIA)))
    assert sorted(each.name for each in both) == ["DONE", "STALE"]


async def test_nothing_decided_is_a_value_too(kept: Stores) -> None:
    pause = Decision(START, ANA, DecisionKind.PAUSE, "", "", ON)
    await kept.decisions.apply(pause)
    assert await kept.decisions.value(DecisionKind.PAUSE) == ON
    assert await kept.decisions.apply(replace(pause, before=ON, after="")) is Applied.DONE
    assert dict(await kept.decisions.values(DecisionKind.PAUSE)) == {}


async def test_a_role_is_the_persons(kept: Stores) -> None:
    await kept.people.note_stranger(Stranger(BIA, "Bia", START), START - START)
    await kept.decisions.apply(role(BIA, "", "member"))
    assert await kept.people.find(BIA) == Person(BIA, Role.MEMBER, "Bia", START)
    await kept.decisions.apply(replace(role(BIA, "member", "blocked")))
    assert await kept.people.find(BIA) == Person(BIA, Role.BLOCKED, "Bia", START)
    assert dict(await kept.decisions.values(DecisionKind.ROLE)) == {"telegram:2:b": "blocked"}
    await kept.decisions.apply(role(BIA, "blocked", ""))
    assert await kept.people.find(BIA) is None
    assert list(await kept.people.strangers(9)) == []


async def test_a_person_who_never_wrote_has_no_name_yet(kept: Stores) -> None:
    await kept.decisions.apply(role(BIA, "", "admin"))
    assert await kept.people.find(BIA) == Person(BIA, Role.ADMIN, "", START)


async def test_a_stranger_may_be_denied_and_that_is_taken_back_like_any_other(kept: Stores) -> None:
    await kept.people.note_stranger(Stranger(BIA, "Bia", START, "en"), START - START)
    await kept.decisions.apply(role(BIA, "", DENIED))
    assert await kept.decisions.value(DecisionKind.ROLE, str(BIA)) == DENIED
    assert dict(await kept.decisions.values(DecisionKind.ROLE)) == {str(BIA): DENIED}
    assert list(await kept.people.strangers(denied=True)) == [Stranger(BIA, "Bia", START, "en", denied=True)]
    assert await kept.decisions.apply(role(BIA, "", "member")) is Applied.STALE
    await kept.decisions.apply(role(BIA, DENIED, "member"))
    assert await kept.people.find(BIA) == Person(BIA, Role.MEMBER, "Bia", START)
    assert list(await kept.people.strangers(denied=True)) == []
    await kept.decisions.apply(role(BIA, "member", DENIED))
    assert await kept.people.find(BIA) is None
    assert [each.name for each in await kept.people.strangers(denied=True)] == ["Bia"]
    await kept.decisions.apply(role(BIA, DENIED, ""))
    assert dict(await kept.decisions.values(DecisionKind.ROLE)) == {}
    assert await kept.people.stranger(BIA) is None


async def test_the_last_decision_on_something_is_known(kept: Stores) -> None:
    assert not await kept.decisions.newest(1, on=(DecisionKind.ROOM, ROOM.name))
    await kept.decisions.apply(ROOM)
    await kept.decisions.apply(replace(ROOM, by=BIA, before=ALLOWED, after=""))
    await kept.decisions.apply(replace(ROOM, name="telegram:-200"))
    [last] = await kept.decisions.newest(1, on=(DecisionKind.ROOM, ROOM.name))
    assert last is not None
    assert (last.by, last.after, last.id) == (BIA, "", 2)


async def test_what_was_decided_for_somebody_goes_with_them(kept: Stores) -> None:
    quota = Decision(START, ANA, QUOTA, str(BIA), "", "5")
    for decision in (quota, replace(quota, name="bot")):
        await kept.decisions.apply(decision)
    await kept.decisions.forget(BIA)
    assert dict(await kept.decisions.values(QUOTA)) == {"bot": "5"}
    assert [each.name for each in await kept.decisions.newest(9)] == ["bot", ""]


@pytest.mark.parametrize("after", ["", "blocked", "member", "admin", DENIED])
async def test_a_platform_never_loses_its_last_owner(kept: Stores, after: str) -> None:
    await own(kept, ANA, ABROAD)
    assert await kept.decisions.apply(role(ANA, "owner", after)) is Applied.LAST_OWNER
    assert list(await kept.decisions.newest(9)) == []
    await own(kept, BIA)
    assert await kept.decisions.apply(role(ANA, "owner", after)) is Applied.DONE
    assert await kept.decisions.apply(role(BIA, "owner", after)) is Applied.LAST_OWNER


async def test_what_was_taken_back_is_not_taken_back_again(kept: Stores) -> None:
    await kept.decisions.apply(ROOM)
    await kept.decisions.apply(Decision(START, ANA, DecisionKind.PAUSE, "", "", ON))
    for expected in (DecisionKind.PAUSE, DecisionKind.ROOM):
        last = await kept.decisions.undoable()
        assert last is not None
        assert last.matter == expected
        await kept.decisions.apply(replace(last, before=last.after, after=last.before, undoes=last.id, id=0))
    assert await kept.decisions.undoable() is None
    assert len(await kept.decisions.newest(9)) == 4


async def test_who_is_forgotten_is_on_no_record_and_decisions_hold(kept: Stores) -> None:
    await own(kept, ANA)
    await kept.decisions.apply(ROOM)
    await kept.decisions.apply(replace(role(ABROAD, "", "member"), by=BIA))
    await kept.decisions.apply(role(BIA, "", "member"))
    await kept.decisions.forget(ANA)
    await kept.decisions.forget(BIA)
    assert [(each.by, each.name) for each in await kept.decisions.newest(9)] == [
        (None, ""),
        (None, "discord:1"),
        (None, "telegram:-100"),
    ]
    assert await kept.decisions.value(DecisionKind.ROOM, "telegram:-100") == ALLOWED
    assert await kept.decisions.value(DecisionKind.ROLE, str(BIA)) == "member"


async def test_what_is_kept_in_ram_is_what_anybody_decided_before_the_last_look(kept: Stores) -> None:
    here, quota = kept.another, Decision(START, ANA, QUOTA, str(BIA), "", "5")
    assert not await here.is_let_in(ROOM.name)
    await kept.decisions.apply(ROOM)
    await kept.decisions.apply(quota)
    await here.refresh()
    assert await here.is_let_in(ROOM.name)
    assert await here.value(QUOTA, str(BIA)) == "5"
    await kept.decisions.forget(BIA)  # which is no decision
    await here.refresh()
    assert await here.value(QUOTA, str(BIA)) == ""


async def test_who_decided_on_an_old_value_knows_the_new_one(kept: Stores) -> None:
    here = kept.another
    assert await here.value(ROOM.matter, ROOM.name) == ""
    await kept.decisions.apply(ROOM)
    assert await here.apply(ROOM) is Applied.STALE
    assert await here.value(ROOM.matter, ROOM.name) == ALLOWED


async def test_what_was_decided_survives_a_restart(tmp_path: Path) -> None:
    for expected in (Applied.DONE, Applied.STALE):
        database = await open_database(tmp_path / "elefante.db")
        assert await Decisions(database).apply(ROOM) is expected
        await database.close()


async def test_what_was_done_is_on_record_and_cannot_be_taken_back(kept: Stores) -> None:
    off = Decision(START, BIA, DecisionKind.ACTION, "MemorySave", "", OFF)
    await kept.decisions.apply(off)
    for matter, name in ((EXPORT, str(ANA)), (FORGET, "")):
        assert await kept.decisions.apply(Decision(START, BIA, matter, name, "", "then")) is Applied.DONE
    assert [each.matter for each in await kept.decisions.newest(3)] == [
        FORGET,
        EXPORT,
        DecisionKind.ACTION,
    ]
    assert (await kept.decisions.undoable((FORGET, EXPORT))) == replace(off, id=1)
    await kept.decisions.forget(ANA)
    assert await kept.decisions.value(EXPORT, str(ANA)) == ""
    assert [each.name for each in await kept.decisions.newest(2)] == ["", ""]


async def test_the_models_of_all_modes_are_decided_and_taken_back_as_one(kept: Stores) -> None:
    own = Decision(START, ANA, DecisionKind.MODEL, "chat", "", "openai:a,openai:b")
    await kept.decisions.apply(own)
    assert await kept.decisions.value(DecisionKind.MODEL, ALL_MODES) == "chat=openai:a,openai:b"
    every = of_modes(dict.fromkeys(("heavy", "chat"), "openai:c"))
    both = Decision(START, ANA, DecisionKind.MODEL, ALL_MODES, "", every)
    assert await kept.decisions.apply(both) is Applied.STALE
    both = replace(both, before="chat=openai:a,openai:b")
    assert await kept.decisions.apply(both) is Applied.DONE
    assert dict(await kept.decisions.values(DecisionKind.MODEL)) == {"heavy": "openai:c", "chat": "openai:c"}
    last = await kept.decisions.undoable()
    assert last is not None
    assert replace(last, id=0) == both
    back = Decision(START, ANA, DecisionKind.MODEL, ALL_MODES, last.after, last.before, undoes=last.id)
    assert await kept.decisions.apply(back) is Applied.DONE
    assert dict(await kept.decisions.values(DecisionKind.MODEL)) == {"chat": "openai:a,openai:b"}
