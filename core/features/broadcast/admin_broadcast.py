"""/admin broadcast: a text for everybody: shown first as it will look, sent once confirmed. Knows the words of it.

Does not know how it is sent: that is `core.features.broadcast`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, timedelta
from typing import Final

from core.commands.command import Request
from core.commands.duration import in_words
from core.features.admin.decisions import DecisionKind
from core.features.admin.verb import Verb
from core.features.broadcast.broadcasts import Broadcast, BroadcastState, Tally
from core.features.transfer.admin_data import note
from core.outgoing import Button
from core.text.catalogue import forms, text
from core.text.plural import counted
from core.types import Locale, Localized, UserKey

MAX_TEXT_CHARS: Final = 3_500
SEND, DISCARD, STATUS, CANCEL = "send", "discard", "status", "cancel"
_MAX_NUMBER_CHARS: Final = 12


async def broadcast(request: Request, argument: str) -> None:
    """Show a text as everybody will see it, and ask; or send one, discard one, say how far it is, end it."""
    match argument.split(maxsplit=2):
        case [verb, number] if verb.casefold() in {SEND, DISCARD} and number.isdecimal():
            number = number[:_MAX_NUMBER_CHARS]
            await (_send if verb.casefold() == SEND else _discard)(request, int(number))
        case [verb] if verb.casefold() == CANCEL:
            await _cancel(request)
        case [] | [_] if not argument or argument.casefold() == STATUS:
            await _status(request)
        case _:
            await _draft(request, argument)


async def audience(request: Request) -> Sequence[UserKey]:
    """Return who would be told: whoever wants news and can be written to now. Linked accounts are one person."""
    context = request.context
    chosen: dict[UserKey, UserKey] = {}
    for person in await context.access.people():
        if person.user.platform in context.notifier.platforms and await context.wants_news(person.user):
            chosen.setdefault(await context.stores.memories.owner(person.user), person.user)
    return tuple(chosen.values())


async def _draft(request: Request, text: str) -> None:
    locale, store = request.locale, request.context.stores.broadcasts
    if len(text) > MAX_TEXT_CHARS:
        await request.tell(TOO_LONG, chars=len(text), max_chars=MAX_TEXT_CHARS)
        return
    people = await audience(request)
    if not people:
        await request.tell(NOBODY)
        return
    drafted = await store.draft(request.incoming.user, locale, text, request.context.clock.now())
    await request.turn.tell(text)
    choices = (
        Button(SEND_IT[locale], f"/admin broadcast {SEND} {drafted.id}", in_place=True),
        Button(DISCARD_IT[locale], f"/admin broadcast {DISCARD} {drafted.id}", in_place=True),
    )
    await request.turn.tell(counted(PREVIEW, locale, len(people), number=drafted.id), choices=choices)


async def _send(request: Request, number: int) -> None:
    context, locale = request.context, request.locale
    people = await audience(request)
    if not people:
        await request.tell(NOBODY)
    elif not await context.stores.broadcasts.begin(number, people):
        await request.tell(NOT_BEGUN)
    else:
        await note(context, request.incoming.user, DecisionKind.BROADCAST)
        context.broadcaster.wake()
        lasts = timedelta(minutes=len(people) * context.broadcaster.interval_s // 60)
        told = counted(BEGUN, locale, len(people))
        if lasts:
            told += " " + LASTS[locale].format(length=in_words(lasts, locale))
        await request.turn.tell(told, choices=_while_it_runs(locale))


async def _discard(request: Request, number: int) -> None:
    discarded = await request.context.stores.broadcasts.discard(number)
    await request.tell(DISCARDED if discarded else NOT_BEGUN)


async def _cancel(request: Request) -> None:
    store = request.context.stores.broadcasts
    found = await store.newest()
    if found is None or not await store.end(found.id, BroadcastState.CANCELLED):
        await request.tell(NONE_RUNS)
    else:
        cancelled = replace(found, state=BroadcastState.CANCELLED)
        await request.turn.tell(_state(cancelled, request.locale, await store.tally(found.id)))


async def _status(request: Request) -> None:
    store = request.context.stores.broadcasts
    found = await store.newest()
    if found is None:
        await request.tell(HOW)
        return
    choices = _while_it_runs(request.locale) if found.state is BroadcastState.RUNNING else ()
    told = _state(found, request.locale, await store.tally(found.id))
    await request.turn.tell(f"{told}\n\n{HOW[request.locale]}", choices=choices)


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

BROADCAST = Verb(
    "broadcast",
    text("admin.commands.broadcast"),
    broadcast,
    " TEXT | status | cancel",
    for_owners=True,
)
