"""The engine's entry: take messages in, and tell what may be answered, completed or found."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection, Sequence
from types import TracebackType
from typing import Self

from core.answering.intake import Intake
from core.answering.lookup import find, role_of
from core.answering.opening import cleaned
from core.answering.parts import ChatBotParts
from core.answering.pipeline import MessagePipeline
from core.commands.command import CompletionRequest
from core.errors import ClaimLost, StorageDown, StorageError
from core.outgoing import Suggestion
from core.ports import Channel, Channels, MessageHandler
from core.tasks import Tasks
from core.types import ChatKey, Incoming, Invitation, MemoryItem

_log = logging.getLogger(__name__)


class ChatBot(MessageHandler):
    """Answers messages. Leaving its async context waits for the running answers; `abandon` cancels them first."""

    def __init__(self, parts: ChatBotParts) -> None:
        self.parts = parts
        self.tasks = Tasks()
        self.pipeline = MessagePipeline(parts, self.tasks)
        self.intake = Intake(parts, self.pipeline, self.tasks)

    async def __aenter__(self) -> Self:
        await self.tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.tasks.__aexit__(kind, error, traceback)

    async def receive(self, incoming: Incoming, channel: Channel) -> Awaitable[None]:
        """Store one message and answer it after the earlier ones of its conversation; /stop is done at once."""
        incoming = self._cleaned(incoming)
        with self.pipeline.traced(incoming):
            return await self._receive(incoming, channel)

    async def _receive(self, incoming: Incoming, channel: Channel) -> Awaitable[None]:
        hooks = self.parts.hooks
        self.parts.reach.notifier.seen.add(incoming.chat.platform)
        try:
            await hooks.catch_up()
            if (refusal := await hooks.gate.turned_away(incoming, channel)) is not None:
                tasks = [self.tasks.start(work) for work in refusal]
                return asyncio.shield(tasks[0]) if tasks else _nothing()
            if await self.pipeline.stop(incoming):
                return _nothing()
            task = await self.intake.accept(incoming, channel)
        except ClaimLost as error:
            return _elsewhere(error)
        except StorageDown as error:  # it is brought again
            self.parts.reach.alerts.storage_failed(error)
            raise
        except StorageError as error:
            return asyncio.shield(self.tasks.start(self.pipeline.apologise(error, incoming, channel)))
        return _nothing() if task is None else asyncio.shield(task)

    async def invited(self, invitation: Invitation, channel: Channel) -> None:
        """Say in a room that the bot was brought into who may talk to it, and tell the owners of it."""
        try:
            await self.parts.hooks.catch_up()
            await self.parts.hooks.gate.welcome(invitation, channel)
        except StorageError as error:
            _log.warning("nobody was greeted", extra={"error": type(error).__name__})

    async def withdraw(self, chat: ChatKey, message_ids: Collection[str]) -> None:
        """Drop those messages, as far as they are not answered yet, with what stands on the screen for them."""
        await self.intake.withdraw(chat, message_ids)

    async def resume(self, platform: str, channels: Channels) -> None:
        """Connect a platform, and go on with the messages that were accepted there and never answered."""
        self.parts.reach.notifier.connect(platform, channels)
        await self.intake.resume(platform)

    def abandon(self) -> None:
        """Cancel the running answers; the inbox keeps their messages for the next start."""
        self.tasks.cancel()

    async def drain(self, platform: str) -> None:
        """Take in nothing more for the platform, and return when what is being answered there was answered."""
        self.intake.stop_taking(platform)
        while answers := self.tasks.of(platform):
            await asyncio.wait(answers)

    async def leave(self, platform: str) -> None:
        """Cancel the platform's running answers and wait until that is shown; the inbox keeps their messages."""
        self.intake.stop_taking(platform)
        if answers := self.tasks.of(platform):
            for task in answers:
                task.cancel()
            await asyncio.wait(answers)
        await self.intake.give_up(platform)

    async def complete(self, incoming: Incoming, option: str) -> Sequence[Suggestion]:
        """Return what the command's field offers to a person who may be answered there."""
        incoming = self._cleaned(incoming)
        try:
            if (role := await role_of(self.parts, incoming)) is None:
                return ()
            locale = await self.parts.reach.locales.of(incoming)
            typed = incoming.text.partition(" ")[2]
            return await self.parts.commands.complete(CompletionRequest(incoming, locale, role, option, typed))
        except Exception:  # noqa: BLE001  (what was not offered can be typed)
            _log.exception("nothing offered while typing")
            return ()

    async def find(self, incoming: Incoming, limit: int) -> Sequence[MemoryItem]:
        """Return the sender's memories that the text finds, or the newest."""
        with self.pipeline.traced(incoming):
            return await find(self.parts, self._cleaned(incoming), limit)

    def _cleaned(self, incoming: Incoming) -> Incoming:
        return cleaned(incoming, self.parts.settings.limits.max_message_chars)


def _elsewhere(error: ClaimLost) -> Awaitable[None]:
    """Return what ends with that error, be it awaited or not."""
    lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    lost.set_exception(error)
    lost.exception()  # else it is logged where nobody waits
    return lost


def _nothing() -> Awaitable[None]:
    """Return an awaitable that has ended already."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done
