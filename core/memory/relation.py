"""Compare two statements of one person without a model: the same again, a new value of the same fact, or two facts.

Cosines cannot tell these apart: "I have 2 cats" and "I have 3 cats" are nearer to each other than most paraphrases.
What tells is what is left over when the words that both have are taken away: values (numbers, dates, codes), people,
negation, words of change. The words are data (relation.toml). Chosen on tests/data/changes_tune.json.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from importlib import resources
from typing import Final

from core.text.unicode import flat
from core.text.words import FUNCTION_WORDS

MAX_CHARS: Final = 300
"""Longer statements hold several facts: they are the same only to the letter, and replace nothing."""


class Relation(StrEnum):
    """What a new statement is to a known one."""

    SAME = "same"
    """It says nothing else."""

    REPLACES = "replaces"
    """It says what is true now in place of it."""

    NEW = "new"
    """Both are true."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word that matters: its meaning, and the kind of that: "kin", "one", "same", "class", "word", a kind of value.

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
    """A statement as it is compared: its plain text, the words that matter, and the cues that it has.

    `subject` are the words that say what it is about, as far as its verb tells; `names` are those with a capital, and
    `denied` those right after a negation. `is_state`: it has a verb of state; `is_list`: it has a comma.
    """

    plain: str
    words: tuple[Token, ...]
    subject: tuple[Token, ...]
    names: frozenset[str]
    cues: frozenset[str]
    denied: tuple[Token, ...]
    is_state: bool
    is_list: bool

    @property
    def ones(self) -> frozenset[Token]:
        """What it is about of which one has one at a time."""
        return frozenset(token for token in self.words if token.kind == "one")

    @property
    def people(self) -> frozenset[Token]:
        """The relatives and names that it begins with."""
        found: list[Token] = []
        for token in self.words:
            if token.kind != "kin" and token.text not in self.names:
                break
            found.append(token)
        return frozenset(found) if len(found) < len(self.words) else frozenset()

    @property
    def kin(self) -> frozenset[Token]:
        """The relatives among the words."""
        return frozenset(token for token in self.words if token.kind == "kin")


_FILE: Final = tomllib.loads(resources.files(__package__).joinpath("relation.toml").read_text("utf-8"))


def _meanings() -> Mapping[str, Token]:
    """Map each word of the file to its meaning, the first that has it."""
    found: dict[str, Token] = {}
    for kind in ("kin", "one", "class", "place", "same"):
        for name, words in _FILE[kind].items():
            for sense, group in enumerate(words.split(" | ")):
                for word in group.split():
                    found.setdefault(word, Token("word" if kind == "place" else kind, name, sense))
    for kind in ("weekday", "number"):
        for number, words in enumerate(_FILE["dates"][f"{kind}s"], 1):
            found |= {word: Token(kind, str(number)) for word in words.split()}
    return found


_MEANINGS: Final = _meanings()
_SILENT: Final = FUNCTION_WORDS | frozenset(_FILE["silent"]["words"].split())
_CUES: Final = {name: re.compile(rf"\b(?:{'|'.join(each)})(?!\w)") for name, each in _FILE["cues"].items()}
_JOINED: Final = re.compile(rf"\b(?:{'|'.join(word.replace('_', ' ') for word in _MEANINGS if '_' in word)})\b")
_MONTHS: Final = {word: n for n, words in enumerate(_FILE["dates"]["months"], 1) for word in words.split()}
_MONTH: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_VERBS: Final = re.compile(
    rf"\b(?P<change>{'|'.join(_FILE['cues']['change'] + _FILE['cues']['end'])})\b"
    rf"|(?P<state>\b(?:{'|'.join(_FILE['verbs']['state'])})\b|:)|(?P<to>\b(?:to|para|pra|pro|pel[ao]|por|al|e|y|and|(?<=mude )a|(?<=mudo )a)\b|[,;])"
)
_STATE, _CHANGE, _TO, _NOT = "\x01", "\x02", "\x03", "\x04"
_FIRST_VALUE: Final = 0xE000
"""Where values stood, a text has characters from here on: they are of private use."""

_PIECE: Final = re.compile(r"[\x01-\x04\ue000-\uf8ff]|\w+")
_PHONE: Final = Token("one", "phone")
_MIN_STEM: Final = 3
"""The fewest letters of a word that counts as one with another ending."""

_MIN_PHONE_DIGITS: Final = 7
_HOUR_DIGITS: Final = 2
_HALF_DAY: Final = 12 * 60
_MORNING: Final = 7 * 60
"""Who says an earlier hour than this alone means the afternoon."""


def _date(*numbers: str) -> Token:
    """Return a day of a month; the order of both is left open, as 5/12 may be either."""
    return Token("date", "-".join(sorted(str(int(number)) for number in numbers)))


def _clock(hour: str, minute: str | None, form: str | None) -> Token:
    """Return a time of the day in minutes, and how it was said: "a" or "p" as am or pm, "h" as 15h, "?" as "at 3"."""
    hours = int(hour) + 12 * (form == "p" and int(hour) < 12)  # noqa: PLR2004 - noon
    return Token("time", f"{hours * 60 + int(minute or 0)}{'m' if form in {'a', 'p'} else form or ':'}")


def _number(text: str) -> Token:
    digits = re.sub(r"\D", "", text)
    return Token("phone", digits) if len(digits) >= _MIN_PHONE_DIGITS else Token("number", text.replace(",", "."))


_VALUES: Final[Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], Token]]]] = (
    (re.compile(r"(?<=\btengo )dos\b|(?<=\btiene )dos\b|(?<=\bhay )dos\b"), lambda _: Token("number", "2")),
    (re.compile(r"\S+@[\w-]+(?:\.[\w-]+)+"), lambda m: Token("code", m[0])),
    (re.compile(r"\b\d{4}-(\d\d)-(\d\d)\b"), lambda m: _date(m[1], m[2])),
    (re.compile(r"(?<![\w/])(\d\d?)/(\d\d?)(?:/\d\d(?:\d\d)?)?(?![\w/])"), lambda m: _date(m[1], m[2])),
    (
        re.compile(rf"\b(\d\d?)(?:st|nd|rd|th|o)?(?: of| de)?(?: the)? ({_MONTH})\b"),
        lambda m: _date(m[1], str(_MONTHS[m[2]])),
    ),
    (
        re.compile(rf"\b({_MONTH}) (?:the )?(\d\d?)(?:st|nd|rd|th)?\b(?! ?(?:am|pm|h|:))"),
        lambda m: _date(m[2], str(_MONTHS[m[1]])),
    ),
    (
        re.compile(r"\b([01]?\d|2[0-4])(?:[:h]|\.(?=\d\d ?[ap]m))([0-5]\d)(?: ?(?:hs?|hrs|([ap])\.?m))?\b"),
        lambda m: _clock(m[1], m[2], m[3]),
    ),
    (re.compile(r"\b([01]?\d|2[0-4]) ?(?:hs?|hrs|([ap])\.?m)\b"), lambda m: _clock(m[1], None, m[2] or "h")),
    (re.compile(r"(?<=\b(?:as|at) )([01]?\d|2[0-4])\b(?![.,/-]?\d)"), lambda m: _clock(m[1], None, "?")),
    (re.compile(r"\+?\(?\d[\d ().-]{5,}\d"), lambda m: _number(m[0])),
    (
        re.compile(r"(?<![^\s(#])(\d+(?:[.,]\d\d?)?)(?:kg|gb|mg|ml|km|st|nd|rd|th|k|g|l)?(?![^\s.,;!?)]|[.,]\d)"),
        lambda m: _number(m[1]),
    ),
    (re.compile(r"[^\s,;()]*\d[^\s,;()]*(?<![.:!?])"), lambda m: Token("code", m[0])),
)


def read(text: str) -> Statement:
    """Return the statement as it is compared."""
    plain = flat(text)
    bare = plain.replace("'", "")
    values: list[Token] = []

    def put(match: re.Match[str]) -> str:
        values.append(read_value(match))
        return f" {chr(_FIRST_VALUE + len(values) - 1)} "

    marked = re.sub(r"(?:r\$|us\$|[$€£]) ?(?=\d)", "", re.sub(r"[\ue000-\uf8ff]", "", plain))
    marked = re.sub(r"(?<=\d)[.,](?=\d{3}\b(?![.,-]))", "", marked)
    for pattern, read_value in _VALUES:
        marked = pattern.sub(put, marked)
    marked = _VERBS.sub(_with_mark, marked)
    marked = _JOINED.sub(lambda match: match[0].replace(" ", "_"), re.sub(r"'s\b|['-]", " ", marked))
    marked = _CUES["not"].sub(lambda match: f" {_NOT} {match[0]} ", marked)
    words: list[Token] = []
    subject: list[Token] = []
    denied: list[Token] = []
    is_open, changes, in_verb, denies = True, False, False, False
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
                denies = True
            case _ if token := _token(piece, values):
                is_open = is_open and not (token.is_value and (subject or not changes))
                words.append(token)
                subject += [token] if is_open and not in_verb and not token.is_value else []
                denied += [token] if denies else []
                denies = False
    if any(token.kind == "phone" for token in words):
        words = [_PHONE if token.text == "number" else token for token in words]
        subject = [_PHONE if token.text == "number" else token for token in subject]
    return Statement(
        " ".join(re.findall(r"\w+", plain)),
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
    return f" {_STATE if match['state'] else _TO} {match[0]} "


def _names(text: str) -> frozenset[str]:
    """Return the words with a capital, as they are compared; none of a text in capitals."""
    found = [] if text.upper() == text else re.findall(r"[^\W\d_]\w+", text)
    tokens = (_meant(flat(name)) for name in found if name[0].isupper())
    return frozenset(token.text for token in tokens if token and token.kind == "word")


def _token(piece: str, values: Sequence[Token]) -> Token | None:
    """Return the value that stood where the piece is, or the meaning of a word."""
    return values[ord(piece) - _FIRST_VALUE] if ord(piece[0]) >= _FIRST_VALUE else _meant(piece)


def _meant(word: str) -> Token | None:
    """Return the meaning of a word of a statement; None if it has none of its own."""
    for form in (word, word.removesuffix("s"), word.removesuffix("es")):
        if form in _SILENT or len(form) == 1:
            return None
        if form in _MEANINGS:
            return _MEANINGS[form]
    if _CUES["not"].fullmatch(word):
        return None
    return Token("word", word.removesuffix("s") if len(word) > _MIN_STEM else word)


def alike(one: Token, other: Token) -> bool:
    """Tell whether two words mean the same: other endings, a slip of the pen, a short form of a value."""
    if one == other:
        return True
    kinds = {one.kind, other.kind}
    if kinds == {"time"}:
        return _same_time(one.text, other.text)
    if kinds == {"time", "number"}:
        time, number = (one, other) if one.kind == "time" else (other, one)
        return (
            number.text.isdigit()
            and len(number.text) <= _HOUR_DIGITS
            and _same_time(time.text, f"{int(number.text) * 60}?")
        )
    if one.is_value and other.is_value:
        return re.sub(r"\W", "", one.text) == re.sub(r"\W", "", other.text)
    return kinds == {"word"} and _same_word(*sorted((one.text, other.text), key=len))


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


def _says_same(one: Token, other: Token) -> bool:
    """Tell whether two words that are alike say the same: "estudei" and "estudo" do not, nor do "meat" and "vegan"."""
    if one.kind != "word" or one == other:
        return alike(one, other) and one.sense == other.sense
    endings = _parted(*sorted((one.text, other.text), key=len))[1:]
    return alike(one, other) and (len(endings[1]) > 2 or set(endings) <= _SAME_ENDINGS)  # noqa: PLR2004


def _parted(short: str, long: str) -> tuple[int, str, str]:
    """Return how many letters two words begin with alike, and what follows in each."""
    shared = next((at for at, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    return shared, short[shared:], long[shared:]


@lru_cache(maxsize=8192)
def _same_word(short: str, long: str) -> bool:
    shared, rest, more = _parted(short, long)
    if shared >= 4 and shared >= 0.7 * len(long) and len(more) <= 3:  # noqa: PLR2004 - an ending
        return True
    if shared >= 3 and {rest, more} <= _VERB_ENDINGS:  # noqa: PLR2004 - "nado" and "nadar"
        return True
    slip = rest[1:] == more[1:] or rest == more[1:] or (rest[:2] == more[1::-1] and rest[2:] == more[2:])
    return len(short) >= 6 and slip  # noqa: PLR2004 - shorter words are others


def _without(words: Sequence[Token], others: Sequence[Token]) -> list[Token]:
    """Return the words that none of the others means."""
    return [word for word in words if not any(alike(word, other) for other in others)]


def _in_both(words: Sequence[Token], others: Sequence[Token]) -> list[Token]:
    return [word for word in dict.fromkeys(words) if any(alike(word, other) for other in others)]


def relation(known: str, draft: str, cosine: float) -> Relation:
    """Return what a new statement is to a known one, given the cosine of both; NEW where there is any doubt."""
    old, new = read(known), read(draft)
    if old.plain == new.plain:
        return Relation.SAME
    if max(len(known), len(draft)) > MAX_CHARS or _are_swapped(old, new):
        return Relation.NEW
    pair = _Pair.of(old, new)
    if pair.says_no_more(cosine):
        return Relation.SAME
    return Relation.REPLACES if pair.replaces(cosine) else Relation.NEW


_DIRECTED: Final = frozenset({"owes", "i_owe", "paid", "i_lent", "i_borrowed", "like", "boss"})


def _are_swapped(old: Statement, new: Statement) -> bool:
    """Return whether two people, or the words on both sides of a verb as "owes", have changed places."""
    if _is_turned(old.words, new.words):
        return False
    first, second = _common(old.words, new.words)
    names = old.names | new.names
    if [token for token in first if token.text in names] != [token for token in second if token.text in names]:
        return True
    for kind in ("kin", "number", "time", "date"):
        if [token for token in first if token.kind == kind] != [token for token in second if token.kind == kind]:
            return True
    for at, verb in enumerate(first):
        if verb.text in _DIRECTED or verb.kind == "kin":
            there = second.index(verb)
            before, after = (
                {token for token in part if token.kind in {"word", "kin"}} for part in (first[:at], first[at + 1 :])
            )
            if before & set(second[there + 1 :]) and after & set(second[:there]):
                return True
    return False


def _is_turned(old: Sequence[Token], new: Sequence[Token]) -> bool:
    """Return whether the words that both have come in one order, wherever that begins: "12/12: dinner"."""
    first, second = _common(old, new)
    return not first or any(first[at:] + first[:at] == second for at in range(len(first)))


def _common(old: Sequence[Token], new: Sequence[Token]) -> tuple[list[Token], list[Token]]:
    """Return the words that both have, once in the order of each."""
    first = [token for token in dict.fromkeys(old) if token in new]
    return first, [token for token in dict.fromkeys(new) if token in first]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two statements: the words that both have, and those that only the old one, only the new one has."""

    old: Statement
    new: Statement
    shared: Sequence[Token]
    lost: Sequence[Token]
    more: Sequence[Token]

    @classmethod
    def of(cls, old: Statement, new: Statement) -> _Pair:
        shared = _in_both(new.words, old.words)
        return cls(old, new, shared, _without(old.words, new.words), _without(new.words, old.words))

    @property
    def is_contrary(self) -> bool:
        """Whether one of them says that the other is not so."""
        return ("not" in self.old.cues) != ("not" in self.new.cues)

    def says_no_more(self, cosine: float) -> bool:
        """Return whether the new one has no word that the old one lacks, and leaves out nothing that matters."""
        if self.is_contrary or not self.shared or self.new.cues & {"end", "add"} or self.old.kin != self.new.kin:
            return False
        if not all(any(_says_same(word, other) for other in self.old.words) for word in self.shared):
            return False
        if _without(self.old.denied, self.new.denied) or _without(self.new.denied, self.old.denied):
            return False
        if not self._is_in_order():
            return False
        left = [*self.lost, *self.more]
        if not left:
            return True
        if len(left) > 1 or self.new.cues & {"now", "change"}:
            return False
        known = len(self.shared) > 1 or any(token.is_value for token in self.shared)
        names_kind = known and all(token.kind in {"one", "class"} for token in left)
        plain = all(token.kind in {"word", "same"} and token.text not in self.old.names for token in self.lost)
        return names_kind or (
            not self.more
            and plain
            and not self.old.is_list
            and not self.old.denied
            and len(self.shared) > 2
            and cosine >= 0.7
        )  # noqa: PLR2004

    def _is_in_order(self) -> bool:
        """Return whether the words come in one order: "from Rome to Paris" is another journey than back.

        Words that the file knows, and apposition, may change places: "the name of my mother", "Ana, my sister".
        """
        if self.old.is_list or self.new.is_list or _is_turned(self.old.words, self.new.words):
            return True
        plain = [[token for token in each.words if token.kind == "word"] for each in (self.old, self.new)]
        first, second = _common(*plain)
        return first == second or (len(first) > 2 and _is_turned(*plain))  # noqa: PLR2004 - two would have changed places

    def replaces(self, cosine: float) -> bool:
        """Return whether the new one is what is true now of what the old one tells."""
        if "add" in self.new.cues or not self.shared or self._is_of_others():
            return False
        if self.is_contrary and not self.more and len(self.lost) <= 1:
            return True
        if not self.lost and not self.more:
            senses = [
                {(token.text, token.sense) for token in each.words if token.kind == "one"}
                for each in (self.old, self.new)
            ]
            if senses[0] != senses[1]:
                return True
        if self.lost and self.more and self._is_other_value(cosine):
            return True
        cues = ("now" in self.new.cues) + 2 * bool(self.new.cues & {"change", "end"})
        evidence = self._evidence()
        return min(cues, evidence) > 0 and evidence + cues >= 3 and cosine >= 0.28  # noqa: PLR2004

    def _is_of_others(self) -> bool:
        """Return whether they are about different people or things."""
        old, new = self.old, self.new
        named = [token for token in self.shared if token.text in old.names | new.names]
        if old.kin != new.kin and (not named or (old.kin and new.kin)):
            return True
        moved = {token for token in new.ones if token.text != "address" or "change" not in new.cues}
        if old.ones and moved and not old.ones & new.ones:
            return True
        other = [token for token in _without(new.subject, old.words) if token.kind != "class"]
        mine = old.subject if old.subject and not new.cues & {"change", "end"} else old.words
        return bool(other) and any(not token.is_value for token in _without(mine, new.words))

    def _is_other_value(self, cosine: float) -> bool:
        """Return whether nothing differs but the value of what one has one of at a time, or a number of things."""
        if _without(self.old.subject, self.new.subject) or _without(self.new.subject, self.old.subject):
            return False
        kinds = {token.kind for token in self.lost}, {token.kind for token in self.more}
        ones = self.old.ones & self.new.ones
        if kinds[0] == kinds[1] and kinds[0] <= {"number", "phone", "code"}:
            return bool(ones) or (self.old.is_state and self.new.is_state)
        names = self.old.names | self.new.names
        capital = {token.text in names for token in (*self.lost, *self.more)}
        plain = not any(token.is_value for token in (*self.lost, *self.more))
        return bool(ones) and plain and len(capital) == 1 and cosine >= 0.55  # noqa: PLR2004

    def _evidence(self) -> int:
        """Return how much speaks for one subject: words that both have, other values of one kind."""
        shared = [token for token in self.shared if token not in self.old.people]
        words = [token for token in shared if not token.is_value]
        kinds = {token.kind for token in self.lost if token.is_value} & {token.kind for token in self.more}
        own = {token for token in self.old.words if not token.is_value} - self.old.people
        whole = bool(words) and 2 * len(words) >= len(own)
        return len(shared) + sum(token.kind == "one" for token in words) + len(kinds) + whole
