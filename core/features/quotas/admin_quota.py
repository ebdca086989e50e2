"""/admin quota: which limits hold, how much of each is used, and how an owner changes one.

Knows how a scope is named there. Does not know how anything is counted, nor how a decision is made.
"""

from __future__ import annotations

from typing import Final

from core.commands.command import Request
from core.features.access.admission import HERE
from core.features.admin.decide import decide
from core.features.admin.decisions import DecisionKind
from core.features.admin.verb import Verb, person
from core.features.ledger.calls import BOT, Scope, month_of
from core.features.ledger.usage import spend_text, unpriced_note, use_text
from core.features.quotas.limits import EXAMPLE, Limit, Limits, NotALimit, read, written
from core.features.quotas.quotas import Holding
from core.text.catalogue import text
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.types import Locale, Role, UserKey, room_name

RESET: Final = "reset"
ROLES = (Role.OWNER, Role.ADMIN, Role.MEMBER, Role.GUEST)
_MAX_SPENDERS = 20
_MAX_PART_CHARS = 40


async def quota(request: Request, argument: str) -> None:
    """Show all limits, or those of one; or change them, or let the settings hold again."""
    name, _, rest = argument.partition(" ")
    if not name:
        await _show_all(request)
        return
    if not (scope_name := await _named(request, name)):
        return
    if not rest.strip():
        line = await _line(request, scope_name, await _rooms(request))
        await request.turn.tell("\n".join([line, "", HOW[request.locale].format(example=EXAMPLE)]))
    elif rest.strip().casefold() == RESET:
        await decide(request, DecisionKind.QUOTA, scope_name, "")
    else:
        await _change(request, scope_name, rest)


async def _change(request: Request, name: str, text: str) -> None:
    try:
        limits = read(text)
    except NotALimit as error:
        part = verbatim(one_line(error.part, _MAX_PART_CHARS)) or "—"
        await request.tell(NO_LIMIT, part=part, limits=", ".join(f"`{limit}`" for limit in Limit), example=EXAMPLE)
    else:
        await decide(request, DecisionKind.QUOTA, name, written(limits))


async def _named(request: Request, name: str) -> str:
    """Return the name that limits are decided under, or "" after telling what is wrong with it."""
    folded = name.casefold()
    if folded in {BOT.name, *ROLES}:
        return folded
    if folded == HERE:
        return await person(request, [], 1) if request.incoming.private else room_name(request.incoming.chat)
    return await person(request, [name], 1)


async def _show_all(request: Request) -> None:
    """Show what holds: of the bot, by standing, of rooms, of whoever was given their own, and of who spends most."""
    quotas, locale = request.context.quotas, request.locale
    decided = await request.context.stores.decisions.values(DecisionKind.QUOTA)
    rooms, spending = await _rooms(request), await _spending(request)
    own = [name for name in decided if name not in {BOT.name, *ROLES}]
    _, bots = await quotas.spent(BOT)
    lines = [
        TITLE[locale].format(zone=quotas.zone.key),
        await _line(request, BOT.name, rooms),
        *[_standing_line(request, role, decided.get(role, "")) for role in ROLES],
        ROOMS[locale].format(limits=_limits(quotas.defaults.room, locale)),
        *([OWN[locale], *[await _line(request, name, rooms) for name in own]] if own else []),
    ]
    others = [name for name in dict.fromkeys(spending) if name not in own][:_MAX_SPENDERS]
    lines += [SPENDING[locale], *[await _line(request, name, rooms) for name in others]] if others else []
    lines += [*unpriced_note(bots.spend.unpriced, locale), "", HOW[locale].format(example=EXAMPLE)]
    await request.turn.tell("\n".join(lines))


async def _line(request: Request, name: str, rooms: frozenset[str]) -> str:
    """Return what holds for a name, where that comes from, what it spent this month, and how much is used."""
    quotas, locale = request.context.quotas, request.locale
    if name in set(ROLES):
        decided = await request.context.stores.decisions.value(DecisionKind.QUOTA, name)
        return _standing_line(request, Role(name), decided)
    scope = _scope(name, rooms)
    [holding] = await quotas.holding([scope], await request.context.access.role(scope.user) if scope.user else None)
    parts = [_limits(holding.limits, locale), _source(holding, locale)]
    _, month = await quotas.spent(scope)
    parts.append(THIS_MONTH[locale].format(spend=spend_text(month.spend, locale)))
    if holding.limits:
        parts.append(use_text(await quotas.uses(holding), locale))
    return f"`{name}`: {' · '.join(parts)}"


def _standing_line(request: Request, role: Role, decided: str) -> str:
    """Return what holds for everybody of a standing who has no limits of their own."""
    limits = read(decided) if decided else request.context.quotas.default(role)
    source = (DECIDED if decided else SETTINGS)[request.locale]
    return f"`{role}`: {_limits(limits, request.locale)} · {source}"


def _scope(name: str, rooms: frozenset[str]) -> Scope:
    """Return what a name names: the bot, a room, or a person."""
    if name == BOT.name:
        return BOT
    platform, _, user = name.partition(":")
    return Scope(room=name) if name in rooms else Scope(UserKey(platform, user))


async def _rooms(request: Request) -> frozenset[str]:
    """Return the rooms that were let in, and those that somebody spent in this month."""
    decided = await request.context.stores.decisions.values(DecisionKind.ROOM)
    return frozenset({*decided, *await _spenders(request, "room")})


async def _spending(request: Request) -> list[str]:
    """Return the people and rooms that spent something this month, those who spent most first."""
    spenders = {**await _spenders(request, "user"), **await _spenders(request, "room")}
    return sorted(spenders, key=lambda name: -spenders[name])


async def _spenders(request: Request, by: str) -> dict[str, int]:
    """Map the people or rooms that spent something this month to their tokens."""
    quotas = request.context.quotas
    sums = await quotas.ledger.sums(month_of(request.context.clock.now(), quotas.zone).start, (by,))
    return {each.keys[0]: each.tokens.input_tokens + each.tokens.output_tokens for each in sums if each.keys[0]}


def _source(holding: Holding, locale: Locale) -> str:
    return DECIDED[locale] if holding.decided == holding.scope.name else holding.decided or SETTINGS[locale]


def _limits(limits: Limits, locale: Locale) -> str:
    return f"`{written(limits)}`" if limits else UNLIMITED[locale]


TITLE = text("quotas.admin.title")
ROOMS = text("quotas.admin.rooms")
OWN = text("quotas.admin.own")
SPENDING = text("quotas.admin.spending")
SETTINGS = text("quotas.admin.settings")
DECIDED = text("quotas.admin.decided")
UNLIMITED = text("quotas.admin.unlimited")
THIS_MONTH = text("quotas.admin.this_month")
NO_LIMIT = text("quotas.admin.no_limit")
HOW = text("quotas.admin.how")

QUOTA = Verb(
    "quota",
    text("admin.commands.quota"),
    quota,
    " [NAME | here] [LIMITS | reset]",
    in_rooms=True,
)
