"""/admin broadcast, a text for everybody that is shown first and sent once confirmed; /news, who gets such texts."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Final

from core.commands.command import ON_SETTINGS, Command, Request
from core.commands.menu import choice_field, text_field
from core.features.access.gate import minute
from core.features.admin.admin import Verb
from core.features.admin.decide import NEVER
from core.features.admin.decisions import Matter
from core.features.broadcast.broadcaster import Audience, Broadcaster
from core.features.broadcast.broadcasts import Broadcast, BroadcastState
from core.features.feature import Contribution, Shared
from core.features.preferences.storage import PreferenceStore
from core.outgoing import Button
from core.text.catalogue import counted, forms, in_words, text
from core.types import Locale, Localized

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
        choice_field("what", text("menus.fields.broadcast_under_way"), {STATUS: HOW_FAR, CANCEL: STOP_IT}),
    )
    run = BroadcastVerb(shared, broadcaster, audience).run
    return Contribution(
        commands=(
            Command(
                "news",
                text("commands.news"),
                partial(news, stores.preferences),
                usage=" off | on",
                fields=(choice_field("what", text("menus.fields.news"), {"off": TURN_OFF, "on": TURN_ON}),),
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
            await request.tell(TOO_LONG, chars=len(words), max_chars=MAX_TEXT_CHARS)
            return
        people = await self._audience.reachable()
        if not people:
            await request.tell(NOBODY)
            return
        drafted = await self._store.draft(request.incoming.user, locale, words, self._shared.clock.now())
        await request.answer.tell(words)
        choices = (
            Button(SEND_IT[locale], f"/admin broadcast {SEND} {drafted.id}", in_place=True),
            Button(DISCARD_IT[locale], f"/admin broadcast {DISCARD} {drafted.id}", in_place=True),
        )
        await request.answer.tell(counted(PREVIEW, locale, len(people), number=drafted.id), choices=choices)

    async def _send(self, request: Request, number: int) -> None:
        locale, people = request.locale, await self._audience.reachable()
        if not people:
            await request.tell(NOBODY)
        elif not await self._store.begin(number, people):
            await request.tell(NOT_BEGUN)
        else:
            await self._shared.decider.record(BROADCAST, request.incoming.user)
            self._broadcaster.wake()
            lasts = timedelta(minutes=len(people) * self._broadcaster.interval_s // 60)
            told = counted(BEGUN, locale, len(people))
            if lasts:
                told += " " + LASTS[locale].format(length=in_words(lasts, locale))
            await request.answer.tell(told, choices=_while_it_runs(locale))

    async def _discard(self, request: Request, number: int) -> None:
        await request.tell(DISCARDED if await self._store.discard(number) else NOT_BEGUN)

    async def _cancel(self, request: Request) -> None:
        found = await self._store.newest()
        if found is None or not await self._store.end(found.id, BroadcastState.CANCELLED):
            await request.tell(NONE_RUNS)
        else:
            cancelled = replace(found, state=BroadcastState.CANCELLED)
            await request.answer.tell(await self._state(cancelled, request.locale))

    async def _status(self, request: Request) -> None:
        found = await self._store.newest()
        if found is None:
            await request.tell(HOW)
            return
        choices = _while_it_runs(request.locale) if found.state is BroadcastState.RUNNING else ()
        told = await self._state(found, request.locale)
        await request.answer.tell(f"{told}\n\n{HOW[request.locale]}", choices=choices)

    async def _state(self, found: Broadcast, locale: Locale) -> str:
        """Return how far it has come."""
        tally = await self._store.tally(found.id)
        by = "—" if found.by is None else await self._shared.names.of_person(found.by)
        lines = [
            STATES[found.state][locale].format(at=minute(found.at, locale), by=by),
            counted(TOLD, locale, tally.told),
        ]
        lines += [
            counted(text, locale, count) for text, count in ((LEFT, tally.waiting), (LOST, tally.unreachable)) if count
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
    other = Button((TURN_OFF if on else TURN_ON)[locale], f"/news {'off' if on else 'on'}", in_place=True)
    await request.answer.tell((WANTED if on else UNWANTED)[locale], choices=(other,))


def _while_it_runs(locale: Locale) -> tuple[Button, ...]:
    return (
        Button(HOW_FAR[locale], f"/admin broadcast {STATUS}", in_place=True),
        Button(STOP_IT[locale], f"/admin broadcast {CANCEL}", in_place=True),
    )


HOW = text("broadcast.admin.how")
TOO_LONG = text("broadcast.admin.too_long")
NOBODY = text("broadcast.admin.nobody")
PREVIEW = forms("broadcast.admin.preview")
SEND_IT = text("broadcast.admin.send_it")
DISCARD_IT = text("broadcast.admin.discard_it")
NOT_BEGUN = text("broadcast.admin.not_begun")
DISCARDED = text("broadcast.admin.discarded")
BEGUN = forms("broadcast.admin.begun")
LASTS = text("broadcast.admin.lasts")
HOW_FAR = text("broadcast.admin.how_far")
STOP_IT = text("broadcast.admin.stop_it")
NONE_RUNS = text("broadcast.admin.none_runs")
STATES: dict[BroadcastState, Localized] = {
    BroadcastState.DRAFT: text("broadcast.admin.states.draft"),
    BroadcastState.RUNNING: text("broadcast.admin.states.running"),
    BroadcastState.DONE: text("broadcast.admin.states.done"),
    BroadcastState.CANCELLED: text("broadcast.admin.states.cancelled"),
}
TOLD = forms("broadcast.admin.told")
LEFT = forms("broadcast.admin.left")
LOST = forms("broadcast.admin.lost")

WANTED = text("broadcast.news.wanted")
UNWANTED = text("broadcast.news.unwanted")
TURN_OFF = text("broadcast.news.turn_off")
TURN_ON = text("broadcast.news.turn_on")
