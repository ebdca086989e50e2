"""Sentences that count something. Knows how each language counts (CLDR, by Babel). Does not know what is counted."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from core.types import Locale

if TYPE_CHECKING:
    import babel

Counted: TypeAlias = Mapping[Locale, Mapping[str, str]]
"""One sentence in every language, in the forms "one" and "other" of each; {count} stands for the number."""


def counted(text: Counted, locale: Locale, count: int, **values: object) -> str:
    """Return the sentence for that many.

    "many" (a million, in Portuguese and Spanish) is "other" here.
    Source: cldr.unicode.org/index/cldr-spec/plural-rules.
    """
    forms = text[locale]
    form = forms.get(_rules(locale).plural_form(count), forms["other"])
    return form.format(count=count, **values)


@cache
def _rules(locale: Locale) -> babel.Locale:
    import babel  # loaded by the first sentence that counts, not by the start

    return babel.Locale.parse(locale.value, sep="-")
