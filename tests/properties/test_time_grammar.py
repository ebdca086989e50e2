"""The laws of reading times, for any text at any moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.times.grammar import find_time
from core.times.reading import FoundTime, Once, Past, Recurrence, Unclear
from core.times.rules import next_after, problem
from core.types import Locale
from tests.profile import examples

WORDS = """
amanhã às 8 da noite todo dia 5 de em horas segunda e sexta até março tomorrow at half past six every other friday in
two weeks the last of month next year from to ago may 31 29/02 2:30 am pm minutes before flight first cada lunes a las
media mañana hace tres veces al día fin mes hasta por semana , midnight meia-noite weekend yesterday
""".split()
ZONES = ("America/Sao_Paulo", "America/New_York", "Europe/Lisbon", "Australia/Lord_Howe", "Pacific/Apia", "UTC")

texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join) | st.text(max_size=60)
moments = st.integers(0, 12 * 366 * 24 * 60).map(
    lambda minutes: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)
)


@settings(max_examples=examples(400))
@given(texts, moments, st.sampled_from(ZONES), st.sampled_from(list(Locale)), st.booleans())
@example("in 9999 years", datetime(2026, 11, 22, tzinfo=UTC), "UTC", Locale.EN, False)
def test_a_time_read_is_ahead_and_stands_in_the_text(
    text: str, moment: datetime, zone: str, locale: Locale, bare: bool
) -> None:
    now = moment.astimezone(ZoneInfo(zone))
    found = find_time(text, now, locale, bare=bare)
    if found is not None:
        holds(found, text, now, zone)


def holds(found: FoundTime, text: str, now: datetime, zone: str) -> None:
    """Assert the laws of a time that was read."""
    assert found.spans
    assert all(0 <= start < end <= len(text) for start, end in found.spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(found.spans))
    for time in found.time.options if isinstance(found.time, Unclear) else (found.time,):
        match time:
            case Once(at):
                assert at > now
            case Past(at):
                assert at <= now
            case Recurrence(rule, first):
                assert problem(rule) == ""
                assert first > now
                wall = first.replace(tzinfo=None)
                following = next_after(wall, zone, rule, first.astimezone(UTC) - timedelta(seconds=1))
                assert following is None or following == first
