"""How long something is, in the words of each language."""

from __future__ import annotations

from datetime import timedelta

import pytest

from core.text.catalogue import in_words
from core.types import Locale


@pytest.mark.parametrize(
    ("length", "locale", "said"),
    [
        (timedelta(minutes=10), Locale.PT, "10 minutos"),
        (timedelta(minutes=1), Locale.EN, "1 minute"),
        (timedelta(minutes=90), Locale.ES, "90 minutos"),
        (timedelta(hours=1), Locale.PT, "1 hora"),
        (timedelta(hours=36), Locale.EN, "36 hours"),
        (timedelta(days=1), Locale.ES, "1 día"),
        (timedelta(days=7), Locale.EN, "7 days"),
        (timedelta(seconds=90), Locale.PT, "90 segundos"),
        (timedelta(seconds=1), Locale.ES, "1 segundo"),
        (timedelta(0), Locale.EN, "0 minutes"),
        (timedelta(days=-1), Locale.EN, "0 minutes"),
    ],
)
def test_a_length_is_said_in_the_largest_unit_that_says_it_whole(length: timedelta, locale: Locale, said: str) -> None:
    assert in_words(length, locale) == said
