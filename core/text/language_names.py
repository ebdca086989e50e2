"""Names of languages: find one by its tag or name in any language, and name it. They are CLDR's, which Babel has."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
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


def english_name(tag: str) -> str:
    """Return the English name of the language of that tag, for models: "German"."""
    return str(head(tag)["english_name"]) if tag in set(Locale) else _name(tag, "en")


def name_in(tag: str, locale: Locale) -> str:
    """Return the name of a language in one of ours, then what its speakers call it: "German · Deutsch"."""
    if tag in set(Locale):
        return str(head(tag)["name"])
    name, own = _name(tag, locale.value), _name(tag, tag)
    return name if fold(own) in {fold(name), fold(_name(tag, "en"))} else f"{name} · {own}"


def known_tags(locale: Locale) -> Sequence[str]:
    """Return the tags of the languages that have a name in that one, regions and scripts left out."""
    tags = map(str, _locale(locale.value).languages)
    return [tag for tag in tags if tag.isalpha() and tag not in _NO_LANGUAGES]


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
    for names in _all_names():
        for code, name in names.items():
            if fold(name) == wanted and (tag := _canonical(code)):
                return tag
    return ""


def _all_names() -> Iterator[Mapping[str, str]]:
    """Yield, for each language of CLDR, its names of languages by code; ours come first.

    The files are read past Babel's cache, which would hold all of them: 130 MB.
    """
    from babel import localedata

    ours = [locale.code for locale in (Locale.EN, *Locale)]
    others = sorted(name for name in localedata.locale_identifiers() if "_" not in name)
    for name in dict.fromkeys((*ours, *others)):
        with Path(localedata.resolve_locale_filename(name)).open("rb") as file:
            yield pickle.load(file).get("languages", {})  # noqa: S301  # Babel's own data


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
