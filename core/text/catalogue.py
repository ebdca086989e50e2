"""The sentences people read, from `core/locales`: a language's file is read when that language is first needed.

A key is the path of a sentence in the file: `text("access.cards.who")` is `who` in the table `[access.cards]`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Generic, TypeVar, cast

from core.locales import body
from core.types import Locale, Localized

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


def text(key: str) -> Localized:
    """Return the sentence of that key in every language; in English where a language lacks it."""
    return _Entry[str](key)


def forms(key: str) -> Mapping[Locale, Mapping[str, str]]:
    """Return the plural forms of a sentence that counts, by CLDR's names ("one", "other"), in every language."""
    return _Entry[Mapping[str, str]](key)


def menu_names(name: str) -> Localized:
    """Return what a command or option is called in menus, in the languages that have a name of their own for it."""
    own = {locale: sentences(locale).get(f"names.{name}") for locale in Locale}
    return {locale: called for locale, called in own.items() if called}


@cache
def sentences(locale: Locale) -> Mapping[str, Any]:
    """Map every key that a language has, tables included, to its sentence or table."""
    found: dict[str, Any] = {}
    _flatten({name: value for name, value in body(locale).items() if isinstance(value, Mapping)}, "", found)
    return found


def _flatten(table: Mapping[str, Any], prefix: str, into: dict[str, Any]) -> None:
    for name, value in table.items():
        into[prefix + name] = value
        if isinstance(value, Mapping):
            _flatten(value, f"{prefix}{name}.", into)
