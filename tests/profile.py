"""The two tiers of the tests: `make test` runs what is not marked `long`, `make test-long` runs what is.

A property is in both, with eight times as many examples in the long one.
"""

from __future__ import annotations

from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

_SHORT: Final = 50

for name, max_examples in (("short", _SHORT), ("long", 8 * _SHORT)):
    slow = [HealthCheck.too_slow]
    settings.register_profile(
        name, derandomize=True, deadline=None, max_examples=max_examples, suppress_health_check=slow
    )
settings.load_profile("short")  # `--hypothesis-profile=long` replaces it before any test module is loaded


def examples(short: int) -> int:
    """Return how many examples a property tries that tries so many in `make test`."""
    return short * settings().max_examples // _SHORT


def long(*values: Any) -> Any:
    """Return parameters of a test with which it is run by `make test-long` alone."""
    return pytest.param(*values, marks=pytest.mark.long)
