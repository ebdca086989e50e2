"""/admin broadcast, a text for everybody that is shown first and sent once confirmed; /news, who gets such texts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta
from typing import Final

from core.commands.command import Command, Request
from core.commands.menu import choice_field, text_field
from core.features.admin.admin import Verb
from core.features.admin.decisions import DecisionKind, Decisions, record_deed
from core.features.broadcast.broadcaster import Audience, Broadcaster
from core.features.broadcast.broadcasts import Broadcast, Broadcasts, BroadcastState, Tally
from core.features.preferences.store import PreferenceStore
from core.outgoing import Button
from core.ports import Clock
from core.text.catalogue import counted, forms, in_words, text
from core.types import Locale, Localized

MAX_TEXT_CHARS: Final = 3_500
SEND, DISCARD, STATUS, CANCEL = "send", "discard", "status", "cancel"
_MAX_NUMBER_CHARS: Final = 12


class BroadcastVerb:
    """Offer /admin broadcast: draft a text, send or discard it, tell how far it is, end it."""

    def __init__(
        self, store: Broadcasts, broadcaster: Broadcaster, audience: Audience, decisions: Decisions, clock: Clock
    ) -> None:
        self._store = store
        self._broadcaster = broadcaster
        self._audience = audience
        self._decisions = decisions
        self._clock = clock

    @property
    def verb(self) -> Verb:
        """The verb of /admin."""
        usage = " TEXT | status | cancel"
        fields = (
            text_field("text", text("menus.fields.broadcast")),
            choice_field("what", text("menus.fields.broadcast_under_way"), {STATUS: HOW_FAR, CANCEL: STOP_IT}),
        )
        about = text("admin.commands.broadcast")
        return Verb("broadcast", about, self._broadcast, usage, for_owners=True, fields=fields)

    async def _broadcast(self, request: Request, argument: str) -> None:
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
        drafted = await self._store.draft(request.incoming.user, locale, words, self._clock.now())
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
            await record_deed(self._decisions, self._clock, request.incoming.user, DecisionKind.BROADCAST)
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
            await request.answer.tell(_state(cancelled, request.locale, await self._store.tally(found.id)))

    async def _status(self, request: Request) -> None:
        found = await self._store.newest()
        if found is None:
            await request.tell(HOW)
            return
        choices = _while_it_runs(request.locale) if found.state is BroadcastState.RUNNING else ()
        told = _state(found, request.locale, await self._store.tally(found.id))
        await request.answer.tell(f"{told}\n\n{HOW[request.locale]}", choices=choices)


class NewsCommand:
    """Offer /news: turn what owners tell everybody on or off, and say what holds."""

    def __init__(self, preferences: PreferenceStore) -> None:
        self._preferences = preferences

    @property
    def command(self) -> Command:
        """The command."""
        return Command(
            "news",
            text("commands.news"),
            self._news,
            usage=" off | on",
            fields=(choice_field("what", text("menus.fields.news"), {"off": TURN_OFF, "on": TURN_ON}),),
        )

    async def _news(self, request: Request, argument: str) -> None:
        user, locale = request.incoming.user, request.locale
        preferences = await self._preferences.of(user)
        wants = {"on": True, "off": False}.get(argument.casefold())
        if wants is not None:
            preferences = replace(preferences, news=wants)
            await self._preferences.put(user, preferences)
        on = preferences.news
        other = Button((TURN_OFF if on else TURN_ON)[locale], f"/news {'off' if on else 'on'}", in_place=True)
        await request.answer.tell((WANTED if on else UNWANTED)[locale], choices=(other,))


def _state(found: Broadcast, locale: Locale, tally: Tally) -> str:
    """Return how far it has come."""
    lines = [
        STATES[found.state][locale].format(at=f"{found.at.astimezone(UTC):%Y-%m-%d %H:%M}", by=found.by or "—"),
        counted(TOLD, locale, tally.told),
    ]
    lines += [
        counted(text, locale, count) for text, count in ((LEFT, tally.waiting), (LOST, tally.unreachable)) if count
    ]
    return "\n".join(lines)


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
