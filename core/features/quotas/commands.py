"""/usage and /admin quota: what was spent, which limits hold, how much of each is used, and how owners change them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from core.commands.command import Command, CompletionRequest, Request
from core.commands.completion import MOST_OFFERED, offered
from core.commands.menu import PERSON, completed_field
from core.features.access.gate import ROLES as ROLE_NAMES
from core.features.access.rules import Access
from core.features.admin.admin import HERE, ROOM, Verb
from core.features.admin.decide import Decider
from core.features.admin.decisions import DecisionKind, Decisions
from core.features.admin.names import Names
from core.features.ledger.calls import BOT, Scope, month_of
from core.features.ledger.wording import clock_time, spend_text, unpriced_note
from core.features.quotas.limits import EXAMPLE, Limit, Limits, NotALimit, read, written
from core.features.quotas.limits import NO_LIMITS as NONE
from core.features.quotas.quotas import Holding, Quotas, Use
from core.features.quotas.wording import amount, use_text
from core.outgoing import Choice
from core.ports import Clock
from core.text.catalogue import counted, forms, text
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.types import Locale, Localized, Role, UserKey, room_name

RESET: Final = "reset"
ROLES: Final = (Role.OWNER, Role.ADMIN, Role.MEMBER, Role.GUEST)
_MAX_SPENDERS: Final = 20
_MAX_PART_CHARS: Final = 40


class UsageCommand:
    """Offer /usage: what a person spent today and this month, and how much of their limits is left."""

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas

    @property
    def command(self) -> Command:
        """The command."""
        return Command("usage", text("commands.usage"), self._usage, in_private=True)

    async def spend_line(self, locale: Locale) -> str:
        """Return what the whole bot spent today, for /admin status."""
        spend, _ = await self._quotas.spent(BOT)
        line = SPEND[locale].format(messages=spend.messages, tokens=spend.tokens, cost=f"{spend.cost_usd:.4f}")
        return f"{line} {counted(UNPRICED, locale, spend.unpriced)}" if spend.unpriced else line

    async def _usage(self, request: Request, _: str) -> None:
        locale, scope = request.locale, Scope(request.incoming.user)
        day, month = await self._quotas.spent(scope)
        [holding] = await self._quotas.holding([scope], request.role)
        uses = await self._quotas.uses(holding)
        lines = [
            SPENT[locale].format(when=TODAY[locale], spend=spend_text(day, locale)),
            SPENT[locale].format(when=THE_MONTH[locale], spend=spend_text(month, locale)),
            *unpriced_note(month.unpriced, locale),
            "",
            *([LIMITS[locale], *(f"- {self._left(use, request)}" for use in uses)] if uses else [NO_LIMITS[locale]]),
        ]
        await request.answer.tell("\n".join(lines))

    def _left(self, use: Use, request: Request) -> str:
        locale = request.locale
        used, left = use_text([use], locale), amount(use.limit, use.left, locale)
        if not use.period:
            return f"{used}; {LEFT[locale].format(left=left)}"
        when = clock_time(use.ends, request.person.own_zone or self._quotas.zone, locale)
        return f"{used}; {LEFT_UNTIL[locale].format(left=left, when=when)}"


class QuotaVerb:
    """Offer /admin quota: show the limits of the bot, of roles, rooms and people, and change them."""

    def __init__(
        self,
        decider: Decider,
        decisions: Decisions,
        quotas: Quotas,
        *,
        access: Access,
        names: Names,
        clock: Clock,
    ) -> None:
        self._decider = decider
        self._decisions = decisions
        self._quotas = quotas
        self._access = access
        self._names = names
        self._clock = clock

    @property
    def verb(self) -> Verb:
        """The verb of /admin."""
        usage, example = " [NAME | here] [LIMITS | reset]", f"guest {EXAMPLE}"
        known = completed_field("known", text("menus.fields.quota"))
        fields = (PERSON, known, ROOM, completed_field("limits", text("menus.fields.limits")))
        return Verb(
            "quota",
            text("admin.commands.quota"),
            self._quota,
            usage,
            example,
            in_rooms=True,
            fields=fields,
            complete=self._offer,
        )

    async def _offer(self, request: CompletionRequest) -> Sequence[Choice]:
        """Return examples of limits, or those who can have some: the bot, roles, rooms, people."""
        if request.option == "limits":
            return _limits_after(request.typed, request.locale)
        names = [BOT.name, *ROLES, *sorted(await self._rooms())]
        found = offered(request.typed, (Choice(self._shown(name, request.locale), name) for name in names))
        return [*found, *await self._names.complete(request)][:MOST_OFFERED]

    @staticmethod
    def _shown(name: str, locale: Locale) -> str:
        """Return what the bot, a role or a room is called in a menu."""
        if name == BOT.name:
            return WHOLE_BOT[locale]
        return EVERYBODY[locale].format(role=ROLE_NAMES[name][locale]) if name in set(ROLES) else name

    async def _quota(self, request: Request, argument: str) -> None:
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
            await request.answer.tell("\n".join([line, "", HOW[request.locale].format(example=EXAMPLE)]))
        elif rest.strip().casefold() == RESET:
            await self._decider.decide(request, DecisionKind.QUOTA, scope_name, "")
        else:
            await self._change(request, scope_name, rest)

    async def _change(self, request: Request, name: str, limits_text: str) -> None:
        try:
            limits = read(limits_text)
        except NotALimit as error:
            part = verbatim(one_line(error.part, _MAX_PART_CHARS)) or "—"
            await request.tell(NO_LIMIT, part=part, limits=", ".join(f"`{limit}`" for limit in Limit), example=EXAMPLE)
        else:
            await self._decider.decide(request, DecisionKind.QUOTA, name, written(limits))

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
        decided = await self._decisions.values(DecisionKind.QUOTA)
        rooms, spending = await self._rooms(), await self._spending()
        own = [name for name in decided if name not in {BOT.name, *ROLES}]
        _, bots = await quotas.spent(BOT)
        lines = [
            TITLE[locale].format(zone=quotas.zone.key),
            await self._line(locale, BOT.name, rooms),
            *[self._role_line(locale, role, decided.get(role, "")) for role in ROLES],
            ROOMS[locale].format(limits=_limits(quotas.defaults.room, locale)),
            *([OWN[locale], *[await self._line(locale, name, rooms) for name in own]] if own else []),
        ]
        others = [name for name in spending if name not in own][:_MAX_SPENDERS]
        lines += [SPENDING[locale], *[await self._line(locale, name, rooms) for name in others]] if others else []
        lines += [*unpriced_note(bots.unpriced, locale), "", HOW[locale].format(example=EXAMPLE)]
        await request.answer.tell("\n".join(lines))

    async def _line(self, locale: Locale, name: str, rooms: frozenset[str]) -> str:
        """Return the limits of a name, where they come from, what it spent this month, and how much is used."""
        quotas = self._quotas
        if name in set(ROLES):
            decided = await self._decisions.value(DecisionKind.QUOTA, name)
            return self._role_line(locale, Role(name), decided)
        scope = _scope(name, rooms)
        [holding] = await quotas.holding([scope], await self._access.role(scope.user) if scope.user else None)
        parts = [_limits(holding.limits, locale), _source(holding, locale)]
        _, month = await quotas.spent(scope)
        parts.append(THIS_MONTH[locale].format(spend=spend_text(month, locale)))
        if holding.limits:
            parts.append(use_text(await quotas.uses(holding), locale))
        return f"`{name}`: {' · '.join(parts)}"

    def _role_line(self, locale: Locale, role: Role, decided: str) -> str:
        """Return the limits of everybody of a role who has none of their own."""
        limits = read(decided) if decided else self._quotas.default(role)
        source = (DECIDED if decided else SETTINGS)[locale]
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


def _limits_after(typed: str, locale: Locale) -> list[Choice]:
    """Return what can be written next: a limit that is not there yet, with a number to change, or no limit at all."""
    before, _, last = typed.rpartition(" ")
    named = {part.partition("=")[0] for part in before.split()}
    wanted = last.partition("=")[0]
    numbers = [Choice(label[locale], f"{limit}={number}") for limit, (label, number) in _EXAMPLES.items()]
    found = [
        Choice(f"{before} + {each.label}" if before else each.label, f"{before} {each.value}".strip())
        for each in offered(wanted, numbers)
        if each.value.partition("=")[0] not in named
    ]
    written = [Choice(typed, typed)] if "=" in last else []
    others = [] if before else [Choice(UNLIMITED_HERE[locale], NONE), Choice(AS_SET[locale], RESET)]
    return [*written, *found, *offered(last, others)]


def _scope(name: str, rooms: frozenset[str]) -> Scope:
    """Return the scope of a name: the bot, a room, or a person."""
    if name == BOT.name:
        return BOT
    platform, _, user = name.partition(":")
    return Scope(room=name) if name in rooms else Scope(UserKey(platform, user))


def _source(holding: Holding, locale: Locale) -> str:
    return DECIDED[locale] if holding.decided == holding.scope.name else holding.decided or SETTINGS[locale]


def _limits(limits: Limits, locale: Locale) -> str:
    return f"`{written(limits)}`" if limits else UNLIMITED[locale]


_EXAMPLES: Final[Mapping[Limit, tuple[Localized, str]]] = {
    Limit.MESSAGES_MINUTE: (text("menus.limits.messages_minute"), "10"),
    Limit.TOKENS_DAY: (text("menus.limits.tokens_day"), "50000"),
    Limit.TOKENS_MONTH: (text("menus.limits.tokens_month"), "1000000"),
    Limit.COST_DAY: (text("menus.limits.cost_day"), "0.50"),
    Limit.COST_MONTH: (text("menus.limits.cost_month"), "2.50"),
}
UNLIMITED_HERE = text("menus.limits.none")
AS_SET = text("menus.settings")
WHOLE_BOT = text("scope.whole_bot")
EVERYBODY = text("menus.limits.everybody")

TODAY = text("usage.today")
THE_MONTH = text("usage.this_month")
SPENT = text("usage.spent")
LIMITS = text("usage.limits")
NO_LIMITS = text("usage.no_limits")
LEFT = text("usage.left")
LEFT_UNTIL = text("usage.left_until")
SPEND = text("admin.figures.spend")
UNPRICED = forms("admin.figures.unpriced")

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
