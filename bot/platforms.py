"""The platforms that there are, and how each is started; a new one is one entry of `PLATFORMS`.

A vendor's library is imported only when its platform has a token.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from pydantic import SecretStr

from adapters.running import Connected, Hindered, Wrote, ignored
from bot.settings.settings import Settings
from bot.unread import tell_unread
from bot.wiring import App, build
from core.clock import SystemClock
from core.commands.command import STAFF
from core.errors import ConfigError
from core.features.admin.decisions import DecisionKind
from core.ports import Duties, MessageHandler
from core.workers import OneWorker

PATIENCE_S = 15.0

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Start:
    """What a platform is started with: the bot, its message handler, when to stop, how to tell the owner something.

    `connected` is told whether the platform can be reached, `hindered` what keeps messages away that only the owner can
    end, `wrote` how it answered each write. `duties` are shared with the other workers of the bot.
    """

    app: App
    handler: MessageHandler
    stop: asyncio.Event
    say: Callable[[str], None]
    connected: Connected = ignored
    hindered: Hindered = ignored
    wrote: Wrote = ignored
    duties: Duties = field(default_factory=OneWorker)


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
        people = [person.user for person in await app.features.access.people() if person.role in STAFF]
        return [int(user.user) for user in people if user.platform == "telegram" and user.user.isdecimal()]

    app.features.effects.on(DecisionKind.ROLE, lambda _name, _value: changed.set())
    await telegram.run(
        config,
        start.handler,
        app.clock,
        start.stop,
        menu=app.parts.commands.menu(),
        duties=start.duties,
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
            menu=start.app.parts.commands.menu(),
            duties=start.duties,
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
