"""Write down recordings on this machine, in a process of its own, with the extra `voice`: Whisper base."""

from __future__ import annotations

import json
from typing import Final

from core.errors import BadReply, ProviderDown
from core.files.port import Content, Heard, Transcriber
from core.files.reading import IDLE_S, ChildProcess
from core.text.unicode import clean

WITHIN_S: Final = 300.0
"""How long a recording may take: on two cores one of about a quarter of an hour."""

_CPU_S: Final = 600
_MEMORY_BYTES: Final = 3 << 30


class WhisperTranscriber(ChildProcess, Transcriber):
    """Whisper base, its weights inside packages; one recording at a time, nothing is downloaded."""

    name = "whisper:base"

    def __init__(self, *, idle_s: float = IDLE_S) -> None:
        super().__init__(cpu_s=_CPU_S, within_s=WITHIN_S, idle_s=idle_s, memory_bytes=_MEMORY_BYTES)

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
