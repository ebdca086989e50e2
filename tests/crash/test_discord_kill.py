"""`elefante run`, a real process, killed among many answers: everybody is answered after the restart, and once."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.clock import SystemClock
from tests.e2e.command import Running
from tests.e2e.run_kit import running
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.discord_world import BOT_ID, OWNER_ID, Person

pytestmark = pytest.mark.long

MESSAGES = 60
ROOMS = [10**17 + 100 + number for number in range(20)]
OWNER = Person(OWNER_ID, "Dona", "en-US")


@asynccontextmanager
async def bot(server: DiscordServer, folder: Path) -> AsyncIterator[Running]:
    """Run the bot on its data until it listens; whatever is left of it in the end is killed."""
    settings = {"DISCORD_TOKEN": TOKEN, "DISCORD_API_BASE_URL": server.api_url, "DATA_DIR": str(folder)}
    sessions = len(server.gateway.identified)
    async with running(**settings) as child:
        await server.until(lambda: len(server.gateway.identified) > sessions)
        yield child


async def ask(server: DiscordServer, number: int) -> None:
    """Use a command that there is not: its answer names it."""
    await server.says(OWNER, f"<@{BOT_ID}> /n{number}", room=ROOMS[number % len(ROOMS)])


def answers(server: DiscordServer) -> Counter[str]:
    """How often each message was answered."""
    texts = (text for room in ROOMS for text in server.room(room).screen())
    return Counter(found[0] for text in texts if (found := re.search(r"/n\d+", text)))


@pytest.mark.parametrize("kill_after", [30, 0])
async def test_a_crash_among_many_answers_loses_no_message_and_repeats_none(kill_after: int, tmp_path: Path) -> None:
    async with DiscordServer(SystemClock(), patience_s=60.0) as server:
        for room in ROOMS:
            server.room(room)
        async with bot(server, tmp_path) as first:
            for number in range(20):  # one in each room: conversations that are open, and bookmarked
                await ask(server, number)
            await server.until(lambda: len(answers(server)) == 20)
            for number in range(20, MESSAGES):
                await ask(server, number)
            await server.until(lambda: len(answers(server)) >= 20 + kill_after)
            first.kill()
            await first.wait()
        server.gateway.sessions.clear()  # nobody resumes a session after minutes of silence
        for number in range(MESSAGES, MESSAGES + 20):
            await ask(server, number)
        async with bot(server, tmp_path) as second:
            await server.until(lambda: len(answers(server)) == MESSAGES + 20)
            second.terminate()
            assert await asyncio.wait_for(second.wait(), 120) == 0
    assert set(answers(server).values()) == {1}
