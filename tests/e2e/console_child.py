"""The terminal with a scripted `MessageHandler` behind it, as a process of its own.

Called with the path of a JSON document: {"steps": [...], "gates": folder, "data": folder, "owed": [text, ...],
"unasked": [[gate, text], ...]}. What is unasked is said in private when the file of its gate is there. A step
is ("status" | "show" | "memory" | "stream", text), ("gate", name) to wait for a file, ("echo",) to say the message
back, or ("deaf",) to refuse to stop. What the handler received is written to `received.json` in the data folder.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from adapters import console
from adapters.console.person import TerminalUser
from core.clock import SystemClock
from core.delivery.view import View
from core.outgoing import Mention, OutgoingMessage
from core.types import Incoming, MemoryNote, Modal, UserKey
from tests.fakes.commands import menu
from tests.fakes.handler import ScriptedHandler, tell

SAVED = datetime(2026, 3, 14, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Play:
    """Answers every message by the same steps."""

    steps: Sequence[Sequence[str]]
    gates: Path

    async def __call__(self, incoming: Incoming, view: View) -> None:
        try:
            for verb, *rest in self.steps:
                await self._step(verb, rest[0] if rest else incoming.text, view)
        except asyncio.CancelledError:
            await view.show(OutgoingMessage("Parei."))
            raise

    async def _step(self, verb: str, text: str, view: View) -> None:
        match verb:
            case "status":
                await view.status(text)
            case "memory":
                item = MemoryNote("senha do aliexpress", text, "14 mar. 2026")
                await view.show(OutgoingMessage(f"- {text}", Modal.MEMORY, (item,)))
            case "gate":
                await self._gate(text)
            case "stream":
                await tell(view, self._chunks(text))
            case "show":
                await view.show(OutgoingMessage(text))
            case "echo":
                await view.show(OutgoingMessage(f"eco: {text}"))
            case "deaf":
                await self._refuse(view)

    async def _chunks(self, text: str) -> AsyncIterator[str]:
        """Yield word by word; a word like `@name` is a gate."""
        for word in text.split(" "):
            if word.startswith("@"):
                await self._gate(word[1:])
            else:
                yield f"{word} "

    async def _gate(self, name: str) -> None:
        while not (self.gates / name).exists():  # noqa: ASYNC110  (the other side is another process)
            await asyncio.sleep(0.005)

    async def _refuse(self, view: View) -> None:
        await view.status("pensando")
        try:
            await self._gate("never")
        except asyncio.CancelledError:
            await view.status("Não paro.")
            await self._gate("never")


async def main(call: dict[str, Any]) -> None:
    clock = SystemClock()
    user = UserKey("console", "ana")
    handler = ScriptedHandler(clock, Play(call["steps"], Path(call["gates"])))
    handler.owed = [TerminalUser(user, "", clock).says(text) for text in call["owed"]]
    data = Path(call["data"])
    telling = asyncio.create_task(_tell(handler, user, Path(call["gates"]), call["unasked"]))
    try:
        await console.run(handler, clock, user=user, data_dir=data, menu=menu())
    finally:
        telling.cancel()
        received = [
            {"text": each.text, "id": each.message_id, "language": each.language, "chat": each.chat.chat}
            for each in handler.received
        ]
        _write(data / "received.json", received)


async def _tell(handler: ScriptedHandler, user: UserKey, gates: Path, unasked: Sequence[Sequence[str]]) -> None:
    for gate, text in unasked:
        while not (gates / gate).exists():  # noqa: ASYNC110  (the other side is another process)
            await asyncio.sleep(0.005)
        await handler.notifier.write(user, None, OutgoingMessage(text, mention=Mention("ana", "Ana")))


def _write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document), "utf-8")


if __name__ == "__main__":
    try:
        asyncio.run(main(json.loads(Path(sys.argv[1]).read_text("utf-8"))))
    except KeyboardInterrupt:
        sys.exit(130)
