"""The process that tests start: it ends, whenever it is killed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.e2e.command import start


@pytest.mark.long
async def test_a_process_that_is_killed_before_it_begins_ends(tmp_path: Path) -> None:
    process = await start("run", environment={**os.environ, "DATA_DIR": str(tmp_path)})
    process.kill()
    async with asyncio.timeout(60):
        assert await process.wait() < 0
