"""Steer reminders in words: put one off, move it, skip it, correct the last; say who is reminded.

"Move call home to 10am" says nothing of reminders: it steers one only if its words name exactly one that is set. What
names none is left to whatever else reads the message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import dropwhile
from pathlib import Path
from typing import Final

from core.answering.turn import Heard, Turn
from core.features.preferences.timezone import local_now
from core.features.reminders.reminders import OPEN, REMINDER_SET, Days, Kind, Reminder
from core.features.reminders.service import Refusal, Reminders
from core.features.reminders.telling import (
    REMOVED,
    ReminderNotice,
    Wish,
    as_schedule,
    place_of,
    refused,
    settle_time,
    told,
)
from core.outgoing import Button
from core.text.catalogue import text
from core.text.markdown import quoted
from core.text.unicode import flat
from core.text.words import FUNCTION_WORDS, POLITE, WORD, folded_words, same, word_tables
from core.times.grammar import find_amount, find_time
from core.times.reading import Found, Once, Recurrence
from core.times.said import asked
from core.types import Locale

_WORDS: Final = Path(__file__).with_name("steering.toml")
_MAX_CHARS: Final = 200
_LATELY: Final = timedelta(hours=1)
"""How long after it was said "snooze it" means a reminder."""

_MAX_STEERED: Final = 6
"""Words that may name a reminder; more tell something else."""


@dataclass(frozen=True, slots=True)
class _SteeringWords:
    """The patterns of one language: see `steering.toml`."""

    locale: Locale
    polite: re.Pattern[str]
    called: re.Pattern[str]
    snooze: re.Pattern[str]
    move: re.Pattern[str]
    skip: re.Pattern[str]
    spare: re.Pattern[str]
    next: re.Pattern[str]
    filler: re.Pattern[str]
    last: re.Pattern[str]
    last_end: re.Pattern[str]
    remind: re.Pattern[str]
    people: re.Pattern[str]
    deed: re.Pattern[str]
    infinitive: str

    def begin(self, said: str) -> int:
        """Return where a text begins behind polite words."""
        found = self.polite.match(said)
        return found.end() if found else 0


async def steered(turn: Turn, reminders: Reminders) -> Heard | None:
    """Do to a reminder what the message asks for, and return what the person is told; None if it asks for nothing."""
    message = turn.asked.text.strip()
    if not message or len(message) > _MAX_CHARS or turn.asked.quotes:
        return None
    own = turn.person.locale
    for words in sorted(_tables(), key=lambda each: each.locale is not own):
        # So short a sentence may be taken for one of another language than that of its verb.
        turn.person.locale = own if turn.person.language else words.locale
        for steer in (_postponed, _moved, _skipped, _corrected, _of_others):
            if (answer := await steer(turn, reminders, words, message)) is not None:
                return Heard(answer.text, answer.choices, is_all=True)
    turn.person.locale = own
    return None


# --- one that is named ------------------------------------------------------------------------------------------------


async def _postponed(turn: Turn, reminders: Reminders, words: _SteeringWords, message: str) -> ReminderNotice | None:
    """Put the next time of a reminder off, by an amount or to a time: "snooze the trash for a day"."""
    if (begin := _begun(words, words.snooze, message)) is None:
        return None
    (now, _), rest = local_now(turn), message[begin:]
    amount, time = find_amount(rest, words.locale), find_time(rest, now, words.locale)
    found: Found | None = amount or time
    if found is None:
        return None
    named = await _named(turn, reminders, words, found.without(rest), said_lately=True)
    if named is None and words.called.search(flat(message)):
        return ReminderNotice(NONE[turn.person.locale].format(words=quoted(_bare(words, found.without(rest)))))
    if named is None:
        return None
    # What was just said is put off from now on.
    due = now if named.due is None or _said_lately(named, now) else max(named.due, now)
    if amount is not None:
        until = amount.after(due.astimezone(now.tzinfo))
    elif time is not None and isinstance(time.time, Once):
        until = time.time.at
    else:
        return None
    return _told(turn, reminders, await reminders.postpone(place_of(turn), named.id, until))


async def _moved(turn: Turn, reminders: Reminders, words: _SteeringWords, message: str) -> ReminderNotice | None:
    """Give a reminder another time: "move call home to 10am"."""
    if (begin := _begun(words, words.move, message)) is None:
        return None
    (now, _), rest = local_now(turn), message[begin:]
    found = find_time(rest, now, words.locale)
    if found is None:
        return None
    named = await _named(turn, reminders, words, found.without(rest))
    if named is None:
        return None
    wish = Wish(named.text, kind=named.kind, reminder_id=named.id)
    return await settle_time(turn, reminders, wish, found.time)


async def _skipped(turn: Turn, reminders: Reminders, words: _SteeringWords, message: str) -> ReminderNotice | None:
    """Leave out the times of some days, or the next: "skip the trash next week"."""
    said = flat(message)
    if not (words.skip.search(said) or words.spare.search(said)):  # the rest takes a moment
        return None
    now, _ = local_now(turn)
    days = asked(message, now, words.locale, ahead=True)
    rest = message if days is None else days.rest
    is_spared = False
    if (begin := _begun(words, words.skip, rest)) is None:
        begin, is_spared = _begun(words, words.spare, rest), True
    if begin is None or (is_spared and days is None):
        return None
    named_by = rest[begin:]
    is_next = words.next.search(flat(named_by)) is not None
    if is_next:
        named_by = words.next.sub(" ", flat(named_by))
    named = await _named(turn, reminders, words, named_by)
    if named is None or named.due is None:
        return None
    local = named.due.astimezone(now.tzinfo).date()
    wanted = Days.of(local) if days is None or is_next else Days(days.first, days.last).ahead(now.date())
    if wanted is None:
        return None
    changed = await reminders.skip(place_of(turn), named.id, now, wanted)
    return _told(turn, reminders, changed)


def _told(turn: Turn, reminders: Reminders, changed: Reminder | Refusal) -> ReminderNotice:
    if isinstance(changed, Refusal):
        return refused(turn, reminders, changed)
    sentence = STEERED if changed.state in OPEN else REMOVED
    return told(turn, changed, sentence, can_undo=bool(reminders.undo_within))


def _begun(words: _SteeringWords, pattern: re.Pattern[str], message: str) -> int | None:
    """Return where a message goes on behind words that begin it."""
    said = flat(message)
    found = pattern.match(said, words.begin(said))
    return found.end() if found else None


async def _named(
    turn: Turn, reminders: Reminders, words: _SteeringWords, said: str, *, said_lately: bool = False
) -> Reminder | None:
    """Return the one reminder that has all the words which tell something; None if they name none, or several.

    Where none is said, it is the one that was said just now, if that may be meant.
    """
    now, _ = local_now(turn)
    filled = {word for word in folded_words(said) if words.filler.fullmatch(word)}
    telling = [word for word in folded_words(said) if word not in filled and word not in FUNCTION_WORDS]
    place = place_of(turn)
    found = [each for each in await reminders.of(place) if each.kind is Kind.REMINDER]
    lately = await reminders.said_since(place, now - _LATELY) if said_lately else []
    if not telling:
        return lately[0] if len(lately) == 1 else None
    if len(telling) > _MAX_STEERED:
        return None
    every = {each.id: each for each in (*found, *lately)}.values()
    fitting = [
        each for each in every if all(any(same(word, own) for own in folded_words(each.text)) for word in telling)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _bare(words: _SteeringWords, said: str) -> str:
    """Return what names a reminder without the words at its edges that say nothing."""
    pieces = said.split()
    while pieces and words.filler.fullmatch(flat(pieces[0])):
        del pieces[0]
    while pieces and words.filler.fullmatch(flat(pieces[-1])):
        del pieces[-1]
    return " ".join(pieces) or said


def _said_lately(reminder: Reminder, now: datetime) -> bool:
    return reminder.sent_at is not None and now - reminder.sent_at <= _LATELY


# --- the last one -----------------------------------------------------------------------------------------------------


async def _corrected(turn: Turn, reminders: Reminders, words: _SteeringWords, message: str) -> ReminderNotice | None:
    """Give the reminder that was set last another time: "actually make that an hour"."""
    if (begin := _begun(words, words.last, message)) is None:
        return None
    (now, _), rest = local_now(turn), message[begin:]
    amount, time = find_amount(rest, words.locale), find_time(rest, now, words.locale)
    found: Found | None = time or amount
    if found is None or words.last_end.sub(" ", flat(found.without(rest))).strip(" .,!?"):
        return None
    last = await reminders.newest_change(place_of(turn))
    other = await turn.memory.last_change()
    if last is None or last.state not in OPEN or last.kind is not Kind.REMINDER:
        return None
    if other is not None and last.changed_at is not None and other.at > last.changed_at:
        return None  # what was said last is a memory
    wish = Wish(last.text, kind=last.kind, reminder_id=last.id)
    if time is None and amount is not None:
        return await settle_time(turn, reminders, wish, Once(amount.after(now)))
    return await settle_time(turn, reminders, wish, None if time is None else time.time)


# --- somebody else's --------------------------------------------------------------------------------------------------


async def _of_others(turn: Turn, reminders: Reminders, words: _SteeringWords, message: str) -> ReminderNotice | None:
    """Say that who asks is reminded and nobody else, and offer that: "lembra a Ana de trazer o bolo".

    In a room where owners let reminders be said it is offered, too, to say it there, to her by her name.
    """
    said = flat(message)
    found = words.remind.match(said, _after_space(said, words.begin(said)))
    if found is None or not reminders.limits.most or REMINDER_SET in turn.services.off:
        return None
    name = message[found.start("who") : found.end("who")].split()
    is_person = name[-1][:1].isupper() or words.people.fullmatch(flat(name[-1])) is not None
    now, locale = local_now(turn)[0], turn.person.locale
    rest = message[found.end() :]
    time = find_time(rest, now, words.locale)
    what = (rest if time is None else time.without(rest)).strip(" ?!.")
    if not is_person or words.deed.match(f" {flat(what)} ") is None:
        return None
    deed = f"{words.infinitive.format(verb=found['verb'])} {' '.join(name)} {what}"
    plain = time.time if time is not None and isinstance(time.time, Once | Recurrence) else None
    options = () if plain is None else (as_schedule(plain),)
    place = place_of(turn)
    is_heard = not place.private and not await reminders.is_off(place.chat)
    wish = Wish(deed, options, aloud=f"{_called(name)}: {_BEFORE_A_DEED.sub('', what)}" if is_heard else "")
    code = await turn.services.confirmations.ask(turn.conversation.thread.conversation, wish)
    command = f"/remind pick {code} 1" if options else f"/remind at {code}"
    aloud = (Button(ALOUD[locale], f"/remind aloud {code}", in_place=True),) if is_heard else ()
    buttons = (Button(ONESELF[locale], command, in_place=True), *aloud)
    return ReminderNotice(ONLY_WHO_ASKS[locale].format(text=quoted(deed)), buttons, asks=True)


_BEFORE_A_DEED: Final = re.compile(r"^(?:de|to|pra|para) ", re.IGNORECASE)
_BEFORE_A_NAME: Final = frozenset("a o ao aos as os al la el los las pra pro para the".split())


def _called(name: Sequence[str]) -> str:
    """Return how somebody is spoken to: "Ana" of "a Ana"."""
    return " ".join(dropwhile(lambda word: flat(word) in _BEFORE_A_NAME, name))


def _after_space(said: str, begin: int) -> int:
    return begin + len(said[begin:]) - len(said[begin:].lstrip(" ,"))


@cache
def _tables() -> Sequence[_SteeringWords]:
    return word_tables(_WORDS, _SteeringWords, {"polite": POLITE, "last_end": WORD, "called": WORD, "next": WORD})


NONE = text("reminders.actions.none_of_these_words")
STEERED = text("reminders.told.moved_text")
ONLY_WHO_ASKS = text("reminders.steering.only_who_asks")
ONESELF = text("reminders.steering.oneself")
ALOUD = text("reminders.steering.aloud")
