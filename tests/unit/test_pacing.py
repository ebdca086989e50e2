"""The arithmetic that the platforms pace themselves by."""

from __future__ import annotations

import pytest

from adapters.running import Backoff, Bucket


def test_pauses_double_up_to_the_longest_however_often_and_begin_anew_after_a_success() -> None:
    backoff = Backoff(2.0, 30.0)
    assert [backoff.next_s() for _ in range(6)] == [2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert {backoff.next_s() for _ in range(5000)} == {30.0}
    backoff.reset()
    assert backoff.next_s() == 2.0


def test_a_bucket_bears_a_burst_then_its_rate_and_waits_longer_where_something_has_to_stay_in_it() -> None:
    bucket = Bucket(burst=2.0, refill_per_s=4.0, at_s=0.0)
    assert bucket.wait_s() == 0.0
    bucket.tokens -= 2.0
    assert bucket.wait_s() == pytest.approx(0.25)
    assert bucket.wait_s(reserve=1.0) == pytest.approx(0.5)
    bucket.refill(0.5)
    assert bucket.wait_s(reserve=1.0) == 0.0
    bucket.refill(1000.0)
    assert bucket.tokens == 2.0
