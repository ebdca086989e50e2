"""What every store of roles promises."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from core.features.access.storage import DENIED, Account, People, Person, Stranger
from core.features.admin.storage import Applied, Decision, DecisionKind, Decisions
from core.storage.database import Database
from core.types import Role, UserKey
from tests.fakes.clock import START

ANA, BIA, ABROAD = UserKey("telegram", "1"), UserKey("telegram", "2"), UserKey("discord", "1")
DAY = timedelta(days=1)


@pytest.fixture
def people(database: Database) -> People:
    return People(database)


def person(user: UserKey, role: Role = Role.MEMBER, name: str = "Ana") -> Person:
    return Person(user, role, name, START)


async def test_a_stranger_is_nobody(people: People) -> None:
    assert await people.find(ANA) is None
    assert list(await people.all()) == []
    await people.remove(ANA)


async def test_a_role_is_kept_replaced_and_removed(people: People) -> None:
    await people.put(person(ANA))
    await people.put(person(BIA, Role.BLOCKED, "Bia"))
    assert await people.find(ANA) == person(ANA)
    await people.put(person(ANA, Role.ADMIN, "Ana Maria"))
    assert list(await people.all()) == [person(ANA, Role.ADMIN, "Ana Maria"), person(BIA, Role.BLOCKED, "Bia")]
    await people.remove(ANA)
    assert await people.find(ANA) is None


async def test_a_platform_is_claimed_once_and_platforms_are_apart(people: People) -> None:
    assert await people.claim(person(ANA, Role.OWNER))
    assert not await people.claim(person(BIA, Role.OWNER))
    assert await people.find(BIA) is None
    assert await people.claim(person(ABROAD, Role.OWNER))


async def test_a_member_may_claim(people: People) -> None:
    await people.put(person(ANA))
    assert await people.claim(person(ANA, Role.OWNER))
    found = await people.find(ANA)
    assert found is not None
    assert found.role is Role.OWNER


def stranger(user: UserKey, at: datetime = START, name: str = "Ana") -> Stranger:
    return Stranger(user, name, at)


async def test_a_person_is_renamed_and_a_stranger_stays_one(people: People) -> None:
    await people.put(person(ANA, Role.ADMIN))
    await people.rename(ANA, "Ana Maria")
    await people.rename(BIA, "Bia")
    assert list(await people.all()) == [person(ANA, Role.ADMIN, "Ana Maria")]


async def test_a_stranger_is_noted_once_in_a_while(people: People) -> None:
    assert await people.note_stranger(stranger(ANA), DAY)
    assert not await people.note_stranger(stranger(ANA, START + DAY / 2, "Zoe"), DAY)
    assert await people.note_stranger(stranger(BIA, START + DAY / 2), DAY)
    assert list(await people.strangers(9)) == [stranger(BIA, START + DAY / 2), stranger(ANA)]
    assert await people.note_stranger(stranger(ANA, START + DAY, "Zoe"), DAY)
    assert not await people.note_stranger(stranger(ANA, START + DAY * 1.5), DAY)
    assert list(await people.strangers(9)) == [stranger(ANA, START + DAY, "Zoe"), stranger(BIA, START + DAY / 2)]
    assert list(await people.strangers(1)) == [stranger(ANA, START + DAY, "Zoe")]


async def test_of_a_stranger_is_noted_who_they_are_and_what_they_speak(people: People) -> None:
    noted = Stranger(ANA, "Ana", START, "pt-br")
    assert await people.stranger(ANA) is None
    await people.note_stranger(noted, DAY)
    assert await people.stranger(ANA) == noted
    await people.note_stranger(replace(noted, at=START + DAY, language="en"), DAY)
    assert await people.stranger(ANA) == replace(noted, at=START + DAY, language="en")


async def test_who_was_denied_is_noted_again_when_that_is_over(people: People, database: Database) -> None:
    await people.note_stranger(stranger(ANA), DAY)
    await people.put(person(BIA, name="Bia"))
    for user, before, at in ((ANA, "", START + DAY), (BIA, Role.MEMBER, START), (ABROAD, "", START - DAY)):
        decision = Decision(at, None, DecisionKind.ROLE, str(user), before, DENIED)
        assert await Decisions(database).apply(decision) is Applied.DONE
    denied = [
        Stranger(ANA, "Ana", START + DAY, denied=True),
        Stranger(BIA, "Bia", START, denied=True),
        Stranger(ABROAD, "", START - DAY, denied=True),
    ]
    assert list(await people.strangers(denied=True)) == denied
    assert list(await people.strangers(9)) == []
    assert await people.find(BIA) is None
    assert not await people.note_stranger(stranger(ANA, START + 30 * DAY), DAY)
    assert list(await people.strangers(denied=True)) == denied
    assert await people.note_stranger(stranger(ANA, START + 31 * DAY), DAY)
    assert list(await people.strangers(9)) == [stranger(ANA, START + 31 * DAY)]
    await people.remove(BIA)
    assert [each.user for each in await people.strangers(denied=True)] == [ABROAD]


async def test_of_who_has_a_role_nothing_is_noted_as_of_a_stranger(people: People) -> None:
    for user in (ANA, BIA):
        await people.note_stranger(stranger(user), DAY)
    await people.put(person(ANA))
    await people.claim(person(BIA, Role.OWNER))
    await people.note_stranger(stranger(ABROAD), DAY)
    assert not await people.claim(person(UserKey("telegram", "3"), Role.OWNER))
    assert [each.user for each in await people.strangers(9)] == [ABROAD]
    assert await people.stranger(ANA) is None
    assert await people.stranger(BIA) is None


async def test_who_has_a_role_is_no_stranger(people: People) -> None:
    await people.note_stranger(stranger(ANA), DAY)
    await people.put(person(ANA, Role.BLOCKED))
    assert list(await people.strangers(9)) == []


async def test_strangers_are_forgotten_with_time(people: People) -> None:
    await people.note_stranger(stranger(ANA), DAY)
    await people.note_stranger(stranger(BIA, START + DAY), DAY)
    await people.drop_strangers(START + DAY)
    assert list(await people.strangers(9)) == [stranger(BIA, START + DAY)]


async def test_of_an_account_is_kept_what_its_platform_told_last(people: People) -> None:
    assert await people.account(ANA) is None
    await people.put_account(Account(ANA, "Ana_B", "pt-br"))
    await people.put_account(Account(BIA))
    assert await people.account(ANA) == Account(ANA, "Ana_B", "pt-br")
    assert await people.known(ANA) == (await people.find(ANA), Account(ANA, "Ana_B", "pt-br"))
    assert await people.known(BIA) == (await people.find(BIA), await people.account(BIA))
    await people.put_account(Account(ANA, "AnaMaria", "en"))
    assert await people.account(ANA) == Account(ANA, "AnaMaria", "en")
    await people.forget_account(ANA)
    assert await people.account(ANA) is None
    assert await people.account(BIA) == Account(BIA)


async def test_an_account_is_found_by_its_handle_in_any_case_and_by_no_other(people: People) -> None:
    for user, handle in ((ANA, "Ana_B"), (BIA, ""), (ABROAD, "ana_b")):
        await people.put_account(Account(user, handle))
    assert list(await people.named("ANA_B")) == [ABROAD, ANA]
    assert list(await people.named("ana")) == []
    assert list(await people.named("")) == []


async def test_who_takes_a_handle_over_is_its_only_bearer_on_that_platform(people: People) -> None:
    for user in (ANA, ABROAD, BIA):
        await people.put_account(Account(user, "Ana_B" if user != BIA else "ana_b", "pt"))
    assert list(await people.named("ana_b")) == [ABROAD, BIA]
    assert await people.account(ANA) == Account(ANA, "", "pt")


async def test_with_a_stranger_their_account_is_forgotten(people: People) -> None:
    for user, at in ((ANA, START), (BIA, START + DAY)):
        await people.note_stranger(stranger(user, at), DAY)
    for user in (ANA, BIA, ABROAD):
        await people.put_account(Account(user, f"x{user.user}"))
    await people.drop_strangers(START + DAY)
    assert [await people.account(user) is None for user in (ANA, BIA, ABROAD)] == [True, False, False]
