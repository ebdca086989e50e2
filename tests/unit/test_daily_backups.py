"""While the bot runs there is a verified backup of each day; owners are told when there is none, and when there is."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.archive import unpack
from bot.data_folder import MADE, DataFolder, daily_backups
from bot.settings.settings import Settings
from bot.wiring import App, build
from core.errors import Damaged, DiskFull
from core.types import Locale, UserKey
from tests.fakes.channel import OneChannel, RecordingChannel
from tests.fakes.clock import FakeClock

OWNER = UserKey("telegram", "olga")
DAY_S = 86_400.0


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with build(Settings(data_dir=tmp_path, language="en", backups_kept=3)) as app:
        await app.features.access.own(OWNER, "Olga")
        yield app


def made(app: App) -> list[str]:
    return sorted(path.name for path in app.settings.backups_folder.glob("elefante-*.zip"))


async def asleep(clock: FakeClock) -> None:
    """Let the task and its threads go on until it waits for time to pass."""
    async with asyncio.timeout(120):
        while not clock._sleepers:  # noqa: ASYNC110 - threads set no event
            await asyncio.sleep(0.01)


async def told(owner: RecordingChannel, count: int) -> list[str]:
    """Return what the owner was told, once it is that many sentences: they are told in a task of its own."""
    async with asyncio.timeout(120):
        while len(owner.texts) < count:  # noqa: ASYNC110 - threads set no event
            await asyncio.sleep(0.01)
    return owner.texts


async def days(clock: FakeClock, count: float) -> None:
    await clock.advance(count * DAY_S)
    await asleep(clock)


async def test_the_first_is_made_at_once_one_a_day_follows_and_the_oldest_go(app: App, clock: FakeClock) -> None:
    async with daily_backups(app.settings, app.features.alerts, clock):
        await asleep(clock)
        first = made(app)
        assert len(first) == 1
        await days(clock, 0.9)
        assert made(app) == first
        for _ in range(4):
            await days(clock, 1)
    assert len(made(app)) == 3
    assert first[0] not in made(app)
    newest = app.settings.backups_folder / made(app)[-1]
    assert unpack(newest, app.settings.data_dir / "scratch.db").about is not None


async def test_a_fresh_backup_counts_whoever_made_it_and_after_a_restart(app: App, clock: FakeClock) -> None:
    await DataFolder(app.settings, clock).make()
    for _ in range(2):
        async with daily_backups(app.settings, app.features.alerts, clock):
            await asleep(clock)
            assert len(made(app)) == 1
        clock._sleepers.clear()


async def test_two_processes_make_one_a_day_between_them(app: App, clock: FakeClock) -> None:
    alerts = app.features.alerts
    async with daily_backups(app.settings, alerts, clock), daily_backups(app.settings, alerts, clock):
        for _ in range(3):
            async with asyncio.timeout(120):
                while len(clock._sleepers) < 2:  # noqa: ASYNC110 - threads set no event
                    await asyncio.sleep(0.01)
            await clock.advance(DAY_S / 2)
    assert len(made(app)) == 2


@pytest.mark.parametrize("change", [{"backups_kept": 0}, {"storage_url": SecretStr("memory:")}])
async def test_there_are_none_where_they_are_turned_off(app: App, clock: FakeClock, change: dict[str, object]) -> None:
    settings = app.settings.model_copy(update=change)
    async with daily_backups(settings, app.features.alerts, clock):
        await clock.advance(DAY_S)
    assert not app.settings.backups_folder.exists()


async def test_without_a_daily_limit_nothing_is_removed(app: App, clock: FakeClock) -> None:
    folder = DataFolder(app.settings.model_copy(update={"backups_kept": 0}), clock)
    for _ in range(5):
        assert not (await folder.make()).removed


@pytest.mark.parametrize(
    ("place", "failure", "why"),
    [
        ("core.storage.sqlite_backup.ensure_room", DiskFull("no room here"), "there is no room for it in"),
        ("core.storage.sqlite_backup.verified", Damaged("it is not sound"), "the database is damaged"),
        ("bot.archive._write", OSError(errno.ENOSPC, "No space left on device"), "there is no room for it in"),
        (
            "bot.archive.zipfile.ZipFile.testzip",
            OSError(errno.EIO, "Input/output error"),
            "nothing can be written into",
        ),
    ],
)
async def test_owners_are_told_when_it_fails_and_when_it_is_made_again(
    app: App, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, *, place: str, failure: Exception, why: str
) -> None:
    owner = RecordingChannel(clock)
    app.features.notifier.connect("telegram", OneChannel(owner))

    def fail(*_: object) -> None:
        raise failure

    with monkeypatch.context() as here:
        here.setattr(place, fail)
        async with daily_backups(app.settings, app.features.alerts, clock):
            await asleep(clock)
            await days(clock, 2 / 24)
            [failed] = await told(owner, 1)
            assert why in failed
            assert str(failure).rpartition("] ")[2] not in failed, "it is English whatever the owner reads"
            assert list(app.settings.backups_folder.iterdir()) == []
            here.undo()
            await days(clock, 1 / 24)
    assert (await told(owner, 2))[1:] == [MADE[Locale.EN]]
    assert len(made(app)) == 1


async def test_backups_lie_where_the_owner_says(app: App, clock: FakeClock, tmp_path: Path) -> None:
    elsewhere = tmp_path / "other" / "disk"
    folder = DataFolder(app.settings.model_copy(update={"backup_dir": elsewhere}), clock)
    made = await folder.make()
    assert made.path.parent == elsewhere
    assert list(await folder.paths()) == [made.path]
    assert folder.newest() == clock.now().replace(microsecond=0)
