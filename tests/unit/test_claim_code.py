"""A claim code is one for all workers and over restarts, until somebody claimed the bot."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from bot.settings.settings import load
from bot.wiring import build
from core.features.access.storage import Person
from core.types import Role, UserKey
from tests.fakes.clock import START
from tests.postgres import database_of

ANA = Person(UserKey("telegram", "1"), Role.OWNER, "Ana", START)


async def test_the_code_is_the_same_in_the_next_process_and_gone_once_there_is_an_owner(tmp_path: Path) -> None:
    codes = []
    for _ in range(2):
        async with build(load(None, data_dir=tmp_path)) as app:
            codes.append(await app.features.access.claim_code("telegram"))
            await app.features.access.people.put(Person(UserKey("discord", "1"), Role.OWNER, "Ana", START))
    assert codes[0]
    assert codes == [codes[0]] * 2
    async with build(load(None, data_dir=tmp_path)) as app:
        await app.features.access.people.put(ANA)
        assert await app.features.access.claim_code("telegram") is None


async def test_workers_that_start_at_once_print_one_code_and_each_platform_has_its_own(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        url = database_of(str(tmp_path))
        workers = [
            await stack.enter_async_context(build(load(None, data_dir=tmp_path / str(number), storage_url=url)))
            for number in range(3)
        ]
        codes = await asyncio.gather(*(worker.features.access.claim_code("telegram") for worker in workers * 4))
        assert len(set(codes)) == 1
        assert await workers[0].features.access.claim_code("discord") not in codes
