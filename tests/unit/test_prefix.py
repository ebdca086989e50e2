"""Prompts made for caches: what is shown of a conversation grows at its end, and begins anew only at few trims."""

from __future__ import annotations

import pytest

from bench.history import resent, stable_parts
from core.history.policy import LAST_MESSAGES, LAST_TOKENS, SUMMARY, HistoryLimits


@pytest.mark.parametrize(
    ("policy", "window", "most_trims", "least_share"),
    [
        (SUMMARY, 4_096, 11, 0.75),  # ten exchanges fit
        (SUMMARY, 131_072, 2, 0.9),
        (LAST_MESSAGES, 16_384, 5, 0.85),
        (LAST_TOKENS, 4_096, 11, 0.75),
        (LAST_TOKENS, 16_384, 2, 0.9),
        (LAST_TOKENS, 131_072, 2, 0.9),
    ],
)
async def test_a_request_begins_with_the_one_before_it_except_at_few_trims(
    policy: str, window: int, most_trims: int, least_share: float
) -> None:
    trims, share = resent(await stable_parts(HistoryLimits(policy, max_context_tokens=window, steady=True)))
    assert trims <= most_trims
    assert share >= least_share
