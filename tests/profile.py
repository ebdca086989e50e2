"""How much a test tries: little in `make test`, much in `make test-long` (`TEST_PROFILE=long`)."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, settings

LONG: Final = os.environ.get("TEST_PROFILE") == "long"


def tries(short: int, long: int) -> int:
    """Return how often to try something (examples, kills, seeds): `short`, or `long` in `make test-long`."""
    return long if LONG else short


settings.register_profile(
    "elefante",
    derandomize=True,
    deadline=None,
    max_examples=tries(50, 400),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("elefante")
