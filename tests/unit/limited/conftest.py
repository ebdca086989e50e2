from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.limited import LimitedMind
from core.providers.usem3 import Usem3Embedder
from tests.fakes.talk import Talk, talking


@pytest.fixture
async def embedder() -> AsyncIterator[Usem3Embedder]:
    """The real one."""
    embedder = Usem3Embedder()
    yield embedder
    await embedder.close()


@pytest.fixture
async def person(tmp_path: Path, embedder: Usem3Embedder) -> AsyncIterator[Talk]:
    """A chat with a whole bot that has no language model."""
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder)) as talk:
        yield talk
