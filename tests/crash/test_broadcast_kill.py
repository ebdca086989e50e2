"""`elefante run`, a real process, killed while it tells everybody something, goes on after the restart where it was."""

from __future__ import annotations

import asyncio
import signal
from functools import partial
from pathlib import Path

import pytest

from core.clock import SystemClock
from core.features.access.storage import People
from core.features.access.storage import Person as Known
from core.storage.sqlite import open_database
from core.types import Role, UserKey
from tests.e2e import run_kit
from tests.fakes.clock import START
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

pytestmark = pytest.mark.long

ANA = Person(7)
MEMBERS = range(1000, 1012)
TEXT = "Amanhã fecho às 18h: zebra77"


bot = partial(run_kit.bot, BROADCAST_INTERVAL_S="0.1")


async def settle(folder: Path) -> None:
    """Let Ana be the owner, and everybody in."""
    database = await open_database(folder / "elefante.db")
    for number, role in ({ANA.id: Role.OWNER} | dict.fromkeys(MEMBERS, Role.MEMBER)).items():
        await People(database).put(Known(UserKey("telegram", str(number)), role, "", START))
    await database.close()


async def meet(server: TelegramServer) -> None:
    """Let everybody write once: nobody can be written to who never wrote."""
    for number in MEMBERS:
        server.says(Person(number), "/news")
    await server.until(lambda: all(server.chats[number].screen() for number in MEMBERS))


def said(server: TelegramServer, part: str) -> int:
    """How often the owner was told so."""
    return sum(part in text for text in server.chats[ANA.id].screen())


def told(server: TelegramServer) -> dict[int, list[str]]:
    """What each member got, who got anything."""
    got = {number: [text for text in server.chats[number].screen() if TEXT in text] for number in MEMBERS}
    return {number: texts for number, texts in got.items() if texts}


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("kills", [(5,), (1,), (5, 9)])
async def test_a_kill_in_the_middle_tells_nobody_twice_without_a_mark_and_leaves_nobody_out(
    kills: tuple[int, ...], tmp_path: Path
) -> None:
    await settle(tmp_path)
    async with TelegramServer(SystemClock(), patience_s=60.0) as server:
        async with bot(server, tmp_path) as first:
            await meet(server)
            server.says(ANA, f"/admin broadcast {TEXT}")
            await server.until(lambda: said(server, "/admin broadcast send 1"))
            assert told(server) == {}
            server.says(ANA, "/admin broadcast send 1")
            await server.until(lambda: len(told(server)) >= kills[0])
            first.send_signal(signal.SIGKILL)
            await first.wait()
        assert len(told(server)) < len(MEMBERS)
        for kill_at in kills[1:]:
            async with bot(server, tmp_path) as again:
                await server.until(lambda at=kill_at: len(told(server)) >= at)  # type: ignore[misc]
                again.send_signal(signal.SIGKILL)
                await again.wait()
        async with bot(server, tmp_path) as last:
            await server.until(lambda: said(server, "terminou: 13 pessoas"))
            last.terminate()
            assert await asyncio.wait_for(last.wait(), 120) == 0
        everybody = told(server)
    assert sorted(everybody) == list(MEMBERS)
    assert all(texts[0].endswith(TEXT) for texts in everybody.values())
    twice = [texts for texts in everybody.values() if len(texts) > 1]
    assert len(twice) <= len(kills)
    assert all(texts == [TEXT, f"↻ {TEXT}"] for texts in twice)
    assert b"zebra77" not in bytes_of(tmp_path)
