"""The sentences people read, from `core/locales`: a language's file is read when that language is first needed.

A key is the path of a sentence in the file: `text("access.cards.who")` is `who` in the table `[access.cards]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar, cast

from core.locales import body
from core.types import Locale, Localized

_Key = TypeVar("_Key")
_Form = TypeVar("_Form", str, Mapping[str, str])


class _Entry(Mapping[Locale, _Form], Generic[_Form]):
    """One key in every language, looked up when it is read."""

    def __init__(self, key: str) -> None:
        self._key = key

    def __getitem__(self, locale: Locale) -> _Form:
        own = sentences(locale)
        return cast("_Form", own[self._key] if self._key in own else sentences(Locale.EN)[self._key])

    def __iter__(self) -> Iterator[Locale]:
        return iter(Locale)

    def __len__(self) -> int:
        return len(Locale)


@cache
def text(key: str) -> Localized:
    """Return the sentence of that key in every language; in English where a language lacks it."""
    return _Entry[str](key)


def texts(table: str, keys: Iterable[_Key]) -> dict[_Key, Localized]:
    """Map words, members of an enum, or classes to their sentences in a table of that path, named as by `name_of`."""
    return {key: _Entry[str](f"{table}.{name_of(key)}") for key in keys}


def name_of(key: object) -> str:
    """Return the name of a sentence: a word, a member of an enum or a class, as TOML writes it (`last_messages`)."""
    if isinstance(key, type):
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key.__name__).lower()
    return key.name.lower() if isinstance(key, Enum) else str(key).replace("-", "_")


def filled(sentence: Localized, **values: str | Localized) -> dict[Locale, str]:
    """Return the sentence with its gaps filled, in every language; a value may have a wording for each."""
    return {
        locale: sentence[locale].format(
            **{name: value if isinstance(value, str) else value[locale] for name, value in values.items()}
        )
        for locale in Locale
    }


def forms(key: str) -> Mapping[Locale, Mapping[str, str]]:
    """Return the plural forms of a sentence that counts, by CLDR's names ("one", "other"), in every language."""
    return _Entry[Mapping[str, str]](key)


class Sentences:
    """The sentences of a table, by their names: `Sentences("access.cards").who` is `text("access.cards.who")`."""

    def __init__(self, table: str) -> None:
        self._table = table

    def __getattr__(self, name: str) -> Localized:
        return _sentence(f"{self._table}.{name}")


class Plurals:
    """The sentences of a table that count: `Plurals("access.cards").flood` is `forms("access.cards.flood")`."""

    def __init__(self, table: str) -> None:
        self._table = table

    def __getattr__(self, name: str) -> Counted:
        return _counting(f"{self._table}.{name}")


@cache
def _sentence(key: str) -> _Entry[str]:
    return _Entry(key)


@cache
def _counting(key: str) -> _Entry[Mapping[str, str]]:
    return _Entry(key)


def menu_names(name: str) -> Localized:
    """Return what a command or option is called in menus, in the languages that have a name of their own for it."""
    own = {locale: sentences(locale).get(f"names.{name}") for locale in Locale}
    return {locale: called for locale, called in own.items() if called}


@cache
def sentences(locale: Locale) -> Mapping[str, Any]:
    """Map every key that a language has, tables included, to its sentence or table."""
    found: dict[str, Any] = {name: table for name, table in body(locale).items() if isinstance(table, dict)}
    tables = [(f"{name}.", table) for name, table in found.items()]
    while tables:
        prefix, table = tables.pop()
        for name, value in table.items():
            found[prefix + name] = value
            if isinstance(value, dict):
                tables.append((f"{prefix}{name}.", value))
    return found


if TYPE_CHECKING:
    import babel

Counted: TypeAlias = Mapping[Locale, Mapping[str, str]]
"""The plural forms of one sentence, by CLDR's names, in every language; {count} stands for the number."""


def counted(text: Counted, locale: Locale, count: int, **values: object) -> str:
    """Return the sentence in the form for `count`.

    "many" (a million, in Portuguese and Spanish) is "other" here.
    Source: cldr.unicode.org/index/cldr-spec/plural-rules.
    """
    forms = text[locale]
    # What a language lacks is read, and so counted, in English.
    spoken = Locale.EN if forms is text[Locale.EN] else locale
    form = forms.get(cldr(spoken.value).plural_form(count), forms["other"])
    return form.format(count=count, **values)


def in_words(length: timedelta, locale: Locale) -> str:
    """Return the length in the largest unit that says it without a remainder: "7 days", "90 minutes"."""
    seconds = max(int(length.total_seconds()), 0)
    unit, size = next((unit, size) for unit, size in UNITS if seconds % size == 0 and (seconds or unit is MINUTES))
    return counted(unit, locale, seconds // size)


@cache
def cldr(tag: str) -> babel.Locale:
    """Return what CLDR knows of the language of that tag (BCP 47).

    Raises:
        babel.UnknownLocaleError: it knows nothing of it.
    """
    import babel  # loaded by the first sentence that counts, not by the start

    return babel.Locale.parse(tag, sep="-")


DAYS = forms("duration.days")
HOURS = forms("duration.hours")
MINUTES = forms("duration.minutes")
SECONDS = forms("duration.seconds")
UNITS: Final = ((DAYS, 86_400), (HOURS, 3_600), (MINUTES, 60), (SECONDS, 1))
