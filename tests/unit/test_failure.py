"""Failures by their status and words, waits that providers name in every form, and forms of a parameter."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ContextTooLong, ProviderDown
from core.providers.failure import Concessions, Rejected, Rung, by_status, forbid_long_waits, merged, retry_after_s

DATE = "Sat, 14 Mar 2026 15:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({}, 0.0),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after": "inf"}, 0.0),
        ({"retry-after": "nan"}, 0.0),
        ({"retry-after": "soon"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "7"}, 1.5),
        ({"retry-after-ms": "x", "retry-after": "7"}, 7.0),
        ({"retry-after": "Sat, 14 Mar 2026 15:01:00 GMT", "date": DATE}, 60.0),
        ({"retry-after": "Sat, 14 Mar 2026 14:00:00 GMT", "date": DATE}, 0.0),
        ({"retry-after": "Sat, 14 Mar 2026 15:01:00 GMT"}, 0.0),
        ({"retry-after": "Sat, 14 Mar 2026 15:01:00 -0000", "date": DATE}, 0.0),
    ],
)
def test_a_wait_is_read_from_seconds_milliseconds_or_a_date(headers: dict[str, str], wait_s: float) -> None:
    assert retry_after_s(headers) == wait_s


@pytest.mark.parametrize(("wait", "is_forbidden"), [("2", False), ("20", True)])
def test_only_a_wait_longer_than_our_patience_is_forbidden_to_the_sdk(wait: str, is_forbidden: bool) -> None:
    headers = {"retry-after": wait}
    forbid_long_waits(headers, 5.0)
    assert (headers.get("x-should-retry") == "false") is is_forbidden


@pytest.mark.parametrize("kind", [None, "", "my password is 123", "x" * 60])
def test_a_kind_that_is_no_word_of_the_protocol_is_not_repeated(kind: str | None) -> None:
    error = by_status("a:1", 500, kind, "what the person said", {})
    assert isinstance(error, ProviderDown)
    assert str(error) == "a:1 answered HTTP 500"


@pytest.mark.parametrize(
    ("complaint", "window"),
    [
        ("The decoder prompt (length 5000) is longer than the maximum model length of 4096. Make sure that", 4_096),
        ("The input token count (40000) exceeds the maximum number of tokens allowed (32768).", 32_768),
        ("The input token count (40000) exceeds the maximum number of tokens allowed 32768.", 32_768),
        ("context_length_exceeded: Input tokens exceed the configured limit of 272000 tokens. Your", 272_000),
        ("Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32_768),
        ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 3000 `inputs` tokens", 4_096),
        ("request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4_096),
        ("input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000, decrease", 200_000),
    ],
)
def test_every_server_s_words_for_too_long_name_the_window(complaint: str, window: int) -> None:
    error = by_status("a:1", 400, None, complaint, {})
    assert isinstance(error, ContextTooLong)
    assert error.window_tokens == window


# Forms of a parameter.

EFFORT = [Rung(f"effort={level}", {"effort": level}, ("effort",)) for level in ("none", "low")]
HEAT = [Rung("temperature", {"temperature": 0}, ("temperature",))]


def labels(concessions: Concessions, model: str = "m") -> list[str]:
    return [rung.label for rung in concessions.choose(model, [EFFORT, HEAT])]


def test_of_several_the_one_mentioned_first_is_meant() -> None:
    concessions = Concessions()
    sent = concessions.choose("m", [EFFORT, HEAT])
    assert concessions.learn("m", sent, "temperature is only taken with effort none")
    assert labels(concessions) == ["effort=none", ""]


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
    error = by_status("a:1", status, "unsupported_parameter", "no temperature, please", {})
    assert isinstance(error, Rejected)
    assert "please" not in str(error)
    assert not isinstance(by_status("a:1", 500, None, "no temperature", {}), Rejected)
