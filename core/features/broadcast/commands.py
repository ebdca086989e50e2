"""/admin broadcast, a text for everybody that is shown first and sent once confirmed; /news, who gets such texts.

It is sent to one after the other, in the background; after a restart that goes on where it stopped.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from core.answering.asker import PreferencesOf
from core.commands.command import ON_SETTINGS, Command, Request
from core.commands.menu import choice_field, text_field
from core.delivery.notifier import Notifier
from core.errors import ClaimLost, StorageError
from core.features.access.gate import minute
from core.features.access.rules import Access
from core.features.admin.admin import Verb
from core.features.admin.decide import NEVER
from core.features.admin.storage import Matter
from core.features.broadcast.storage import Broadcast, Broadcasts, BroadcastState, Receipt
from core.features.feature import Contribution, Shared
from core.features.preferences.storage import PreferenceStore
from core.memory.memories import Memories
from core.outgoing import Button, OutgoingMessage
from core.ports import Clock
from core.tasks import background, first_of
from core.text.catalogue import Plurals, Sentences, counted, in_words, text, texts
from core.types import Locale, Role, UserKey
from core.workers.port import Worker

ADMIN = Sentences("broadcast.admin")
ADMIN_PLURALS = Plurals("broadcast.admin")
NEWS = Sentences("broadcast.news")
REPORT_PLURALS = Plurals("broadcast.report")

AGAIN: Final = "↻"
"""Marks a text that the person may have already: the bot was stopped while it was being sent."""

_RETRY_S: Final = 60.0
_log = logging.getLogger(__name__)


class Audience:
    """The people a broadcast is for: owners, admins and members who did not turn news off."""

    def __init__(self, access: Access, preferences: PreferencesOf, memories: Memories, notifier: Notifier) -> None:
        self._access = access
        self._preferences = preferences
        self._memories = memories
        self._notifier = notifier

    async def wants(self, user: UserKey) -> bool:
        """Whether the person gets news."""
        if await self._access.role(user) not in {Role.OWNER, Role.ADMIN, Role.MEMBER}:
            return False
        return (await self._preferences(user)).news

    async def reachable(self) -> Sequence[UserKey]:
        """Return those who get news and can be written to now, one account of each person who linked several."""
        chosen: dict[UserKey, UserKey] = {}
        for person in await self._access.people.all():
            if person.user.platform in self._notifier.platforms and await self.wants(person.user):
                chosen.setdefault(await self._memories.owner(person.user), person.user)
        return tuple(chosen.values())


class Broadcaster:
    """Send broadcasts while `until` is entered and that is this worker's duty.

    One person is written to every `interval_s`, or slower if the platform asks it. `others_s` is how often it looks for
    a broadcast that another worker began. `wants` is asked again before each person is written to. People on a platform
    that is not connected are written to once it is. At the end the author is told how many people have it.
    """

    def __init__(
        self,
        store: Broadcasts,
        notifier: Notifier,
        wants: Callable[[UserKey], Awaitable[bool]],
        clock: Clock,
        worker: Worker,
        *,
        interval_s: float = 1.0,
        others_s: float = math.inf,
    ) -> None:
        self.interval_s: Final = interval_s
        self._store = store
        self._notifier = notifier
        self._wants = wants
        self._clock = clock
        self._worker = worker
        self._others_s = others_s
        self._wake = asyncio.Event()
        self._wake.set()
        self._halted = False
        notifier.on_connect(self.wake)

    def wake(self) -> None:
        """Look for somebody to write to, soon."""
        self._wake.set()

    @asynccontextmanager
    async def until(self, stop: asyncio.Event) -> AsyncIterator[None]:
        """Work while the context is entered; once `stop` is set, write to nobody else."""
        async with background(self._serve()), background(self._halt_at(stop)):
            try:
                yield
            finally:
                self._halted = True

    async def _halt_at(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._halted = True

    async def _serve(self) -> None:
        """Work while that is this worker's duty. Who is being told when it is lost is told again, marked."""
        try:
            while True:
                async with self._worker.hold("broadcasts") as duty:
                    self.wake()
                    with duty.under(), suppress(ClaimLost):
                        await first_of(self._work(), self._look(), duty.lost.wait())
        except Exception:  # noqa: BLE001  (the bot goes on)
            _log.exception("broadcast broke")

    async def _look(self) -> None:
        """Look again and again for a broadcast that another worker began."""
        if self._others_s == math.inf:
            await asyncio.Event().wait()
        while True:
            await self._clock.sleep(self._others_s)
            self.wake()

    async def _work(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                while not self._halted and await self._tell_next():
                    await self._clock.sleep(self.interval_s)
            except StorageError as error:
                _log.warning("broadcast waits", extra={"error": type(error).__name__})
                await self._clock.sleep(_RETRY_S)
                self.wake()

    async def _tell_next(self) -> bool:
        """Write to one person; return False if there is nobody to write to now."""
        running = await self._store.newest()
        if running is None or running.state is not BroadcastState.RUNNING:
            return False
        taken = await self._store.take(running.id, tuple(self._notifier.platforms))
        if taken is None:
            if not (await self._store.tally(running.id)).waiting:
                await self._finish(running)
            return False
        user, again = taken
        if not await self._wants(user):
            await self._store.mark(running.id, user, None)
            return True
        has_it = await self._notifier.tell(user, OutgoingMessage(f"{AGAIN} {running.text}" if again else running.text))
        if has_it or not self._halted:  # a platform that is being closed refuses everybody
            await self._store.mark(running.id, user, Receipt.TOLD if has_it else Receipt.UNREACHABLE)
        return True

    async def _finish(self, running: Broadcast) -> None:
        tally = await self._store.tally(running.id)
        if not await self._store.end(running.id, BroadcastState.DONE):
            return
        _log.info("broadcast done", extra={"told": tally.told, "unreachable": tally.unreachable})
        if running.by is not None:
            lines = [counted(REPORT_PLURALS.done, running.locale, tally.told)]
            if tally.unreachable:
                lines.append(counted(REPORT_PLURALS.unreachable, running.locale, tally.unreachable))
            await self._notifier.tell(running.by, OutgoingMessage("\n".join(lines)))


BROADCAST: Final = "broadcast"
"""The kind of decision that records when an owner had everybody told something."""

MAX_TEXT_CHARS: Final = 3_500
SEND, DISCARD, STATUS, CANCEL = "send", "discard", "status", "cancel"
_MAX_NUMBER_CHARS: Final = 12
_OTHERS_S: Final = 5.0
"""How often a worker looks for what others began."""


def build(shared: Shared) -> Contribution:
    """Contribute /admin broadcast and /news, and what sends broadcasts."""
    stores, about = shared.stores, text("admin.decide.about.broadcast")
    audience = Audience(shared.access, stores.preferences.of, shared.memories, shared.notifier)
    broadcaster = Broadcaster(
        stores.broadcasts,
        shared.notifier,
        audience.wants,
        shared.clock,
        shared.worker,
        interval_s=shared.settings.broadcast_interval_s,
        others_s=math.inf if shared.worker.is_alone else _OTHERS_S,
    )
    fields = (
        text_field("text", text("menus.fields.broadcast")),
        choice_field("what", text("menus.fields.broadcast_under_way"), {STATUS: ADMIN.how_far, CANCEL: ADMIN.stop_it}),
    )
    run = BroadcastVerb(shared, broadcaster, audience).run
    return Contribution(
        commands=(
            Command(
                "news",
                text("commands.news"),
                partial(news, stores.preferences),
                usage=" off | on",
                fields=(choice_field("what", text("menus.fields.news"), {"off": NEWS.turn_off, "on": NEWS.turn_on}),),
                topics=(ON_SETTINGS,),
            ),
        ),
        verbs=(
            Verb(
                "broadcast",
                text("admin.commands.broadcast"),
                run,
                " TEXT | status | cancel",
                for_owners=True,
                fields=fields,
            ),
        ),
        matters=(Matter(BROADCAST, about, {"": NEVER}, for_owners=True, is_deed=True),),
        forgetters=(stores.broadcasts,),
        served=(broadcaster.until,),
        offers=(broadcaster, audience),
    )


class BroadcastVerb:
    """Draft a text for everybody, send or discard it, tell how far it is, end it."""

    def __init__(self, shared: Shared, broadcaster: Broadcaster, audience: Audience) -> None:
        self._shared = shared
        self._store = shared.stores.broadcasts
        self._broadcaster = broadcaster
        self._audience = audience

    async def run(self, request: Request, argument: str) -> None:
        """Do what the verb is followed by; any other text is a draft."""
        match argument.split(maxsplit=2):
            case [verb, number] if verb.casefold() in {SEND, DISCARD} and number.isdecimal():
                act = self._send if verb.casefold() == SEND else self._discard
                await act(request, int(number[:_MAX_NUMBER_CHARS]))
            case [verb] if verb.casefold() == CANCEL:
                await self._cancel(request)
            case [] | [_] if not argument or argument.casefold() == STATUS:
                await self._status(request)
            case _:
                await self._draft(request, argument)

    async def _draft(self, request: Request, words: str) -> None:
        """Show a text as everybody would see it, and ask whether to send it."""
        locale = request.locale
        if len(words) > MAX_TEXT_CHARS:
            await request.tell(ADMIN.too_long, chars=len(words), max_chars=MAX_TEXT_CHARS)
            return
        people = await self._audience.reachable()
        if not people:
            await request.tell(ADMIN.nobody)
            return
        drafted = await self._store.draft(request.incoming.user, locale, words, self._shared.clock.now())
        await request.answer.tell(words)
        choices = (
            Button(ADMIN.send_it[locale], f"/admin broadcast {SEND} {drafted.id}", in_place=True),
            Button(ADMIN.discard_it[locale], f"/admin broadcast {DISCARD} {drafted.id}", in_place=True),
        )
        await request.answer.tell(
            counted(ADMIN_PLURALS.preview, locale, len(people), number=drafted.id), choices=choices
        )

    async def _send(self, request: Request, number: int) -> None:
        locale, people = request.locale, await self._audience.reachable()
        if not people:
            await request.tell(ADMIN.nobody)
        elif not await self._store.begin(number, people):
            await request.tell(ADMIN.not_begun)
        else:
            await self._shared.decider.record(BROADCAST, request.incoming.user)
            self._broadcaster.wake()
            lasts = timedelta(minutes=len(people) * self._broadcaster.interval_s // 60)
            told = counted(ADMIN_PLURALS.begun, locale, len(people))
            if lasts:
                told += " " + ADMIN.lasts[locale].format(length=in_words(lasts, locale))
            await request.answer.tell(told, choices=_while_it_runs(locale))

    async def _discard(self, request: Request, number: int) -> None:
        await request.tell(ADMIN.discarded if await self._store.discard(number) else ADMIN.not_begun)

    async def _cancel(self, request: Request) -> None:
        found = await self._store.newest()
        if found is None or not await self._store.end(found.id, BroadcastState.CANCELLED):
            await request.tell(ADMIN.none_runs)
        else:
            cancelled = replace(found, state=BroadcastState.CANCELLED)
            await request.answer.tell(await self._state(cancelled, request.locale))

    async def _status(self, request: Request) -> None:
        found = await self._store.newest()
        if found is None:
            await request.tell(ADMIN.how)
            return
        choices = _while_it_runs(request.locale) if found.state is BroadcastState.RUNNING else ()
        told = await self._state(found, request.locale)
        await request.answer.tell(f"{told}\n\n{ADMIN.how[request.locale]}", choices=choices)

    async def _state(self, found: Broadcast, locale: Locale) -> str:
        """Return how far it has come."""
        tally = await self._store.tally(found.id)
        by = "—" if found.by is None else await self._shared.names.of_person(found.by)
        lines = [
            STATES[found.state][locale].format(at=minute(found.at, locale), by=by),
            counted(ADMIN_PLURALS.told, locale, tally.told),
        ]
        lines += [
            counted(text, locale, count)
            for text, count in ((ADMIN_PLURALS.left, tally.waiting), (ADMIN_PLURALS.lost, tally.unreachable))
            if count
        ]
        return "\n".join(lines)


async def news(store: PreferenceStore, request: Request, argument: str) -> None:
    """Turn what owners tell everybody on or off, and say what holds."""
    user, locale = request.incoming.user, request.locale
    preferences = await store.of(user)
    wants = {"on": True, "off": False}.get(argument.casefold())
    if wants is not None:
        preferences = replace(preferences, news=wants)
        await store.put(user, preferences)
    on = preferences.news
    other = Button((NEWS.turn_off if on else NEWS.turn_on)[locale], f"/news {'off' if on else 'on'}", in_place=True)
    await request.answer.tell((NEWS.wanted if on else NEWS.unwanted)[locale], choices=(other,))


def _while_it_runs(locale: Locale) -> tuple[Button, ...]:
    return (
        Button(ADMIN.how_far[locale], f"/admin broadcast {STATUS}", in_place=True),
        Button(ADMIN.stop_it[locale], f"/admin broadcast {CANCEL}", in_place=True),
    )


STATES = texts("broadcast.admin.states", BroadcastState)
