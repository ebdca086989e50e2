"""Photos and documents on Telegram, without a model: read, kept, and handed back without an upload."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from core.types import UserKey
from tests.e2e.telegram_kit import serving
from tests.fakes.clock import FakeClock
from tests.fakes.made_files import photo
from tests.fakes.sending import LEASE, Sending, sending
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

ANA = Person(7, "Ana")


async def until(clock: FakeClock, condition: Callable[[], object]) -> None:
    """Let time go by until the condition holds; the reader is a process of its own, which no clock moves."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.02)
            await clock.advance(0.5)


@asynccontextmanager
async def stage(folder: Path) -> AsyncIterator[tuple[TelegramServer, FakeClock, Sending]]:
    async with sending(folder) as chat:
        clock = chat.house.clock
        assert isinstance(clock, FakeClock)
        async with TelegramServer(clock) as server:
            await chat.house.access().own(UserKey("telegram", str(ANA.id)), "Ana")
            async with serving(server, clock, chat.bot):
                yield server, clock, chat


async def test_a_photo_is_kept_and_handed_back_by_its_id(tmp_path: Path) -> None:
    async with stage(tmp_path) as (server, clock, _):
        server.files["p"] = photo()
        size = {"file_id": "p", "file_unique_id": "u", "width": 640, "height": 480}
        server.says(ANA, None, caption="remember this: my vaccination card", photo=[size])
        await until(clock, lambda: "Saved" in str(server.chat(ANA.id).screen()))
        uploaded = server.uploaded
        server.says(ANA, "show me my vaccination card")
        await until(clock, lambda: any(post.file for post in server.chat(ANA.id).ours()))
        [post] = [post for post in server.chat(ANA.id).ours() if post.file]
        assert post.text == "my vaccination card"
        assert server.uploaded == uploaded == 0


async def test_a_question_beside_a_document_is_answered_with_its_page(tmp_path: Path) -> None:
    async with stage(tmp_path) as (server, clock, chat):
        server.files["d"] = LEASE
        document = {"file_id": "d", "file_unique_id": "u", "file_name": "lease.pdf"}
        server.says(ANA, None, caption="can I have a dog?", document=document)
        await until(clock, lambda: "Page 4" in str(server.chat(ANA.id).screen()))
        assert await chat.kept() == []
