"""The platforms that there are, and how each is started; a new one is one entry of `PLATFORMS`.

A vendor's library is imported only when its platform has a token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar
from zoneinfo import ZoneInfo

from pydantic import SecretStr

from adapters.running import Connected, Hindered, Wrote, ignored
from bot.settings.settings import Settings
from bot.wiring import App, build
from core.clock import SystemClock
from core.commands.command import STAFF
from core.errors import ConfigError
from core.features.admin.storage import DecisionKind
from core.ports import MessageHandler
from core.text.catalogue import counted, forms
from core.types import Locale
from core.workers.port import Worker

if TYPE_CHECKING:
    from adapters.discord.read_back import Unread


_KEY: Final = "discord-unread"
_MOST_NAMES: Final = 5
_LASTS_S: Final = 7200.0  # it is past already, and is told within the hour


def tell_unread(app: App, unread: Unread | None) -> None:
    """Report to the owners which channels were not read back, and when; None ends an earlier report."""
    alerts, now, zone = app.features.alerts, app.clock.now(), app.settings.zone()
    alerts.over(_KEY)  # another report is another alarm
    if unread is not None:
        alerts.tell(_KEY, {locale: sentence(unread, now, zone, locale) for locale in Locale})
        alerts.over(_KEY, settle_s=_LASTS_S)


def sentence(unread: Unread, now: datetime, zone: ZoneInfo, locale: Locale) -> str:
    """Return what owners are told, with times in that zone."""
    shown = ", ".join(unread.names[:_MOST_NAMES]) + (", …" if len(unread.names) > _MOST_NAMES else "")
    reasons = ", ".join(counted(REASONS[why], locale, count) for why, count in sorted(unread.counts.items()))
    since, until = (_told(at, now, zone, locale) for at in (unread.since, unread.until))
    count = sum(unread.counts.values())
    return counted(CHANNELS, locale, count, channels=shown, reasons=reasons, since=since, until=until)


def _told(at: datetime, now: datetime, zone: ZoneInfo, locale: Locale) -> str:
    """Return the hour of an instant of today, or else the day with its hour."""
    from core.times.wording import hour_told, told  # a start needs no calendars

    local = at.astimezone(zone)
    is_today = local.date() == now.astimezone(zone).date()
    return hour_told(local, locale) if is_today else told(at, now, str(zone), locale)


CHANNELS = forms("unread.channels")
REASONS = {
    "no_right": forms("unread.no_right"),
    "too_much": forms("unread.too_much"),
    "too_old": forms("unread.too_old"),
}
"""What was the matter, by the values of `Why`."""


PATIENCE_S = 15.0

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Start:
    """What a platform is started with: the bot, its message handler, when to stop, how to tell the owner something.

    `connected` is told whether the platform can be reached, `hindered` what keeps messages away that only the owner can
    end, `wrote` how it answered each write. `worker` is this one of the bot's workers.
    """

    app: App
    handler: MessageHandler
    stop: asyncio.Event
    say: Callable[[str], None]
    connected: Connected = ignored
    hindered: Hindered = ignored
    wrote: Wrote = ignored
    worker: Worker = field(default_factory=Worker)


@dataclass(frozen=True, slots=True)
class Platform:
    """A platform: the setting that turns it on, what runs it until `stop` is set, and what it says of the bot."""

    setting: str
    run: Callable[[Start], Awaitable[None]]
    about: Callable[[Settings], Awaitable[list[str]]]

    def enabled(self, settings: Settings) -> bool:
        """Return whether that setting is written."""
        value = getattr(settings, self.setting.lower())
        return bool(value.get_secret_value().strip() if isinstance(value, SecretStr) else value)

    def take_over(self, held: Settings, read: Settings) -> Settings:
        """Return the settings held, with those of this platform as they were read again.

        Raises:
            ConfigError: the setting that turns the platform on was removed.
        """
        if not self.enabled(read):
            raise ConfigError(self.setting, "it was removed; write it again, or start without it")
        prefix = f"{self.setting.partition('_')[0].lower()}_"
        names = [name for name in Settings.model_fields if name.startswith(prefix)]
        return held.model_copy(update={name: getattr(read, name) for name in names})


async def _telegram(start: Start) -> None:
    from adapters import telegram
    from adapters.telegram.menu import Staff

    app, changed = start.app, asyncio.Event()
    if (config := app.settings.telegram()) is None:
        return

    async def staff() -> list[int]:
        people = [person.user for person in await app.features.access.people.all() if person.role in STAFF]
        return [int(user.user) for user in people if user.platform == "telegram" and user.user.isdecimal()]

    app.features.decider.on(DecisionKind.ROLE, lambda _name, _value: changed.set())
    await telegram.run(
        config,
        start.handler,
        app.clock,
        start.stop,
        menu=app.parts.menu(),
        worker=start.worker,
        kept=app.kept,
        say=start.say,
        claim_code=await app.features.access.claim_code("telegram"),
        staff=Staff(staff, changed),
        connected=start.connected,
        hindered=start.hindered,
        wrote=start.wrote,
    )


async def _discord(start: Start) -> None:
    from adapters import discord

    if (config := start.app.settings.discord()) is not None:
        await discord.run(
            config,
            start.handler,
            start.app.clock,
            start.stop,
            menu=start.app.parts.menu(),
            worker=start.worker,
            kept=start.app.kept,
            say=start.say,
            own=start.app.features.access.own,
            connected=start.connected,
            wrote=start.wrote,
            tell_unread=partial(tell_unread, start.app),
        )


async def _http(start: Start) -> None:
    from adapters import http

    app = start.app
    await http.run(
        app.settings.http_port,
        start.handler,
        app.clock,
        start.stop,
        token=app.settings.http_secret(),
        say=start.say,
        connected=start.connected,
    )


async def _about_http(settings: Settings) -> list[str]:
    from adapters import http

    settings.http_secret()
    return [http.address(settings.http_port)]


async def _about_telegram(settings: Settings) -> list[str]:
    from adapters import telegram

    config = settings.telegram()
    return [] if config is None else await telegram.about(config, SystemClock())


async def _about_discord(settings: Settings) -> list[str]:
    from adapters import discord

    config = settings.discord()
    return [] if config is None else await discord.about(config, SystemClock())


PLATFORMS: dict[str, Platform] = {
    "telegram": Platform("TELEGRAM_TOKEN", _telegram, _about_telegram),
    "discord": Platform("DISCORD_TOKEN", _discord, _about_discord),
    "api": Platform("HTTP_PORT", _http, _about_http),
}


async def claim_link(settings: Settings) -> str | None:
    """Return what the owner should read to become the owner on Telegram; None if it has an owner or is off.

    Raises:
        ConfigError: the token is wrong, or nobody answers.
        StorageError: the database cannot be used.
    """
    from adapters import telegram

    if settings.in_memory or (config := settings.telegram()) is None:
        return None
    async with build(settings) as app:
        code = await app.features.access.claim_code("telegram")
    return None if code is None else await _soon("TELEGRAM_TOKEN", telegram.claim_link(config, SystemClock(), code))


class NobodyAnswered(ConfigError):
    """A platform did not answer in time; whether its token is right is not known."""


async def about(platform: Platform, settings: Settings) -> list[str]:
    """Return what the owner should read about the bot on that platform.

    Raises:
        ConfigError: the token is wrong.
        NobodyAnswered: it is not known whether it is.
    """
    return await _soon(platform.setting, platform.about(settings))


async def _soon(setting: str, answer: Awaitable[Answer]) -> Answer:
    """Return a platform's answer; what asks for it repeats the question until there is one."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await answer
    except TimeoutError:
        advice = f"nobody answered within {PATIENCE_S:g} s; is this machine connected?"
        raise NobodyAnswered(setting, advice) from None
