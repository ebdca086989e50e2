"""Word the messages of reminders that are due, with the buttons below them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final

from core.answering.asker import Locales
from core.features.reminders.reminders import Kind, Reminder
from core.features.reminders.telling import MENTION_SIGN, heading, skipped
from core.outgoing import Button, Mention, OutgoingMessage
from core.text.catalogue import Plurals, Sentences, counted, text
from core.text.markdown import quoted, time_link, verbatim
from core.text.unicode import one_line
from core.times import wording
from core.types import Locale, Localized

DUE = Sentences("reminders.due")
DUE_PLURALS = Plurals("reminders.due")
MENTION = Sentences("reminders.mention")

LATE: Final = timedelta(seconds=60)
"""After this long a reminder says when it was due."""

AGAIN: Final = "↻"
"""Marks what may have been said already: the bot was stopped while it was being sent."""


@dataclass(frozen=True, slots=True)
class Due:
    """A claimed reminder that is to be said, and what it is afterwards (`then`).

    `missed` counts the instants of it that passed since the one that it is claimed for, if they are not too many.
    """

    reminder: Reminder
    then: Reminder
    missed: int = 0


class DueMessages:
    """Make the message of reminders of one batch. `briefing` makes the text of a briefing, as Markdown."""

    def __init__(self, locales: Locales, briefing: Callable[[Reminder], Awaitable[str]]) -> None:
        self._locales = locales
        self._briefing = briefing

    async def message(self, batch: Sequence[Due], now: datetime, why: Localized | None = None) -> OutgoingMessage:
        """Return the message, in the person's present language; a room's mentions them.

        With `why`, it is for their private chat, and begins with why a room's reminder is said there.
        """
        first = batch[0].reminder
        locale = await self._locales.known(first.user, first.locale)
        if first.kind is Kind.BRIEFING:
            words = "\n\n".join([await self._briefed(due, now, locale) for due in batch])
        elif first.kind is Kind.RETURN:
            zone = wording.zone_told(first.text, now, locale)
            words = f"{_sign(batch[0])}{DUE.back[locale].format(zone=zone)}{_late(batch[0], now, locale)}"
        elif first.kind is Kind.MENTION:
            words = "\n".join(_over(due, locale) for due in batch)
        else:
            words = _listed(batch, now, locale)
        return OutgoingMessage(
            words if why is None else f"{why[locale]}\n\n{words}",
            choices=_choices(first, locale),
            mention=None if first.private or why is not None else Mention(first.user.user, first.name),
        )

    async def _briefed(self, due: Due, now: datetime, locale: Locale) -> str:
        words = await self._briefing(replace(due.reminder, locale=locale))
        return f"{_sign(due)}{words}{_late(due, now, locale)}"


def name_of(batch: Sequence[Due]) -> str:
    """Return a name of the message that is the same each time that these instants are said, for `Notifier.write`."""
    instants = "|".join(f"{due.reminder.id} {due.reminder.due}" for due in batch)
    return blake2b(instants.encode(), digest_size=8).hexdigest()


def _listed(batch: Sequence[Due], now: datetime, locale: Locale) -> str:
    if len(batch) == 1:
        [due] = batch
        words = "\n".join(verbatim(line) for line in due.reminder.text.splitlines() if line.strip())
        return "\n".join(filter(None, (f"{_sign(due)}⏰ {words}{_late(due, now, locale)}", _skipped(due, locale))))
    lines = [f"⏰ {counted(DUE_PLURALS.several, locale, len(batch))}"]
    for due in batch:
        words = verbatim(one_line(due.reminder.text, len(due.reminder.text)))
        lines.append(f"• {_sign(due)}{words}{_late(due, now, locale, ' · ')}")
    return "\n".join(lines)


def _over(due: Due, locale: Locale) -> str:
    """Return that one is not said at a mention any more; what was never said at one is said now."""
    reminder, mention = due.reminder, due.reminder.mention
    subject = quoted(mention.subject) if mention is not None else ""
    sentence = MENTION.unmentioned if reminder.sent_at is None else MENTION.ended
    return f"{_sign(due)}{MENTION_SIGN} {sentence[locale].format(text=heading(reminder, locale), subject=subject)}"


def _sign(due: Due) -> str:
    return f"{AGAIN} " if due.reminder.tries > 1 else ""


def _skipped(due: Due, locale: Locale) -> str:
    """Return why it is said at another hour than on other days; "" if it is not."""
    at = due.reminder.due
    try:
        return skipped(due.reminder.schedule, at, locale) if at is not None else ""
    except (ValueError, KeyError, OSError):  # of a rule that cannot be read, which is said all the same
        return ""


def _late(due: Due, now: datetime, locale: Locale, before: str = "\n") -> str:
    """Return when it was due, after `before`; "" if that is now."""
    at = due.reminder.due
    if at is None or (now - at <= LATE and not due.missed):
        return ""
    when = time_link(wording.told(at, now, due.reminder.schedule.zone, locale), at)
    if not due.missed:
        return before + DUE.was_due[locale].format(at=when)
    return before + counted(DUE_PLURALS.missed, locale, due.missed, at=when)


def _choices(first: Reminder, locale: Locale) -> tuple[Button, ...]:
    """Return the buttons below what is said."""
    if first.kind is Kind.RETURN:
        back = Button(DUE.back_yes[locale], f"/timezone {first.text}", in_place=True)
        return back, Button(DUE.tomorrow[locale], f"/remind later {first.batch} 1d", in_place=True)
    return _buttons(first.batch, locale) if first.kind is Kind.REMINDER else ()


def _buttons(batch: str, locale: Locale) -> tuple[Button, ...]:
    return (
        Button(DUE.done[locale], f"/reminders done {batch}", in_place=True),
        Button(DUE.minutes[locale], f"/remind later {batch} 10m", in_place=True),
        Button(DUE.hour[locale], f"/remind later {batch} 1h", in_place=True),
        Button(DUE.tomorrow[locale], f"/remind later {batch} 1d", in_place=True),
    )


ROOM_OFF = text("reminders.due.room_off")
ROOM_REFUSED = text("reminders.due.room_refused")
