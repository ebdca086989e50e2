"""Incognito, on a whole bot as it is run: nothing of what was said then stands in the data folder."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from bot import logs
from bot.cli.backup import backup
from bot.settings.settings import Settings
from bot.wiring import App, build, open_chatbot
from core.answering.chatbot import ChatBot
from core.answering.questions import withdrawn
from core.clock import SystemClock
from core.dialogue import Prompt, Task
from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind
from core.features.access.storage import Person
from core.features.reminders.service import ReminderPlace, Reminders
from core.models import HotModel
from core.outgoing import ChannelLimits
from core.times.reading import Once
from core.types import ChatKey, Incoming, Locale, Role, UserKey
from tests.e2e.run_kit import ANA as TELEGRAM_ANA
from tests.e2e.run_kit import bot as telegram_bot
from tests.e2e.run_kit import own
from tests.fakes import openai_server
from tests.fakes.channel import FileChannel, RecordingChannel
from tests.fakes.clock import FakeClock
from tests.fakes.http_server import LoopbackServer
from tests.fakes.model import Answer, Calls, ScriptedModel
from tests.fakes.telegram_server import TelegramServer

ANA, BIA = UserKey("telegram", "7770123456789"), UserKey("telegram", "8880123456789")
HERE, ROOM = ChatKey("telegram", "chat-7"), ChatKey("telegram", "room-5")


def hostile(prompt: Prompt) -> Answer:
    """Call everything that keeps anything, then say all that was said."""
    words = prompt.context.message
    if prompt.context.steps:
        return f"You said: {words}"
    drafts = {"items": [{"type": "text", "content": words, "bindings": [words]}], "asked": True, "then": "continue"}
    reminder = {"text": words, "when": "tomorrow at 9", "then": "continue"}
    return Calls([("MemorySave", drafts), ("ReminderSet", reminder), ("MemorySearch", {"items": [words]})], words)


@dataclass
class Chat:
    """A whole bot over a data folder, with a log that holds questions; each message has a canary of its own."""

    app: App
    bot: ChatBot
    folder: Path
    canaries: dict[str, str] = field(default_factory=dict)
    screen: list[str] = field(default_factory=list)
    handed: bytes = b""

    async def say(self, text: str, *, chat: ChatKey = HERE, user: UserKey = ANA, **more: object) -> Incoming:
        """Say a text, in which @ stands for a canary, and note what is shown."""
        canary = f"zq{uuid.uuid4().hex[:12]}"
        if "@" in text:
            self.canaries[text] = canary
        incoming = Incoming(
            chat, user, "Ana", uuid.uuid4().hex, text.replace("@", canary), self.app.clock.now(), language="en"
        )
        incoming = replace(incoming, **more)  # type: ignore[arg-type]
        channel = FileChannel(self.app.clock, ChannelLimits(4096, 0.0), sent={"f1": f"it says {canary}".encode()})
        task = await self.bot.receive(incoming, channel)
        if isinstance(self.app.clock, FakeClock):
            await self.app.clock.advance(5.0)
        await task
        self.screen, self.handed = channel.texts, b"".join(raw for _, raw, _ in channel.handed)
        return incoming

    async def left(self) -> dict[str, str]:
        """Return the canaries that stand in any file when all is done, with what was said."""
        while tasks := self.bot.tasks.of("telegram"):
            await asyncio.wait(tasks)
        found = in_folder(self.folder, *self.canaries.values())
        return {said: canary for said, canary in self.canaries.items() if canary in found}


@asynccontextmanager
async def chatting(folder: Path, mind: ScriptedModel | None) -> AsyncIterator[Chat]:
    """Run a bot in that folder, with the model or in limited mode."""
    root, handler = logging.getLogger(), logging.FileHandler(folder / "elefante.log")
    handler.setFormatter(logs.JsonLines())
    root.addHandler(handler)
    clock = FakeClock()
    settings = Settings(data_dir=folder, log_content=True, language="en")
    try:
        async with build(settings, clock=clock) as app, open_chatbot(app) as bot:
            if mind is not None:
                for mode in ("heavy", "reasoning", "chat", "summary"):
                    hot = getattr(app.parts.services.models, mode)
                    assert isinstance(hot, HotModel)
                    hot.model = mind
            for user in (ANA, BIA):
                await app.features.access.people.put(Person(user, Role.MEMBER, "", clock.now()))
            yield Chat(app, bot, folder)
    finally:
        root.removeHandler(handler)
        handler.close()


def said_by_model() -> ScriptedModel:
    return ScriptedModel({Task.SINGLE: hostile})


@pytest.mark.parametrize("with_model", [True, False])
async def test_no_canary_of_any_path_is_left_in_any_file_or_backup(tmp_path: Path, *, with_model: bool) -> None:
    mind = said_by_model() if with_model else None
    async with chatting(tmp_path, mind) as chat:
        at = Once(chat.app.clock.now() + timedelta(days=3))
        place = ReminderPlace(ANA, HERE, private=True, locale=Locale.EN, name="Ana")
        reminder = await chat.app.features.get(Reminders).set(place, "water the plants", at)
        await chat.say("/remember the locker is @")
        assert await chat.left(), "what is said before is kept"
        chat.canaries.clear()
        await chat.say("/memory incognito")
        for text in SAID:
            await chat.say(text.replace("REMINDER", reminder.id))  # type: ignore[union-attr]
        asked = await chat.say("what do you make of @?")
        await chat.say("what do you make of @ now?", message_id=f"{asked.message_id}.1", edits=asked.message_id)
        await chat.bot.receive(withdrawn(asked), RecordingChannel(chat.app.clock, ChannelLimits(4096, 0.0)))
        quote = Quote(QuoteKind.REPLY, "he said @".replace("@", canary := f"zq{uuid.uuid4().hex[:12]}"))
        chat.canaries["a quote"] = canary
        await chat.say("remember this", quotes=(quote,))
        file = Attachment(AttachmentKind.FILE, f"{canary}.txt", handle="f1")
        await chat.say("keep this file: @", attachments=(file,))
        await chat.say("in a room: @", chat=ROOM, private=False)
        await chat.say("/why")
        assert len(chat.canaries) > len(SAID)
        assert await chat.left() == {}
        await backup(chat.app.settings)
        assert await chat.left() == {}
        await chat.say("/export")
        assert b"the locker is" in chat.handed
        assert not [canary for canary in chat.canaries.values() if canary.encode() in chat.handed]
        await chat.say("/memory on")
        await chat.say("and now: @")
        assert list(await chat.left()) == ["and now: @"]
    assert list(await chat.left()) == ["and now: @"]


@pytest.mark.long
async def test_a_bot_that_is_killed_in_the_middle_answers_in_incognito_and_leaves_no_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = replace(openai_server.says("zqanswer one"), gates={0: asyncio.Event()})
    model = LoopbackServer([held, openai_server.says("zqanswer two")])
    async with model.running(), TelegramServer(SystemClock(), patience_s=60.0) as server:
        monkeypatch.setenv("MODEL", "openai:m")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{model.url}/v1")
        monkeypatch.setenv("CYCLE", "single")
        monkeypatch.setenv("LOG_CONTENT", "true")
        async with telegram_bot(server, tmp_path) as first:
            await own(server, first)
            server.says(TELEGRAM_ANA, "go incognito")
            await server.until(lambda: "🕶" in server.chat(TELEGRAM_ANA.id).screen()[-1])
            server.says(TELEGRAM_ANA, "zqquestion, what do you think?")
            await server.until(lambda: model.asked)
            first.kill()
            await first.wait()
        assert in_folder(tmp_path, "zqquestion"), "it is owed an answer"
        async with telegram_bot(server, tmp_path) as second:
            await server.until(lambda: "zqanswer two" in server.chat(TELEGRAM_ANA.id).screen()[-1])
            await server.until(lambda: not in_folder(tmp_path, "zqquestion", "zqanswer"))
            server.says(TELEGRAM_ANA, "/memory")
            await server.until(lambda: "🕶" in server.chat(TELEGRAM_ANA.id).screen()[-1])
            second.terminate()
            assert await second.wait() == 0
    assert not in_folder(tmp_path, "zqquestion", "zqanswer")


def in_folder(folder: Path, *needles: str) -> list[str]:
    """Return those that stand in any file."""
    raw = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    return [needle for needle in needles if needle.encode() in raw]


SAID = [
    "remember that my locker is @",
    "lembre que a senha é @",
    "what is my locker code, @?",
    "my dog is called @",
    "remind me tomorrow at 9 to call @",
    "forget what I said of @",
    "/remember the code is @",
    "/remind tomorrow at 9 call @",
    "/reminders edit REMINDER call @",
    "/reminders when REMINDER tomorrow at @",
    "/memories edit 1 the locker is @",
    "/recall @",
    "/memories @",
    "/forget @",
    "/threads name 1 @",
    "/nonsense @",
    "/timezone @",
    "/language @",
    "/agenda @",
    "/retry",
    "actually I moved to @",
    "@ " * 400,
]
