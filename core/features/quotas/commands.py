"""/usage and /admin quota: what was spent, which limits hold, how much of each is used, and how owners change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from core.commands.command import MOST_OFFERED, ON_DATA, Command, CompletionRequest, Request, offered
from core.commands.menu import PERSON, completed_field, text_field
from core.features.access.gate import ROLES as ROLE_NAMES
from core.features.admin.admin import HERE, ROOM, Verb
from core.features.admin.decide import UNSET
from core.features.admin.storage import DecisionKind, Matter
from core.features.feature import Contribution, Shared
from core.features.ledger.calls import BOT, SpendingScope, month_of
from core.features.ledger.wording import clock_time, spend_text, unpriced_note
from core.features.quotas.limits import EXAMPLE, QUOTA, Limit, Limits, NotALimit, read, written
from core.features.quotas.limits import NO_LIMITS as NONE
from core.features.quotas.quotas import Holding, Quotas, Use, amount, use_text
from core.outgoing import Suggestion
from core.text.catalogue import Sentences, counted, forms, text
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.types import Locale, Role, UserKey, room_name

ADMIN = Sentences("quotas.admin")
USAGE = Sentences("usage")

RESET: Final = "reset"
ROLES: Final = (Role.OWNER, Role.ADMIN, Role.MEMBER, Role.GUEST)
_MAX_SPENDERS: Final = 20
_MAX_PART_CHARS: Final = 40


def build(shared: Shared) -> Contribution:
    """Contribute /usage and /admin quota, and what was spent today to /admin status."""
    quotas, verb = shared.stores.quotas, QuotaVerb(shared)
    fields = (
        PERSON,
        completed_field("known", text("menus.fields.quota")),
        ROOM,
        text_field("limits", text("menus.fields.limits")),
    )
    about = text("admin.decide.about.quota")
    return Contribution(
        commands=(
            Command("usage", text("commands.usage"), partial(usage, quotas), in_private=True, topics=(ON_DATA,)),
        ),
        verbs=(
            Verb(
                "quota",
                text("admin.commands.quota"),
                verb.run,
                " [NAME | here] [LIMITS | reset]",
                f"guest {EXAMPLE}",
                in_rooms=True,
                fields=fields,
                complete=verb.offer,
            ),
        ),
        matters=(Matter(QUOTA, about, {"": UNSET}, for_owners=True, of_people=True),),
        status=(partial(spend_line, quotas),),
        forgetters=(quotas,),
    )


async def spend_line(quotas: Quotas, locale: Locale) -> str:
    """Return what the whole bot spent today, for /admin status."""
    spend, _ = await quotas.spent(BOT)
    line = SPEND[locale].format(messages=spend.messages, tokens=spend.tokens, cost=f"{spend.cost_usd:.4f}")
    return f"{line} {counted(UNPRICED, locale, spend.unpriced)}" if spend.unpriced else line


async def usage(quotas: Quotas, request: Request, _: str) -> None:
    """Say what a person spent today and this month, and how much of their limits is left."""
    locale, scope = request.locale, SpendingScope(request.incoming.user)
    day, month = await quotas.spent(scope)
    [holding] = await quotas.holding([scope], request.role)
    uses = await quotas.uses(holding)
    lines = [
        USAGE.spent[locale].format(when=USAGE.today[locale], spend=spend_text(day, locale)),
        USAGE.spent[locale].format(when=USAGE.this_month[locale], spend=spend_text(month, locale)),
        *unpriced_note(month.unpriced, locale),
        "",
        *(
            [USAGE.limits[locale], *(f"- {_left(quotas, use, request)}" for use in uses)]
            if uses
            else [USAGE.no_limits[locale]]
        ),
    ]
    await request.answer.tell("\n".join(lines))


def _left(quotas: Quotas, use: Use, request: Request) -> str:
    locale = request.locale
    used, left = use_text([use], locale), amount(use.limit, use.left, locale)
    if not use.period:
        return f"{used}; {USAGE.left[locale].format(left=left)}"
    when = clock_time(use.ends, request.person.own_zone or quotas.zone, locale)
    return f"{used}; {USAGE.left_until[locale].format(left=left, when=when)}"


class QuotaVerb:
    """Show the limits of the bot, of roles, rooms and people, and change them."""

    def __init__(self, shared: Shared) -> None:
        self._access = shared.access
        self._names = shared.names
        self._decisions = shared.stores.decisions
        self._decide = shared.decider.decide
        self._quotas = shared.stores.quotas
        self._models = shared.machine.models
        self._clock = shared.clock

    async def offer(self, request: CompletionRequest) -> Sequence[Suggestion]:
        """Return those who can have limits: the bot, roles, rooms, people."""
        names = [BOT.name, *ROLES, *sorted(await self._rooms())]
        found = offered(request.typed, (Suggestion(self._shown(name, request.locale), name) for name in names))
        return [*found, *await self._names.complete(request)][:MOST_OFFERED]

    @staticmethod
    def _shown(name: str, locale: Locale) -> str:
        """Return what the bot, a role or a room is called in a menu."""
        if name == BOT.name:
            return WHOLE_BOT[locale]
        return EVERYBODY[locale].format(role=ROLE_NAMES[name][locale]) if name in set(ROLES) else name

    async def run(self, request: Request, argument: str) -> None:
        """Show all limits, or those of one name; or set them, or let the settings hold again."""
        name, _, rest = argument.partition(" ")
        is_limit = not name or "=" in name or name.casefold() in {RESET, NONE}
        if is_limit and request.incoming.quoted_user:
            scope_name, rest = str(await self._names.find(request, [])), argument
        elif name:
            scope_name = await self._named(request, name)
        else:
            await self._show_all(request)
            return
        if not rest.strip():
            line = await self._line(request.locale, scope_name, await self._rooms())
            await request.answer.tell("\n".join([line, "", ADMIN.how[request.locale].format(example=EXAMPLE)]))
        elif rest.strip().casefold() == RESET:
            await self._decide(request, QUOTA, scope_name, "")
        else:
            await self._change(request, scope_name, rest)

    async def _change(self, request: Request, name: str, limits_text: str) -> None:
        try:
            limits = read(limits_text)
        except NotALimit as error:
            part = verbatim(one_line(error.part, _MAX_PART_CHARS)) or "—"
            await request.tell(
                ADMIN.no_limit, part=part, limits=", ".join(f"`{limit}`" for limit in Limit), example=EXAMPLE
            )
        else:
            await self._decide(request, QUOTA, name, written(limits))
            if any(limit.is_cost for limit in limits) and (unpriced := self._models.unpriced()):
                await request.tell(UNPRICED_MODELS, name=", ".join(unpriced))

    async def _named(self, request: Request, name: str) -> str:
        """Return the name that limits are decided under: the bot, a role, a room that is known, or a person.

        Raises:
            WrongUse: it is none of them.
        """
        folded = name.casefold()
        if folded in {BOT.name, *ROLES}:
            return folded
        if folded == HERE and not request.incoming.private:
            return room_name(request.incoming.chat)
        if name in await self._rooms():
            return name
        return str(await self._names.find(request, [] if folded == HERE else [name]))

    async def _show_all(self, request: Request) -> None:
        """Show the limits of the bot, of roles, of rooms, of names with limits of their own, and of who spent most."""
        quotas, locale = self._quotas, request.locale
        decided = await self._decisions.values(QUOTA)
        rooms, spending = await self._rooms(), await self._spending()
        own = [name for name in decided if name not in {BOT.name, *ROLES}]
        _, bots = await quotas.spent(BOT)
        lines = [
            ADMIN.title[locale].format(zone=quotas.zone.key),
            await self._line(locale, BOT.name, rooms),
            *[self._role_line(locale, role, decided.get(role, "")) for role in ROLES],
            ADMIN.rooms[locale].format(limits=_limits(quotas.defaults.room, locale)),
            *([ADMIN.own[locale], *[await self._line(locale, name, rooms) for name in own]] if own else []),
        ]
        others = [name for name in spending if name not in own][:_MAX_SPENDERS]
        lines += [ADMIN.spending[locale], *[await self._line(locale, name, rooms) for name in others]] if others else []
        lines += [*unpriced_note(bots.unpriced, locale), "", ADMIN.how[locale].format(example=EXAMPLE)]
        await request.answer.tell("\n".join(lines))

    async def _line(self, locale: Locale, name: str, rooms: frozenset[str]) -> str:
        """Return the limits of a name, where they come from, what it spent this month, and how much is used."""
        quotas = self._quotas
        if name in set(ROLES):
            decided = await self._decisions.value(QUOTA, name)
            return self._role_line(locale, Role(name), decided)
        scope = _scope(name, rooms)
        [holding] = await quotas.holding([scope], await self._access.role(scope.user) if scope.user else None)
        parts = [_limits(holding.limits, locale), _source(holding, locale)]
        _, month = await quotas.spent(scope)
        parts.append(ADMIN.this_month[locale].format(spend=spend_text(month, locale)))
        if holding.limits:
            parts.append(use_text(await quotas.uses(holding), locale))
        return f"`{name}`: {' · '.join(parts)}"

    def _role_line(self, locale: Locale, role: Role, decided: str) -> str:
        """Return the limits of everybody of a role who has none of their own."""
        limits = read(decided) if decided else self._quotas.default(role)
        source = (ADMIN.decided if decided else ADMIN.settings)[locale]
        return f"`{role}`: {_limits(limits, locale)} · {source}"

    async def _rooms(self) -> frozenset[str]:
        """Return the rooms that were let in, and those with spending this month."""
        decided = await self._decisions.values(DecisionKind.ROOM)
        return frozenset({*decided, *await self._spenders("room")})

    async def _spending(self) -> list[str]:
        """Return the people and rooms with spending this month, those who spent most first."""
        spenders = {**await self._spenders("user"), **await self._spenders("room")}
        return sorted(spenders, key=lambda name: -spenders[name])

    async def _spenders(self, by: str) -> Mapping[str, int]:
        """Map the people or rooms with spending this month to their tokens."""
        quotas = self._quotas
        sums = await quotas.ledger.sums(month_of(self._clock.now(), quotas.zone).start, (by,))
        return {each.keys[0]: each.tokens.input_tokens + each.tokens.output_tokens for each in sums if each.keys[0]}


def _scope(name: str, rooms: frozenset[str]) -> SpendingScope:
    """Return the scope of a name: the bot, a room, or a person."""
    if name == BOT.name:
        return BOT
    platform, _, user = name.partition(":")
    return SpendingScope(room=name) if name in rooms else SpendingScope(UserKey(platform, user))


def _source(holding: Holding, locale: Locale) -> str:
    return ADMIN.decided[locale] if holding.decided == holding.scope.name else holding.decided or ADMIN.settings[locale]


def _limits(limits: Limits, locale: Locale) -> str:
    return f"`{written(limits)}`" if limits else ADMIN.unlimited[locale]


WHOLE_BOT = text("scope.whole_bot")
EVERYBODY = text("menus.limits.everybody")

SPEND = text("admin.figures.spend")
UNPRICED = forms("admin.figures.unpriced")
UNPRICED_MODELS = text("admin.model.unpriced")
