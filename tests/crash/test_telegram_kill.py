"""`elefante run`, a real process, killed with a batch of updates in hand, answers everybody after the restart."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from pathlib import Path

import pytest

from core.clock import SystemClock
from tests.e2e.run_kit import ANA, bot, own
from tests.fakes.telegram_server import TelegramServer

pytestmark = pytest.mark.long

MESSAGES = 100  # one batch of getUpdates
GROUPS = [-1000 - number for number in range(50)]


def answers(server: TelegramServer, *, marked: bool | None = None) -> Counter[str]:
    """How often each message was answered; with `marked`, with or without the mark of what may be there twice."""
    texts = [text for group in GROUPS if group in server.chats for text in server.chats[group].screen()]
    counted = [text for text in texts if marked is None or text.startswith("↻") is marked]
    return Counter(found[0] for text in counted if (found := re.search(r"/n\d+", text)))


@pytest.mark.parametrize("kill_after", [40, 0])
async def test_a_crash_with_a_batch_of_a_hundred_in_hand_loses_no_message(kill_after: int, tmp_path: Path) -> None:
    async with TelegramServer(SystemClock(), patience_s=60.0) as server:
        async with bot(server, tmp_path) as first:
            await own(server, first)
            for number in range(MESSAGES):  # unknown commands: each is named in its answer
                server.says(ANA, f"/n{number}@elefante_bot", chat_id=GROUPS[number % len(GROUPS)])
            await server.until(lambda: server.handed_out >= MESSAGES and answers(server).total() >= kill_after)
            first.kill()
            await first.wait()
        before = answers(server)
        async with bot(server, tmp_path) as second:
            await server.until(lambda: len(answers(server)) == MESSAGES)
            second.terminate()
            assert await asyncio.wait_for(second.wait(), 120) == 0
        assert not server.updates
    doubled = {name for name, count in answers(server).items() if count > 1}
    assert len(doubled) <= len(GROUPS)  # at most what stood on the screen and not yet on the disk: one a lane
    assert doubled <= set(before)
    assert max(answers(server, marked=False).values()) == 1  # what is there twice says so
