"""What was asked of models and what it cost; whose that is; when days and months begin; the socket of the ledger.

Knows calls, sums and periods. Does not know prices, limits, nor what was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from core.dialogue import Usage
from core.types import UserKey

GROUPINGS: Final = ("day", "user", "mode", "model", "outcome", "room")
"""What calls can be summed by; a day is one of the ledger's time zone."""

_A_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Asker:
    """Whose message is being answered, and in which room (PLATFORM:ID; "" in private)."""

    user: UserKey
    room: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model. `user` is None where nobody's message caused it; `model` is `provider:model`.

    `usage` and `cost_usd` are None where they are not known: the answer broke off, the provider does not count, or
    there is no price. `first_s` is the time to the first token, None if none came. `outcome` is end, length, refused,
    left (the reader did), or the name of the failure. `room` is where others read along, "" in private.
    """

    at: datetime
    user: UserKey | None
    mode: str
    task: str
    model: str
    outcome: str
    duration_s: float
    first_s: float | None = None
    usage: Usage | None = None
    cost_usd: float | None = None
    room: str = ""

    @property
    def is_failed(self) -> bool:
        """Whether it ended in a failure: those have the names of classes, the other outcomes are written small."""
        return self.outcome[:1].isupper()

    @property
    def is_unpriced(self) -> bool:
        """Whether nobody knows what it cost. A request that was turned down costs nothing."""
        return self.cost_usd is None and (self.outcome == "StreamCut" or not self.is_failed)


@dataclass(frozen=True, slots=True)
class Sum:
    """Calls of one group: `keys` in the order asked. Tokens and cost are of the calls that tell them.

    `failed` ended in a failure; of `unpriced` the cost is not known (a request that was turned down costs nothing).
    """

    keys: tuple[str, ...]
    calls: int
    failed: int
    unpriced: int
    tokens: Usage
    cost_usd: float
    mean_s: float
    mean_first_s: float | None


@dataclass(frozen=True, slots=True)
class Spend:
    """What was spent: messages that were thought about, tokens in and out, and what that cost, as far as is known.

    Of `unpriced` calls the cost is not known; their tokens count.
    """

    messages: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def __add__(self, other: Spend) -> Spend:
        return Spend(
            self.messages + other.messages,
            self.tokens + other.tokens,
            self.cost_usd + other.cost_usd,
            self.unpriced + other.unpriced,
        )


ONE_MESSAGE: Final = Spend(messages=1)


def spend_of(call: Call) -> Spend:
    """Return what one call spent."""
    tokens = call.usage.input_tokens + call.usage.output_tokens if call.usage else 0
    return Spend(0, tokens, call.cost_usd or 0.0, int(call.is_unpriced))


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose spending: one person's, one room's, or (neither) the whole bot's."""

    user: UserKey | None = None
    room: str = ""

    @property
    def name(self) -> str:
        """PLATFORM:ID, or "bot"."""
        return str(self.user) if self.user else self.room or "bot"


BOT: Final = Scope()


def scopes_of(user: UserKey | None, room: str) -> tuple[Scope, ...]:
    """Return everything that pays for what that person causes there: the person, the room, the bot."""
    return (*((Scope(user),) if user else ()), *((Scope(room=room),) if room else ()), BOT)


@dataclass(frozen=True, slots=True)
class Period:
    """A day ("2026-03-14") or a month ("2026-03") of a time zone: from `start` on, and before `end`, in UTC."""

    name: str
    start: datetime
    end: datetime

    def __contains__(self, at: datetime) -> bool:
        return self.start <= at < self.end


def day_of(at: datetime, zone: ZoneInfo) -> Period:
    """Return the day that a moment belongs to.

    Days follow each other without a gap, however the clocks are changed: each begins at the first moment that its
    midnight is, or would have been, on the clock there.
    """
    day = at.astimezone(zone).date()
    if _midnight(day, zone) > at:
        day -= _A_DAY
    elif _midnight(day + _A_DAY, zone) <= at:
        day += _A_DAY
    return Period(day.isoformat(), _midnight(day, zone), _midnight(day + _A_DAY, zone))


def month_of(at: datetime, zone: ZoneInfo) -> Period:
    """Return the month that a moment belongs to: the month of its day."""
    first = date.fromisoformat(day_of(at, zone).name).replace(day=1)
    following = (first + 31 * _A_DAY).replace(day=1)
    return Period(f"{first:%Y-%m}", _midnight(first, zone), _midnight(following, zone))


def days_back(at: datetime, zone: ZoneInfo, days: int) -> datetime:
    """Return when the first of so many days began, the day of that moment being the last."""
    today = date.fromisoformat(day_of(at, zone).name)
    return _midnight(today - (days - 1) * _A_DAY, zone)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


class Ledger(Protocol):
    """What was spent, for good: rows are only added. A person who is forgotten leaves sums behind, and no name."""

    async def record(self, call: Call) -> None:
        """Store a call."""
        ...

    async def ask(self, asker: Asker, at: datetime) -> None:
        """Store that a message is about to be thought about."""
        ...

    async def sums(self, since: datetime, by: Sequence[str], scope: Scope = BOT) -> Sequence[Sum]:
        """Return the calls of a scope since then, summed by some of GROUPINGS, in their order.

        Raises:
            KeyError: there is no such grouping.
        """
        ...

    async def spent(self, scope: Scope, since: datetime) -> Spend:
        """Return what was spent since then."""
        ...

    async def asked(self, scope: Scope, since: datetime) -> Sequence[datetime]:
        """Return when messages were about to be thought about since then, the oldest first."""
        ...

    async def tell_once(self, scope: Scope, period: str, share: int, at: datetime) -> bool:
        """Note that it is told that `share` percent are used in that period; False if that was noted before."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Take that person's name off everything."""
        ...
