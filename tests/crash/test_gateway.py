"""Real workers on Discord: the one that is connected dies amid an answer, another connects, and all are answered."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from core.clock import SystemClock
from tests.crash.kills import DiscordScene, SlowModel, tally
from tests.crash.workers import Fleet, Watch
from tests.e2e.command import Running
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import BOT_ID, Person
from tests.postgres import HAS_POSTGRES, WHY_NOT, new_database, shared_server

pytestmark = [pytest.mark.long, pytest.mark.skipif(not HAS_POSTGRES, reason=WHY_NOT)]

ANA: Final = Person(10**17 + 7, "Ana")
ROOM: Final = 10**17 + 100
SHARDS: Final = 2
PACE_S: Final = 2.5  # half of what Discord wants between two new sessions: a busy machine tells the time late


def connected(held: Mapping[str, int]) -> list[int]:
    """Return which process has the duty to be connected."""
    return [pid for name, pid in held.items() if name.startswith("duty:discord:") and name.endswith(":gateway")]


async def test_the_gateway_of_a_worker_that_dies_is_anothers_and_everybody_is_answered(tmp_path: Path) -> None:
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

            async def holder() -> Running:
                """Return the worker that is connected, once it is, with all shards."""
                held = await watch.until_held(
                    lambda held: (
                        len(server.gateway.listening) == SHARDS
                        and set(connected(held)) <= {worker.pid for worker in fleet.running}
                        and connected(held)
                    )
                )
                [pid] = connected(held)
                return next(worker for worker in fleet.running if worker.pid == pid)

            for _ in range(2):
                await fleet.grow()
            await holder()
            await ask()
            await server.until(lambda: any(f"w{asked - 1}." in text for text in server.room(ROOM).screen()))
            await fleet.kill(await holder())
            await ask()
            await holder()
            await ask()
            await fleet.grow()
            await ask()
            await watch.until_answered(asked)
            assert await fleet.stop() == [0, 0]
        left = tally(scene.bubbles(), asked)
        begun_s = server.gateway.identified_s
    assert left.lost == []
    assert left.unmarked == 0
    assert len(begun_s) == 2 * SHARDS, "who joins takes nothing away"
    assert [later - earlier for earlier, later in pairwise(begun_s) if later - earlier < PACE_S] == []
