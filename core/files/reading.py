"""Read files in a process of their own: one at a time, begun at the first file and ended when none comes."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

from core.errors import BadReply, ProviderDown
from core.files import child
from core.files.port import Content, FileReader, Heard, Problem, Reading, Transcriber
from core.tasks import aside
from core.text.unicode import clean

IDLE_S: Final = 60.0
"""How long the process stays without a file: to begin anew takes 0.2 s, to stay 40 MB."""

WITHIN_S: Final = 30.0
"""How long one file may take, by the wall."""

_HEAD: Final = struct.Struct(">I")
_PIECE_BYTES: Final = 1 << 18
_MAX_ANSWER_BYTES: Final = 64 << 20
_OUT_OF_TIME: Final = {-getattr(signal, name) for name in ("SIGXCPU", "SIGKILL") if hasattr(signal, name)}

_log = logging.getLogger(__name__)


class ChildProcess:
    """A process of `core/files/child.py` that has neither the bot's environment nor its code.

    `cpu_s` bounds one file's time of CPU, `within_s` that by the wall; both are seconds of the machine, as the process
    is. `memory_bytes` bounds its address space.
    """

    def __init__(
        self,
        *,
        cpu_s: int = child.MAX_CPU_S,
        within_s: float = WITHIN_S,
        idle_s: float = IDLE_S,
        memory_bytes: int = child.MAX_MEMORY_BYTES,
    ) -> None:
        self._cpu_s = cpu_s
        self._within_s = within_s
        self._idle_s = idle_s
        self._memory_bytes = memory_bytes
        self._turn = asyncio.Lock()
        self._process: Process | None = None
        self._ending: asyncio.TimerHandle | None = None

    async def close(self) -> None:
        """End the process. Closing twice does nothing."""
        async with self._turn:
            await self._end()

    @property
    def process_id(self) -> int | None:
        """The id of the process; None while there is none."""
        return None if self._process is None else self._process.pid

    async def ask(
        self, task: str, content: Content, note: Callable[[bytes], Awaitable[None]] | None = None, **about: object
    ) -> tuple[bytes | None, Problem]:
        """Return the answer of the process to a task; None if it died of the file, and what that says of it.

        `note` gets what it tells before that of how far it came.
        """
        file = BytesIO(content) if isinstance(content, bytes) else content
        head = {"task": task, "size": file.seek(0, SEEK_END), "cpu_s": self._cpu_s, **about}
        async with self._turn:
            if self._ending is not None:
                self._ending.cancel()
            try:
                async with asyncio.timeout(self._within_s):
                    answer = await self._exchange(await self._running(), json.dumps(head).encode(), file, note)
            except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
                status = await self._end()
                is_slow = isinstance(error, TimeoutError) or status in _OUT_OF_TIME
                _log.warning("a file ended its reader", extra={"status": status, "error": type(error).__name__})
                return None, Problem.TOO_LARGE if is_slow else Problem.BROKEN
            except BaseException:
                await asyncio.shield(self._end())
                raise
            loop = asyncio.get_running_loop()
            self._ending = loop.call_later(self._idle_s, self._kill)
            return answer, Problem.BROKEN

    async def _running(self) -> Process:
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", str(Path(child.__file__)), str(self._memory_bytes)),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env={},
                cwd="/" if sys.platform != "win32" else None,
                start_new_session=True,
            )
        return self._process

    @staticmethod
    async def _exchange(
        process: Process, head: bytes, file: BinaryIO, note: Callable[[bytes], Awaitable[None]] | None
    ) -> bytes:
        assert process.stdin is not None  # noqa: S101  (both are pipes)
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(_HEAD.pack(len(head)) + head)
        file.seek(0)
        while piece := file.read(_PIECE_BYTES):
            process.stdin.write(piece)
            await process.stdin.drain()
        while (size := _HEAD.unpack(await process.stdout.readexactly(_HEAD.size))[0]) & child.NOT_YET:
            told = await process.stdout.readexactly(min(size & ~child.NOT_YET, _MAX_ANSWER_BYTES))
            if note is not None:
                await note(told)
        if size > _MAX_ANSWER_BYTES:
            raise OSError("the answer is no answer")
        return await process.stdout.readexactly(size)

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def _end(self) -> int | None:
        """Kill the process, and return how it ended; None if there was none."""
        if self._ending is not None:
            self._ending.cancel()
            self._ending = None
        process, self._process = self._process, None
        if process is None:
            return None
        with suppress(TimeoutError):
            async with asyncio.timeout(0.1):  # one that died by itself tells of what
                return await process.wait()
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()  # what nobody reads keeps `wait` from returning
        return process.returncode


class ProcessReader(ChildProcess, FileReader):
    """Reads files in such a process."""

    async def read(self, content: Content, name: str = "") -> Reading:
        """Return the text of a file; `name` helps only where its bytes do not tell what it is."""
        return await _asked(self, "read", content, name)

    async def picture(self, content: Content, max_side_px: int) -> bytes | None:
        """Return a picture as a JPEG or PNG: upright, without EXIF, no side longer than that; None if it is none."""
        answer, _ = await self.ask("picture", content, max_side_px=max_side_px)
        return answer or None


class WordFinder(Protocol):
    """Recognise the words on pictures. Raises nothing but cancellation."""

    async def words(self, content: Content, name: str = "") -> Reading:
        """Return the words on a picture, or on the pages of a scanned document; no page without any."""

    async def close(self) -> None:
        """End the process. Closing twice does nothing."""


class ProcessWordFinder(ChildProcess, WordFinder):
    """Recognises words in a process of its own, with the extra `ocr`."""

    def __init__(self, *, idle_s: float = IDLE_S) -> None:
        super().__init__(cpu_s=60, within_s=60.0, idle_s=idle_s, memory_bytes=2 << 30)

    async def words(self, content: Content, name: str = "") -> Reading:
        """Return the words on a picture, or on the pages of a scanned document; no page without any."""
        return await _asked(self, "words", content, name)


class WordsReader(FileReader):
    """Reads what another reader does, and the words on pictures and scanned pages, too."""

    reads_pictures = True

    def __init__(self, reader: FileReader, finder: WordFinder) -> None:
        self._reader = reader
        self._finder = finder

    async def read(self, content: Content, name: str = "") -> Reading:
        """Return the text of a file; a picture with words on it has one page."""
        reading = await self._reader.read(content, name)
        is_picture = bool(reading.width) and reading.problem is None
        if not is_picture and reading.problem is not Problem.SCANNED:
            return reading
        found = await self._finder.words(content, name)
        if not any(page.strip() for page in found.pages):
            return reading
        return replace(reading, pages=found.pages, problem=found.problem)

    async def picture(self, content: Content, max_side_px: int) -> bytes | None:
        """Return a picture as the other reader does."""
        return await self._reader.picture(content, max_side_px)

    async def close(self) -> None:
        """End both processes. Closing twice does nothing."""
        await self._reader.close()
        await self._finder.close()


async def _asked(process: ChildProcess, task: str, content: Content, name: str) -> Reading:
    answer, problem = await process.ask(task, content, name=name)
    if answer is None:
        return Reading("", problem=problem)
    return await aside(len(answer), lambda: _reading(json.loads(answer)))


def _reading(fields: dict[str, Any]) -> Reading:
    problem = fields.get("problem")
    return Reading(
        fields["media_type"],
        tuple(clean(page) for page in fields.get("pages", ())),
        None if problem is None else Problem(problem),
        fields.get("width", 0),
        fields.get("height", 0),
    )


SPEECH_WITHIN_S: Final = 300.0
"""How long a recording may take: on two cores one of about a quarter of an hour."""

_SPEECH_CPU_S: Final = 600
_SPEECH_MEMORY_BYTES: Final = 3 << 30


class WhisperTranscriber(ChildProcess, Transcriber):
    """Whisper base, its weights inside packages; one recording at a time, nothing is downloaded."""

    name = "whisper:base"

    def __init__(self, *, idle_s: float = IDLE_S) -> None:
        super().__init__(
            cpu_s=_SPEECH_CPU_S, within_s=SPEECH_WITHIN_S, idle_s=idle_s, memory_bytes=_SPEECH_MEMORY_BYTES
        )

    async def transcribe(self, content: Content, media_type: str, language: str, heard: Heard | None = None) -> str:
        """Return what is said; `language` is a tag ("pt-BR") of what is likely spoken, or "", and then it is guessed.

        `heard` is told after each piece of some seconds.

        Raises:
            ProviderDown: the process ended, or took too long.
            BadReply: it is no recording.
        """
        del media_type  # its bytes tell

        async def note(told: bytes) -> None:
            if heard is not None:
                await heard(*json.loads(told))

        answer, problem = await self.ask("speech", content, note, language=language.partition("-")[0].lower())
        if answer is None:
            raise ProviderDown(f"{self.name} ended: {problem.value}")
        match json.loads(answer):
            case {"text": str(text)}:
                return clean(text)
        raise BadReply(f"{self.name} cannot decode the recording")
