"""Names of languages: find one by its tag or name in any language, and name it. They are CLDR's, which Babel has."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

from core.locales import head
from core.text.language import from_tag
from core.text.unicode import fold, one_line
from core.types import Locale

if TYPE_CHECKING:
    import babel

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
    names = {str(tag): str(name) for tag, name in _locale(locale.value).languages.items()}
    own, english = _own_names(), _locale("en").languages
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
    english = _locale("en")
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
        return str(_locale(tag).get_display_name(_locale(within)) or tag)
    except UnknownLocaleError:  # of such a language Babel knows the name only
        names = _locale("en" if within == tag else within).languages
        return str(names.get(tag.partition("-")[0], tag))


def _locale(tag: str) -> babel.Locale:
    import babel  # loaded by the first language that is named, not by the start

    return babel.Locale.parse(tag, sep="-")
