"""Hold what was spent against limits: who may still ask, and which limits are nearly used up; say so to people.

Quotas are checked before every answer; a warning is said once, when a limit is nearly used up.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final
from zoneinfo import ZoneInfo

from core.answering.asker import Locales
from core.answering.parts import Limiter
from core.delivery.notifier import Notifier
from core.delivery.view import View
from core.errors import ClaimLost, StorageError
from core.features.access.rules import Access
from core.features.admin.storage import DecisionKind, Decisions
from core.features.ledger.calls import (
    BOT,
    AdmittedMessage,
    Asker,
    ModelCall,
    Spend,
    SpendingQuery,
    SpendingScope,
    asker_of,
    day_of,
    month_of,
    scopes_of,
)
from core.features.ledger.storage import Ledger, Spending
from core.features.ledger.wording import MESSAGES, TOKENS, clock_time, money, number
from core.features.quotas.limits import (
    NO_LIMITS,
    QUOTA,
    SPENDING,
    Defaults,
    Limit,
    Limits,
    NotALimit,
    read,
    stricter,
)
from core.outgoing import OutgoingMessage
from core.ports import Clock
from core.text.catalogue import Sentences, counted, forms, text
from core.types import Incoming, Locale, Localized, Role, UserKey

WORDING = Sentences("quotas.wording")

MINUTE: Final = timedelta(minutes=1)
NOTE_SHARE: Final = 80
FULL_SHARE: Final = 100
_A_DAY: Final = timedelta(days=1)
_PERCENT: Final = Decimal(100)


@dataclass(frozen=True, slots=True)
class Use:
    """How much of one limit is used. `period` names the day or month ("" for a minute), `ends` is its end.

    `expected` is what the answers under way may still use, judged by those before them.
    """

    scope: SpendingScope
    limit: Limit
    allowed: Decimal
    used: Decimal
    ends: datetime
    period: str = ""
    expected: Decimal = Decimal(0)

    @property
    def is_used_up(self) -> bool:
        """Whether nothing is left."""
        return self.used >= self.allowed

    @property
    def is_full(self) -> bool:
        """Whether used plus expected use reaches the limit."""
        return self.used + self.expected >= self.allowed

    @property
    def left(self) -> Decimal:
        """What is left, at least 0."""
        return max(self.allowed - self.used, Decimal(0))

    @property
    def percent(self) -> int:
        """The used share, rounded down; 100 for a limit of 0."""
        return int(self.used * _PERCENT / self.allowed) if self.allowed else FULL_SHARE


@dataclass(frozen=True, slots=True)
class Holding:
    """The limits that hold for a scope, and the name they were decided under, "" if they come from the settings."""

    scope: SpendingScope
    limits: Limits
    decided: str = ""


class Quotas:
    """Hold spending against limits. Decided limits come before the settings, a person's before those of their role.

    What was spent is read from the ledger in the transaction that lets a message in, so limits hold for all workers.
    """

    def __init__(self, ledger: Ledger, decisions: Decisions, clock: Clock, defaults: Defaults, zone: ZoneInfo) -> None:
        self.ledger = ledger
        self.zone = zone
        self.defaults = defaults
        self._decisions = decisions
        self._clock = clock
        self._told: set[tuple[str, str, int]] = set()
        self._settled: dict[
            tuple[str, SpendingScope], Spend
        ] = {}  # what was spent in a day's month up to the day before it

    async def record(self, call: ModelCall) -> None:
        """Store a call."""
        await self.ledger.record(call)

    async def forget(self, user: UserKey) -> None:
        """Remove what is kept of that person, here and in the ledger."""
        self._told = {key for key in self._told if key[0] != str(user)}
        await self.ledger.forget(user)
        self._settled = {key: value for key, value in self._settled.items() if key[1] != SpendingScope(user)}

    @asynccontextmanager
    async def admitted(
        self, asker: Asker, role: Role | None, *, thinks: bool, counts: int = 1
    ) -> AsyncIterator[Use | None]:
        """Let a message in while the context is entered, or yield the limit that keeps it out.

        A message that `thinks` is held against what was spent, one that `counts` against messages a minute, let in as a
        whole if there is room for one more. An owner's command is never kept out: it may change a limit. Of several
        full limits the one that ends last is yielded.
        """
        if not thinks and (role is Role.OWNER or not counts):
            yield None
            return
        checked = {limit for limit in Limit if (thinks if limit in SPENDING else counts)}
        held = [
            (holding, limits)
            for holding in await self.holding(scopes_of(asker.user, asker.room), role, asker.server)
            if (limits := checked & holding.limits.keys())
        ]
        if not held and not thinks:
            yield None
            return
        now = self._clock.now()
        is_under_way = any(limits & SPENDING for _, limits in held)

        def refusal(spending: Spending) -> Use | None:
            uses = self._all_uses(spending, held, now, busy=True)
            return max((use for use in uses if use.is_full), key=lambda use: use.ends, default=None)

        arrival = AdmittedMessage(asker, now, thinks, counts, is_under_way)
        number, full = await self.ledger.admit(arrival, [holding.scope for holding, _ in held], refusal)
        try:
            yield full
        finally:
            if is_under_way and full is None:
                with suppress(StorageError, ClaimLost):  # it counts as under way for some minutes more
                    await self.ledger.finish(number)

    async def holding(self, scopes: Sequence[SpendingScope], role: Role | None, server: str = "") -> list[Holding]:
        """Return the limits that hold for each scope; a person among them has that role (None: a guest).

        Of a room of that `server` those of its server hold, too, whichever are stricter.
        """
        decided = await self._decisions.values(QUOTA)
        found = [self._holding(scope, role or Role.GUEST, decided) for scope in scopes]
        limits = read(await self._decisions.value(DecisionKind.SERVER_LIMITS, server) or NO_LIMITS) if server else {}
        return [replace(each, limits=stricter(each.limits, limits)) if each.scope.room else each for each in found]

    def default(self, role: Role) -> Limits:
        """Return the limits of the settings for a person of that role. An owner has the bot's limits only."""
        own = {Role.OWNER: read(NO_LIMITS), Role.GUEST: self.defaults.guest}
        return own.get(role, self.defaults.person)

    async def uses(self, holding: Holding) -> list[Use]:
        """Return how much is used of each limit."""
        now = self._clock.now()
        return await self.ledger.read(lambda spending: self._uses(spending, holding, holding.limits.keys(), now))

    async def spent(self, scope: SpendingScope) -> tuple[Spend, Spend]:
        """Return what a scope spent today, and this month."""
        now = self._clock.now()
        day, month = (period_of(now, self.zone).start for period_of in (day_of, month_of))
        return await self.ledger.spent(scope, day), await self.ledger.spent(scope, month)

    async def news(self, asker: Asker, role: Role | None) -> list[Use]:
        """Return the limits that are full, or nearly so, and that were not warned of yet: each once a period."""
        held = [
            (holding, limits)
            for holding in await self.holding(scopes_of(asker.user, asker.room), role, asker.server)
            if (limits := SPENDING & holding.limits.keys())
        ]
        if not held:
            return []
        now = self._clock.now()
        uses = await self.ledger.read(lambda spending: self._all_uses(spending, held, now))
        found: list[Use] = []
        for use in uses:
            share = FULL_SHARE if use.is_used_up else NOTE_SHARE
            if use.allowed and use.percent >= NOTE_SHARE and await self._is_first(use, share):
                found.append(use)
        return found

    def _holding(self, scope: SpendingScope, role: Role, decided: Mapping[str, str]) -> Holding:
        names = [scope.name, role.value] if scope.user else [scope.name]
        for name in names:
            if name in decided:
                with suppress(NotALimit):  # decided by a version of this program that had the limit
                    return Holding(scope, read(decided[name]), name)
        if scope.user is None:
            return Holding(scope, self.defaults.room if scope.room else self.defaults.bot)
        return Holding(scope, self.default(role))

    def _all_uses(
        self,
        spending: Spending,
        held: Sequence[tuple[Holding, Collection[Limit]]],
        now: datetime,
        *,
        busy: bool = False,
    ) -> list[Use]:
        questions = list[tuple[SpendingQuery, SpendingScope, datetime]]()
        for scope, limits in ((holding.scope, limits) for holding, limits in held):
            if Limit.MESSAGES_MINUTE in limits:
                questions.append((SpendingQuery.MINUTE, scope, now - MINUTE))
            if SPENDING & set(limits):
                questions += [(SpendingQuery.BY_CALLS, scope, since) for since in self._since(scope, now)]
                questions += [(SpendingQuery.EXPECTED, scope, now)] * busy
        spending.read_ahead(*questions)
        return [use for holding, limits in held for use in self._uses(spending, holding, limits, now, busy=busy)]

    def _uses(
        self, spending: Spending, holding: Holding, limits: Collection[Limit], now: datetime, *, busy: bool = False
    ) -> list[Use]:
        """Return how much is used of some of the limits; with `busy`, what answers under way may use is expected."""
        scope, found = holding.scope, list[Use]()
        today, month = self._spent(spending, scope, now) if SPENDING & set(limits) else (Spend(), Spend())
        expected = spending.expected(scope, now) if busy and SPENDING & set(limits) else Spend()
        for limit in sorted(limits, key=[*Limit].index):
            allowed = holding.limits[limit]
            if limit is Limit.MESSAGES_MINUTE:
                found.append(_minute_use(scope, allowed, spending.minute(scope, now - MINUTE), now))
                continue
            period_of, spent = (month_of, month) if limit.is_monthly else (day_of, today)
            period = period_of(now, self.zone)
            used, coming = _amount(limit, spent), _amount(limit, expected)
            found.append(Use(scope, limit, allowed, used, period.end, period.name, coming))
        return found

    def _spent(self, spending: Spending, scope: SpendingScope, now: datetime) -> tuple[Spend, Spend]:
        """Return what a scope spent today and this month.

        What is older than yesterday changes no more, and is read once a day.
        """
        today = day_of(now, self.zone)
        settled = self._settled.get((today.name, scope))
        spent, recent, *whole = spending.by_calls(scope, *self._since(scope, now))
        if settled is None:
            settled = whole[0] - recent
            todays = {key: value for key, value in self._settled.items() if key[0] == today.name}
            self._settled = todays | {(today.name, scope): settled}  # a new one: this may run on several threads
        return spent, settled + recent

    def _since(self, scope: SpendingScope, now: datetime) -> tuple[datetime, ...]:
        """Return today, yesterday if it is of this month, and the first of the month where that is not read yet."""
        today, month = day_of(now, self.zone), month_of(now, self.zone)
        since = (today.start, max(month.start, today.start - _A_DAY))
        return since if (today.name, scope) in self._settled else (*since, month.start)

    async def _is_first(self, use: Use, share: int) -> bool:
        key = (use.scope.name, use.period, share)
        if key in self._told:
            return False
        self._told.add(key)
        return await self.ledger.tell_once(use.scope, use.period, share, self._clock.now())


def _minute_use(scope: SpendingScope, allowed: Decimal, times: Sequence[datetime], now: datetime) -> Use:
    over, ends = len(times) - int(allowed), now
    if 0 <= over < len(times):  # a message fits again once that one is a minute old
        ends = times[over] + MINUTE
    return Use(scope, Limit.MESSAGES_MINUTE, allowed, Decimal(len(times)), ends)


def _amount(limit: Limit, spend: Spend) -> Decimal:
    return Decimal(str(spend.cost_usd)) if limit.is_cost else Decimal(spend.tokens)


CHARS_OF_ONE: Final = 4000
"""A text that is longer counts as several messages of a minute."""

_FREE: Final = frozenset({"/help", "/start", "/stop", "/undo"})
"""What a person needs in order to know what to do, and to take back what they did."""


@dataclass(slots=True)
class Allowance(Limiter):
    """Keep answers within the quotas, and warn the asker and the owners."""

    quotas: Quotas
    access: Access
    notifier: Notifier
    clock: Clock
    locales: Locales
    _news: list[tuple[Use, Asker]] = field(default_factory=list)

    async def answer(
        self, incoming: Incoming, text: str, view: View, locale: Locale, work: Callable[[], Awaitable[None]]
    ) -> bool:
        """Run `work`, which answers the text, if the limits allow it, else say why not; return whether it was run.

        Commands are only held against messages a minute, buttons and those of `_FREE` not even against those. A long
        text counts as several messages. An answer that used most of a limit gets a warning below it.
        """
        thinks = not text.startswith("/")
        is_free = incoming.pressed or not _FREE.isdisjoint(text.casefold().split(maxsplit=1)[:1])
        counts = 0 if is_free else max(1, -(-len(text) // CHARS_OF_ONE))
        asker, role = asker_of(incoming), await self.access.role_here(incoming)
        async with self.quotas.admitted(asker, role, thinks=thinks, counts=counts) as full:
            if full is None:
                await work()
            else:
                await view.show(OutgoingMessage(refusal(full, self.clock.now(), self.quotas.zone, locale)))
        if thinks:
            await self._tell(asker, role, view, locale)
        return full is None

    async def tell_owners(self) -> None:
        """Tell every owner about the limits that were used up or nearly so since the last call."""
        while self._news:
            use, asker = self._news.pop(0)
            for owner in await self.access.people.all():
                if owner.role is Role.OWNER and owner.user != asker.user:
                    text = notice(use, self.quotas.zone, await self.locales.known(owner.user))
                    await self.notifier.tell(owner.user, OutgoingMessage(text))

    async def _tell(self, asker: Asker, role: Role | None, view: View, locale: Locale) -> None:
        """Show the warnings below the answer, and keep those that owners are told later.

        The bot's own limits are shown to owners only.
        """
        for use in await self.quotas.news(asker, role):
            is_the_bots = use.scope == BOT
            if role is Role.OWNER or not is_the_bots:
                await view.show(OutgoingMessage(note(use, self.quotas.zone, locale)))
            if use.is_used_up or is_the_bots:
                self._news.append((use, asker))


def amount(limit: Limit, value: Decimal, locale: Locale) -> str:
    """Return a value in the limit's unit: "50,000 tokens", "US$ 2.50"."""
    if limit.is_cost:
        return money(value, locale)
    counts = MESSAGES if limit is Limit.MESSAGES_MINUTE else TOKENS
    return counted(counts, locale, int(value), number=number(int(value), locale))


def limit_text(use: Use, locale: Locale) -> str:
    """Return a limit with its owner: "your limit of 50,000 tokens a day"."""
    whose = WORDING.yours if use.scope.user else WORDING.the_rooms if use.scope.room else WORDING.the_bots
    return whose[locale].format(amount=amount(use.limit, use.allowed, locale), per=PER[use.limit][locale])


def refusal(use: Use, now: datetime, zone: ZoneInfo, locale: Locale) -> str:
    """Return what is said to a person whom a limit keeps out: which limit, and until when."""
    limit = limit_text(use, locale)
    if not use.allowed:
        return WORDING.zero[locale].format(limit=limit)
    if use.limit is Limit.MESSAGES_MINUTE:
        return counted(TOO_FAST, locale, max(math.ceil((use.ends - now).total_seconds()), 1), limit=limit)
    if not use.is_used_up:
        return WORDING.busy[locale].format(limit=limit)
    return WORDING.full[locale].format(limit=limit, when=clock_time(use.ends, zone, locale))


def note(use: Use, zone: ZoneInfo, locale: Locale) -> str:
    """Return the warning below an answer that used most of a limit."""
    when = clock_time(use.ends, zone, locale)
    return WORDING.note[locale].format(percent=use.percent, limit=limit_text(use, locale), when=when)


def notice(use: Use, zone: ZoneInfo, locale: Locale) -> str:
    """Return what owners are told about the limit of a person, a room or the bot."""
    return WORDING.notice[locale].format(
        name=use.scope.name,
        percent=use.percent,
        amount=amount(use.limit, use.allowed, locale),
        per=PER[use.limit][locale],
        when=clock_time(use.ends, zone, locale),
    )


def use_text(uses: Sequence[Use], locale: Locale) -> str:
    """Return how much is used of each limit, on one line."""
    return ", ".join(
        USED[locale].format(
            percent=use.percent, amount=amount(use.limit, use.allowed, locale), per=PER[use.limit][locale]
        )
        for use in uses
    )


PER: dict[Limit, Localized] = {
    Limit.MESSAGES_MINUTE: text("quotas.wording.per.messages_minute"),
    Limit.TOKENS_DAY: WORDING.a_day,
    Limit.TOKENS_MONTH: WORDING.a_month,
    Limit.COST_DAY: WORDING.a_day,
    Limit.COST_MONTH: WORDING.a_month,
}
TOO_FAST = forms("quotas.wording.too_fast")
USED = text("usage.used")
