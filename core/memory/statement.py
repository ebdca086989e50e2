"""Read a statement of a person as it is compared with others: its words, values, people, and words of change.

Only a plain statement of a fact can take the place of another, or lose its own. Greetings, thanks, praise, questions,
promises and events of a day stay beside what is known, however much their words are alike; so does whatever is told in
several sentences, as one new value would take the place of all of them. The words are data, in three languages:
statement.toml and fact.txt.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from importlib import resources
from typing import Final, TypeAlias

from core.text.unicode import flat
from core.text.words import FUNCTION_WORDS, expressions


@dataclass(frozen=True, slots=True)
class MeaningfulWord:
    """A word that matters: its meaning, and the kind of that.

    Kinds are "kin", "one", "class", "deed", "same" (the tables of statement.toml), "word", and those of values.

    `sense` tells apart words of one meaning that do not say the same: "vegetarian" and "meat" are both about diet.
    """

    kind: str
    text: str
    sense: int = field(default=0, compare=False)

    @property
    def is_value(self) -> bool:
        """Whether it is a number, a date, a time, a weekday or a code."""
        return self.kind in {"date", "time", "weekday", "number", "phone", "code"}


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement as it is compared."""

    plain: str
    words: tuple[MeaningfulWord, ...]
    """The words that matter."""

    subject: tuple[MeaningfulWord, ...]
    """Those that say what it is about, as far as its verb tells."""

    names: frozenset[str]
    """Those with a capital."""

    cues: frozenset[str]
    """The cues of statement.toml that it has."""

    denied: tuple[MeaningfulWord, ...]
    """The two words after each negation."""

    is_state: bool
    """Whether it has a verb of state."""

    is_list: bool
    """Whether it has a comma."""

    @property
    def ones(self) -> frozenset[MeaningfulWord]:
        """What it is about of which one has one at a time."""
        return frozenset(token for token in self.words if token.kind == "one")

    @property
    def senses(self) -> frozenset[tuple[str, int]]:
        """Those, and which of their senses are meant."""
        return frozenset((token.text, token.sense) for token in self.ones)

    @property
    def people(self) -> frozenset[MeaningfulWord]:
        """The relatives and names that it begins with."""
        found: list[MeaningfulWord] = []
        for token in self.words:
            if token.kind != "kin" and token.text not in self.names:
                break
            found.append(token)
        return frozenset(found) if len(found) < len(self.words) else frozenset()

    @property
    def kin(self) -> frozenset[MeaningfulWord]:
        """The relatives among the words."""
        return frozenset(token for token in self.words if token.kind == "kin")


_FILE: Final = tomllib.loads(resources.files(__package__).joinpath("statement.toml").read_text("utf-8"))


def _meanings() -> Mapping[str, MeaningfulWord]:
    """Map each word of the file to its meaning, the first that has it."""
    found: dict[str, MeaningfulWord] = {}
    for kind in ("kin", "one", "class", "deed", "place", "same"):
        for name, words in _FILE[kind].items():
            for sense, group in enumerate(words.split(" | ")):
                for word in group.split():
                    found.setdefault(word, MeaningfulWord("word" if kind == "place" else kind, name, sense))
    for kind in ("weekday", "number"):
        for number, words in enumerate(_FILE["dates"][f"{kind}s"], 1):
            found |= {word: MeaningfulWord(kind, str(number)) for word in words.split()}
    return found


_MEANINGS: Final = _meanings()
_SILENT: Final = FUNCTION_WORDS.difference("mst").union(_FILE["silent"]["words"].split())
"""Without the letters of contractions, which are taken off before: a size may be M or S."""

_CUES: Final = {name: re.compile(rf"\b(?:{'|'.join(each)})(?!\w)") for name, each in _FILE["cues"].items()}
_JOINED: Final = re.compile(rf"\b(?:{'|'.join(word.replace('_', ' ') for word in _MEANINGS if '_' in word)})\b")
_MONTHS: Final = {word: n for n, words in enumerate(_FILE["dates"]["months"], 1) for word in words.split()}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_VERBS: Final = re.compile(
    rf"\b(?P<change>{'|'.join(_FILE['cues']['change'] + _FILE['cues']['end'])})\b"
    rf"|(?P<state>\b(?:{'|'.join(_FILE['verbs']['state'])})\b|:)"
    rf"|(?P<to>\b(?:{'|'.join(_FILE['verbs']['to'])})\b|[,;])"
)
_KEPT_STATEMENTS: Final = 512
"""What is near to what a person tells is compared with it again and again."""

_HAS_VALUE: Final = re.compile(r"[\d@+#]|\w-(?!\w)")
_STATE, _CHANGE, _TO, _NOT = "\x01", "\x02", "\x03", "\x04"
_FIRST_VALUE, _LAST_VALUE = 0xE000, 0xF8FF
"""Where values stood, a text has characters from the one to the other: they are of private use."""

_JOINTS: Final = re.compile(r"(?<=\w)[-./ ](?=\w)")
_PLAIN: Final = re.compile(r"[+-]?\w+(?:[+#]+|-(?!\w))?")
"""A word with the signs that are a part of it: "C++", "-3", "O-"."""

_CONTRACTED: Final = re.compile(r"'(?:s|m|t|d|re|ll|ve)\b")
_PIECE: Final = re.compile(r"[\x01-\x04\ue000-\uf8ff]|\w+")
_PHONE: Final = MeaningfulWord("one", "phone")
_MIN_STEM: Final = 3
"""The fewest letters of a word that counts as one with another ending."""

_MIN_PHONE_DIGITS: Final = 7
_HALF_DAY: Final = 12 * 60
_MORNING: Final = 7 * 60
"""Who says an earlier hour than this alone means the afternoon."""


def _date(one: str, other: str, year: str | None = None) -> MeaningfulWord:
    """Return a day of a month, and the year where it is said; the order of day and month is open, as 5/12 is either."""
    return MeaningfulWord("date", "-".join((*sorted(str(int(number)) for number in (one, other)), (year or "")[-2:])))


def _clock(match: re.Match[str]) -> MeaningfulWord:
    """Return a time of the day in minutes, and how it was said: "m" as am or pm, "h" as 15h, ":" as 3:30, "?" as 3."""
    hour, minute, half = int(match["hour"]), match["minute"], match["half"]
    is_late = half is not None and (half[0] == "p" or half in _EVENINGS)
    form = "m" if half else ":" if minute else "h" if match["h"] else "?"
    return MeaningfulWord("time", f"{(hour + 12 * (is_late and hour < 12)) * 60 + int(minute or 0)}{form}")  # noqa: PLR2004


def _number(text: str) -> MeaningfulWord:
    digits = re.sub(r"\D", "", text)
    return (
        MeaningfulWord("phone", digits)
        if len(digits) >= _MIN_PHONE_DIGITS
        else MeaningfulWord("number", text.replace(",", "."))
    )


_EVENINGS: Final = frozenset(_FILE["dates"]["evenings"].split("|"))
_HALF: Final = rf"(?: ?(?P<half>[ap]\.?m\b|{_FILE['dates']['mornings']}|{_FILE['dates']['evenings']}))"
_HOUR: Final = r"(?P<hour>[01]?\d|2[0-4])"
_H: Final = r"(?P<h> ?(?:hs?|hrs)\b)"
_AFTER: Final = rf"(?=$|[.,;!?)]| (?:{_FILE['dates']['after_hours']})\b| \d)"
_ReadValue: TypeAlias = Callable[[re.Match[str]], MeaningfulWord]
_VALUES: Final[Sequence[tuple[re.Pattern[str], _ReadValue]]] = (
    (re.compile(r"\S+@[\w-]+(?:\.[\w-]+)+|(?<!\w)\w{1,3}[+#-]+(?!\w)"), lambda m: MeaningfulWord("code", m[0])),
    (re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b"), lambda m: _date(m[2], m[3], m[1])),
    (
        re.compile(r"(?<![\w/])(\d\d?)/(\d\d?)(?:/(\d\d(?:\d\d)?))?(?![\w/])"),
        lambda m: _date(m[1], m[2], m[3]),
    ),
    (
        re.compile(rf"\b(\d\d?)(?:st|nd|rd|th|o)?(?: of| de)?(?: the)? ({_MONTH})\b(?:,? (?:de )?((?:19|20)\d\d)\b)?"),
        lambda m: _date(m[1], str(_MONTHS[m[2]]), m[3]),
    ),
    (
        re.compile(rf"\b({_MONTH}) (?:the )?(\d\d?)(?:st|nd|rd|th)?\b(?! ?(?:am|pm|h|:))(?:,? ((?:19|20)\d\d)\b)?"),
        lambda m: _date(m[2], str(_MONTHS[m[1]]), m[3]),
    ),
    (re.compile(rf"\b{_HOUR}(?:[:h]|\.(?=\d\d ?[ap]m))(?P<minute>[0-5]\d){_H}?{_HALF}?(?!\w)"), _clock),
    (re.compile(rf"\b{_HOUR}(?P<minute>){_H}{_HALF}?"), _clock),
    (re.compile(rf"\b{_HOUR}(?P<minute>)(?P<h>){_HALF}"), _clock),
    (
        re.compile(rf"(?:(?<=\bat )|(?<=\bas )|(?<=\blas )){_HOUR}(?P<minute>)(?P<h>)\b(?![.,/-]?\d){_HALF}?{_AFTER}"),
        _clock,
    ),
    (re.compile(r"\+?\(?\d[\d ().-]{5,}\d"), lambda m: _number(m[0])),
    (
        re.compile(r"(?<![^\s(#])(\d+(?:[.,]\d\d?)?)(?:st|nd|rd|th|kg| ?(?:gb|mg|ml|km|k|g|l))?(?![^\s.,;!?)]|[.,]\d)"),
        lambda m: _number(m[1]),
    ),
    (re.compile(r"[^\s,;()]*\d[^\s,;()]*(?<![.:!?])"), lambda m: MeaningfulWord("code", m[0])),
)


@lru_cache(_KEPT_STATEMENTS)
def read(text: str) -> Statement:
    """Return the statement as it is compared."""
    plain = flat(text)
    bare = plain.replace("'", "")
    values: list[MeaningfulWord] = []

    def put(read_value: _ReadValue, match: re.Match[str]) -> str:
        values.append(read_value(match))
        return f" {chr(_FIRST_VALUE + len(values) - 1)} "

    marked = re.sub(r"(?:r\$|us\$|[$€£]) ?(?=\d)", "", re.sub(r"[\ue000-\uf8ff]", "", plain))
    marked = re.sub(r"(?<=\d)[.,](?=\d{3}\b(?![.,-]))", "", marked)
    for pattern, read_value in _VALUES if _HAS_VALUE.search(plain) else ():
        marked = pattern.sub(partial(put, read_value), marked)
    marked = _VERBS.sub(_with_mark, marked)
    marked = _CONTRACTED.sub("", marked).replace("'", " ").replace("-", " ")
    marked = _JOINED.sub(lambda match: match[0].replace(" ", "_"), marked)
    marked = _CUES["not"].sub(lambda match: f" {_NOT} {match[0]} ", marked)
    words: list[MeaningfulWord] = []
    subject: list[MeaningfulWord] = []
    denied: list[MeaningfulWord] = []
    is_open, changes, in_verb, denies = True, False, False, 0
    for piece in _PIECE.findall(marked):
        match piece:
            case "\x01":
                is_open = is_open and changes and not subject
            case "\x02":
                changes, in_verb = True, not in_verb
                is_open = is_open and not (in_verb and subject)
            case "\x03":
                is_open = is_open and not changes
            case "\x04":
                denies = 2
            case _ if token := _token(piece, values):
                is_open = is_open and not (token.is_value and (subject or not changes))
                words.append(token)
                subject += [token] if is_open and not in_verb and not token.is_value else []
                denied += [token] if denies else []
                denies -= bool(denies)
    if any(token.kind == "phone" for token in words):
        words = [_PHONE if token.text == "number" else token for token in words]
        subject = [_PHONE if token.text == "number" else token for token in subject]
    return Statement(
        " ".join(_PLAIN.findall(plain)),
        tuple(words),
        tuple(subject) if changes or not is_open else (),
        _names(text),
        frozenset(name for name, pattern in _CUES.items() if pattern.search(bare)),
        tuple(denied),
        _STATE in marked,
        "," in text,
    )


def _with_mark(match: re.Match[str]) -> str:
    """Return a verb with the mark of what it does: one before a verb of state, one on both sides of one of change."""
    if match["change"]:
        return f" {_CHANGE} {match[0]} {_CHANGE} "
    return f" {_STATE if match['state'] else _TO} {match[0]}"


def _names(text: str) -> frozenset[str]:
    """Return the words with a capital, as they are compared; none of a text in capitals."""
    found = [] if text.upper() == text else re.findall(r"[^\W\d_]\w+", text)
    tokens = (_meant(flat(name)) for name in found if name[0].isupper())
    return frozenset(token.text for token in tokens if token and token.kind == "word")


def _token(piece: str, values: Sequence[MeaningfulWord]) -> MeaningfulWord | None:
    """Return the value that stood where the piece is, or the meaning of a word."""
    return values[ord(piece) - _FIRST_VALUE] if _FIRST_VALUE <= ord(piece[0]) <= _LAST_VALUE else _meant(piece)


def _meant(word: str) -> MeaningfulWord | None:
    """Return the meaning of a word of a statement; None if it has none of its own."""
    for form in (word, word.removesuffix("s"), word.removesuffix("es")):
        if form in _SILENT or not form:
            return None
        if form in _MEANINGS:
            return _MEANINGS[form]
    if _CUES["not"].fullmatch(word):
        return None
    return MeaningfulWord("word", word.removesuffix("s") if len(word) > _MIN_STEM else word)


def alike(one: MeaningfulWord, other: MeaningfulWord) -> bool:
    """Tell whether two words mean the same: other endings, a slip of the pen, a value written in another way."""
    if one.kind == other.kind:
        if one.text == other.text:
            return True
        if one.kind == "word":
            return _may_be_one(one.text, other.text) and _same_word(*sorted((one.text, other.text), key=len))
    kinds = {one.kind, other.kind}
    if kinds == {"time"}:
        return _same_time(one.text, other.text)
    if kinds == {"date"}:
        (first, year), (second, other_year) = (each.text.rsplit("-", 1) for each in (one, other))
        return first == second and not (year and other_year)
    return one.is_value and other.is_value and _JOINTS.sub("", one.text) == _JOINTS.sub("", other.text)


def _same_time(one: str, other: str) -> bool:
    """Tell whether two times are one: "at 3" may be 15h, and 3:30 may be 3:30 pm; 6h is not 18h."""
    (early, form), (late, late_form) = sorted((int(each[:-1]), each[-1]) for each in (one, other))
    is_open = {form, late_form} in ({"m", ":"}, {"m", "?"}) or (form == "?" and early < _MORNING)
    return early == late or (late - early == _HALF_DAY and is_open)


_SAME_ENDINGS: Final = frozenset(
    ["", "s", "es", "a", "o", "as", "os", "d", "ed", "ing", "ndo", "ando", "endo", "do", "da"]
)
_VERB_ENDINGS: Final = frozenset(
    "a o e as es ar er ir am em an en ei ou i iu io amos emos ando endo indo iendo aba ia ava".split()
)


def says_same(one: MeaningfulWord, other: MeaningfulWord) -> bool:
    """Tell whether two words that are alike say the same: "estudei" and "estudo" do not, nor do "meat" and "vegan"."""
    if one.kind != "word" or one == other:
        return alike(one, other) and one.sense == other.sense
    endings = _parted(*sorted((one.text, other.text), key=len))[1:]
    return alike(one, other) and (len(endings[1]) > 2 or set(endings) <= _SAME_ENDINGS)  # noqa: PLR2004


def _parted(short: str, long: str) -> tuple[int, str, str]:
    """Return how many letters two words begin with alike, and what follows in each."""
    shared = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return shared, short[shared:], long[shared:]


def _may_be_one(one: str, other: str) -> bool:
    """Return False for most words that are not one, soon: every two words of two statements are compared."""
    return one[:3] == other[:3] or (one[-2:] == other[-2:] and min(len(one), len(other)) >= 6)  # noqa: PLR2004


def _same_word(short: str, long: str) -> bool:
    shared, rest, more = _parted(short, long)
    if shared >= 4 and shared >= 0.7 * len(long) and len(more) <= 3:  # noqa: PLR2004 - an ending
        return True
    if shared >= 3 and {rest, more} <= _VERB_ENDINGS:  # noqa: PLR2004 - "nado" and "nadar"
        return True
    slip = rest[1:] == more[1:] or rest == more[1:] or (rest[:2] == more[1::-1] and rest[2:] == more[2:])
    return len(short) >= 6 and slip  # noqa: PLR2004 - shorter words are others


def without(words: Sequence[MeaningfulWord], others: Sequence[MeaningfulWord]) -> list[MeaningfulWord]:
    """Return the words that none of the others means; of values, each other one counts once."""
    left = list(others)
    found: list[MeaningfulWord] = []
    for word in words:
        twin = next((other for other in left if alike(word, other)), None)
        if twin is None:
            found.append(word)
        elif word.is_value:
            left.remove(twin)
    return found


def in_both(words: Sequence[MeaningfulWord], others: Sequence[MeaningfulWord]) -> list[MeaningfulWord]:
    """Return the words that some of the others means, too, each once."""
    return [word for word in dict.fromkeys(words) if any(alike(word, other) for other in others)]


# Plain statements of a fact.

_EVENT: Final = "tells of a day"
_CHANGES: Final = frozenset({"now", "change", "end"})
_SENTENCE_END: Final = re.compile(r"[.!…]+(?:\s+|$)|\n+|\s[–—-]\s")
_TITLE: Final = re.compile(r"\b(?:mr|mrs|ms|dr|dra|sr|sra|srta|prof|profa|st|av|n|no|apt|ap|tel|cel|exp)\. (?=\S)")
_SPEAKER: Final = re.compile(r"^[^\W\d_]\w*:\s+(?=(?:\S+\s+){3})")
"""Who says the rest, as in a log; what follows a label as "code:" is shorter."""


@cache
def _kinds() -> Mapping[str, re.Pattern[str]]:
    return {name: re.compile(each) for name, each in expressions(__package__, "fact.txt").items()}


def tells_change(text: str) -> bool:
    """Return whether a text states a fact that was otherwise before, as it says itself."""
    statement = read(text)
    return bool(statement.cues & _CHANGES) and "will" not in statement.cues and states_fact(text, statement)


def states_fact(text: str, statement: Statement) -> bool:
    """Return whether a text, read as that statement, states one fact: what it says holds until another value does."""
    if "?" in text:
        return False
    plain = _TITLE.sub(lambda match: match[0].replace(".", ""), _SPEAKER.sub("", flat(text).strip()).replace("'", ""))
    sentences = [sentence for sentence in _SENTENCE_END.split(plain) if re.search(r"[^\W_]", sentence)]
    if len(sentences) != 1:
        return False
    kinds = {name for name, pattern in _kinds().items() if pattern.search(sentences[0])}
    is_change = bool(statement.cues & _CHANGES) or statement.is_state
    return not kinds or (kinds == {_EVENT} and is_change)
