"""`elefante run`, killed at its writes, leaves nothing on the screens but answers, and no button that does nothing.

This is `make proof ARGS=kills` with few kills.
"""

from __future__ import annotations

import pytest

from bench.chat import Bubble
from tests.crash.at_writes import Tally, killed

KILLS = 8


@pytest.mark.long
@pytest.mark.parametrize("platform", ["Telegram", "Discord"])
async def test_after_many_kills_every_answer_stands_there_once_or_says_that_it_may_be_there_twice(
    platform: str,
) -> None:
    found, hits = await killed(platform, KILLS, seed=7)
    assert hits.total() > KILLS // 3, "at a write"
    assert (found.lost, found.unmarked, found.thinking, found.stops, found.dead, found.bare) == (0,) * 6, found
    # Telegram has nothing to find a message by whose confirmation a kill cut off.
    assert platform == "Telegram" or (found.statuses, found.fragments) == (0, 0), found


WHOLE, UNDO = "Saved: “The locker code is 4417”", ("↩️ Undo",)


@pytest.mark.parametrize(
    ("left", "counted"),
    [
        ([Bubble(WHOLE, UNDO)], {}),
        ([Bubble(f"↻ {WHOLE}", UNDO)], {}),
        ([], {"lost": 1}),
        ([Bubble(WHOLE)], {"bare": 1}),
        ([Bubble(WHOLE), Bubble(f"↻ {WHOLE}", UNDO)], {"doubles": 1}),
        ([Bubble(WHOLE, UNDO), Bubble(WHOLE, UNDO)], {"doubles": 1, "unmarked": 1}),
        ([Bubble("AI is thinking..."), Bubble(f"↻ {WHOLE}", UNDO)], {"statuses": 1}),
        ([Bubble(WHOLE[:9]), Bubble(f"↻ {WHOLE}", UNDO)], {"fragments": 1}),
        ([Bubble(WHOLE, UNDO), Bubble(WHOLE[:9], ("⏹",))], {"fragments": 1, "stops": 1}),
    ],
)
def test_what_is_left_is_counted_as_what_it_is(left: list[Bubble], counted: dict[str, int]) -> None:
    found = Tally()
    found.count("save, private", left, [Bubble(WHOLE, UNDO)], is_taken=True)
    assert {name: getattr(found, name) for name in counted} == counted
    others = {"lost", "bare", "doubles", "unmarked", "statuses", "fragments", "stops"} - counted.keys()
    assert not any(getattr(found, name) for name in others), found
    assert bool(found.wrong) is bool(counted)
