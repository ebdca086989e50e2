"""One, many and none, as each language says them."""

from __future__ import annotations

import pytest

from core.text.catalogue import Counted, counted
from core.types import Locale

MEMORIES: Counted = {
    Locale.PT: {"one": "{count} memória de {who}", "other": "{count} memórias de {who}"},
    Locale.EN: {"one": "{count} memory of {who}", "other": "{count} memories of {who}"},
    Locale.ES: {"one": "{count} memoria de {who}", "other": "{count} memorias de {who}"},
}


@pytest.mark.parametrize(
    ("locale", "count", "said"),
    [
        (Locale.PT, 0, "0 memória de Ana"),  # Portuguese counts nothing as one
        (Locale.PT, 1, "1 memória de Ana"),
        (Locale.PT, 2, "2 memórias de Ana"),
        (Locale.EN, 0, "0 memories of Ana"),
        (Locale.EN, 1, "1 memory of Ana"),
        (Locale.ES, 0, "0 memorias de Ana"),
        (Locale.ES, 1, "1 memoria de Ana"),
        (Locale.ES, 1_000_000, "1000000 memorias de Ana"),
    ],
)
def test_a_language_counts_by_its_own_rules(locale: Locale, count: int, said: str) -> None:
    assert counted(MEMORIES, locale, count, who="Ana") == said
