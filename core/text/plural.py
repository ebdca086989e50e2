"""Choose the plural form of a sentence by CLDR's rules, which Babel knows for every language tag."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

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


@cache
def _rules(locale: Locale) -> babel.Locale:
    import babel  # loaded by the first sentence that counts, not by the start

    return babel.Locale.parse(locale.value, sep="-")
