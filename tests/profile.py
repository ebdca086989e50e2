"""The two tiers of the tests: `make test` runs what is not marked `long`, `make test-long` runs what is.

A property is in both, with sixteen times as many examples in the long one.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

_USUAL: Final = 50

for name, max_examples in (("short", _USUAL // 2), ("long", 8 * _USUAL)):
    slow = [HealthCheck.too_slow]
    settings.register_profile(
        name, derandomize=True, deadline=None, max_examples=max_examples, suppress_health_check=slow
    )
settings.load_profile("short")  # `--hypothesis-profile=long` replaces it before any test module is loaded


def examples(usual: int) -> int:
    """Return how many examples a property tries: half of the usual in `make test`, eight times as many in the other."""
    return usual * settings().max_examples // _USUAL


def long(*values: Any) -> Any:
    """Return parameters of a test with which it is run by `make test-long` alone."""
    return pytest.param(*values, marks=pytest.mark.long)
