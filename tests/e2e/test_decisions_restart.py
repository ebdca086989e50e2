"""What was decided and chosen in the chat holds after the bot was started again, on a whole bot as it is run."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.settings.settings import Settings
from bot.wiring import build, open_chatbot
from core.outgoing import ChannelLimits
from core.types import ChatKey, Incoming, UserKey
from tests.fakes.channel import RecordingChannel

ME = UserKey("console", "me")


async def run_and_say(folder: Path, *texts: str) -> list[str]:
    """Start the bot, say each, stop it; return what was answered to each."""
    told = []
    async with build(Settings(data_dir=folder)) as app, open_chatbot(app) as bot:
        for text in texts:
            channel = RecordingChannel(app.clock, ChannelLimits(4096, 0.0))
            incoming = Incoming(ChatKey("console", "c"), ME, "me", uuid.uuid4().hex, text, datetime.now(UTC))
            await (await bot.receive(incoming, channel))
            told.append("\n".join(channel.texts))
    return told


@pytest.mark.spec("T6")
async def test_what_was_decided_and_chosen_holds_after_a_restart(tmp_path: Path) -> None:
    await run_and_say(tmp_path, "/language es", "/memory off", "/admin actions disable Question", "/admin pause")
    actions, memory, status, _ = await run_and_say(
        tmp_path, "/admin actions", "/memory", "/admin status", "/admin actions enable question"
    )
    assert "⛔ desactivada: Question" in actions
    assert memory.startswith("La memoria está desactivada")
    assert status.startswith("Estado: en pausa")
    actions, changes = await run_and_say(tmp_path, "/admin actions", "/admin changes")
    assert "⛔" not in actions
    assert [line.count("`console:me`") for line in changes.splitlines()] == [0, 1, 1, 1]
