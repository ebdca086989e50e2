"""Waits that providers name, in every form that they have."""

from __future__ import annotations

import pytest

from core.errors import ContextTooLong, ProviderDown
from core.providers.failure import by_status, forbid_long_waits, retry_after_s

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


def test_only_a_wait_longer_than_our_patience_is_forbidden_to_the_sdk() -> None:
    short, long = {"retry-after": "2"}, {"retry-after": "20"}
    forbid_long_waits(short, 5.0)
    forbid_long_waits(long, 5.0)
    assert "x-should-retry" not in short
    assert long["x-should-retry"] == "false"


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
