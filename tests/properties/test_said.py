"""The laws of times as data, for any text at any moment."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.times.said import asked, meant, until
from core.types import Locale
from tests.profile import examples
from tests.properties.test_time_grammar import WORDS, ZONES, moments

SAID = """
what did I tell you last week this past weekend since before after between 3 and 10 in 2024 9999 ago until today is am
o que eu te disse passada desde antes depois entre nesta últimos próximas dias semanas anos está estou senha hoje
¿qué te dije pasado hace hasta esta navidad de noche morning 4º 15% christmas 28 april 8000
""".split()
texts = st.lists(st.sampled_from([*WORDS, *SAID]), max_size=10).map(" ".join) | st.text(max_size=60)


@settings(max_examples=examples(400))
@given(texts, moments, st.sampled_from(ZONES), st.sampled_from(list(Locale)))
@example("I am away for the next 9999 years", datetime(2026, 11, 22, tzinfo=UTC), "UTC", Locale.EN)
@example("o que eu te disse nos últimos 9999 anos?", datetime(2026, 11, 22, tzinfo=UTC), "UTC", Locale.PT)
@example("until 31 December 2199 I am away", datetime(2026, 11, 22, tzinfo=UTC), "UTC", Locale.EN)
@example("10 at 3 april", datetime(2020, 1, 1, tzinfo=UTC), "America/Sao_Paulo", Locale.PT)
def test_times_are_in_order_and_ends_ahead(text: str, moment: datetime, zone: str, locale: Locale) -> None:
    now = moment.astimezone(ZoneInfo(zone))
    if (found := asked(text, now, locale)) is not None:
        assert found.span.start < found.span.end
        assert not found.said or found.span.start < now
    if (end := until(text, now, locale)) is not None:
        assert end > now
        assert end.utcoffset() is not None
    if day := meant(text, now, locale):
        assert datetime.fromisoformat(day).tzinfo is None
