"""Watch the disk while the bot runs, tell of a start that failed, and keep alarms in the database."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import TypeAdapter, ValidationError

from bot.alert_url import TIMEOUT_S, poster
from bot.background import background
from bot.settings.settings import Settings
from bot.wiring import App
from core.clock import SystemClock
from core.delivery.alerts import AlarmBook, Alarms, Change, OwnerAlerts, Post
from core.delivery.notifier import Notifier
from core.errors import StorageError
from core.stores import KeptStore
from core.text.catalogue import filled, text
from core.types import Locale, UserKey

FILE: Final = "alerts.json"
LOOK_EACH_S: Final = 60.0
_LOOK_AT_SERVER_S: Final = 2.0
_LOOKS_TO_ALERT: Final = 5  # a server that is restarted is no alarm
START_FAILED: Final = "start-failed"
_NAME: Final = "alarms"
_DISK: Final = "disk-low"
_ENOUGH: Final = 1.1  # over only when a tenth more is free than the limit, so that it does not flap about it
_MEGABYTE: Final = 1_000_000
_LAST_NOTICES_S: Final = 5.0

FreeBytes: TypeAlias = Callable[[Path], int]

_ALARMS: Final = TypeAdapter(Alarms)
_log = logging.getLogger(__name__)


class KeptAlarms(AlarmBook):
    """Alarms as one text in the database."""

    def __init__(self, store: KeptStore) -> None:
        self._store = store

    async def read(self) -> Alarms:
        """Return what is kept."""
        return _read(await self._store.get(_NAME) or "{}")

    async def change(self, change: Change) -> Alarms:
        """Change what is kept, with no other worker in between, and return it."""
        alarms: Alarms = {}

        def changed(text: str | None) -> str:
            nonlocal alarms
            alarms = _read(text or "{}")
            change(alarms)
            return _ALARMS.dump_json(alarms).decode()

        await self._store.change(_NAME, changed)
        return alarms


class AlarmFile(AlarmBook):
    """Alarms in a JSON file, of a process that could not open the database; in RAM alone if it cannot be written."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def change(self, change: Change) -> Alarms:
        """Replace the file in one piece, and return what is in it."""
        alarms = self._load()
        change(alarms)
        part = self._path.with_suffix(".part")
        try:
            with os.fdopen(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
                file.write(_ALARMS.dump_json(alarms, indent=1))
            part.replace(self._path)
        except OSError as error:
            _log.warning("alarms not kept", extra={"error": type(error).__name__})
        return alarms

    async def copy_into(self, book: AlarmBook) -> None:
        """Add the alarms of the file to the book. The file stays until the bot has started: it may fail again.

        Raises:
            StorageError: the book cannot be written.
        """
        alarms = self._load()

        def add(kept: Alarms) -> None:
            for key, alarm in alarms.items():
                kept.setdefault(key, deepcopy(alarm))

        if alarms:
            await book.change(add)

    def remove(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _load(self) -> Alarms:
        try:
            return _read(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except OSError as error:
            _log.warning("alarms not read", extra={"error": type(error).__name__})
            return {}


def _read(text: str | bytes) -> Alarms:
    try:
        return _ALARMS.validate_json(text)
    except ValidationError as error:
        _log.warning("alarms not read", extra={"error": type(error).__name__})
        return {}


def free_bytes(folder: Path) -> int:
    """Return the free bytes of the disk where the folder lies."""
    return shutil.disk_usage(folder).free


@asynccontextmanager
async def watching(app: App, free_bytes: FreeBytes = free_bytes) -> AsyncIterator[None]:
    """While the block runs: keep alarms over restarts, send them to ALERT_URL, look at the disk every minute.

    With several workers, look as often at what the others found. Enter it before a platform is connected. Only
    processes that answer the platforms enter it.
    """
    alerts, book = app.features.alerts, KeptAlarms(app.kept)
    if app.settings.state_dir is not None:
        file = AlarmFile(app.settings.state_dir / FILE)
        await file.copy_into(book)
        app.features.notifier.on_connect(file.remove)
    await alerts.keep_in(book, _post(app.settings), app.settings.locale)
    app.health.close_unused()
    app.features.notifier.on_connect(lambda: alerts.over_soon(START_FAILED, STARTED))
    look = _watch_disk if app.settings.engine == "sqlite" else _watch_others
    try:
        async with background(look(app, free_bytes)), background(_watch_server(app)):
            yield
    finally:
        await alerts.close(_LAST_NOTICES_S)


async def tell_start_failed(settings: Settings, reason: str) -> None:
    """Send to ALERT_URL, if there is one, why the bot did not start: once an hour, however often it is started.

    Not for a start that another process on this folder prevented. `reason` has no secrets. It takes 20 s at most; the
    end is told once a platform is connected.
    """
    if settings.alert_url is None:
        return

    async def nobody() -> tuple[UserKey, ...]:
        return ()

    async def locale_of(_: UserKey) -> Locale:
        return settings.locale or Locale.EN

    clock = SystemClock()
    alerts = OwnerAlerts(nobody, Notifier(clock), locale_of, clock)
    book = AlarmFile(settings.state_dir / FILE) if settings.state_dir is not None else None
    await alerts.keep_in(book, _post(settings), settings.locale)
    await alerts.tell(START_FAILED, filled(FAILED, reason=reason), about=reason)
    await alerts.close(TIMEOUT_S)


def _post(settings: Settings) -> Post | None:
    return poster(settings.alert_url.get_secret_value()) if settings.alert_url is not None else None


async def _watch_others(app: App, _: FreeBytes) -> None:
    while True:
        await app.features.alerts.catch_up()
        await app.clock.sleep(LOOK_EACH_S)


async def _watch_server(app: App) -> None:
    """Tell the owners of a database server that stays away: once for all workers, and once when it is back."""
    looks = 0
    while app.settings.engine == "postgres":
        await app.clock.sleep(_LOOK_AT_SERVER_S)
        looks, looked = looks + 1 if app.database.away() else 0, looks
        if looks == _LOOKS_TO_ALERT:
            app.features.alerts.storage_away(speaks=app.worker.speaks)
        elif looked >= _LOOKS_TO_ALERT and not looks:
            app.features.alerts.storage_written()


async def _watch_disk(app: App, free_bytes: FreeBytes) -> None:
    limit, folder, alerts = app.settings.disk_alert_mb, app.settings.data_dir, app.features.alerts
    while limit:
        try:
            free = free_bytes(folder) // _MEGABYTE
            words = {"free": str(free), "limit": str(limit), "folder": str(folder)}
            if free < limit:
                alerts.tell_soon(_DISK, filled(DISK_LOW, **words))
            elif free >= limit * _ENOUGH:
                alerts.over_soon(_DISK, filled(DISK_OK, **words))
        except (OSError, StorageError) as error:
            _log.warning("disk not looked at", extra={"error": type(error).__name__})
        await app.clock.sleep(LOOK_EACH_S)


DISK_LOW = text("alerts.disk_low")
DISK_OK = text("alerts.disk_ok")
FAILED = text("alerts.start_failed")
STARTED = text("alerts.started")
