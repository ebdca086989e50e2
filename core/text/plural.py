"""Sentences that count something, by each language's plural rules (CLDR, by Babel), and durations in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from core.text.catalogue import forms
from core.types import Locale

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
    form = forms.get(_rules(spoken).plural_form(count), forms["other"])
    return form.format(count=count, **values)


def in_words(length: timedelta, locale: Locale) -> str:
    """Return the length in the largest unit that says it without a remainder: "7 days", "90 minutes"."""
    seconds = max(int(length.total_seconds()), 0)
    unit, size = next((unit, size) for unit, size in UNITS if seconds % size == 0 and (seconds or unit is MINUTES))
    return counted(unit, locale, seconds // size)


@cache
def _rules(locale: Locale) -> babel.Locale:
    import babel  # loaded by the first sentence that counts, not by the start

    return babel.Locale.parse(locale.value, sep="-")


DAYS = forms("duration.days")
HOURS = forms("duration.hours")
MINUTES = forms("duration.minutes")
SECONDS = forms("duration.seconds")
UNITS: Final = ((DAYS, 86_400), (HOURS, 3_600), (MINUTES, 60), (SECONDS, 1))
