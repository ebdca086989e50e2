"""A chat to which files are sent: the real reader, the real embedder, and limited mode unless a test says otherwise."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, cast

from core.answering.chatbot import ChatBot
from core.answering.enclosed import FileService
from core.answering.parts import TurnLimits
from core.enclosures import Attachment, AttachmentKind, Quote
from core.files.port import Transcriber
from core.files.reading import ProcessReader, WordFinder, WordsReader
from core.limited import LimitedMind
from core.outgoing import ChannelLimits, File, OutgoingMessage
from core.ports import ChatModel
from core.providers.usem3 import Usem3Embedder
from core.storage.files import FolderFiles
from core.types import MemoryItem
from tests.fakes.channel import FileChannel
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, House, Script, answered
from tests.fakes.made_files import pdf, photo
from tests.fakes.model import HashEmbedder

CONTRACT = pdf(
    "CONTRATO DE LOCAÇÃO\nLocador: João Prado. Locatária: Ana Lima.",
    "O aluguel é de R$ 2.350,00 e vence no dia 10.",
    "Em caso de rescisão antecipada, a multa é de três aluguéis.",
    "É permitido ter até dois gatos. Cachorros não são permitidos.",
)
LEASE = pdf(
    "LEASE AGREEMENT\nMary Jones is the landlord. Tom Bell is the tenant.",
    "Rent is $1,850 per month, due on the first.",
    "The tenant mows the lawn. Utilities are paid by the tenant.",
    "Pets: one cat is allowed with a deposit of $300. No dogs are permitted.",
)
SENT: Mapping[str, bytes] = MappingProxyType({"test:contrato": CONTRACT, "test:lease": LEASE, "test:photo": photo()})
LEASE_FILE = Attachment(AttachmentKind.FILE, "lease.pdf", handle="test:lease")
CONTRACT_FILE = Attachment(AttachmentKind.FILE, "contrato.pdf", handle="test:contrato")
PHOTO = Attachment(AttachmentKind.PHOTO, handle="test:photo")


@dataclass(slots=True)
class Fetched(FileChannel):
    """A channel that tells what was fetched from it."""

    fetched: list[str] = field(default_factory=list)
    counted: list[int] = field(default_factory=list)
    """How many files of all channels that share this list were being fetched, at each beginning and end."""

    async def fetch(self, handle: str, max_bytes: int, into: BinaryIO) -> None:
        self.fetched.append(handle)
        self.counted.append((self.counted or [0])[-1] + 1)
        await asyncio.sleep(0)
        try:
            await FileChannel.fetch(self, handle, max_bytes, into)
        finally:
            self.counted.append(self.counted[-1] - 1)


@dataclass(slots=True)
class Sending:
    """Says words with files.

    `shown` is the last message on the screen, `fetched` the handles fetched for it, `handed` the files that were handed
    over, each name with its bytes, `statuses` what stood on the screen until the answer came.
    """

    house: House
    bot: ChatBot
    files: FolderFiles
    sent: dict[str, bytes] = field(default_factory=lambda: dict(SENT))
    shown: OutgoingMessage = field(default_factory=lambda: OutgoingMessage(""))
    fetched: list[str] = field(default_factory=list)
    handed: list[tuple[str, bytes]] = field(default_factory=list)
    handed_files: list[File] = field(default_factory=list)
    counted: list[int] = field(default_factory=list)
    statuses: list[str] = field(default_factory=list)

    async def say(
        self,
        text: str,
        *attached: Attachment,
        quotes: tuple[Quote, ...] = (),
        pressed: bool = False,
        lang: str = "en",
        room: str = "",
    ) -> str:
        """Send a message, in private or in a room, and return the text of all that came of it."""
        channel = Fetched(self.house.clock, ChannelLimits(max_chars=4096, edit_interval_s=0.0), sent=self.sent)
        channel.counted = self.counted
        incoming = self.house.incoming(text, message_id=uuid.uuid4().hex, chat=room or f"chat-{lang}")
        incoming = replace(
            incoming, attachments=attached, quotes=quotes, pressed=pressed, language=lang, private=not room
        )
        await answered(self.bot, incoming, channel)
        self.shown, self.fetched = channel.screen[-1], channel.fetched
        self.statuses = channel.statuses
        self.handed_files = [file for message in channel.screen for file in message.files]
        contents = [content for _, content, _ in channel.handed]
        self.handed = [(file.file_name, raw) for file, raw in zip(self.handed_files, contents, strict=True)]
        return "\n".join(message.text for message in channel.screen)

    async def press(self, label: str) -> str:
        """Press the button that has those words."""
        command = next(button.command for button in self.shown.choices if label in button.label)
        return await self.say(command, pressed=True)

    async def kept(self) -> list[MemoryItem]:
        """Return what the person has in memory, the newest first."""
        return list(await self.house.memories.of(ANA).page(limit=99))


@asynccontextmanager
async def sending(
    folder: Path,
    script: Script | None = None,
    *,
    quota: int = 10**9,
    limits: TurnLimits | None = None,
    transcriber: Transcriber | None = None,
    words: WordFinder | None = None,
    mind: ChatModel | None = None,
) -> AsyncIterator[Sending]:
    """Open such a chat; with a `script`, a scripted language model answers, else that `mind`, or limited mode."""
    plain, embedder = ProcessReader(), Usem3Embedder()
    reader = plain if words is None else WordsReader(plain, words)
    clock = FakeClock()
    files = FolderFiles(folder, clock, quota)
    house = House(
        script or {},
        clock=clock,
        embedder=cast("HashEmbedder", embedder),
        files=files,
        reading=FileService(reader, transcriber),
    )
    house.limits = limits or house.limits
    if script is None:
        house.answered_by(mind or LimitedMind(embedder))
    try:
        async with house.chatbot() as bot:
            yield Sending(house, bot, files)
    finally:
        await house.memories.close()
        await reader.close()
