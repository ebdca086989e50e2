"""Forms of a parameter: the best that was not refused, and no form twice."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.providers.failure import Concessions, Rejected, Rung, merged

EFFORT = [Rung(f"effort={level}", {"effort": level}, ("effort",)) for level in ("none", "low")]
HEAT = [Rung("temperature", {"temperature": 0}, ("temperature",))]


def labels(concessions: Concessions, model: str = "m") -> list[str]:
    return [rung.label for rung in concessions.choose(model, [EFFORT, HEAT])]


def test_a_refused_value_gives_way_to_the_next() -> None:
    concessions = Concessions()
    assert labels(concessions) == ["effort=none", "temperature"]
    assert concessions.learn("m", concessions.choose("m", [EFFORT, HEAT]), "Unsupported VALUE of effort")
    assert labels(concessions) == ["effort=low", "temperature"]
    assert labels(concessions, "other") == ["effort=none", "temperature"]


def test_a_refused_parameter_is_left_out_whatever_its_value() -> None:
    concessions = Concessions()
    assert concessions.learn("m", concessions.choose("m", [EFFORT, HEAT]), "unknown parameter: effort")
    assert labels(concessions) == ["", "temperature"]


def test_of_several_the_one_mentioned_first_is_meant() -> None:
    concessions = Concessions()
    sent = concessions.choose("m", [EFFORT, HEAT])
    assert concessions.learn("m", sent, "temperature is only taken with effort none")
    assert labels(concessions) == ["effort=none", ""]


def test_a_complaint_about_something_else_teaches_nothing() -> None:
    concessions = Concessions()
    assert not concessions.learn("m", concessions.choose("m", [EFFORT, HEAT]), "messages: must not be empty")
    assert labels(concessions) == ["effort=none", "temperature"]


@given(st.lists(st.sampled_from(["effort", "temperature", "value of effort", "value of temperature", "?"])))
async def test_asking_ends_whatever_the_server_complains_of(complaints: list[str]) -> None:
    sent: list[tuple[str, ...]] = []

    async def send(rungs: Sequence[Rung]) -> None:
        sent.append(tuple(rung.label for rung in rungs))
        if len(sent) <= len(complaints):
            raise Rejected("no", complaints[len(sent) - 1])

    concessions = Concessions()
    try:
        await concessions.settle("m", [EFFORT, HEAT], send)
    except Rejected:
        assert len(sent) <= 4
    assert len(set(sent)) == len(sent)


def test_objects_of_one_name_are_joined_and_other_values_replaced() -> None:
    assert merged({"a": {"x": 1}, "b": 1}, {"a": {"y": 2}}, {"b": 2}) == {"a": {"x": 1, "y": 2}, "b": 2}


@pytest.mark.parametrize("status", [400, 404, 422])
def test_only_a_refused_request_can_be_made_smaller(status: int) -> None:
    from core.providers.failure import by_status

    error = by_status("a:1", status, "unsupported_parameter", "no temperature, please", {})
    assert isinstance(error, Rejected)
    assert "please" not in str(error)
    assert not isinstance(by_status("a:1", 500, None, "no temperature", {}), Rejected)
