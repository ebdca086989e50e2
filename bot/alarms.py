"""Watch the disk while the bot runs, tell of a start that failed, and keep alarms in `alerts.json`."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from bot.alert_url import TIMEOUT_S, poster
from bot.background import background
from bot.settings.settings import Settings
from bot.wiring import App
from core.clock import SystemClock
from core.delivery.alerts import Alarm, AlarmBook, OwnerAlerts, Post
from core.delivery.notifier import Notifier
from core.errors import StorageError
from core.ports import Clock
from core.text.catalogue import filled, text
from core.types import Locale, UserKey

FILE: Final = "alerts.json"
LOOK_EACH_S: Final = 60.0
START_FAILED: Final = "start-failed"
_DISK: Final = "disk-low"
_ENOUGH: Final = 1.1  # over only when a tenth more is free than the limit, so that it does not flap about it
_MEGABYTE: Final = 1_000_000
_LAST_NOTICES_S: Final = 5.0

_ALARMS: Final = TypeAdapter(dict[str, Alarm])
_log = logging.getLogger(__name__)


class AlarmFile(AlarmBook):
    """Alarms in a JSON file. Where it cannot be written, they are in RAM alone, and end with the process."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> dict[str, Alarm]:
        """Return the alarms of the file; none if there is no file, or it cannot be read."""
        try:
            return _ALARMS.validate_json(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as error:
            _log.warning("alarms not read", extra={"error": type(error).__name__})
            return {}

    def save(self, alarms: Mapping[str, Alarm]) -> None:
        """Replace the file in one piece."""
        part = self._path.with_suffix(".part")
        try:
            with os.fdopen(os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
                file.write(_ALARMS.dump_json(dict(alarms), indent=1))
            part.replace(self._path)
        except OSError as error:
            _log.warning("alarms not kept", extra={"error": type(error).__name__})


def free_bytes(folder: Path) -> int:
    """Return the free bytes of the disk where the folder lies."""
    return shutil.disk_usage(folder).free


@asynccontextmanager
async def watching(app: App, free_bytes: Callable[[Path], int] = free_bytes) -> AsyncIterator[None]:
    """While the block runs: keep alarms over restarts, send them to ALERT_URL, look at the disk every minute.

    Enter it before a platform is connected. Only the process that answers the platforms enters it.
    """
    alerts = app.features.alerts
    _keep(alerts, app.settings)
    app.health.close_unused()
    app.features.notifier.on_connect(lambda: alerts.over_soon(START_FAILED, STARTED))
    try:
        async with background(_watch_disk(app.settings, alerts, app.clock, free_bytes)):
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
    _keep(alerts, settings)
    await alerts.tell(START_FAILED, filled(FAILED, reason=reason), about=reason)
    await alerts.close(TIMEOUT_S)


def _keep(alerts: OwnerAlerts, settings: Settings) -> None:
    book = AlarmFile(settings.state_dir / FILE) if settings.state_dir is not None else None
    post: Post | None = poster(settings.alert_url.get_secret_value()) if settings.alert_url is not None else None
    alerts.keep_in(book, post, settings.locale)


async def _watch_disk(settings: Settings, alerts: OwnerAlerts, clock: Clock, free_bytes: Callable[[Path], int]) -> None:
    limit = settings.disk_alert_mb
    while limit and settings.state_dir is not None:
        try:
            free = free_bytes(settings.state_dir) // _MEGABYTE
            words = {"free": str(free), "limit": str(limit), "folder": str(settings.state_dir)}
            if free < limit:
                alerts.tell_soon(_DISK, filled(DISK_LOW, **words))
            elif free >= limit * _ENOUGH:
                alerts.over_soon(_DISK, filled(DISK_OK, **words))
        except (OSError, StorageError) as error:
            _log.warning("disk not looked at", extra={"error": type(error).__name__})
        await clock.sleep(LOOK_EACH_S)


DISK_LOW = text("alerts.disk_low")
DISK_OK = text("alerts.disk_ok")
FAILED = text("alerts.start_failed")
STARTED = text("alerts.started")
