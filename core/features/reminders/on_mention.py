"""Read a message that asks to be reminded of something when the person mentions something else.

"When I mention the dentist, remind me about the bill" is read by the word tables of `on_mention.toml` and of requests.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from functools import cache
from pathlib import Path
from typing import Final

from core.features.reminders.reminders import Mention
from core.features.reminders.request import EDGES, RequestWords, bare, deed, request_words
from core.text.unicode import flat
from core.text.words import FUNCTION_WORDS, WORD, folded_words, word_tables
from core.times.grammar import MAX_CHARS, find_time
from core.times.reading import Once
from core.times.said import lasting
from core.types import Locale

_MAX_SUBJECT_WORDS: Final = 8
_END: Final = re.compile(r"[.!?;\n](?=\s|$)|,")
_GOES_ON: Final = re.compile(
    r" (?!(?:please|remind|tell|let|when|every|por favor|me|quando|sempre|toda|cuando|cada|record|avis))\w"
)
_NEAR_CHARS: Final = 2
_OWN: Final = re.compile(r"\s*(?:my|mis?|meus?|minhas?)\b")
_LAST_MINUTE: Final = time(23, 59)
_MINUTE: Final = timedelta(minutes=1)

_WORDS: Final = Path(__file__).with_name("on_mention.toml")
_FORMS: Final = {
    "clause": r"(?<!\w)(?:(?P<each>{each})|(?:{})) (?:(?P<meets>{meets})|(?:{says}))(?!\w)(?: (?:{of})(?!\w))*",
    "spoken": r"(?<!\w)(?:(?P<each>{each})|(?:{clause})) (?P<who>[^,.;:!?\n]{1,60}?) "
    r"(?:(?P<meets>{calls})|(?:{}))(?!\w)",
    "again": r"[\s,]+(?:{})[\s.!]*$",
    **dict.fromkeys(("tell", "until", "lasts", "about"), WORD),
}


@dataclass(frozen=True, slots=True)
class MentionRequest:
    """A request to be reminded of `text` at a mention; `until` is when that is to be over (None: not said)."""

    text: str
    mention: Mention
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class _MentionWords:
    """The patterns of one language: see `on_mention.toml`."""

    locale: Locale
    clause: re.Pattern[str]
    spoken: re.Pattern[str]
    tell: re.Pattern[str]
    until: re.Pattern[str]
    lasts: re.Pattern[str]
    again: re.Pattern[str]
    article: re.Pattern[str]
    pronoun: re.Pattern[str]
    about: re.Pattern[str]


def read_mention(message: str, now: datetime, locale: Locale, *, is_asked: bool = False) -> MentionRequest | None:
    """Return the request that a message makes; None if it asks for no reminder at a mention.

    `now` is in the person's zone. With `is_asked`, as for a command, it needs no words that ask to be reminded.
    """
    head = message[:MAX_CHARS]
    text = flat(head)
    for words in sorted(_tables(), key=lambda each: each.locale is not locale):
        if (found := _read(words, head, text, now, locale, is_asked=is_asked)) is not None:
            return found
    return None


def is_each(message: str) -> bool:
    """Return whether a message says "every time"."""
    text = flat(message[:MAX_CHARS])
    return any(words.again.search(text) or ((found := _clause(words, text)) and found["each"]) for words in _tables())


def asks_about_reminders(message: str) -> bool:
    """Return whether a message is a question about what the person wanted to be reminded of."""
    text = flat(message[:MAX_CHARS])
    return any(words.about.search(text) for words in _tables())


def subject_in(text: str) -> str:
    """Return what is mentioned without the words in front of it that say nothing; "" if nothing is left."""
    for words in _tables():
        if (found := words.article.match(flat(text))) is not None:
            text = text[found.end() :]
    said = text.split()
    telling = [word for word in folded_words(text) if word not in FUNCTION_WORDS]
    return " ".join(said) if telling and len(said) <= _MAX_SUBJECT_WORDS else ""


def _read(
    words: _MentionWords, message: str, text: str, now: datetime, locale: Locale, *, is_asked: bool
) -> MentionRequest | None:
    clause = _clause(words, text)
    if clause is None:
        return None
    who = clause.groupdict().get("who")  # "when the dentist is mentioned"
    asks = [found for pattern in (_requests()[words.locale].ask, words.tell) for found in pattern.finditer(text)]
    ask = min((each for each in asks if each.end() <= clause.start() or each.start() >= clause.end()),
              key=lambda each: (each.re is words.tell, each.start()), default=None)  # fmt: skip
    if ask is None and not is_asked:
        return None
    ended, until = _until(words, message, text, now, locale)
    again = words.again.search(text, clause.end())
    stops = [len(text), *(each.start() for each in (ended, again) if each is not None)]
    if ask is not None and ask.start() > clause.start():
        stops.append(ask.start())
    begin, end = clause.end(), min(each for each in stops if each >= clause.end())
    is_first = ask is not None and ask.start() > clause.start()
    if (stop := _END.search(text, begin, end)) is not None:
        if is_first and stop[0] != ",":
            return None  # the request is another sentence
        end = stop.start()
    named = message[slice(*clause.span("who"))] if who else message[begin:end]
    subject = subject_in(bare(_requests()[words.locale], named, is_first=False))
    told = message[: clause.start()].strip(EDGES)
    who_said = named.strip(EDGES) or message[:begin].rsplit(maxsplit=1)[-1]  # "de él" ends the clause
    is_told = bool(told) and words.pronoun.fullmatch(flat(who_said)) is not None
    if is_told:  # "Ana owes me 20, when I mention her remind me"
        subject = next((word.strip(EDGES) for word in told.split() if word[:1].isupper()), "")
    if not subject or (clause["meets"] and not _is_person(named, subject)):
        return None
    spans = [(clause.start(), ask.start() if is_first and ask is not None else begin if who else end)]
    spans += [each.span() for each in (ask, again) if each is not None]
    spans += [] if ended is None else [ended.span()]
    wanted = deed(_requests()[words.locale], message, sorted(spans)).strip()
    wanted = told if is_told else wanted
    if not wanted:
        return None
    return MentionRequest(wanted, Mention(subject, bool(clause["each"] or again)), until)


def _clause(words: _MentionWords, text: str) -> re.Match[str] | None:
    """Return where a text says what is to be mentioned: behind its verb, or before it, as in "when Ana calls me"."""
    return words.clause.search(text) or words.spoken.search(text)


@dataclass(frozen=True, slots=True)
class _Ending:
    """Where a text names the end."""

    first: int
    last: int

    def start(self) -> int:
        """Return where it begins."""
        return self.first

    def span(self) -> tuple[int, int]:
        """Return where it stands."""
        return self.first, self.last


def _until(
    words: _MentionWords, message: str, text: str, now: datetime, locale: Locale
) -> tuple[_Ending | None, datetime | None]:
    """Return where the end of it is named, and when it is: the whole day, if that is all that is said."""
    for found in words.until.finditer(text):
        named = find_time(message[found.end() :], now, locale)
        if named is None or named.spans[0][0] > _NEAR_CHARS or not isinstance(named.time, Once):
            continue
        at = named.time.at if named.time.has_hour else datetime.combine(named.time.at.date(), _LAST_MINUTE, now.tzinfo)
        last = max(end for start, end in named.spans)
        return _Ending(found.start(), found.end() + last), at
    for found in words.lasts.finditer(text):
        length = lasting(message[found.end() :], now, words.locale)
        if length is not None and not _GOES_ON.match(text, found.end() + length[1]):  # "for two weeks off"
            return _Ending(found.start(), found.end() + length[1]), length[0] - _MINUTE
    return None, None


def _is_person(said: str, subject: str) -> bool:
    """Return whether somebody is named: by a name, or as "my sister"."""
    is_named = any(word[:1].isupper() for word in subject.split())
    return is_named or _OWN.match(flat(said)) is not None


@cache
def _tables() -> Sequence[_MentionWords]:
    return word_tables(_WORDS, _MentionWords, _FORMS)


@cache
def _requests() -> Mapping[Locale, RequestWords]:
    return {words.locale: words for words in request_words()}
