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
from core.text.plural import Counted, counted
from core.types import Locale, Localized, UserKey

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
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


HOW: Localized = {
    PT: "Para falar a todos: /admin broadcast TEXTO. Antes de enviar, mostro como fica e a quantas pessoas vai.",
    EN: "To speak to everybody: /admin broadcast TEXT. Before it is sent I show how it looks and how many get it.",
    ES: "Para hablar a todos: /admin broadcast TEXTO. Antes de enviarlo muestro cómo queda y a cuántas personas va.",
}
TOO_LONG: Localized = {
    PT: "Isso tem {chars} caracteres; um comunicado tem até {max_chars}. Nada foi enviado.",
    EN: "That has {chars} characters; a broadcast has up to {max_chars}. Nothing was sent.",
    ES: "Eso tiene {chars} caracteres; un comunicado tiene hasta {max_chars}. No se envió nada.",
}
NOBODY: Localized = {
    PT: "Não há ninguém a quem eu possa escrever agora: membros em plataformas conectadas que queiram novidades. "
    "Nada foi enviado.",
    EN: "There is nobody whom I can write to now: members on connected platforms who want news. Nothing was sent.",
    ES: "No hay nadie a quien pueda escribir ahora: miembros en plataformas conectadas que quieran novedades. "
    "No se envió nada.",
}
PREVIEW: Counted = {
    PT: {
        "one": "É assim que fica. Vai para {count} pessoa. Para enviar: /admin broadcast send {number}",
        "other": "É assim que fica. Vai para {count} pessoas. Para enviar: /admin broadcast send {number}",
    },
    EN: {
        "one": "This is how it looks. It goes to {count} person. To send it: /admin broadcast send {number}",
        "other": "This is how it looks. It goes to {count} people. To send it: /admin broadcast send {number}",
    },
    ES: {
        "one": "Así queda. Va a {count} persona. Para enviarlo: /admin broadcast send {number}",
        "other": "Así queda. Va a {count} personas. Para enviarlo: /admin broadcast send {number}",
    },
}
SEND_IT: Localized = {PT: "Enviar", EN: "Send", ES: "Enviar"}
DISCARD_IT: Localized = {PT: "Descartar", EN: "Discard", ES: "Descartar"}
NOT_BEGUN: Localized = {
    PT: "Esse comunicado não está mais à espera, ou outro ainda está sendo enviado (/admin broadcast status).",
    EN: "That broadcast does not wait any more, or another one is still being sent (/admin broadcast status).",
    ES: "Ese comunicado ya no espera, o todavía se está enviando otro (/admin broadcast status).",
}
DISCARDED: Localized = {
    PT: "Descartado. Nada foi enviado.",
    EN: "Discarded. Nothing was sent.",
    ES: "Descartado. No se envió nada.",
}
BEGUN: Counted = {
    PT: {"one": "Enviando para {count} pessoa.", "other": "Enviando para {count} pessoas, uma a uma."},
    EN: {"one": "Sending to {count} person.", "other": "Sending to {count} people, one by one."},
    ES: {"one": "Enviando a {count} persona.", "other": "Enviando a {count} personas, una a una."},
}
LASTS: Localized = {
    PT: "Leva cerca de {length}; aviso quando terminar.",
    EN: "It takes about {length}; I will tell you when it is over.",
    ES: "Tarda unos {length}; aviso cuando termine.",
}
HOW_FAR: Localized = {PT: "Como vai?", EN: "How far is it?", ES: "¿Cómo va?"}
STOP_IT: Localized = {PT: "Parar", EN: "Stop it", ES: "Parar"}
NONE_RUNS: Localized = {
    PT: "Nenhum comunicado está sendo enviado.",
    EN: "No broadcast is being sent.",
    ES: "No se está enviando ningún comunicado.",
}
STATES: dict[BroadcastState, Localized] = {
    BroadcastState.DRAFT: {PT: "Rascunho de {by}.", EN: "A draft of {by}.", ES: "Borrador de {by}."},
    BroadcastState.RUNNING: {
        PT: "O comunicado de {at} UTC (de `{by}`) está sendo enviado.",
        EN: "The broadcast of {at} UTC (by `{by}`) is being sent.",
        ES: "El comunicado de {at} UTC (de `{by}`) se está enviando.",
    },
    BroadcastState.DONE: {
        PT: "O comunicado de {at} UTC (de `{by}`) terminou.",
        EN: "The broadcast of {at} UTC (by `{by}`) is over.",
        ES: "El comunicado de {at} UTC (de `{by}`) terminó.",
    },
    BroadcastState.CANCELLED: {
        PT: "O comunicado de {at} UTC (de `{by}`) foi parado.",
        EN: "The broadcast of {at} UTC (by `{by}`) was stopped.",
        ES: "El comunicado de {at} UTC (de `{by}`) se detuvo.",
    },
}
TOLD: Counted = {
    PT: {"one": "{count} pessoa o recebeu.", "other": "{count} pessoas o receberam."},
    EN: {"one": "{count} person has it.", "other": "{count} people have it."},
    ES: {"one": "Lo recibió {count} persona.", "other": "Lo recibieron {count} personas."},
}
LEFT: Counted = {
    PT: {"one": "Falta {count} pessoa.", "other": "Faltam {count} pessoas."},
    EN: {"one": "{count} person does not have it.", "other": "{count} people do not have it."},
    ES: {"one": "Falta {count} persona.", "other": "Faltan {count} personas."},
}
LOST: Counted = {
    PT: {"one": "{count} pessoa não pôde ser alcançada.", "other": "{count} pessoas não puderam ser alcançadas."},
    EN: {"one": "{count} person could not be reached.", "other": "{count} people could not be reached."},
    ES: {"one": "No se pudo llegar a {count} persona.", "other": "No se pudo llegar a {count} personas."},
}

BROADCAST = Verb(
    "broadcast",
    {PT: "um texto para todos", EN: "a text for everybody", ES: "un texto para todos"},
    broadcast,
    " TEXT | status | cancel",
    for_owners=True,
)
