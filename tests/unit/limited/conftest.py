from __future__ import annotations

import pytest

from core.limited import LimitedMind
from core.limited.cues import Cues
from tests.fakes.model import HashEmbedder
from tests.unit.limited.tiny_cycle import TinyCycle


@pytest.fixture(scope="session")
def cues() -> Cues:
    return Cues.load()


@pytest.fixture
def mind() -> LimitedMind:
    """Limited mode whose embedder is down: what it does here, it does by its cues."""
    embedder = HashEmbedder()
    embedder.down = True
    return LimitedMind(embedder)


@pytest.fixture
def chat(mind: LimitedMind) -> TinyCycle:
    return TinyCycle(mind)
