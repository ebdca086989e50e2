"""Calls of models and what they cost, who pays for them, days and months in a time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import Enum, auto
from typing import Final
from zoneinfo import ZoneInfo

from core.dialogue import Usage
from core.types import Incoming, UserKey, room_name, server_name

GROUPINGS: Final = ("day", "user", "mode", "model", "outcome", "room")
"""What calls can be summed by; a day is one of the ledger's time zone."""

_A_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Asker:
    """The sender of the message that is being answered, its room and that one's server (PLATFORM:ID; "" in private)."""

    user: UserKey
    room: str = ""
    server: str = ""


def asker_of(incoming: Incoming) -> Asker:
    """Return the sender of a message, and the room it was said in."""
    chat = incoming.chat
    return Asker(incoming.user) if incoming.private else Asker(incoming.user, room_name(chat), server_name(chat))


@dataclass(frozen=True, slots=True)
class AdmittedMessage:
    """A message that is let in. A model is asked about one that `thinks`; `counts` is as how many of the minute.

    `is_under_way`: others are judged by what its answer is expected to use, until `Ledger.finish`.
    """

    asker: Asker
    at: datetime
    thinks: bool = True
    counts: int = 1
    is_under_way: bool = False


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a model. `user` is None where no message caused it; `model` is `provider:model`.

    `usage` and `cost_usd` are None where they are not known: the answer broke off, the provider does not count, or
    there is no price. `first_s` is the time to the first token, None if none came. `outcome` is end, length, refused,
    left (the reader stopped it), or the name of the failure. `room` is where others read along, "" in private.
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


@dataclass(frozen=True, slots=True)
class Sum:
    """Sums over the calls of one group: `keys` in the order asked. Tokens and cost are of the calls that report them.

    `failed` calls ended in a failure; of `unpriced` calls the cost is not known.
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
    """What was spent: messages that models were asked about, tokens in and out, and their cost as far as it is known.

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

    def __sub__(self, other: Spend) -> Spend:
        return Spend(
            self.messages - other.messages,
            self.tokens - other.tokens,
            self.cost_usd - other.cost_usd,
            self.unpriced - other.unpriced,
        )


@dataclass(frozen=True, slots=True)
class SpendingScope:
    """Whose spending is meant: one person's, one room's, or (neither) the whole bot's."""

    user: UserKey | None = None
    room: str = ""

    @property
    def name(self) -> str:
        """PLATFORM:ID, or "bot"."""
        return str(self.user) if self.user else self.room or "bot"


BOT: Final = SpendingScope()


def scopes_of(user: UserKey | None, room: str) -> tuple[SpendingScope, ...]:
    """Return the scopes that a call counts for: the person, the room, the bot."""
    return (*((SpendingScope(user),) if user else ()), *((SpendingScope(room=room),) if room else ()), BOT)


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


class SpendingQuery(Enum):
    """What a `Spending` is asked with a scope and a time: its `minute`, `by_calls`, or `expected`."""

    MINUTE = auto()
    BY_CALLS = auto()
    EXPECTED = auto()


JUDGED_FOR: Final = timedelta(minutes=10)
"""How long an answer counts as under way at most."""

JUDGED_BY: Final = 100
"""By how many of the newest answers it is judged what the next one uses."""
