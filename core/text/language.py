"""Languages: detect that of a text, find one by its tag or name in any language (CLDR, by Babel), and name it."""

from __future__ import annotations

import pickle
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Final

from core.locales import head
from core.text.catalogue import cldr
from core.text.unicode import fold, one_line
from core.types import Locale

_HEAD_CHARS: Final = 2000
"""The beginning of a text is enough."""

_WORDS = re.compile(r"[a-z']+")

_OTHER_LANGUAGES: Final = Path(__file__).parent / "other_languages.toml"
_NEAR: Final = frozenset({"de", "fr", "it", "nl"})
_SPOKEN: Final = frozenset(locale.value for locale in Locale)
_OTHER_LETTERS: Final = "èëìîïòùûœäöüßåøæœăđğışțţąęłśźżčďěňřšťůžőűơư"
"""Letters of neither Portuguese nor English nor Spanish."""

_FOREIGN: Final = re.compile("[\u0250-\u1dff\u1f00-\U0010ffff]")
"""A letter of no Latin alphabet."""

_VIETNAMESE: Final = re.compile("[\u1ea0-\u1ef9]")
_KEPT_TEXTS: Final = 64
_CLEAR_LEAD: Final = 2
"""By how many words or letters a language leads in a text that is clearly of it: one name or "yo" tells too little."""


@dataclass(frozen=True, slots=True)
class _Markers:
    """What tells languages apart: the languages that each word is of, and their names, those of the bot apart.

    `own` are the words of each of the bot's languages that the two others lack.
    """

    of_word: Mapping[str, Sequence[str]]
    own: Mapping[str, frozenset[str]]
    ours: tuple[str, ...]
    others: tuple[str, ...]


@cache
def _markers() -> _Markers:
    """Read the words of each language; those of the bot's languages are in the heads of their files."""
    known = tomllib.loads(_OTHER_LANGUAGES.read_text(encoding="utf-8"))
    codes = {locale.code for locale in Locale}
    ours = {locale.value: head(locale).get("words", known.get(locale.code, "")) for locale in Locale}
    others = {code: words for code, words in known.items() if code not in codes}
    lists = {name: frozenset(fold(words).split()) for name, words in (ours | others).items()}
    near = {*ours, *_NEAR}
    of_word: dict[str, list[str]] = defaultdict(list)
    for name, words in lists.items():
        # A word shared with a distant language counts: the words around it tell them apart.
        rivals = [lists[other] for other in (near if name in near else lists) if other != name]
        for word in words.difference(*rivals):
            of_word[word].append(name)
    own = {name: lists[name].difference(*(lists[other] for other in ours if other != name)) for name in ours}
    return _Markers(dict(of_word), own, tuple(ours), tuple(others))


@cache
def _letters() -> Mapping[str, re.Pattern[str]]:
    """Map each language to its own letters, if any, and "another" to letters of none of the bot's languages."""
    own = {locale.value: re.compile(f"[{letters}]") for locale in Locale if (letters := head(locale).get("letters"))}
    others = _OTHER_LETTERS
    for pattern in own.values():
        others = pattern.sub("", others)
    return own | {"another": re.compile(f"[{others}]")}


def detect(text: str) -> Locale | None:
    """Return the text's language if it surely is one of the bot's."""
    found, _ = _language(text[:_HEAD_CHARS])
    return Locale(found) if found in _SPOKEN else None


def is_foreign(text: str) -> bool:
    """Return whether the text surely is in none of the bot's languages."""
    return _language(text[:_HEAD_CHARS])[0] not in {"", *_SPOKEN}


def spoken(text: str, *, least: int = 1) -> Locale | None:
    """Return the language of our own sentences for a text: English for other languages, None if unknown.

    It is unknown, too, if it leads by fewer than `least` words.
    """
    found, lead = _language(text[:_HEAD_CHARS])
    return None if not found or lead < least else Locale(found) if found in _SPOKEN else Locale.EN


def clearly_spoken(text: str) -> Locale | None:
    """Return the language of our own sentences for a text that one ambiguous word does not decide, else None."""
    return spoken(text, least=_CLEAR_LEAD)


def from_tag(tag: str) -> Locale | None:
    """Return the locale of a platform's tag or a LANG value (`pt-br`, `es_MX.UTF-8`); None for other languages."""
    whole = re.split(r"[.@]", tag.strip().lower().replace("_", "-"), maxsplit=1)[0]
    exact = (locale for locale in Locale if locale.value.lower() == whole)
    return next(exact, {locale.code: locale for locale in reversed(Locale)}.get(_primary(tag)))


def spoken_tag(tag: str) -> Locale | None:
    """Return the language of our own sentences for a tag: English for other languages, None for an empty one."""
    return from_tag(tag) or (Locale.EN if _primary(tag) not in {"", "c", "posix"} else None)


def choose(text: str, tag: str, earlier: Iterable[str] = ()) -> Locale:
    """Return the language of our own sentences.

    It is that of the message, else of earlier messages (newest first), else of the tag, else Portuguese (decision 3).
    A message that is clearly in one language comes before later ones that may be in it: one word switches nothing.
    Where none is, all together may be nearest to one: "nos subieron la renta", after "mi carnal trabaja en Bimbo".
    """
    said = (text, *earlier)
    heard_in = ((clearly_spoken, said), (_nearest, ("\n".join(said),)), (spoken, said))
    found = (heard for hear, texts in heard_in for each in texts if (heard := hear(each)) is not None)
    return next(found, None) or spoken_tag(tag) or Locale.PT


def _nearest(text: str) -> Locale | None:
    """Return which of the bot's languages a text is clearly nearest to, by words that others may have, too."""
    words = Counter(_WORDS.findall(fold(text[:_HEAD_CHARS].lower())))
    scores = {name: sum(words[word] for word in own) for name, own in _markers().own.items()}
    best, next_best = sorted(scores, key=scores.__getitem__, reverse=True)[:2]
    return Locale(best) if scores[best] >= scores[next_best] + _CLEAR_LEAD else None


def _primary(tag: str) -> str:
    return re.split(r"[-_.@]", tag.strip().lower(), maxsplit=1)[0]


@lru_cache(_KEPT_TEXTS)  # a message is asked about several times
def _language(text: str) -> tuple[str, int]:
    """Return the language's name in `_markers`, and by how many words or letters it leads.

    It is "another" if it surely is none of the bot's, "" if unknown.
    """
    text = text.lower()
    letters = "".join(filter(str.isalpha, text))
    foreign = len(_FOREIGN.findall(letters))
    written = {name: len(own.findall(text)) for name, own in _letters().items()}
    if foreign * 2 > len(letters):
        most = _best(written, written)
        return (most if written[most] * 2 > foreign else "another"), foreign
    markers = _markers()
    scores = dict.fromkeys((*markers.ours, *markers.others, *written), 0)
    for word, count in Counter(_WORDS.findall(fold(text))).items():
        for name in markers.of_word.get(word, ()):
            scores[name] += count
    for name, count in written.items():
        scores[name] += 2 * count
    scores["another"] += len(_VIETNAMESE.findall(letters))
    ours, others = _best(scores, markers.ours), _best(scores, markers.others)
    best = scores[ours]
    if (foreign := scores[others] + scores["another"]) > best:
        return (others if scores[others] else "another"), foreign - best
    del scores[ours]
    lead = best - max(scores.values())
    return (ours, lead) if lead > 0 else ("", 0)


def _best(scores: Mapping[str, int], among: Iterable[str]) -> str:
    return max(among, key=scores.__getitem__)


MAX_NAME_CHARS: Final = 60
_OTHER_NAMES: Final = {
    "brasileiro": "pt-BR", "brazilian": "pt-BR", "castelhano": "es", "castellano": "es", "castilian": "es",
    "chines simplificado": "zh-Hans", "farsi": "fa", "filipino": "fil", "mandarim": "zh", "mandarin": "zh",
    "tagalog": "fil", "valenciano": "ca-ES",
}  # fmt: skip
"""Usual names that CLDR lacks."""

_MIN_STEM_CHARS: Final = 5
_MOST_SPOKEN: Final = (
    "en zh hi es ar fr bn pt ru ur id de ja te tr ta ko vi it mr th pl uk nl fa ro el cs sv hu he da fi no nb sk bg hr "
    "sr ca"
).split()
"""Offered first, in this order: what most people who use a chat speak."""

_NO_LANGUAGES: Final = frozenset({"mis", "mul", "und", "zxx"})
_MAX_NAMES_KEPT: Final = 256


def find_language(said: str) -> str:
    """Return the tag (BCP 47) of a language named by its tag, or by its name in any language; "" if there is none.

    A language of ours has the tag of its locale, unless another region of it was named. A name that is not one of
    English, Portuguese or Spanish takes up to a second of computing.
    """
    if not (said := one_line(said, MAX_NAME_CHARS)):
        return ""
    tag = _canonical(said) or _canonical(_OTHER_NAMES.get(fold(said), "")) or _named(said)
    whole = from_tag(tag)
    return whole.value if whole is not None and tag == whole.code else tag


def is_named(tag: str, text: str) -> bool:
    """Return whether a text names the language of that tag, in any language and any form of the word.

    A text that does not takes up to a second of computing.
    """
    code = tag.partition("-")[0]
    words = re.findall(r"[^\W_]+(?:-[^\W_]+)*", fold(text))
    if "-" in tag and tag.lower() in words:  # without a region many tags are words: it, de, no, is
        return True
    others = [name for name, other in _OTHER_NAMES.items() if other.partition("-")[0] == code]
    known = (fold(str(names[code])) for _, names in _all_names() if code in names)
    return any(_is_said(name, words) for name in chain(others, known))


def _is_said(name: str, words: Sequence[str]) -> bool:
    """Return whether one of the words is the name, or an inflected form of it."""
    if not name.isascii() and len(name) < _MIN_STEM_CHARS:  # written without spaces
        return any(name in word for word in words)
    if len(name) <= _MIN_STEM_CHARS:
        return name in words
    stem = name[: max(_MIN_STEM_CHARS, len(name) - 2)]
    return any(part.startswith(stem) for word in words for part in word.split("-"))


def english_name(tag: str) -> str:
    """Return the English name of the language of that tag, for models: "German"."""
    return str(head(tag)["english_name"]) if tag in set(Locale) else _name(tag, "en")


def name_in(tag: str, locale: Locale) -> str:
    """Return the name of a language in one of ours, then what its speakers call it: "German · Deutsch"."""
    if tag in set(Locale):
        return str(head(tag)["name"])
    name, own = _name(tag, locale.value), _name(tag, tag)
    return name if fold(own) in {fold(name), fold(_name(tag, "en"))} else f"{name} · {own}"


@cache
def names_in(locale: Locale) -> Mapping[str, str]:
    """Map the tags of languages to their names in one of ours, as `name_in` gives them: those that most speak first.

    Regions and scripts are left out. The first call takes a second of computing: make it outside the event loop.
    """
    names = {str(tag): str(name) for tag, name in cldr(locale.value).languages.items()}
    own, english = _own_names(), cldr("en").languages
    order = {tag: place for place, tag in enumerate(_MOST_SPOKEN)}
    tags = [tag for tag in names if tag.isalpha() and tag not in _NO_LANGUAGES]
    told = {}
    for tag in sorted(tags, key=lambda tag: order.get(tag, len(order))):
        plain = {fold(names[tag]), fold(str(english.get(tag, "")))}
        told[tag] = f"{names[tag]} · {own[tag]}" if tag in own and fold(own[tag]) not in plain else names[tag]
    return told


@cache
def _own_names() -> Mapping[str, str]:
    """Map each language of CLDR to what its speakers call it."""
    return {tag: str(names[tag]) for tag, names in _all_names() if tag in names}


def _canonical(said: str) -> str:
    """Return the tag in its usual form, or "" if it is none of a known language, script and region."""
    from babel.core import get_global, parse_locale

    try:
        language, territory, script, *_ = parse_locale(said.replace("_", "-"), sep="-")
    except ValueError:
        return ""
    language = get_global("language_aliases").get(language, language)
    english = cldr("en")
    regional = (script is None or script in english.scripts) and (territory is None or territory in english.territories)
    parts = (language, script, territory)
    known = language in english.languages and language not in _NO_LANGUAGES
    return "-".join(filter(None, parts)) if known and regional else ""


@lru_cache(_MAX_NAMES_KEPT)
def _named(said: str) -> str:
    """Return the tag of the language that has this name in any language, or ""."""
    wanted = fold(said)
    for _, names in _all_names():
        for code, name in names.items():
            if fold(name) == wanted and (tag := _canonical(code)):
                return tag
    return ""


def _all_names() -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each language of CLDR with its names of languages by code; ours come first.

    The files are read past Babel's cache, which would hold all of them: 130 MB.
    """
    from babel import localedata

    ours = [locale.code for locale in (Locale.EN, *Locale)]
    others = sorted(name for name in localedata.locale_identifiers() if "_" not in name)
    for name in dict.fromkeys((*ours, *others)):
        with Path(localedata.resolve_locale_filename(name)).open("rb") as file:
            yield name, pickle.load(file).get("languages", {})  # noqa: S301  # Babel's own data


def _name(tag: str, within: str) -> str:
    """Return the name of a language in another; in English, and else the tag, where Babel has none."""
    from babel import UnknownLocaleError

    try:
        return str(cldr(tag).get_display_name(cldr(within)) or tag)
    except UnknownLocaleError:  # of such a language Babel knows the name only
        names = cldr("en" if within == tag else within).languages
        return str(names.get(tag.partition("-")[0], tag))
