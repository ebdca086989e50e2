"""Real workers that share Discord's shards: one dies amid an answer, another joins, and everybody is answered."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from core.clock import SystemClock
from tests.crash.kills import DiscordScene, SlowModel, tally
from tests.crash.workers import Fleet, Watch
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT_ID, GUILD_ID, Person
from tests.postgres import HAS_POSTGRES, WHY_NOT, new_database, shared_server

pytestmark = [pytest.mark.long, pytest.mark.skipif(not HAS_POSTGRES, reason=WHY_NOT)]

ANA: Final = Person(10**17 + 7, "Ana")
ROOM: Final = 10**17 + 100
SHARDS: Final = 2
OF_ROOM: Final = (GUILD_ID >> 22) % SHARDS
PACE_S: Final = 2.5  # half of what Discord wants between two new sessions: a busy machine tells the time late


def shards_of(held: Mapping[str, int]) -> dict[int, int]:
    """Return which process has which shard."""
    return {int(name.rpartition(":")[2]): pid for name, pid in held.items() if name.startswith("part:discord:")}


async def test_shards_of_a_worker_that_dies_go_on_elsewhere_and_one_that_joins_gets_some(tmp_path: Path) -> None:
    url, model, asked = new_database(), SlowModel(), 0
    watch = Watch(shared_server(), url.rpartition("/")[2])
    async with DiscordServer(SystemClock(), patience_s=120.0) as server, model.running():
        server.gateway.shards = SHARDS
        server.room(ROOM)
        scene = DiscordScene(server)

        async def ask() -> None:
            nonlocal asked
            for room in (0, ROOM):  # each is of another shard
                await server.says(ANA, f"<@{BOT_ID}> ask-{asked}", room=room)
                asked += 1

        async with Fleet(url, model.url, tmp_path, **scene.settings, DISCORD_SHARDS=str(SHARDS)) as fleet:

            async def dealt() -> dict[int, int]:
                """Return which worker has which shard, once each has what is its share and they are connected."""

                def is_even(held: Mapping[str, int]) -> bool:
                    pids = list(shards_of(held).values())
                    all_connected = len(server.gateway.listening) == len(pids) == SHARDS
                    return all_connected and set(pids) == {worker.pid for worker in fleet.running}

                return shards_of(await watch.until_held(is_even))

            for _ in range(2):
                await fleet.grow()
            holders = await dealt()
            await ask()
            await server.until(lambda: any(f"w{asked - 1}." in text for text in server.room(ROOM).screen()))
            await fleet.kill(next(worker for worker in fleet.running if worker.pid == holders[OF_ROOM]))
            await ask()
            await dealt()
            await ask()
            await fleet.grow()
            await dealt()
            await ask()
            await watch.until_answered(asked)
            assert await fleet.stop() == [0, 0]
        left = tally(scene.bubbles(), asked)
        begun_s = server.gateway.identified_s
    assert left.lost == []
    assert left.unmarked == 0
    assert [later - earlier for earlier, later in pairwise(begun_s) if later - earlier < PACE_S] == []
