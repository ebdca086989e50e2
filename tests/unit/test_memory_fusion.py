from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.memory.search import FAR, FLOOR, NEAR, dense_score, fuse, lexical_score

shares = st.floats(0, 1)


def test_cosines_outside_the_scale_are_cut() -> None:
    assert dense_score(-1) == dense_score(FAR) == 0
    assert dense_score(1) == dense_score(NEAR) == 1


def test_either_evidence_alone_may_bring_a_memory_over_the_floor() -> None:
    assert fuse(1.0, 0.0) > FLOOR
    assert fuse(0.0, 1.0) > FLOOR
    assert fuse(None, lexical_score(0.5)) > FLOOR
    assert fuse(0.0, 0.0) < FLOOR
    assert fuse(0.0, lexical_score(0.5)) < FLOOR


@given(shares, shares, shares)
def test_more_evidence_never_lowers_a_score(dense: float, lexical: float, more: float) -> None:
    assert 0 <= fuse(dense, lexical) <= 1
    assert fuse(max(dense, more), lexical) >= fuse(dense, lexical)
    assert fuse(dense, max(lexical, more)) >= fuse(dense, lexical)
    assert fuse(None, max(lexical, more)) >= fuse(None, lexical)
