"""The engine's entry: take messages in, each once, and answer those that are this worker's to answer, in their order.

A message is answered by the worker that holds its chat, wherever it was accepted. What a crash has left, what another
worker accepted or gave up: all of it is taken in by one way (`MessageIntake.look`). Where there is one process, it
holds every chat.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Collection, Coroutine, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Self

from core.answering.opening import cleaned
from core.answering.parts import ChatBotParts, Verdict
from core.answering.pipeline import MessagePipeline, find, role_of
from core.answering.questions import Asked, OpenQuestions, is_news, part_of, revised, withdrawn
from core.commands.command import CompletionRequest
from core.errors import ClaimLost, StorageDown, StorageError
from core.outgoing import Suggestion
from core.ports import Channel, Channels, MessageHandler
from core.tasks import Tasks
from core.types import ChatKey, Incoming, Invitation, MemoryItem, MessageKey, room_name
from core.workers.port import Claim, HeldChats

_log = logging.getLogger(__name__)


class ChatBot(MessageHandler):
    """Answers messages. Leaving its async context waits for the running answers; `abandon` cancels them first."""

    def __init__(self, parts: ChatBotParts) -> None:
        self.parts = parts
        self.tasks = Tasks()
        self.pipeline = MessagePipeline(parts, self.tasks)
        self.intake = MessageIntake(parts, self.pipeline, self.tasks)

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
                return asyncio.shield(tasks[0]) if tasks else _ended()
            if await self.pipeline.stop(incoming):
                return _ended()
            task = await self.intake.accept(incoming, channel)
        except ClaimLost as error:
            return _ended(error)
        except StorageDown as error:  # it is brought again
            self.parts.reach.alerts.storage_failed(error)
            raise
        except StorageError as error:
            return asyncio.shield(self.tasks.start(self.pipeline.apologise(error, incoming, channel)))
        return _ended() if task is None else asyncio.shield(task)

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


def _ended(error: ClaimLost | None = None) -> Awaitable[None]:
    """Return an awaitable that has ended already, with that error, be it awaited or not."""
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    if error is None:
        ended.set_result(None)
    else:
        ended.set_exception(error)
        ended.exception()  # else it is logged where nobody waits
    return ended


# --- what this worker answers, each message once and those of a conversation in their order ---


@dataclass(eq=False, slots=True)
class _OpenChat:
    """A chat in which something is under way: messages that arrive, and the tasks of those that were taken in."""

    claim: Claim | None = None
    arriving: int = 0
    tasks: dict[MessageKey, asyncio.Task[None]] = field(default_factory=dict)
    waiting: dict[MessageKey, Incoming] = field(default_factory=dict)  # until the bot is not paused any more

    def is_quiet(self) -> bool:
        """Whether nothing is under way."""
        return not (self.arriving or self.tasks or self.waiting)


class MessageIntake(HeldChats):
    """The messages that this worker answers. Chats go by their names (`core.types.room_name`)."""

    def __init__(self, parts: ChatBotParts, pipeline: MessagePipeline, tasks: Tasks) -> None:
        self._inbox = parts.inbox
        self._worker = parts.worker
        self._hooks = parts.hooks
        self._notifier = parts.reach.notifier
        self._pipeline = pipeline
        self._tasks = tasks
        self._questions = OpenQuestions(parts.services.clock)
        self._chats: dict[str, _OpenChat] = {}
        self._channels: dict[MessageKey, Channel] = {}  # of messages that are arriving
        self._closing: set[str] = set()  # platforms
        self._readers = 0
        self._ended: set[MessageKey] = set()  # while somebody reads what is owed, which may be out of date by then
        parts.worker.serve(self)

    async def accept(self, incoming: Incoming, channel: Channel) -> asyncio.Task[None] | None:
        """Store a message and begin to answer it, if it is this worker's to answer; return the task that does.

        Raises:
            ClaimLost: it is stored, and another worker answers it.
            StorageError: it could not be stored.
        """
        asked = self._questions.find(incoming.chat, incoming.original_id)
        if asked is not None and not is_news(incoming, asked.said(incoming.original_id)):
            return None
        incoming = incoming if asked is None else asked.version(incoming)
        name, message = room_name(incoming.chat), incoming.key
        chat = self._chats.setdefault(name, _OpenChat())
        chat.arriving += 1
        self._channels[message] = channel
        try:
            if (accepted := await self._inbox.accept(incoming)) is None:
                return await self._accept_elsewhere(incoming, channel) if asked is None else None
            facts = {"platform": incoming.chat.platform, "chars": len(incoming.text), "private": incoming.private}
            _log.info("message received", extra=facts)
            if (claim := self._worker.claim(name, accepted.worker, accepted.epoch)) is None:
                self._worker.wake(name, accepted.worker)
                raise ClaimLost("another worker answers")
            await self._hold(chat, claim)
            held = chat.claim
            if accepted.follows:
                await self._take_in([name])
            if chat.claim is not held:
                raise ClaimLost("it was lost meanwhile")
            return self._admit(chat, incoming, channel)
        finally:
            self._channels.pop(message, None)
            chat.arriving -= 1
            await self._let_go(name, chat)

    async def withdraw(self, chat: ChatKey, message_ids: Collection[str]) -> None:
        """Drop those messages, as far as they are not answered yet."""
        for message_id in message_ids:
            asked = self._questions.find(chat, message_id)
            try:
                if asked is None:
                    await self._withdraw_elsewhere(chat, message_id)
                else:
                    with suppress(ClaimLost):
                        await self.accept(withdrawn(asked.said(message_id)), asked.channel)
            except StorageError as error:  # a restarted bot would answer it
                _log.warning("a deleted message was not recorded", extra={"error": type(error).__name__})
                if asked is not None and self._questions.find(chat, message_id) is asked:
                    taken_back = asked.version(withdrawn(asked.said(message_id)))
                    self._replace(self._chats[room_name(chat)], asked, taken_back)

    async def _withdraw_elsewhere(self, chat: ChatKey, message_id: str) -> None:
        """Drop a message that another worker may be about to answer."""
        channels = self._notifier.platforms.get(chat.platform)
        whole = await self._owed_elsewhere(chat, message_id)
        if channels is not None and whole is not None:
            said = part_of(whole, message_id) or whole
            with suppress(ClaimLost):
                await self.accept(revised(whole, withdrawn(said)), channels.again(whole))

    async def _accept_elsewhere(self, edit: Incoming, channel: Channel) -> asyncio.Task[None] | None:
        """Accept an edit of a part of what another worker is about to answer."""
        whole = await self._owed_elsewhere(edit.chat, edit.edits) if edit.edits else None
        if whole is None or whole.original_id == edit.edits:
            return None
        return await self.accept(revised(whole, edit), channel)

    async def _owed_elsewhere(self, chat: ChatKey, message_id: str) -> Incoming | None:
        """Return what another worker may be about to answer that the message of that id is, or is a part of."""
        if self._worker.is_alone:
            return None
        owed = await self._inbox.owed(chat.platform, [chat.chat])
        in_chat = (each for each in owed if each.chat == chat and not each.withdrawn)
        return next((each for each in in_chat if part_of(each, message_id) is not None), None)

    async def resume(self, platform: str) -> None:
        """Take in what is owed on a platform that was connected, the oldest first."""
        self._closing.discard(platform)
        self._worker.connect(platform)
        if self._worker.is_alone:
            await self._read(platform, None)
        else:
            await self.look()

    def stop_taking(self, platform: str) -> None:
        """Take in nothing more of a platform that is being closed."""
        self._closing.add(platform)
        self._worker.disconnect(platform)

    async def give_up(self, platform: str) -> None:
        """Leave to other workers what is owed on a platform on which no task is at work any more."""
        mine = [name for name, chat in self._chats.items() if _platform(name) == platform and not chat.tasks]
        claims = [claim for name in mine if (claim := self._chats[name].claim) is not None]
        for name in mine:
            self._chats[name].claim = None
            self._chats[name].waiting.clear()
            if self._chats[name].is_quiet():
                del self._chats[name]
        with suppress(StorageError):  # they are free when this worker's lease is over
            await self._worker.give_up(claims)

    # --- what goes on among the workers (HeldChats) ---

    @property
    def busy(self) -> int:
        """The number of chats in which somebody is being answered."""
        return sum(bool(chat.tasks) for chat in self._chats.values())

    async def look(self, names: Collection[str] = ()) -> None:
        """Take in what is owed in chats that this worker holds; without names, in all that it holds or can claim."""
        if names and all(name in self._chats for name in names):
            await self._take_in(names)
            return
        is_paused = await self._is_paused()
        unknown = []
        for name, (claim, messages) in (await self._worker.owed()).items():
            chat = self._chats.setdefault(name, _OpenChat())
            await self._hold(chat, claim)
            if messages - chat.tasks.keys() - (chat.waiting.keys() if is_paused else set()):
                unknown.append(name)
            else:
                await self._let_go(name, chat)
        await self._take_in(unknown)

    async def drop(self) -> None:
        """End all answers at once and without a word: other workers go on with them."""
        await asyncio.gather(*(self._end(chat) for chat in self._chats.values()))
        self._chats = {name: chat for name, chat in self._chats.items() if not chat.is_quiet()}

    async def _is_paused(self) -> bool:
        waiting = [incoming for chat in self._chats.values() for incoming in chat.waiting.values()]
        return bool(waiting) and await self._hooks.gate.recheck(waiting[0]) is Verdict.TELL_PAUSED

    # --- taking in ---

    async def _take_in(self, names: Collection[str]) -> None:
        """Begin to answer what is owed in chats that this worker holds."""
        if names:
            await self._hooks.catch_up()
        for platform in sorted({_platform(name) for name in names}):
            await self._read(platform, [_chat(name) for name in names if _platform(name) == platform])

    async def _read(self, platform: str, chats: Collection[str] | None) -> None:
        channels = self._notifier.platforms.get(platform)
        if channels is None or platform in self._closing:
            return
        self._readers += 1
        held = {name: chat.claim for name, chat in self._chats.items()}  # others may answer what is read under another
        try:
            for incoming, posted in (await self._inbox.owed(platform, chats)).items():
                name = room_name(incoming.chat)
                if self._worker.is_alone:
                    held[name] = self._chats.setdefault(name, _OpenChat(self._worker.claim(name, 0, 0))).claim
                chat, claim = self._chats.get(name), held.get(name)
                if chat is not None and claim is not None and not self._is_known(chat, incoming.key):
                    with self._pipeline.traced(incoming):
                        await self._go_on(chat, claim, incoming, posted, channels)
        finally:
            self._readers -= 1
            if not self._readers:
                self._ended.clear()

    async def _go_on(
        self, chat: _OpenChat, claim: Claim, incoming: Incoming, posted: Sequence[str], channels: Channels
    ) -> None:
        """Go on with a message that was accepted earlier or elsewhere, and read under that claim."""
        message = incoming.key
        if await self._pipeline.was_answered(incoming):
            return
        verdict = await self._hooks.gate.recheck(incoming)
        if chat.claim is not claim and not self._worker.is_alone:
            return
        channel = self._channels.get(message) or channels.again(incoming)
        chat.waiting.pop(message, None)
        if verdict is Verdict.ANSWER:
            if self._admit(chat, incoming, channel, posted) is not None:
                _log.info("resumed", extra={"platform": incoming.chat.platform})
        elif not self._is_known(chat, message):
            if verdict is Verdict.TELL_PAUSED and not self._worker.is_alone:
                chat.waiting[message] = incoming
            self._begin(chat, incoming, self._pipeline.clear(incoming, channel, posted, verdict))

    def _admit(
        self, chat: _OpenChat, incoming: Incoming, channel: Channel, posted: Sequence[str] | None = None
    ) -> asyncio.Task[None] | None:
        """Begin to answer a message, unless that is under way; return the task of one that is no edit of another."""
        message = incoming.key
        if self._is_known(chat, message):
            return chat.tasks.get(message)
        asked = self._questions.find(incoming.chat, incoming.original_id)
        if asked is not None:
            if incoming.parts or is_news(incoming, asked.said(incoming.original_id)):
                self._replace(chat, asked, asked.version(incoming))
            return None
        is_new = posted is not None or not incoming.edits  # else it is a version of one that was answered
        if is_new and (asked := self._questions.join(incoming)) is not None:
            chat.tasks[message] = chat.tasks[asked.incoming.key]
            return chat.tasks[message]
        asked = self._questions.open(incoming, channel)
        return self._begin(chat, incoming, self._answer_or_stop(asked, posted))

    @staticmethod
    def _replace(chat: _OpenChat, asked: Asked, incoming: Incoming) -> None:
        """Let another version take the place of an open question, whose task goes on with it."""
        chat.tasks[incoming.key] = chat.tasks[asked.incoming.key]
        asked.replace(incoming)

    async def _answer_or_stop(self, asked: Asked, posted: Sequence[str] | None) -> None:
        try:
            if await self._pipeline.stop(asked.incoming):
                await self._pipeline.close(asked.incoming)
            else:
                await self._pipeline.answer(asked, posted)
        finally:
            self._questions.end(asked)

    def _is_known(self, chat: _OpenChat, message: MessageKey) -> bool:
        return message in chat.tasks or message in self._ended

    def _begin(self, chat: _OpenChat, incoming: Incoming, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        name = room_name(incoming.chat)
        task = self._tasks.start(self._under_claim(chat, chat.claim, name, work), incoming.chat.platform)
        chat.tasks[incoming.key] = task
        task.add_done_callback(partial(self._forget, chat))
        return task

    async def _under_claim(
        self, chat: _OpenChat, claim: Claim | None, name: str, work: Coroutine[None, None, None]
    ) -> None:
        try:
            with claim.under() if claim is not None else nullcontext():
                await work
        except ClaimLost:
            _log.warning("a chat is answered elsewhere", extra={"platform": _platform(name)})
            if chat.claim is claim:
                self._lose(chat)
        task = asyncio.current_task()
        if task is not None:
            self._forget(chat, task)
        await self._let_go(name, chat)

    def _forget(self, chat: _OpenChat, task: asyncio.Task[None]) -> None:
        for message in [message for message, other in chat.tasks.items() if other is task]:
            del chat.tasks[message]
            if self._readers:
                self._ended.add(message)

    # --- claims ---

    async def _hold(self, chat: _OpenChat, claim: Claim) -> None:
        """Answer a chat under that claim. One under which it was answered before is lost."""
        if chat.claim is not None and chat.claim.epoch != claim.epoch:
            await self._end(chat)
        chat.claim = chat.claim or claim

    async def _let_go(self, name: str, chat: _OpenChat) -> None:
        """Give up a chat in which nothing is under way and nothing is owed; what is owed is taken in."""
        claim = chat.claim
        if not chat.is_quiet() or self._chats.get(name) is not chat or (claim and claim.is_given_up):
            return
        if claim is not None and claim.lost.is_set():
            chat.claim = claim = None
        is_free = claim is None
        if claim is not None:
            claim.is_given_up = True
            try:
                is_free = await self._worker.release(claim)
            except StorageError as error:  # the next look finds it
                _log.warning("a chat was not given up", extra={"error": type(error).__name__})
                return
            finally:
                claim.is_given_up = is_free
            if is_free and chat.claim is claim:
                chat.claim = None
        if not is_free and _platform(name) in self._closing:
            await self.give_up(_platform(name))  # others need not wait for the answers that are still under way here
        elif not is_free:
            await self._take_in([name])
        elif chat.is_quiet() and self._chats.get(name) is chat:
            del self._chats[name]

    def _lose(self, chat: _OpenChat) -> set[asyncio.Task[None]]:
        """End what is under way in a chat; return the tasks that are about to end."""
        if chat.claim is not None and not chat.claim.is_given_up:
            chat.claim.lost.set()
        tasks = {task for task in chat.tasks.values() if task is not asyncio.current_task()}
        for task in tasks:
            task.cancel()
        return tasks

    async def _end(self, chat: _OpenChat) -> None:
        if tasks := self._lose(chat):
            await asyncio.wait(tasks)
        chat.claim = None
        chat.waiting.clear()


def _platform(name: str) -> str:
    return name.partition(":")[0]


def _chat(name: str) -> str:
    return name.partition(":")[2]
