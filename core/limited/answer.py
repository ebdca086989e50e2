"""What a reply to our own question means: yes, no, a number, one of the options, or something else altogether.

Knows the questions of `sentences` and how people answer them. Does not know what is done about it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from core.limited import sentences as say
from core.limited.words import stems, words
from core.text.replies import MAX_CHOICE_WORDS, numbered
from core.types import Locale, Localized

_MAX_VALUE_WORDS = 12
_MAX_PLAIN_VALUE_WORDS = 5


class Kind(StrEnum):
    """Which of our questions."""

    SAVE_OR_SEARCH = "save-or-search"
    SAVE_WHAT = "save-what"
    DELETE_WHAT = "delete-what"
    UPDATE_WHICH = "update-which"
    NEW_VALUE = "new-value"
    NOT_FOUND = "not-found"


@dataclass(frozen=True, slots=True)
class Asked:
    """One of our questions: which, its numbered options, and the subject it names ("" if none)."""

    kind: Kind
    options: tuple[str, ...]
    subject: str


LEADS: dict[Kind, Localized] = {
    Kind.SAVE_OR_SEARCH: say.SAVE_OR_SEARCH,
    Kind.SAVE_WHAT: say.SAVE_WHAT,
    Kind.DELETE_WHAT: say.DELETE_WHAT,
    Kind.UPDATE_WHICH: say.UPDATE_WHICH,
    Kind.NEW_VALUE: say.NEW_VALUE,
    Kind.NOT_FOUND: say.NOT_FOUND,
}


def recognised(text: str) -> Asked | None:
    """Return which of our questions the text asks; None if it asks none."""
    for kind, lead in LEADS.items():
        for locale in Locale:
            match = re.search(re.escape(lead[locale]).replace(re.escape("{subject}"), "(?P<subject>.+?)"), text)
            if match:
                options = re.findall(r"^\d+\. (.+)$", text[match.end() :], re.MULTILINE)
                return Asked(kind, tuple(options), match.groupdict().get("subject") or "")
    return None


def picked(message: str, options: tuple[str, ...], *, by_words: bool) -> tuple[int, ...]:
    """Return the indices of the options that the reply names: by number, all of them, or (`by_words`) by their words.

    Anything that asks is no reply: "what is the gate code?" must never pick the gate code from a list.
    """
    chosen = numbered(message, len(options))
    if chosen is not None or not by_words or "?" in message or len(words(message)) > MAX_CHOICE_WORDS:
        return chosen or ()
    return _by_words(message, options)


def _by_words(message: str, options: tuple[str, ...]) -> tuple[int, ...]:
    """Return the one option that holds more of the reply's words than any other."""
    named = stems(message)
    scores = [len(named & stems(option)) for option in options]
    best = max(scores, default=0)
    return (scores.index(best),) if best and scores.count(best) == 1 else ()


def is_value(message: str) -> bool:
    """Return whether the reply may be the value we asked for: no question, and short, or with a number in it."""
    most = _MAX_VALUE_WORDS if any(letter.isdigit() for letter in message) else _MAX_PLAIN_VALUE_WORDS
    return 0 < len(words(message)) <= most and "?" not in message
