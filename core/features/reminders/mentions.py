"""Read a message about reminders by the word tables of `mentions.toml`: to list them, delete one, or say when."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Final

from core.features.reminders.agenda import WEEK
from core.features.reminders.reminders import Days
from core.text.senses import sense
from core.text.unicode import flat
from core.text.words import FUNCTION_WORDS, POLITE, folded_words, word_tables
from core.times.said import asked
from core.types import JSONValue, Locale

_WORDS: Final = Path(__file__).with_name("mentions.toml")
_MAX_CHARS: Final = 200
_CALLED_WORDS: Final = 2
"""Words behind a comma that only say to whom it is said."""

_MAX_CHARS_ABOUT: Final = 1_000
_GREETINGS: Final = re.compile(r"\b(?:boa|buenas|ate|hasta|see (?:you|ya)) (?:amanha|manana|tomorrow)")
_FIGURES: Final = re.compile(
    r"\b(?:\d{1,2}(?::| ?h)\d\d|\d{1,2} ?(?:h|hs|hrs|am|pm)|\d{1,2}/\d{1,2}|(?:as|a las|at|to|para as|pras) \d{1,2})\b"
)
"""Times in figures: 9:30, 9h, 10am, 3/12, "to 10"."""
_OF_A_THING: Final = frozenset(map(sense, ("código", "senha", "número")))
"""What an alarm that hangs on a wall has: "delete the alarm code"."""

_FORMS: Final = {
    "polite": POLITE,
    "agenda": r"(?:{})(?!\w)",
    "agenda_more": r"(?:\W*(?:{})(?!\w))*\W*",
    "week": r"(?:{})\W*(?:(?:{after})\W*)*",
    "joint": r"\s*{}",
    "about": r"\b(?:{})",
}


@dataclass(frozen=True, slots=True)
class _ReminderWords:
    """The patterns of one language."""

    locale: Locale
    polite: re.Pattern[str]
    list: re.Pattern[str]
    agenda: re.Pattern[str]
    agenda_more: re.Pattern[str]
    week: re.Pattern[str]
    cancel: tuple[re.Pattern[str], ...]
    change: re.Pattern[str]
    pause: re.Pattern[str]
    resume: re.Pattern[str]
    joint: re.Pattern[str]
    all: re.Pattern[str]
    reply: frozenset[str]
    about: re.Pattern[str]


def read_list(message: str, now: datetime, _: Locale) -> Mapping[str, JSONValue] | None:
    """Return no arguments for a message that asks which reminders are set; None if it asks for something else."""
    text = flat(message[:_MAX_CHARS])
    listed = any(words.list.match(text, _begin(words, text)) for words in _tables())
    return {} if listed or read_agenda(message, now) is not None else None


def read_agenda(message: str, now: datetime) -> Days | None:
    """Return the days of which a message asks what they have in store, and nothing else; None if it does not.

    "What do I have on friday?" asks for one day, "my week" for seven from today. `now` is in the person's zone.
    """
    asked_of, _, called = message.rpartition(",")
    message = asked_of if asked_of and len(called.split()) <= _CALLED_WORDS else message  # "…, mulher?"
    text = flat(message[:_MAX_CHARS])
    for words in _tables():
        begin = _begin(words, text)
        if words.week.fullmatch(text, begin):
            return Days.of(now.date(), WEEK)
        if words.agenda.match(text, begin) and (days := _days_alone(words, message, now)):
            return days
    return None


def _days_alone(words: _ReminderWords, message: str, now: datetime) -> Days | None:
    """Return the days ahead that a question names, if it says nothing else beside what asks for an agenda."""
    named = asked(message, now, words.locale, ahead=True)
    if named is None or named.said:
        return None
    rest = flat(named.rest)
    head = words.agenda.match(rest, _begin(words, rest))
    is_alone = head is not None and words.agenda_more.fullmatch(rest, head.end()) is not None
    return Days(named.first, named.last).ahead(now.date()) if is_alone else None


def asks_to_hold(message: str) -> bool | None:
    """Return whether a message asks to pause a reminder (True), or to let one go on (False); None for neither."""
    text = flat(message[:_MAX_CHARS])
    for words in _tables():
        if words.pause.match(text, _begin(words, text)):
            return True
        if words.resume.match(text, _begin(words, text)):
            return False
    return None


def asks_for_all(message: str) -> bool:
    """Return whether a message asks to delete all reminders."""
    text = flat(message[:_MAX_CHARS])
    return any(words.all.match(text, _begin(words, text)) for words in _tables())


def read_change(message: str) -> str | None:
    """Return the words for the reminder that a message asks to move, and for its new time; None if it asks for none."""
    return _which(message, lambda words: (words.change,))


def read_cancel(message: str, _: datetime, __: Locale) -> Mapping[str, JSONValue] | None:
    """Return the arguments of a message that asks to delete or hold a reminder; None if it asks for something else."""
    which = _which(message, lambda words: (*words.cancel, words.pause, words.resume))
    return None if which is None else {"which": which}


def _which(message: str, patterns: Callable[[_ReminderWords], Sequence[re.Pattern[str]]]) -> str | None:
    """Return what a message says beside a request that one of the patterns reads; None if none of them does."""
    text = flat(message[:_MAX_CHARS])
    for words in _tables():
        begin = _begin(words, text)
        found = next((found for pattern in patterns(words) if (found := pattern.match(text, begin))), None)
        if found is not None:
            beside = [*folded_words(found.groupdict().get("before") or ""), *folded_words(text[found.end() :])[:1]]
            if not _OF_A_THING.isdisjoint(map(sense, beside)):
                return None
            joint = words.joint.match(text, found.end())
            rest = message[joint.end() if joint else found.end() :]
            before = [word for word in (found.groupdict().get("before") or "").split() if word not in FUNCTION_WORDS]
            return " ".join((*before, *rest.split())).strip(" .!,?")
    return None


def may_be_about(text: str) -> bool:
    """Return whether a text may call for a reminder: a word of it may mean one, or names a time ahead."""
    said = _GREETINGS.sub(" ", flat(text[:_MAX_CHARS_ABOUT]))
    return _FIGURES.search(said) is not None or any(words.about.search(said) for words in _tables())


def only_replies(text: str) -> bool:
    """Return whether a text holds no more than what people say beside a time when they are asked for one."""
    said = set(folded_words(text)) - FUNCTION_WORDS
    return said <= {word for words in _tables() for word in words.reply}


def _begin(words: _ReminderWords, text: str) -> int:
    found = words.polite.match(text)
    return found.end() if found else 0


@cache
def _tables() -> tuple[_ReminderWords, ...]:
    return word_tables(_WORDS, _ReminderWords, _FORMS)
