"""Words by what they mean: which say nothing, which mean the same in the three languages, and phrases made of them.

The words themselves stand in `senses.toml`.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Final

from core.text.unicode import flat, fold, one_line
from core.text.words import FUNCTION_WORDS, folded_words, same
from core.types import Locale

WORD: Final = re.compile(r"[^\W_](?:[\w'’@.+#*/-]*[\w#*+])?")

_KEPT_WORDS: Final = 8192
_KEPT_MEMORIES: Final = 256
_MIN_ENDLESS_CHARS: Final = 3
_PREFIX_CHARS: Final = 4
_MIN_SWAPPED_CHARS: Final = 6
"""Shorter words are often others with two letters swapped: "prato", "parto"."""

_MAX_TOLD_CHARS: Final = 4000
"""How much of a memory is looked into; the search reads all of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Concept:
    """A thing by its name in each language."""

    names: Mapping[Locale, str]

    @property
    def key(self) -> str:
        """The concept's name in comparisons."""
        return bare(self.names[Locale.PT])

    @property
    def phrase(self) -> str:
        """Its names in all languages."""
        return " ".join(dict.fromkeys(self.names.values()))


def words(text: str) -> list[str]:
    """Return the words of a text as written."""
    return WORD.findall(text)


_BY_ACCENT: Final = {"avó": "abuela", "avô": "abuelo"}
"""Words that accents alone tell apart, by another of each meaning."""

_UNCLEAR: Final = "avo"
"""What they are without accents: it may mean both."""


def bare(word: str) -> str:
    """Return a word as it is compared: without case, accents and the ending of a genitive."""
    plain = flat(word)
    if plain == _UNCLEAR:
        return _BY_ACCENT.get(unicodedata.normalize("NFC", word).lower(), plain)
    return re.sub("['’]s$", "", plain)


def _data() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("senses.toml").read_text("utf-8"))


class _Concepts:
    """The concepts by the words and beginnings of words that name them, or are about them."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._names: defaultdict[str, list[Concept]] = defaultdict(list)
        self._about: defaultdict[str, list[Concept]] = defaultdict(list)
        for heading, listed in table.items():
            told = dict(zip((Locale.PT, Locale.EN, Locale.ES), heading.split("/"), strict=True))
            concept = Concept({locale: told.get(locale, told[Locale.EN]) for locale in Locale})
            names, _, about = listed.partition("|")
            for word in {*map(flat, concept.names.values()), *flat(names).split()}:
                self._names[word].append(concept)
            for word in flat(about).split():
                self._about[word].append(concept)

    def named(self, word: str) -> tuple[Concept, ...]:
        return self._of(self._names, word)

    def about(self, word: str) -> tuple[Concept, ...]:
        return self._of(self._about, word)

    @staticmethod
    def _of(table: Mapping[str, list[Concept]], word: str) -> tuple[Concept, ...]:
        """Return the concepts of a word; else of the longest beginning that has some."""
        keys = (word, *(f"{word[:end]}*" for end in range(len(word), 1, -1)))
        return next((tuple(table[key]) for key in keys if key in table), ())


_DATA: Final = _data()
_CONCEPTS: Final = _Concepts(_DATA["concepts"])
_SILENT, _ASKING, _JOINTS, _VAGUE = (
    frozenset(flat(_DATA[name]).split()) for name in ("silent", "asking", "joints", "vague")
)
_KINDS: Final = frozenset(flat(_DATA["kinds"]).split())


@lru_cache(_KEPT_WORDS)
def silent(word: str) -> bool:
    """Return whether a word says nothing about the subject."""
    return flat(word) in _SILENT


def asks(word: str) -> bool:
    """Return whether a word only asks."""
    return flat(word) in _ASKING


def tells(word: str) -> bool:
    """Return whether a word of a question may tell what is asked for: it is none of grammar, asking, or vagueness."""
    plain = bare(word)
    quiet = plain in _SILENT or plain in _ASKING or plain in _VAGUE
    return not quiet and not FUNCTION_WORDS.issuperset(folded_words(plain))


@lru_cache(_KEPT_WORDS)
def named_by(word: str) -> tuple[Concept, ...]:
    """Return the concepts that a word is a name of, in any language and form."""
    return _CONCEPTS.named(bare(word))


@lru_cache(_KEPT_WORDS)
def told_by(word: str) -> tuple[Concept, ...]:
    """Return the concepts that a word names or is about: medicine, for "losartan"."""
    return tuple(dict.fromkeys((*named_by(word), *_CONCEPTS.about(bare(word)))))


@lru_cache(_KEPT_WORDS)
def stem(word: str) -> str:
    """Return the word without plural and gender endings; for the name of a concept, its Portuguese name."""
    found, plain = named_by(word), bare(word)
    if found and plain != _UNCLEAR:
        return found[0].key
    plain = plain.removesuffix("s") if len(plain) > _MIN_ENDLESS_CHARS else plain
    return plain[:-1] if len(plain) > _MIN_ENDLESS_CHARS + 1 and plain[-1] in "aoe" else plain


def _groups(name: str) -> list[list[list[str]]]:
    """Return the groups of a table, each as members that are stems of one meaning."""
    lines = _DATA[name].strip().splitlines()
    return [[[stem(word) for word in member.split()] for member in group.split(",")] for group in lines]


_GROUPS = [*_groups("siblings"), *_groups("which")]
_NAMED = frozenset(member[0] for group in _groups("siblings") for member in group)
_SENSES = {name: member[0] for group in _GROUPS for member in group for name in member}
_SIBLINGS_OF = {member[0]: frozenset(each[0] for each in group) for group in _GROUPS for member in group}


class MemoryWords:
    """What a memory tells, by which words of a question are looked up in it: in another language or form, too."""

    def __init__(self, content: str, bindings: Iterable[str]) -> None:
        said = {word for word in words(" ".join((content[:_MAX_TOLD_CHARS], *bindings))) if not silent(word)}
        self.senses = frozenset(map(sense, said))
        self.folded = frozenset(part for word in said for part in folded_words(word))
        self._names = frozenset(concept for word in said for concept in named_by(word))
        self._told = frozenset(concept for word in said for concept in told_by(word))
        self._by_start: defaultdict[str, list[str]] = defaultdict(list)
        for word in self.folded:
            self._by_start[word[:_PREFIX_CHARS]].append(word)

    def holds(self, word: str) -> bool:
        """Return whether the word is told, or one of its concept, which a binding may name."""
        return self.tells(word) or not self._names.isdisjoint(told_by(word))

    def tells(self, word: str) -> bool:
        """Return whether the word is told, or one of what it names: a pill, by "losartan"."""
        if not self._told.isdisjoint(named_by(word)) or sense(word) in self.senses:  # "sams", of "sam's"
            return True
        return all(self._says(part) for part in folded_words(bare(word)))

    def _says(self, part: str) -> bool:
        """Return whether a folded word is told, perhaps with two letters swapped: "freind"."""
        return any(same(part, each) for each in self._by_start[part[:_PREFIX_CHARS]]) or (
            len(part) >= _MIN_SWAPPED_CHARS and not self.folded.isdisjoint(_swaps(part))
        )


def _swaps(word: str) -> Iterable[str]:
    """Return a word with each two letters that stand beside each other swapped, but for the first."""
    return (word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(1, len(word) - 1))


@lru_cache(_KEPT_MEMORIES)
def told_in(content: str, bindings: tuple[str, ...]) -> MemoryWords:
    """Return what a memory tells: it is looked into several times while one question is answered."""
    return MemoryWords(content, bindings)


def senses(text: str) -> frozenset[str]:
    """Return the stems of all but silent words, where some words of one meaning, like "office" and "work", have one."""
    return frozenset(sense(word) for word in words(text) if not silent(word))


def sense(word: str) -> str:
    """Return the stem of a word, or that of a word of the same meaning."""
    return _SENSES.get(stem(word), stem(word))


def siblings(found: Iterable[str]) -> frozenset[str]:
    """Return the senses of all that is of a group with one of these: of a mother, a father and all of the family."""
    return frozenset[str]().union(*(_SIBLINGS_OF.get(each, ()) for each in found))


def is_one_of_several(name: str) -> bool:
    """Return whether a sense names one of a group, as a relative, which a memory of it names, too."""
    return name in _NAMED


def relatives(found: Iterable[str]) -> frozenset[str]:
    """Return those of the senses that are people of a family."""
    return _SIBLINGS_OF[sense("mãe")].intersection(found)


def is_kind(name: str) -> bool:
    """Return whether a stem only says what kind of thing is meant (a password, a birthday), not which one."""
    return name in _KINDS


def concepts(text: str) -> tuple[Concept, ...]:
    """Return the concepts that a text names, in order, each once."""
    return tuple(dict.fromkeys(concept for word in words(text) for concept in named_by(word)[:1]))


def subject(text: str, *, asking: bool = False, max_words: int = 8) -> str:
    """Return the phrase that a text is about: without silent words at its ends and, of a question, words of asking."""
    spans = [(match.start(), match.end(), match.group()) for match in WORD.finditer(text)]
    noise = [silent(word) or (asking and asks(word)) for _, _, word in spans]
    kept = [index for index, quiet in enumerate(noise) if not quiet]
    if not kept:
        return ""
    inside = range(kept[0], min(kept[-1] + 1, kept[0] + max_words))
    said = [spans[i][2] for i in inside if not (asking and noise[i] and flat(spans[i][2]) not in _JOINTS)]
    return " ".join(_trimmed(said))


def _trimmed(said: list[str]) -> Iterable[str]:
    """Return the words without prepositions that have lost what they join."""
    while said and flat(said[-1]) in _JOINTS:
        said = said[:-1]
    return (
        word for i, word in enumerate(said) if flat(word) not in _JOINTS or (i and flat(said[i - 1]) not in _JOINTS)
    )


# Phrases, which are derived from words and their concepts, and never shown as what the person said.

MAX_BINDINGS: Final = 6
MAX_BINDING_CHARS: Final = 80
MAX_QUERY_CHARS: Final = 300
MAX_TOLD_CHARS: Final = 600
"""The start of a text, which names its subject; the embedding and the search by words read all of it."""

_MAX_CONCEPTS: Final = 12
_SUBJECT_END: Final = re.compile(r"\s(?:é|eh|sao|is|are|es|son)\s|[:=–—\n]|\s-\s|[\s,]+(?=\S*\d)")
_NAME: Final = re.compile(r"(?<=[\w,]\s)[^\W\d_a-zà-ÿ][\w'’-]+(?:\s[^\W\d_a-zà-ÿ][\w'’-]+)*")
_MAX_NAMES: Final = 2


def bindings(text: str) -> tuple[str, ...]:
    """Return the phrases by which a memory is found: its subject, its concepts in every language, names in it."""
    said = text[:MAX_TOLD_CHARS]
    end = _SUBJECT_END.search(flat(said))
    about = subject(said[: end.start()] if end else said) or subject(said)
    told = list(dict.fromkeys(concept for word in words(said) if not silent(word) for concept in told_by(word)))
    main = [concept.phrase for concept in told if concept in concepts(about)]
    others = [concept.phrase for concept in told if concept not in concepts(about)]
    found = [about, *main[:2], *(" ".join(others[at : at + 3]) for at in range(0, min(len(others), _MAX_CONCEPTS), 3))]
    found += [name for name in _NAME.findall(said) if name not in about][:_MAX_NAMES]
    return _distinct(found)[:MAX_BINDINGS] or (one_line(said, MAX_BINDING_CHARS) or "?",)


def queries(text: str) -> list[str]:
    """Return what to search for of a question: its words, and the concepts that they name."""
    said = text[:MAX_TOLD_CHARS]
    telling = [word for word in words(said) if tells(word)]
    known = [[concept.names[Locale.PT] for concept in named_by(word)[:1]] or [word] for word in telling]
    found = [one_line(said, MAX_QUERY_CHARS), " ".join(dict.fromkeys(word for each in known for word in each))]
    return list(dict.fromkeys(filter(None, found))) or ["?"]


def _distinct(phrases: Iterable[str]) -> tuple[str, ...]:
    kept: dict[frozenset[str], str] = {}
    for phrase in phrases:
        short = one_line(phrase, MAX_BINDING_CHARS)
        key = frozenset(flat(word) for word in words(short) if not silent(word)) or frozenset({fold(short)})
        if short:
            kept.setdefault(key, short)
    return tuple(kept.values())


_THING: Final = re.compile(
    r"(?:(?P<en>(?:my|the) )|(?P<pt>(?:(?:o|a|os|as) )?(?:meus?|minhas?) |(?:o|a|os|as) )|"
    r"(?P<es>(?:mis?|el|la|los|las) ))"
    r"(?P<thing>\w+(?: \w+){0,3}?) (?P<is>is|are|é|eh|são|es|son) \S",
    re.IGNORECASE,
)
"""What a memory begins with that tells one thing: "my locker code is …"."""

_ONE: Final = {"en": "what's {}?", "pt": "qual é {}?", "es": "¿cuál es {}?"}
_SEVERAL: Final = {"en": "what are {}?", "pt": "quais são {}?", "es": "¿cuáles son {}?"}


def question_of(content: str) -> str:
    """Return the question that a memory answers, in its own words and language; "" where that is not sure.

    It is of those that say what a code, a name or an address of somebody's is.
    """
    match = _THING.match(content)
    if match is None:
        return ""
    language = next(name for name in ("en", "pt", "es") if match[name])
    words = match["thing"].split()
    head = words[-1] if language == "en" else words[0]
    if not is_kind(sense(head)):
        return ""
    several = match["is"].casefold() in {"are", "são", "son"}
    asked = match[language] + match["thing"]
    return (_SEVERAL if several else _ONE)[language].format(asked[0].lower() + asked[1:])
