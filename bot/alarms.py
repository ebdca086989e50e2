"""Watch the disk and the database server while the bot runs, tell of a start that failed, and send alarms to ALERT_URL.

ALERT_URL is a webhook or e-mail: it works without any chat platform.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import smtplib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from email.message import EmailMessage
from http import HTTPStatus
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

from bot.program import restart_command
from bot.settings.settings import Settings, query
from bot.wiring import App
from core.delivery.alerts import Post
from core.errors import BotError, ConfigError, StorageDown, StorageError
from core.tasks import background
from core.text.catalogue import filled, text
from core.types import Locale, Localized

FAILED_MARK: Final = "start-failed"
"""The file in the data folder that is there while ALERT_URL knows that the bot does not start."""

LOOK_EACH_S: Final = 60.0
_LOOK_AT_SERVER_S: Final = 2.0
_LOOKS_TO_ALERT: Final = 5  # a server that is restarted is no alarm
_DISK: Final = "disk-low"
_ENOUGH: Final = 1.1  # over only when a tenth more is free than the limit, so that it does not flap about it
_MEGABYTE: Final = 1_000_000
_LAST_NOTICES_S: Final = 5.0

TIMEOUT_S: Final = 20.0
"""How long a post to ALERT_URL may take."""

_MAX_SUBJECT_CHARS: Final = 100

FreeBytes: TypeAlias = Callable[[Path], int]

_log = logging.getLogger(__name__)


def free_bytes(folder: Path) -> int:
    """Return the free bytes of the disk where the folder lies."""
    return shutil.disk_usage(folder).free


@asynccontextmanager
async def watching(app: App, free_bytes: FreeBytes = free_bytes) -> AsyncIterator[None]:
    """While the block runs: keep alarms over restarts, send them to ALERT_URL, look at the disk every minute.

    With several workers, look as often at what the others found. Enter it before a platform is connected. Only
    processes that answer the platforms enter it.
    """
    alerts, connected = app.features.alerts, asyncio.Event()
    await alerts.keep_in(app.kept, _post(app.settings))
    app.health.close_unused()
    app.features.notifier.on_connect(connected.set)
    look = _watch_disk(app, free_bytes) if app.settings.engine == "sqlite" else _watch_others(app)
    try:
        async with background(look), background(_watch_server(app)), background(_tell_started(app.settings, connected)):
            yield
    finally:
        await alerts.close(_LAST_NOTICES_S)


async def tell_start_failed(settings: Settings, error: BotError) -> None:
    """Send to ALERT_URL, if there is one, why the bot did not start: once, however often it is started.

    Not for a start that another process on this folder prevented. It takes 20 s at most.
    """
    if (post := _post(settings)) is None or _has_failed(settings):
        return
    if await post(_why_not_started(error)[settings.locale or Locale.EN]) and settings.state_dir is not None:
        with suppress(OSError):
            (settings.state_dir / FAILED_MARK).touch(mode=0o600)


def _why_not_started(error: BotError) -> Localized:
    match error:
        case ConfigError():
            return filled(FAILED_SETTING, setting=error.setting, restart=restart_command())
        case StorageDown():
            return FAILED_AWAY
        case StorageError():
            return FAILED_STORAGE
    return FAILED_OTHERWISE


async def _tell_started(settings: Settings, connected: asyncio.Event) -> None:
    """Once a platform is connected, send that the bot started, if it was told that it did not."""
    await connected.wait()
    if settings.state_dir is None or not _has_failed(settings):
        return
    with suppress(OSError):
        (settings.state_dir / FAILED_MARK).unlink()
    if (post := _post(settings)) is not None:
        await post(STARTED[settings.locale or Locale.EN])


def _has_failed(settings: Settings) -> bool:
    return settings.state_dir is not None and (settings.state_dir / FAILED_MARK).exists()


def _post(settings: Settings) -> Post | None:
    return poster(settings.alert_url.get_secret_value()) if settings.alert_url is not None else None


async def _watch_others(app: App) -> None:
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
        except OSError as error:
            _log.warning("disk not looked at", extra={"error": type(error).__name__})
        else:
            words = {"free": str(free), "limit": str(limit), "folder": str(folder)}
            if free < limit:
                alerts.tell(_DISK, filled(DISK_LOW, **words))
            elif free >= limit * _ENOUGH:
                alerts.over(_DISK, filled(DISK_OK, **words))
        await app.clock.sleep(LOOK_EACH_S)


def poster(url: str) -> Callable[[str], Awaitable[bool]]:
    """Return the function that sends a text to the address once and tells whether it was taken."""
    parts = urlsplit(url.strip())
    send = _mail if parts.scheme in {"smtp", "smtps"} else _webhook

    async def post(text: str) -> bool:
        try:
            await send(parts, text)
        except (OSError, TimeoutError, ValueError, smtplib.SMTPException) as error:
            _log.warning("ALERT_URL took no alarm", extra={"error": type(error).__name__})  # the rest may hold secrets
            return False
        return True

    return post


async def _webhook(parts: SplitResult, text: str) -> None:
    import aiohttp  # loaded by the first alarm, not by the start

    timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
            session.post(parts.geturl(), json={"text": text}, allow_redirects=False) as answer,
        ):
            status = answer.status
    except aiohttp.ClientError as error:
        raise OSError(type(error).__name__) from None
    if status >= HTTPStatus.MULTIPLE_CHOICES:
        raise ValueError(status)


async def _mail(parts: SplitResult, text: str) -> None:
    await asyncio.to_thread(_send_mail, parts, text)


def _send_mail(parts: SplitResult, text: str) -> None:
    """Send an e-mail. A password is sent over TLS only; without one, smtp:// is a relay that asks for none."""
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    to = query(parts, "to")
    message = EmailMessage()
    message["Subject"] = f"Elefante: {text.strip().splitlines()[0][:_MAX_SUBJECT_CHARS]}"
    message["From"] = query(parts, "from") or (user if "@" in user else to.partition(",")[0])
    message["To"] = to
    message.set_content(text)
    context = ssl.create_default_context()
    host, port = parts.hostname or "", parts.port or 0
    if parts.scheme == "smtps":
        server: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=TIMEOUT_S, context=context)
    else:
        server = smtplib.SMTP(host, port, timeout=TIMEOUT_S)
    with server:
        if user:
            if parts.scheme == "smtp":
                server.starttls(context=context)
            server.login(user, password)
        server.send_message(message)


DISK_LOW = text("alerts.disk_low")
DISK_OK = text("alerts.disk_ok")
FAILED_SETTING = text("alerts.start_failed.setting")
FAILED_STORAGE = text("alerts.start_failed.storage")
FAILED_AWAY = text("alerts.start_failed.away")
FAILED_OTHERWISE = text("alerts.start_failed.unclear")
STARTED = text("alerts.started")
