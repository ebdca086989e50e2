"""`elefante run`, killed between an album and its answer, answers it once after the restart."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from core.clock import SystemClock
from tests.e2e.run_kit import ANA, bot, own
from tests.fakes.telegram_server import TelegramServer

PHOTO = [{"file_id": "p", "file_unique_id": "u", "width": 1, "height": 1}]


@pytest.mark.long
async def test_an_album_whose_parts_were_taken_before_a_crash_is_answered_once_after_it(tmp_path: Path) -> None:
    async with TelegramServer(SystemClock(), patience_s=60.0) as server:
        async with bot(server, tmp_path) as first:
            await own(server, first)
            before = len(server.chats[ANA.id].screen())
            for number in range(5):
                server.says(ANA, None, photo=PHOTO, media_group_id="a", caption=f"Dona Alice {number}")
            await server.until(lambda: not server.updates)  # all were handed out, and confirmed
            first.kill()
            await first.wait()
        async with bot(server, tmp_path) as second:
            await server.until(lambda: len(server.chats[ANA.id].screen()) > before)
            server.says(ANA, "/nada")
            await server.until(lambda: "/nada" in server.chats[ANA.id].screen()[-1])
            assert len(server.chats[ANA.id].screen()) == before + 2
            second.terminate()
            assert await asyncio.wait_for(second.wait(), 120) == 0
