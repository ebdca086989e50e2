"""A photo with the place where it was taken, and a video too large, over both platforms' wires and a provider's."""

from __future__ import annotations

import asyncio
import base64
import io
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image

from core.answering.parts import TurnLimits
from core.models import Cycle
from core.ports import ChatModel
from core.types import UserKey
from tests.e2e import discord_kit, telegram_kit
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import Person as DiscordPerson
from tests.fakes.made_files import GPS, photo
from tests.fakes.sending import LEASE, Sending, sending
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer
from tests.fakes.wires import wire

PLACE = "SECRET-PLACE"
TAKEN = photo(800, 400, orientation=6, maker=PLACE)


@dataclass
class Place:
    """One platform: send a file with words, say words, and read the screen."""

    chat: Sending
    user: UserKey
    send: Callable[[str, bytes, str, str], Awaitable[object]]
    say: Callable[[str], Awaitable[object]]
    screen: Callable[[], str]
    handed: Callable[[], list[bytes]]
    """What it uploaded for each file that it handed back."""

    async def until(self, words: str, condition: Callable[[], object] = lambda: True) -> None:
        """Let time go by until the screen shows the words, and the condition holds.

        The reader is a process of its own, which no clock moves.
        """
        clock = self.chat.house.clock
        assert isinstance(clock, FakeClock)
        async with asyncio.timeout(60):
            while words not in self.screen() or not condition():
                await asyncio.sleep(0.02)
                await clock.advance(0.5)


@asynccontextmanager
async def on(platform: str, folder: Path, mind: ChatModel | None = None) -> AsyncIterator[Place]:
    limits = TurnLimits(cycle=Cycle.SINGLE) if mind is not None else None
    async with sending(folder, mind=mind, limits=limits) as chat:
        clock = chat.house.clock
        assert isinstance(clock, FakeClock)
        if platform == "telegram":
            ana = Person(7, "Ana")
            user = UserKey("telegram", "7")
            await chat.house.access().own(user, "Ana")
            async with TelegramServer(clock) as server, telegram_kit.serving(server, clock, chat.bot):

                async def send(name: str, content: bytes, media_type: str, words: str) -> None:
                    server.files[file_id := name.replace(".", "-")] = content
                    kind = re.sub("image|application", "document", media_type.partition("/")[0])
                    file = {"file_id": file_id, "file_unique_id": "u", "file_name": name, "mime_type": media_type}
                    size = {"width": 1, "height": 1, "duration": 60} if kind == "video" else {}
                    server.says(ana, None, caption=words, **{kind: file | size})  # type: ignore[arg-type]

                async def say(words: str) -> None:
                    server.says(ana, words)

                def handed() -> list[bytes]:
                    assert not server.uploaded
                    return [b"" for post in server.chat(7).ours() if post.file]

                yield Place(chat, user, send, say, lambda: str(server.chat(7).screen()), handed)
        else:
            bia = DiscordPerson(10**17 + 7, "Ana", "en-US")
            user = UserKey("discord", str(bia.id))
            await chat.house.access().own(user, "Ana")
            async with DiscordServer(clock) as discord, discord_kit.serving(discord, clock, chat.bot):
                sent: list[bytes] = []

                async def upload(name: str, content: bytes, media_type: str, words: str) -> None:
                    sent.append(content)
                    attached = discord.upload(name, content) | {"content_type": media_type}
                    await discord.says(bia, words, attachments=[attached])

                async def write(words: str) -> None:
                    await discord.says(bia, words)

                yield Place(
                    chat,
                    user,
                    upload,
                    write,
                    lambda: str(discord.direct(bia).screen()),
                    lambda: list(discord.uploaded.values())[len(sent) :],
                )


@pytest.mark.parametrize("platform", ["telegram", "discord"])
@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
async def test_a_model_is_sent_a_photo_upright_and_without_the_place_of_it(
    tmp_path: Path, platform: str, protocol: str
) -> None:
    assert Image.open(io.BytesIO(TAKEN)).getexif().get_ifd(GPS)
    async with wire(protocol) as lab, lab.model(pictures=True) as model, on(platform, tmp_path, model) as place:
        lab.server.answers = [lab.api.says("A red corner.")] * 4
        await place.send("beach.jpg", TAKEN, "image/jpeg", "what is on this?")
        await place.until("A red corner.")
        bodies = [asked.raw for asked in lab.server.asked]
        [data] = {found for body in bodies for found in re.findall(rb"(?<=[\",])/9j/[A-Za-z0-9+/=]+", body)}
        received = base64.b64decode(data)
        assert PLACE.encode() not in received
        image = Image.open(io.BytesIO(received))
        assert (image.size, dict(image.getexif())) == ((400, 800), {})


@pytest.mark.parametrize("platform", ["telegram", "discord"])
async def test_the_owner_gets_the_photo_back_as_it_was_byte_for_byte(tmp_path: Path, platform: str) -> None:
    async with on(platform, tmp_path) as place:
        await place.send("beach.jpg", TAKEN, "image/jpeg", "remember this: our beach")
        await place.until("Saved")
        [item] = await place.chat.house.memories.of(place.user).page(limit=9)
        assert await place.chat.files.get(place.user, item.attachments[0].sha256) == TAKEN
        await place.say("show me our beach")
        await place.until("our beach", place.handed)
        assert place.handed() == [TAKEN if platform == "discord" else b""]  # Telegram takes its own file by its id


@pytest.mark.parametrize("platform", ["telegram", "discord"])
async def test_a_video_of_25_mb_gets_its_sentence_and_advice(tmp_path: Path, platform: str) -> None:
    async with on(platform, tmp_path) as place:
        await place.send("holiday.mp4", bytes(25_000_000), "video/mp4", "remember this is our holiday")
        await place.until("“holiday.mp4” is too large: I take files of up to 20 MB. Send a smaller one:")
        assert await place.chat.house.memories.of(place.user).page(limit=9) == []


@pytest.mark.parametrize("platform", ["telegram", "discord"])
async def test_a_question_beside_a_document_is_answered_with_its_page_and_nothing_is_kept(
    tmp_path: Path, platform: str
) -> None:
    async with on(platform, tmp_path) as place:
        await place.send("lease.pdf", LEASE, "application/pdf", "can I have a dog?")
        await place.until("Page 4")
        assert await place.chat.house.memories.of(place.user).page(limit=9) == []
