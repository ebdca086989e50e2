"""A thousand words, told to a sealed bot by every way, stand nowhere on the disk, nor in what was forgotten."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from adapters.telegram.config import WritePace
from bot.cli.backup import backup, restore
from bot.cli.key import check, check_forgotten
from bot.cli.people import forget
from bot.sealing import make_key
from bot.settings.settings import Settings, load
from core.providers.fallback import Circuit
from core.types import UserKey
from tests.e2e.test_canaries import ANA, WAYS, log, town
from tests.postgres import HAS_POSTGRES, WHY_NOT, database_of

__all__ = ["log"]

ROUNDS, PARTS = 9, 8
TOLD: Final = (
    "saved", "found", "updated", "deleted", "reminded", "sent_as_a_file",
    "sent_as_a_broken_file", "dictated", "said_in_a_room", "searched_inline", "imported_and_exported", "commanded",
    "edited", "raised_by_an_action", "refused_by_the_platform",
)  # fmt: skip
"""The ways by which a word comes in, but for those in which it is somebody's name: those are the platform's, open."""


def words_of(name: str, number: int) -> list[str]:
    letters = name.replace("_", "")
    return [f"zq{letters}{number}x{part}qz" for part in range(PARTS)]


def left(folders: Sequence[Path], words: Sequence[str]) -> dict[str, list[str]]:
    """Return the files below the folders that hold any of the words, each with those that it holds."""
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    contents = {str(path.name): path.read_bytes().lower() for path in files}
    found = {name: [word for word in words if word.encode() in content] for name, content in contents.items()}
    return {name: held for name, held in found.items() if held}


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Write as fast as the server takes it, and ask a model also after failures."""
    usual = Settings.telegram
    pace = WritePace(burst=50_000, per_s=50_000.0)
    monkeypatch.setattr(
        Settings, "telegram", lambda self: replace(config, private=pace) if (config := usual(self)) else None
    )
    monkeypatch.setattr(Circuit, "resting", lambda *_: None)
    return iter([None])


@pytest.mark.long
@pytest.mark.parametrize(
    ("engine", "has_key"),
    [
        ("sqlite", True),
        ("sqlite", False),
        pytest.param("postgres", True, marks=pytest.mark.skipif(not HAS_POSTGRES, reason=WHY_NOT)),
    ],
)
async def test_a_thousand_words_stand_nowhere(engine: str, has_key: bool, tmp_path: Path, log: None) -> None:
    key, data = tmp_path / "etc" / "key", tmp_path / "data"
    data.mkdir()
    if has_key:
        make_key(key)
    more = {"memory_key_file": key} if has_key else {}
    words: list[str] = []
    url = database_of(tmp_path.name) if engine == "postgres" else "sqlite:"
    async with town(data, url, **more) as (here, _):
        for number in range(ROUNDS if has_key else 1):
            for name in TOLD:
                words += (mine := words_of(name, number))
                await WAYS[name](here, "-".join(mine))
        told_now = left([tmp_path], words)
    logging.shutdown()
    if not has_key:
        assert len({word for held in left([tmp_path], words).values() for word in held}) > len(words) / 2
        return
    assert len(words) > 1_000
    settings = load(None, data_dir=data, storage_url=url, **more)
    assert told_now == {}, "as it runs: database, log of the database, files, temporary files"
    assert left([tmp_path], words) == {}
    made = None if engine == "postgres" else Path((await backup(settings))["file"])
    receipt = (await forget(settings, UserKey("telegram", str(ANA.id))))["receipt"]
    if made is not None:
        assert {*(await restore(settings, made))["forgotten"]} >= {f"telegram:{ANA.id}"}
    assert check(settings)["unreadable"] == {}
    assert check_forgotten(settings, receipt)["ok"]
    assert left([tmp_path], words) == {}
