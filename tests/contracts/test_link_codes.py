"""What every store of link codes promises."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from core.features.links.storage import LinkCode, LinkCodes
from core.storage.database import Database
from core.types import UserKey

ANA, ABROAD = UserKey("telegram", "1"), UserKey("discord", "1")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def codes(database: Database) -> LinkCodes:
    return LinkCodes(database)


async def test_a_code_is_found_by_its_digest_only(codes: LinkCodes) -> None:
    await codes.put(LinkCode("a", ANA, "Ana", NOON))
    assert await codes.find("a") == LinkCode("a", ANA, "Ana", NOON)
    assert await codes.find("b") is None


async def test_an_account_has_one_code_the_newest(codes: LinkCodes) -> None:
    await codes.put(LinkCode("a", ANA, "Ana", NOON))
    await codes.put(LinkCode("b", ANA, "Ana", NOON))
    assert await codes.find("a") is None
    assert (await codes.find("b")) is not None


async def test_a_digest_leads_to_one_account_the_one_that_had_it_last(codes: LinkCodes) -> None:
    await codes.put(LinkCode("a", ANA, "Ana", NOON))
    await codes.put(LinkCode("a", ABROAD, "Ana", NOON))
    found = await codes.find("a")
    assert found is not None
    assert found.user == ABROAD


async def test_old_codes_are_dropped_and_newer_ones_stay(codes: LinkCodes) -> None:
    await codes.put(LinkCode("a", ANA, "Ana", NOON))
    await codes.put(LinkCode("b", ABROAD, "Ana", NOON + timedelta(seconds=1)))
    await codes.drop(NOON + timedelta(seconds=1))
    assert await codes.find("a") is None
    assert await codes.find("b") is not None


async def test_who_was_asked_about_a_code_is_known_until_they_are_forgotten(codes: LinkCodes) -> None:
    asked = LinkCode("a", ANA, "Ana", NOON, ABROAD, NOON + timedelta(seconds=1))
    await codes.put(LinkCode("a", ANA, "Ana", NOON))
    await codes.ask("a", ABROAD, NOON + timedelta(seconds=1))
    assert await codes.find("a") == asked
    await codes.forget(ABROAD)
    assert await codes.find("a") == LinkCode("a", ANA, "Ana", NOON)


async def test_a_code_is_taken_once(codes: LinkCodes) -> None:
    await codes.put(LinkCode("a", ANA, "Ana", NOON))
    assert [await codes.take(digest) for digest in ("b", "a", "a")] == [False, True, False]
    assert await codes.find("a") is None


async def test_a_person_who_is_forgotten_leaves_no_code(codes: LinkCodes) -> None:
    await codes.put(LinkCode("a", ANA, "Ana", NOON))
    await codes.put(LinkCode("b", ABROAD, "Ana", NOON))
    await codes.forget(ANA)
    await codes.forget(ANA)
    assert await codes.find("a") is None
    assert await codes.find("b") is not None


async def test_a_code_that_was_taken_does_not_come_back_by_being_asked_about(codes: LinkCodes) -> None:
    await codes.put(LinkCode("a", ANA, "Ana", NOON))
    assert await codes.take("a")
    await codes.ask("a", ABROAD, NOON)
    assert await codes.find("a") is None
