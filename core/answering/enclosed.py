"""Fetch what comes with a message, once and bounded, and read it beside the turn."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from io import SEEK_END
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Final, cast

from core.dialogue import Picture
from core.enclosures import Attachment, AttachmentKind, QuoteKind
from core.errors import ChannelError, FileTooLarge, ProviderError
from core.files.passages import Embed, FoundPassage, find, passages
from core.files.port import Abilities, FileReader, Heard, Problem, ReadFile, Reading, Transcriber
from core.text.assertions import asks_to_save
from core.types import Message

MAX_FILE_BYTES: Final = 20_000_000
"""Of one file. Telegram hands bots no more."""

MAX_TOTAL_BYTES: Final = 60_000_000
"""Of all that comes with one message."""

FILES_AT_ONCE: Final = 3
"""How many files of all turns are fetched and read at once, or in memory as a whole to be kept or sent."""

MAX_PICTURES: Final = 5
"""Of one message, that models are shown."""

PICTURE_SIDE_PX: Final = 1568
"""The longest side that models are sent. Source: Anthropic's vision guide, by which larger ones are made so small."""

_PICTURE_TOKENS: Final = 1_600
"""Of one of that size. Source: Anthropic's vision guide: width x height / 750, at most about 1,600."""

_IN_MEMORY_BYTES: Final = 200_000
"""A larger file waits on the disk while its turn goes on."""

_LOOKED_AT: Final = {AttachmentKind.PHOTO, AttachmentKind.FILE, AttachmentKind.OTHER, AttachmentKind.STICKER}
"""What is fetched to be read: recordings and videos are where something hears them, or somebody keeps them."""

_SPOKEN: Final = {AttachmentKind.VOICE, AttachmentKind.VIDEO_NOTE}
"""What a person says instead of typing it."""

_HEARD: Final = {*_SPOKEN, AttachmentKind.AUDIO, AttachmentKind.VIDEO}
"""What is written down, where something does that."""

_MAX_FOUND: Final = 12

_log = logging.getLogger(__name__)

Fetch = Callable[[str, int, BinaryIO], Awaitable[None]]
"""Writes the bytes of a handle, at most so many, into a file (`Channel.fetch`)."""


class FileService:
    """What all turns read files with: one reader, and room for few files at once, so that memory stays flat."""

    def __init__(self, reader: FileReader, transcriber: Transcriber | None = None) -> None:
        self.reader = reader
        self.transcriber = transcriber
        self.room = asyncio.Semaphore(FILES_AT_ONCE)


@dataclass(slots=True)
class Enclosed:
    """The files of one message, its own and those of what it replies to or forwards."""

    asked: Message
    fetch: Fetch
    service: FileService | None
    embed: Embed
    language: str = ""
    """The tag of the language that the person most likely speaks."""

    before: tuple[Attachment, ...] = ()
    """What came with an earlier message that this one asks about."""

    tell: Heard | None = None
    """Gets how far a recording is written down, where the transcriber knows."""

    files: tuple[ReadFile, ...] = ()
    """What was read, in their order; empty before that."""

    found: tuple[FoundPassage, ...] = ()
    """The passages that the message's own words are about, the best first."""

    _reading: asyncio.Task[None] | None = None
    heard: tuple[Attachment, ...] = ()
    """The recordings whose words became those of the message (`worded`)."""

    _pictures: tuple[Picture, ...] | None = None
    _spooled: dict[str, BinaryIO] = field(default_factory=dict)

    def begin(self) -> None:
        """Begin to fetch and to read them."""
        if self._reading is None and self._attachments:
            self._reading = asyncio.create_task(self._read_all())

    async def read(self) -> Sequence[ReadFile]:
        """Return the files, once they were read."""
        self.begin()
        if self._reading is not None:
            await asyncio.shield(self._reading)
        return self.files

    async def search(self, question: str) -> None:
        """Find the passages that a question is about."""
        documents = [list(passages(each.pages)) for each in self.files]
        if question.strip() and any(documents):
            self.found = tuple(await find(question, documents, self.embed, _MAX_FOUND))

    async def pictures(self) -> tuple[Picture, ...]:
        """Return the message's pictures as models take them, at most MAX_PICTURES; made once."""
        if self._pictures is None and self.service is not None:
            made = []
            for each in [each.attachment for each in self.files if each.is_picture][:MAX_PICTURES]:
                async with self.room():
                    made.append(await self.service.reader.picture(self._spooled[each.handle], PICTURE_SIDE_PX))
            self._pictures = tuple(_picture(content) for content in made if content is not None)
        return self._pictures or ()

    @asynccontextmanager
    async def opened(self, attachment: Attachment) -> AsyncIterator[bytes]:
        """Give the bytes of a file, fetched now if they were not, in one of the few places for files in memory.

        Raises:
            ChannelError: they cannot be had.
        """
        async with self.room():
            spooled = self._spooled.get(attachment.handle) or await self._fetched(attachment, MAX_FILE_BYTES)
            yield await asyncio.to_thread(_whole, spooled)

    def room(self) -> AbstractAsyncContextManager[None]:
        """Hold one of the few places for files in memory, which all turns share."""
        return self.service.room if self.service is not None else nullcontext()

    async def reading(self, attachment: Attachment, content: bytes) -> Reading | None:
        """Return what is read in a file of this message, or of another, with these bytes; None if nothing is read."""
        mine = next((each for each in self.files if each.attachment.handle == attachment.handle), None)
        if mine is not None:
            return mine.reading
        if attachment.kind not in _LOOKED_AT or self.service is None:
            return None
        return await self.service.reader.read(content, attachment.name)

    async def close(self) -> None:
        """Stop reading, and drop the bytes."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        for spooled in self._spooled.values():
            spooled.close()
        self._spooled.clear()

    @property
    def abilities(self) -> Abilities:
        """What can be done with what comes along."""
        if self.service is None:
            return Abilities()
        return Abilities(self.service.transcriber is not None, self.service.reader.reads_pictures)

    @property
    def listening(self) -> tuple[Attachment, ...]:
        """The recordings of the message that are being written down."""
        return tuple(each for each in self.asked.attachments if self.abilities.hears and each.kind in _HEARD)

    @property
    def _attachments(self) -> Mapping[Attachment, bool]:
        """Map what comes along to whether it is of a quote."""
        quotes = [quote for quote in self.asked.quotes if quote.kind in {QuoteKind.REPLY, QuoteKind.FORWARD}]
        seen = [each for each in self.before if each.kind in _LOOKED_AT]
        quoted = dict.fromkeys((*seen, *(each for quote in quotes for each in quote.attachments)), True)
        return quoted | dict.fromkeys(self.asked.attachments, False)

    async def _read_all(self) -> None:
        left = MAX_TOTAL_BYTES
        found = []
        for attachment, is_quoted in sorted(self._attachments.items(), key=lambda each: each[1]):
            reading, size = await self._read(attachment, min(left, MAX_FILE_BYTES))
            left -= size
            told = replace(attachment, size=size or attachment.size)
            if reading is not None and reading.media_type:
                told = replace(told, media_type=reading.media_type)
            if reading is not None and reading.width:
                told = replace(told, width=reading.width, height=reading.height)
            found.append(ReadFile(told, reading, is_quoted))
        self.files = tuple(found)

    async def _fetched(self, attachment: Attachment, max_bytes: int) -> BinaryIO:
        """Fetch a file into a temporary one, which is there until `close`."""
        spooled = cast("BinaryIO", SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES))  # noqa: SIM115
        try:
            await self.fetch(attachment.handle, max_bytes, spooled)
        except BaseException:
            spooled.close()
            raise
        spooled.seek(0)
        self._spooled[attachment.handle] = spooled
        return spooled

    async def _hear(self, transcriber: Transcriber | None, content: BinaryIO, media_type: str) -> Reading | None:
        if transcriber is None:
            return None
        try:
            text = await transcriber.transcribe(content, media_type, self.language, self.tell)
        except ProviderError as error:
            _log.warning("a recording was not written down", extra={"error": type(error).__name__})
            return Reading(media_type, problem=Problem.UNHEARD)
        return Reading(media_type, (text,), None if text else Problem.SILENT)

    async def _read(self, attachment: Attachment, max_bytes: int) -> tuple[Reading | None, int]:
        """Return what is read in one, and how many bytes it has."""
        if not attachment.handle or self.service is None:
            return None, 0
        if attachment.size > max_bytes:
            return Reading(attachment.media_type, problem=Problem.NOT_TAKEN), 0
        hears = attachment.kind in _HEARD and self.service.transcriber is not None
        if attachment.kind not in _LOOKED_AT and not hears:
            return None, 0
        async with self.service.room:
            try:
                content = await self._fetched(attachment, max_bytes)
            except FileTooLarge:
                return Reading(attachment.media_type, problem=Problem.NOT_TAKEN), 0
            except ChannelError as error:
                _log.warning("a file was not fetched", extra={"error": type(error).__name__})
                return Reading(attachment.media_type, problem=Problem.GONE), 0
            if hears:
                reading = await self._hear(self.service.transcriber, content, attachment.media_type)
            else:
                reading = await self.service.reader.read(content, attachment.name)
            return reading, content.seek(0, SEEK_END)


PASTED_NAME: Final = "message.txt"
"""What Discord's clients call a long text that was pasted."""


def is_pasted(attachment: Attachment) -> bool:
    """Return whether an attachment is a text that a client sent as a file."""
    return attachment.kind is AttachmentKind.FILE and attachment.name == PASTED_NAME


async def worded(enclosed: Enclosed, max_chars: int, *, asks: bool = False) -> Message | None:
    """Return the message with the words that came as a file: a long text that a client sent so, what was said aloud.

    None if there are none, or too many: then the file stays a document. So does a long text beside words of the
    person's own, which say what they want of it; and with `asks` one that does not say so itself ("remember that").
    """
    asked = enclosed.asked
    pasted = set() if asked.text.strip() else {each.handle for each in asked.attachments if is_pasted(each)}
    if not pasted and all(each.kind not in _SPOKEN for each in asked.attachments):
        return None
    await enclosed.read()
    own = [each for each in enclosed.files if not each.is_quoted and each.has_text]
    files = [
        each
        for each in own
        if is_heard(each) or (each.attachment.handle in pasted and (not asks or asks_to_save("\n".join(each.pages))))
    ]
    text = "\n\n".join(filter(None, (asked.text, *("\n".join(each.pages) for each in files))))
    if not files or len(text) > max_chars:
        return None
    enclosed.files = tuple(each for each in enclosed.files if each not in files)
    enclosed.heard = tuple(each.attachment for each in files if is_heard(each))
    words = {each.attachment.handle for each in files if not is_heard(each)}
    rest = tuple(each for each in asked.attachments if each.handle not in words)
    enclosed.asked = replace(asked, content=text, attachments=rest)
    return enclosed.asked


def is_heard(file: ReadFile) -> bool:
    """Return whether a file is the person's own recording, of which is known what is said."""
    return file.attachment.kind in _SPOKEN and not file.is_quoted and file.has_text


def _picture(content: bytes) -> Picture:
    media_type = "image/png" if content.startswith(b"\x89PNG") else "image/jpeg"
    return Picture(media_type, content, _PICTURE_TOKENS)


def _whole(spooled: BinaryIO) -> bytes:
    spooled.seek(0)
    return spooled.read()
