"""What becomes of changes that people tell, and of questions about neighbours: the sets that rules are chosen on.

Not all of them come out right: the floors are what does today. `python -m bench changes` shows the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from bench.changes import MODELS, TUNE, Bots, cases, change, lives, pair, still
from tests.fakes.house import House

CASES = cases(TUNE)


@pytest.fixture
async def bots() -> AsyncIterator[Bots]:
    bots = Bots()
    yield bots
    await bots.close()


@pytest.mark.long
@pytest.mark.spec("T11")
async def test_a_change_is_done_or_kept_beside_and_nothing_is_lost_by_it(bots: Bots) -> None:
    count = Counter([(await change(bots, case))[0] for case in CASES["change"]])
    assert count["lost"] == count["dropped"] == 0
    assert count["at once"] >= 49
    assert count["told wrong"] <= 7


@pytest.mark.long
@pytest.mark.spec("T11")
async def test_what_says_of_no_change_changes_and_offers_nothing(bots: Bots) -> None:
    assert Counter([(await still(bots, case))[0] for case in CASES["still"]]) == {"still": len(CASES["still"])}


@pytest.mark.spec("T11")
@pytest.mark.parametrize("model", MODELS)
async def test_pairs_are_taken_for_what_they_are_whatever_a_model_names(bots: Bots, model: str) -> None:
    house = House(embedder=bots.embedder)  # type: ignore[arg-type]  # the real one
    judged = [((await pair(house, case, model))[0], case[2]) for case in CASES["pairs"]]
    assert sum(got == wanted for got, wanted in judged) >= 26
    assert sum(got in {"replaces", "another's"} and wanted == "both" for got, wanted in judged) <= 2


@pytest.mark.long
@pytest.mark.spec("T9")
async def test_a_neighbour_of_what_is_asked_for_is_not_told_as_sure(bots: Bots) -> None:
    answers = [each for life in CASES["lives"] for each in await lives(bots, life)]
    for door in ("public", "limited"):
        count = Counter((whose, got) for where, whose, got, _ in answers if where == door)
        assert count["other", "sure and wrong"] <= 3
        assert count["own", "right"] >= 59
