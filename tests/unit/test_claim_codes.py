"""A claim code outlives the process that made it, until somebody claimed the bot."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.claim_codes import FILE, ClaimCodes
from bot.settings.settings import load
from bot.wiring import build
from core.features.access.people import Person
from core.types import Role, UserKey
from tests.fakes.clock import START


async def test_the_code_is_the_same_in_the_next_process_and_gone_once_there_is_an_owner(tmp_path: Path) -> None:
    codes = []
    for _ in range(2):
        async with build(load(None, data_dir=tmp_path)) as app:
            codes.append(await app.features.access.claim_code("telegram"))
            await app.features.access._people.put(Person(UserKey("discord", "1"), Role.OWNER, "Ana", START))
    assert codes[0]
    assert codes == [codes[0]] * 2
    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0
    async with build(load(None, data_dir=tmp_path)) as app:
        await app.features.access._people.put(Person(UserKey("telegram", "1"), Role.OWNER, "Ana", START))
        assert await app.features.access.claim_code("telegram") is None


def test_codes_are_read_anew_and_dropped_one_by_one(tmp_path: Path) -> None:
    here, there = ClaimCodes(tmp_path), ClaimCodes(tmp_path)
    here["telegram"], here["other"] = "a", "b"
    assert dict(there) == {"telegram": "a", "other": "b"}
    assert there.pop("telegram") == "a"
    assert dict(here) == {"other": "b"}
    assert len(here) == 1


@pytest.mark.parametrize("damage", [b"", b"[1]", b"\xff"])
def test_a_damaged_file_counts_as_empty_and_is_replaced(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / FILE).write_bytes(damage)
    codes = ClaimCodes(tmp_path)
    assert not codes
    codes["telegram"] = "a"
    assert dict(ClaimCodes(tmp_path)) == {"telegram": "a"}


@pytest.mark.parametrize("folder", [None, Path("/nowhere/at/all")])
def test_where_nothing_can_be_kept_codes_end_with_the_process(folder: Path | None) -> None:
    codes = ClaimCodes(folder)
    codes["telegram"] = "a"
    assert codes["telegram"] == "a"
    assert not ClaimCodes(folder)
