"""Reminders, their states, how one is claimed, on which days it is due, and the words by which people ask for one.

A reminder is durable before it is confirmed to the person, and is due once for each instant. Whoever fires it claims it
first: a claim holds for a lease, which is renewed while the work lasts, so that exactly one worker fires it, and
another may once the first died.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import Final, Self

from core.dialogue import Effect
from core.text.assertions import POLITE
from core.text.catalogue import forms, text
from core.times import rules
from core.types import ChatKey, Locale, UserKey

LEASE: Final = timedelta(minutes=2)
"""How long a claim holds unless it is renewed."""

KEPT: Final = timedelta(days=30)
"""How long a reminder that was fired for the last time stays, for the buttons below it."""


REST: Final = timedelta(days=1)
"""How long one that is said each time that something is mentioned is not said again."""


class Kind(StrEnum):
    """What is said when it is due: the text, what the day has in store, or whether they are back by the zone in it.

    A MENTION is said as soon as the person mentions something; it is over when it is due.
    """

    REMINDER = "reminder"
    MENTION = "mention"
    BRIEFING = "briefing"
    RETURN = "return"


class ReminderState(StrEnum):
    """Where a reminder stands. Only one that is WAITING is fired; SENDING ones are those that were claimed.

    DONE: fired for the last time. FAILED: could not be delivered, and was given up. REMOVED: deleted, can be restored.
    """

    WAITING = "waiting"
    SENDING = "sending"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    REMOVED = "removed"


IMPORTED: Final = "import "
"""How the batches begin of reminders that came in a file; the rest is the act that took it in."""

OPEN: Final = frozenset({ReminderState.WAITING, ReminderState.SENDING, ReminderState.PAUSED})
"""The states of reminders that count against the person's limit."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """When a reminder is due: one instant, or again and again.

    Wall time, zone and rule are what was agreed on; instants are computed from them, and anew when the rules of the
    zone change.
    """

    wall: datetime
    """The first instant as the clock on the wall of `zone` shows it, naive."""

    zone: str
    rule: str = ""
    """An RRULE without DTSTART; "" for once."""

    guessed: bool = False
    """Whether the zone is our guess, and nobody has confirmed it."""


@dataclass(frozen=True, slots=True)
class Mention:
    """What the person is to mention, in their own words, and whether they are reminded each time or once."""

    subject: str
    each: bool = False


@dataclass(frozen=True, slots=True)
class Reminder:
    """One reminder."""

    user: UserKey
    """The account that set it."""

    chat: ChatKey
    """Where it was set, and is fired."""

    text: str
    """The person's own words."""

    schedule: Schedule
    due: datetime | None
    """The next instant, aware UTC; None if there is none."""

    created_at: datetime
    private: bool = True
    """Whether nobody else reads along in that chat."""

    name: str = ""
    """The person's name, for a mention."""

    kind: Kind = Kind.REMINDER
    mention: Mention | None = None
    """Of a MENTION."""

    locale: Locale = Locale.PT
    """The language it was set in."""

    state: ReminderState = ReminderState.WAITING
    tries: int = 0
    """Counts claims of this instant: more than one means that it may have been said."""

    failures: int = 0
    """Counts the posts that the chat refused since the last that it took."""

    sent_at: datetime | None = None
    """When it was said last."""

    batch: str = ""
    """The id under which several that are said in one message are acted on together; of a MENTION, the act."""

    changed_at: datetime | None = None
    """When the person changed it last."""

    before: Before | None = None
    """What that change can be taken back to; None: to nothing, as the reminder was new."""

    act: str = ""
    """What that change was part of."""

    id: str = ""
    """"" until stored."""

    @property
    def named_by(self) -> str:
        """The words by which the person may name it."""
        return self.text if self.mention is None else f"{self.text} {self.mention.subject}"

    def is_ready(self, now: datetime) -> bool:
        """Return whether one that waits for a mention is said at the next."""
        is_over = self.due is None or self.due <= now
        has_rested = self.sent_at is None or now - self.sent_at >= REST
        return self.mention is not None and self.state is ReminderState.WAITING and not is_over and has_rested


@dataclass(frozen=True, slots=True)
class Before:
    """What a reminder was before its last change."""

    text: str
    schedule: Schedule
    due: datetime | None
    state: ReminderState


@dataclass(frozen=True, slots=True)
class DueClaim:
    """What one who fires takes: due at or before `now` on those platforms, but not in the `busy` chats, by their ids.

    `limit` is the least number that is taken, if so many are due: those of one person in one chat are taken together.
    """

    now: datetime
    platforms: Collection[str] = field(default_factory=frozenset)
    busy: Collection[str] = field(default_factory=frozenset)
    limit: int = 100


MOST_DAYS: Final = 31
MOST_A_DAY: Final = 4
"""Instants of one reminder that are told one by one; of more the first is, with the rule."""

_DAY: Final = timedelta(days=1)
_MOMENT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Days:
    """The days from `first` to `last`, both of them asked for."""

    first: date
    last: date

    @classmethod
    def of(cls, first: date, count: int = 1) -> Self:
        """Return some days from one on."""
        return cls(first, first + timedelta(days=count - 1))

    def __iter__(self) -> Iterator[date]:
        """Yield each of them."""
        return (self.first + timedelta(days=at) for at in range((self.last - self.first).days + 1))

    def ahead(self, today: date) -> Days | None:
        """Return those of them that have not passed, at most a month; None if all have."""
        first = max(self.first, today)
        return None if self.last < today else Days(first, min(self.last, first + timedelta(days=MOST_DAYS - 1)))


def instants(reminder: Reminder, now: datetime, days: Days) -> Sequence[datetime]:
    """Return when a reminder is due on those days, in the zone of `now`: not before its next instant.

    One that is paused is due when it would be if it went on. Of more than four on one day there are five. One that
    waits for a mention is due on no day.
    """
    schedule, due = reminder.schedule, reminder.due
    if reminder.mention is not None:
        return []
    begin, end = (datetime.combine(day, time(), now.tzinfo) for day in (days.first, days.last + _DAY))
    if not schedule.rule or reminder.state not in OPEN:
        return [due.astimezone(now.tzinfo)] if due is not None and begin <= due < end else []

    def following(after: datetime) -> datetime | None:
        return rules.next_after(schedule.wall, schedule.zone, schedule.rule, after)

    if reminder.state is ReminderState.PAUSED or due is None:
        start, found = max(now, begin) - _MOMENT, list[datetime]()
    else:  # one that was put off is due at no instant of its rule
        found = [due.astimezone(now.tzinfo)] if begin <= due < end else []
        start = due if due >= begin else begin - _MOMENT
    at = following(start)
    while at is not None and at < end:
        found.append(at.astimezone(now.tzinfo))
        is_full = len(found) > MOST_A_DAY and found[-1].date() == found[-1 - MOST_A_DAY].date()
        at = following(_midnight_after(found[-1]) - _MOMENT if is_full else at)
    return found


def _midnight_after(at: datetime) -> datetime:
    return datetime.combine(at.date() + _DAY, time(), at.tzinfo)


_ASKED: Final = re.compile(
    POLITE + r"(?:(?:remind|ping|alert|notify) me(?! (?:who|what|where|why|how|which|of (?:my|the|what))\b)|"
    r"(?:lembr(?:a|e|ar)|recuerda|recorda)(?:-me|me| me)?\b(?! que\b)[^.!?;:\n]{0,40}? "
    r"(?:de |pra |para |a )?\w+(?:ar|er|ir|or)\b|(?:recuerdame|acuerdame) (?:de )?\w+(?:ar|er|ir)(?:l[aoe]s?)?\b|"
    r"(?:avis[ae](?:-me|me| me)?)\b|(?:set|create|add|make) (?:me )?(?:a|an|another) (?:\w+ )?(?:reminder|alarm)|"
    r"(?:cri[ae]|marc\w+|coloc\w+|agend\w+|bot[ae]) (?:pra mim )?(?:um|outro) (?:lembrete|aviso|alarme)|"
    r"(?:pon(?:me)?|crea(?:me)?|program[ae](?:me)?) (?:un|otro) (?:recordatorio|aviso|alarma))"
)
_CLAIMED: Final = re.compile(
    r"\bi(?:'ll| will| shall)(?: \w+ly| also| then| just)? (?:remind|ping|nudge|alert|notify) you\b"
    r"(?! (?:that|how|why|what)\b)|"
    r"\b(?:i|i've|we|we've)(?: have| just| also| now)* (?:set|created|scheduled|added)(?: up)?"
    r"(?: \w+){0,3}? reminders?\b|"
    r"^(?:your |the |a )?reminders?(?: \w+){0,2}?(?: is| are| has been| have been)?(?: now)?"
    r" (?:set|created|scheduled|added)\b|"
    r"\b(?:vou|irei) (?:te|lhe) (?:lembrar|avisar)\b(?! que)|\bte (?:lembro|aviso|lembrarei|avisarei)\b(?! que)|"
    r"\bvou (?:lembrar|avisar) (?:você|vc)\b|"
    r"\blembretes?(?: \w+){0,2}? (?:marcad|criad|agendad|definid|programad|salv)[oa]s?\b|"
    r"\b(?:marquei|criei|agendei|defini|programei|configurei|coloquei)(?: \w+){0,3}?"
    r" (?:lembretes?|alarmes?|avisos?)\b|"
    r"\bte (?:lo )?(?:recordaré|avisaré|recuerdo|aviso)\b(?! que)|\bvoy a (?:recordarte|avisarte|recordártelo)\b|"
    r"\brecordatorios?(?: \w+){0,2}? (?:puest|cread|programad|fijad|agendad|guardad|establecid)[oa]s?\b|"
    r"\b(?:he (?:puesto|creado|programado|agendado)|creé|puse|programé|agendé)(?: \w+){0,3}?"
    r" (?:recordatorios?|avisos?|alarmas?)\b"
)
_THINGS: Final = re.compile(r"[^.!?;,\n]{0,40}\b(?:lembrete|aviso|alarme|reminder|alarm|recordatorio|alarma)s?\b")

REMINDER_SET: Final = Effect(
    "set as reminder",
    _ASKED,
    _CLAIMED,
    _THINGS,
    nothing=text("outcomes.nothing.reminder"),
    hint=text("outcomes.hints.reminder"),
    not_done=forms("outcomes.not_done.reminder"),
)
