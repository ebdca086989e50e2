"""Keep every platform at work: start each, try again what ended, and note how each does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from adapters.running import Backoff, Wrote, ignored, until
from bot.logs import strike_out
from bot.platforms import Platform, Start
from bot.settings.settings import Settings, load
from core.errors import BotError, ConfigError
from core.features.admin.machine import Link, PlatformState, span
from core.text.catalogue import filled, text
from core.types import Locale, Localized

_FIRST_S: Final = 5.0
_LONGEST_S: Final = 300.0
_LAST_WORDS_S: Final = 20.0
_ENDED, _HINDERED = "platform", "hindered"  # the alarms' keys, before the platform's name

_log = logging.getLogger(__name__)


class Supervisor:
    """Runs platforms, each again and again until `start.stop` is set; one that fails does not stop the others.

    `reload` reads the settings anew before each attempt but the first: those that begin like the platform's name count
    (a token that was corrected), all others need a restart. `changed` is called when the state of a platform changes.
    `wrote` returns what is told of the writes on a platform.
    """

    def __init__(
        self,
        start: Start,
        chosen: Mapping[str, Platform],
        *,
        reload: Callable[[], Settings] = load,
        changed: Callable[[], None] = lambda: None,
        wrote: Callable[[str], Wrote] | None = None,
    ) -> None:
        self._start = start
        self._chosen = chosen
        self._reload = reload
        self._changed = changed
        self._wrote = wrote or (lambda _name: ignored)
        self._alerts = start.app.features.alerts
        self._states = start.app.features.platforms
        self._states.retry = self.retry_now
        self._again = asyncio.Event()
        self.was_connected = False
        self._failures: dict[str, Exception] = {}
        self._hindered_on: set[str] = set()
        for name in chosen:
            self._note(name, Link.CONNECTING)

    def retry_now(self) -> None:
        """Try the platforms that ended at once."""
        self._again.set()  # this wakes everyone who waits now
        self._again.clear()

    async def run(self) -> BaseException | None:
        """Run the platforms until `stop` is set; return why they ended before, or None.

        That is why the first of them was refused, if every one was before any was connected (ConfigError, as a rule);
        with ON_PLATFORM_END=exit, a BotError that says which platform ended.
        """
        for key in self._alerts.open_now():
            kind, _, name = key.partition(":")
            if kind in {_ENDED, _HINDERED} and name not in self._chosen:  # that platform was turned off
                self._alerts.over(key)
        ended = await asyncio.gather(*(self._run(name) for name in self._chosen), return_exceptions=True)
        return next((failure for failure in ended if failure is not None), None)

    async def _run(self, name: str) -> None:
        try:
            await self._keep(name)
        finally:
            self._start.stop.set()  # where this platform gives up, the others end too

    async def _keep(self, name: str) -> None:
        """Run one platform, and again after a pause whenever it ends."""
        platform, clock, stop = self._chosen[name], self._start.app.clock, self._start.stop
        backoff = Backoff(_FIRST_S, _LONGEST_S)
        settings = self._start.app.settings
        while True:
            began_s = clock.monotonic()
            failure = await self._attempt(name, platform, settings)
            if stop.is_set():
                if failure is not None:
                    _log.warning("%s ended while it was stopped", name, exc_info=failure)
                return
            failure = failure or BotError("it ended by itself")
            if clock.monotonic() - began_s > _LONGEST_S:  # it was at work for a while
                backoff.reset()
            pause_s = backoff.next_s()
            final = self._final(name, settings, failure)
            self._ended(name, failure, None if final else pause_s)
            if final is not None:
                await self._alerts.close(_LAST_WORDS_S)  # before the other platforms end
                raise final
            await until(stop, clock.sleep(pause_s), self._again.wait())
            if stop.is_set():
                return

    def _final(self, name: str, settings: Settings, failure: Exception) -> Exception | None:
        """Return why the whole ends now that this platform ended, or None if it goes on."""
        failures = self._failures | {name: failure}
        if not self.was_connected and len(failures) == len(self._chosen):
            return next(failures[each] for each in self._chosen)
        return BotError(f"{name} ended: {_said(failure)}") if settings.on_platform_end == "exit" else None

    async def _attempt(self, name: str, platform: Platform, settings: Settings) -> Exception | None:
        """Run the platform until it ends; return why, or None if it was to stop."""
        start = self._start
        try:
            if name in self._failures:
                settings = platform.take_over(settings, self._reload())
                strike_out(settings.secrets())
                self._note(name, Link.CONNECTING)
            app = replace(start.app, settings=settings)
            connected, hindered = partial(self._connected, name), partial(self._hindered, name)
            await platform.run(replace(start, app=app, connected=connected, hindered=hindered, wrote=self._wrote(name)))
        except Exception as failure:  # noqa: BLE001  (whatever ends a platform, the others go on)
            return failure
        finally:
            start.app.features.notifier.disconnect(name)
        return None

    def _connected(self, name: str, is_connected: bool, why: str = "") -> None:
        state = self._states.all[name]
        if is_connected is (state.link is Link.CONNECTED) and why == state.reason:
            return
        if is_connected:
            self.was_connected = True
            self._failures.pop(name, None)
            self._tell_again(name)
        self._note(name, Link.CONNECTED if is_connected else Link.CONNECTING, reason=why)
        self._tell_ended()
        _log.info("%s is connected" if is_connected else "%s is not connected", name)

    def _hindered(self, name: str, hindrance: Localized | None) -> None:
        """Alert the owners to what keeps messages away, and say it in the terminal; or that it is over."""
        key = f"{_HINDERED}:{name}"
        if hindrance is None:
            self._hindered_on.discard(name)
            self._alerts.over(key, filled(ALONE, platform=name.title()))
        else:
            if name not in self._hindered_on:
                self._start.say(hindrance[Locale.EN])
            self._hindered_on.add(name)
            self._alerts.tell(key, hindrance, stops_answers=True)
        self._changed()

    def _ended(self, name: str, failure: Exception, pause_s: float | None) -> None:
        """Note and tell that a platform ended, and is tried again after a pause."""
        again = _said(self._failures.get(name)) == _said(failure)
        _log.warning("%s ended", name, exc_info=failure)
        if pause_s is not None and not again:
            self._start.say(f"{name.title()} ended: {_said(failure)}. It is tried again, next in {pause_s:g} s.")
        self._failures[name] = failure
        next_try = None if pause_s is None else self._start.app.clock.now() + timedelta(seconds=pause_s)
        setting = failure.setting if isinstance(failure, ConfigError) else ""
        self._note(name, Link.ENDED, reason=_said(failure), setting=setting, next_try=next_try)
        if pause_s is not None or self.was_connected:  # else it is a start that failed, which is told as such
            self._tell_ended(ends=pause_s is None)

    def _tell_ended(self, *, ends: bool = False) -> None:
        """Tell of each platform that ended where the bot goes on: no detail of the failure, which is in the log."""
        others = [state.name.title() for state in self._states.all.values() if state.link is Link.CONNECTED]
        meanwhile = ENDS if ends else filled(ON_OTHERS, others=", ".join(others)) if others else ON_NONE
        for name, failure in self._failures.items():
            setting = failure.setting if isinstance(failure, ConfigError) else self._chosen[name].setting
            words = filled(ENDED, platform=name.title(), setting=setting, meanwhile=meanwhile)
            self._alerts.tell(f"{_ENDED}:{name}", words, stops_answers=True, only_way=name)

    def _tell_again(self, name: str) -> None:
        """Tell that a platform is connected again, and for how long it was not."""
        key = f"{_ENDED}:{name}"
        if (alarm := self._alerts.open_now().get(key)) is not None:
            away = span((self._start.app.clock.now() - alarm.since).total_seconds())
            self._alerts.over(key, filled(AGAIN, platform=name.title(), span=away))

    def _note(self, name: str, link: Link, **why: Any) -> None:
        before, since = self._states.all.get(name), self._start.app.clock.now()
        if before is not None and Link.CONNECTED not in {before.link, link}:
            since = before.since  # whatever was tried meanwhile
        self._states.all[name] = PlatformState(name, link, since, **why)
        self._changed()


def _said(failure: Exception | None) -> str:
    """Return why a platform ended, without what others' errors may hold: secrets, or people's words."""
    if failure is None:
        return ""
    return str(failure) if isinstance(failure, BotError) else type(failure).__name__


ENDED = text("platforms.ended")
ON_OTHERS = text("platforms.meanwhile.others")
ON_NONE = text("platforms.meanwhile.nobody")
ENDS = text("platforms.meanwhile.ends")
AGAIN = text("platforms.again")
ALONE = text("platforms.alone")
