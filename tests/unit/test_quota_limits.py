"""Limits as text, and text as limits."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.features.quotas.limits import EXAMPLE, Limit, Limits, NotALimit, read, written

whole = st.integers(0, 10**12 - 1).map(Decimal)
dollars = st.decimals(0, 10**6, places=2)
limits = st.fixed_dictionaries({}, optional={limit: dollars if limit.is_cost else whole for limit in Limit})


@given(limits)
def test_what_is_written_is_read_again(given_limits: Limits) -> None:
    assert read(written(given_limits)) == given_limits
    assert written(read(written(given_limits))) == written(given_limits)


def test_order_case_and_spaces_do_not_matter() -> None:
    text = "  COST_MONTH=2.50   messages_minute=10\n"
    assert written(read(text)) == "messages_minute=10 cost_month=2.50"
    assert read("None") == {}
    assert read(EXAMPLE)[Limit.TOKENS_DAY] == 50_000


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", ""),
        ("tokens", "tokens"),
        ("tokens_day=1 tokens_week=5", "tokens_week=5"),
        ("tokens_day=-1", "tokens_day=-1"),
        ("tokens_day=1.5", "tokens_day=1.5"),
        ("tokens_day=1e3", "tokens_day=1e3"),
        ("tokens_day=1 tokens_day=2", "tokens_day=2"),
        ("cost_day=1,50", "cost_day=1,50"),
        ("cost_day=nan", "cost_day=nan"),
        ("cost_day=", "cost_day="),
        ("none tokens_day=1", "none"),
        ("tokens_day=1234567890123", "tokens_day=1234567890123"),
    ],
)
def test_what_is_no_limit_is_named(text: str, part: str) -> None:
    with pytest.raises(NotALimit, match="write some of messages_minute") as caught:
        read(text)
    assert caught.value.part == part
