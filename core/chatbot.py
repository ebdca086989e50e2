"""The engine's entry: store each message, answer it in its turn, and keep it in the inbox until it was answered.

Whatever fails in a turn, the person is told, and other turns go on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from types import TracebackType
from typing import Self

from core.actions.change_report import undo_button
from core.actions.registry import Registry
from core.answering.interrupted import recover, resume
from core.answering.opening import Opening
from core.answering.turn import Additions, Services, Turn
from core.claims import check_claim
from core.commands.builtin import (
    again,
    is_continue,
    is_retry,
    is_stop,
)
from core.commands.command import CompletionRequest, Request
from core.commands.table import CommandTable
from core.confirmations import Arrival, Confirmations
from core.conversation_locks import ConversationLocks
from core.deadline import Deadline
from core.delivery.alerts import OwnerAlerts
from core.delivery.notifier import Notifier
from core.delivery.view import View
from core.delivery.views import Views
from core.edits import Asked, Edits, act_of, tell_of_earlier
from core.errors import (
    BadReply,
    BotError,
    ChannelError,
    ChannelGone,
    ClaimLost,
    EmptyInput,
    StorageDown,
    StorageError,
    TurnReplaced,
    TurnStopped,
)
from core.history.conversation import Conversations
from core.hooks import Gate, Limiter, PreferencesOf, ReplyReader, TakeBack, TurnEnded, Verdict
from core.inbox import check, cleaned
from core.intake import Intake
from core.language_choice import Locales
from core.memory.memories import Memories
from core.models import Cycle, Models
from core.outgoing import Button, Choice, OutgoingMessage
from core.ports import Channel, Channels, ChatClaims, Clock, MessageHandler, TimeReader
from core.stores import ChangeContext, Inbox, Replaced
from core.texts import BROKE_OFF, NOTHING_SAID, ONLY_TEXT, TRY_AGAIN, failure_text, helps_to_retry
from core.think import think
from core.threads import TurnState
from core.trace import Phase, Trace, current, spend, traced
from core.types import ChatKey, ConversationKey, Incoming, Learn, MemoryItem, Role, room_name

_LAST_WORDS_S = 2.0
_LATE_TYPING_S = 0.5
"""Commands answer before that, unless they have a lot to do."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """Limits of one turn, how it is thought, and when it shows what (`core.delivery.views.Views`).

    `answers_at_once` people of a room are answered side by side.
    """

    cycle: Cycle = Cycle.AUTO
    max_steps: int = 8
    timeout_s: float = 300.0
    min_message_chars: int = 1
    max_message_chars: int = 32_000
    answers_at_once: int = 8
    status_after_s: float = 1.5
    notify_after_s: float = 20.0


@dataclass(frozen=True, slots=True)
class ChatBotParts:
    """Parts of a ChatBot: the engine's, then those of features.

    `watch` gets each turn before it is answered, for those who look at its steps afterwards; `turn_ended` is told how
    each went. `language` is the tag of
    the language of every answer if the owner fixed one, or ""; `learn` is the most that the owner lets people choose;
    `catch_up` loads what other processes decided.
    """

    inbox: Inbox
    claims: ChatClaims
    conversations: Conversations
    memories: Memories
    models: Models
    registry: Registry
    clock: Clock
    times: TimeReader
    limits: TurnLimits
    notifier: Notifier
    confirmations: Confirmations
    locales: Locales
    alerts: OwnerAlerts
    gate: Gate
    limiter: Limiter
    replies: ReplyReader
    commands: CommandTable
    preferences: PreferencesOf
    catch_up: Callable[[], Awaitable[None]]
    takes_back: Sequence[TakeBack] = ()
    additions: Additions | None = None
    watch: Callable[[Turn], None] | None = None
    turn_ended: TurnEnded | None = None
    language: str = ""
    learn: Learn = Learn.OFFERED
    log_content: bool = False  # the owner wants to read what people ask


class ChatBot(MessageHandler):
    """Answers messages. Leaving its async context waits for the running answers; `abandon` cancels them first."""

    def __init__(self, parts: ChatBotParts) -> None:
        self._parts = parts
        self._locks = ConversationLocks(parts.limits.answers_at_once)
        self._running: dict[ConversationKey, Deadline] = {}
        self._edits = Edits(parts.inbox, parts.conversations.store, parts.takes_back)
        self._opening = Opening(
            parts.inbox,
            parts.conversations,
            parts.memories,
            parts.replies,
            parts.locales,
            parts.preferences,
            self._services,
            parts.language,
            parts.learn,
        )
        self._tasks = asyncio.TaskGroup()
        self._under_way: dict[asyncio.Task[None], str] = {}
        limits = parts.limits
        self._views = Views(
            parts.inbox,
            parts.notifier,
            parts.alerts,
            parts.locales,
            parts.clock,
            status_after_s=limits.status_after_s,
            notify_after_s=limits.notify_after_s,
        )
        self._intake = Intake(
            parts.inbox,
            parts.claims,
            parts.gate,
            parts.notifier,
            answer=self._answer,
            clear=self._leave,
            stop=self._stop,
            catch_up=parts.catch_up,
            start=self._later,
            traced=self._traced,
        )

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._tasks.__aexit__(kind, error, traceback)

    async def receive(self, incoming: Incoming, channel: Channel) -> Awaitable[None]:
        """Store one message and answer it after the earlier ones of its conversation; /stop is done at once."""
        incoming = cleaned(incoming, self._parts.limits.max_message_chars)
        with self._traced(incoming):
            return await self._receive(incoming, channel)

    def _traced(self, incoming: Incoming) -> AbstractContextManager[None]:
        """Work for the turn of that message inside; all of its versions are one."""
        return traced(Trace(act_of(incoming.chat, incoming.original_id), self._parts.clock.monotonic()))

    async def _receive(self, incoming: Incoming, channel: Channel) -> Awaitable[None]:
        self._parts.notifier.seen.add(incoming.chat.platform)
        try:
            await self._parts.catch_up()
            if (refusal := await self._parts.gate.turned_away(incoming, channel)) is not None:
                tasks = [self._later(work) for work in refusal]
                return asyncio.shield(tasks[0]) if tasks else _nothing()
            if await self._stop(incoming):
                return _nothing()
            task = await self._intake.accept(incoming, channel)
        except ClaimLost as error:
            return _elsewhere(error)
        except StorageDown as error:  # it is brought again
            self._parts.alerts.storage_failed(error)
            raise
        except StorageError as error:
            return asyncio.shield(self._later(self._apologise(error, incoming, channel)))
        return _nothing() if task is None else asyncio.shield(task)

    async def _stop(self, incoming: Incoming) -> bool:
        """Stop the running answer if the message is a /stop; return False if it is not, or nothing runs here."""
        running = self._running.get(incoming.conversation) if is_stop(incoming.text) else None
        if running is None:
            return False
        running.stop()
        await self._parts.replies.drop(incoming)
        return True

    async def withdraw(self, chat: ChatKey, message_ids: Collection[str]) -> None:
        """Drop those messages, as far as they are not answered yet, with what stands on the screen for them."""
        await self._intake.withdraw(chat, message_ids)

    async def resume(self, platform: str, channels: Channels) -> None:
        """Connect a platform, and go on with the messages that were accepted there and never answered."""
        self._parts.notifier.connect(platform, channels)
        await self._intake.resume(platform)

    async def _leave(self, incoming: Incoming, channel: Channel, posted: Sequence[str], verdict: Verdict) -> None:
        """Clear the unfinished answer to a message whose sender lost the right to it, or has to wait."""
        if incoming.edits:
            posted = (await self._parts.inbox.take_over(incoming)).posted
        await self._views.clear(incoming, channel, posted)
        if verdict is not Verdict.TELL_PAUSED:
            await self._close(incoming)

    def abandon(self) -> None:
        """Cancel the running answers; the inbox keeps their messages for the next start."""
        for task in self._under_way:
            task.cancel()

    async def drain(self, platform: str) -> None:
        """Take in nothing more for the platform, and return when what is being answered there was answered."""
        self._intake.stop_taking(platform)
        while answers := self._answers(platform):
            await asyncio.wait(answers)

    async def leave(self, platform: str) -> None:
        """Cancel the platform's running answers and wait until that is shown; the inbox keeps their messages."""
        self._intake.stop_taking(platform)
        if answers := self._answers(platform):
            for task in answers:
                task.cancel()
            await asyncio.wait(answers)
        await self._intake.give_up(platform)

    def _answers(self, platform: str) -> list[asyncio.Task[None]]:
        return [task for task, where in self._under_way.items() if where == platform]

    async def complete(self, incoming: Incoming, option: str) -> Sequence[Choice]:
        """Return what the command's field offers to a person who may be answered there."""
        incoming = cleaned(incoming, self._parts.limits.max_message_chars)
        try:
            if (role := await self._role(incoming)) is None:
                return ()
            locale = await self._parts.locales.of(incoming)
            typed = incoming.text.partition(" ")[2]
            return await self._parts.commands.complete(CompletionRequest(incoming, locale, role, option, typed))
        except Exception:  # noqa: BLE001  (what was not offered can be typed)
            _log.exception("nothing offered while typing")
            return ()

    async def find(self, incoming: Incoming, limit: int) -> Sequence[MemoryItem]:
        """Return the sender's memories that the text finds, or the newest."""
        incoming = cleaned(incoming, self._parts.limits.max_message_chars)
        try:
            if await self._role(incoming) is None:
                return ()
            owner = await self._parts.memories.owner(incoming.user)
            context = ChangeContext("", "" if incoming.private else room_name(incoming.chat), incoming.user)
            memory = self._parts.memories.of(owner, context)
            if not (query := incoming.text.strip()):
                return await memory.page(limit=limit)
            return [hit.item for hit in await memory.search([query], await memory.embed_queries([query]), limit=limit)]
        except Exception:  # noqa: BLE001  (what was not found can be asked for)
            _log.exception("nothing found while typing")
            return ()

    async def _role(self, incoming: Incoming) -> Role | None:
        """Return the role of a person who may be answered there, or None."""
        answered = await self._parts.gate.recheck(incoming) is Verdict.ANSWER
        return await self._parts.gate.role_here(incoming) if answered else None

    def _later(self, work: Coroutine[None, None, None], platform: str = "") -> asyncio.Task[None]:
        task = self._tasks.create_task(_contained(work))
        self._under_way[task] = platform
        task.add_done_callback(self._under_way.pop)
        return task

    async def _answer(self, asked: Asked, posted: Sequence[str] | None = None) -> None:
        """Answer a question in its place in line, and each version of it that comes until it was answered."""
        incoming = asked.incoming
        arrival, arrived_s = self._parts.confirmations.arrived(incoming.at), self._parts.clock.monotonic()
        here = incoming.conversation
        view = asked.view = self._views.open(
            incoming, asked.channel, posted, is_busy=partial(self._locks.has_others, here)
        )
        lane = (
            nullcontext() if _overtakes(incoming) else self._locks.lane(here, None if incoming.private else view.waits)
        )
        try:
            async with lane, view.typing(_LATE_TYPING_S if _is_quick(incoming) else 0.0):
                spend(Phase.WAITING, self._parts.clock.monotonic() - arrived_s)
                answered: Incoming | None = None
                while answered is not asked.incoming:
                    answered = asked.incoming
                    await self._answer_version(asked, view, arrival)
                asked.is_over = True  # no version comes after the last look
        except ClaimLost:
            await view.drop()
            raise

    async def _answer_version(self, asked: Asked, view: View, arrival: Arrival) -> None:
        """Answer the newest version of a question; of an edit, in the place of what stands for the earlier ones."""
        incoming, channel = asked.incoming, asked.channel
        record = _Record(self._parts.clock.monotonic(), arrival)
        try:
            if incoming.edits:
                await view.leave()
                if (replaced := await self._edits.replaced(incoming)) is None:
                    await self._close(incoming)
                    return
                record.replaced = replaced
                self._views.replace(view, incoming, replaced.posted)
            await self._turn(asked, view, record)
        except asyncio.CancelledError:
            check_claim()
            await view.close(within_s=_LAST_WORDS_S)
            raise
        except ClaimLost:
            raise
        except TurnReplaced:
            await self._end_replaced(record)
            return
        except ChannelGone as error:
            record.error = type(error).__name__
            self._later(self._views.report(incoming, error))
        except Exception as error:  # noqa: BLE001  (whatever failed, the person is told)
            record.error = type(error).__name__
            if not isinstance(error, BotError):
                _log.exception("turn failed")
            # A view whose write was refused writes no more.
            await self._apologise(error, incoming, channel if isinstance(error, ChannelError) else view, record)
        else:
            self._later(self._views.settle(incoming, view))
        await self._close(incoming, record)

    async def _turn(self, asked: Asked, view: View, record: _Record) -> None:
        incoming = asked.incoming
        deadline = asked.deadline = Deadline(self._parts.clock, self._parts.limits.timeout_s, view.stop)
        if not _overtakes(incoming):  # what is stopped is the answer that the button overtook
            self._running[incoming.conversation] = deadline
        try:
            async with deadline:
                if record.replaced is not None:
                    await self._parts.replies.drop(incoming)  # what the earlier version was asked
                if incoming.withdrawn:
                    await self._edits.take_back(
                        await self._opening.turn(incoming, view, record.arrival), record.replaced
                    )
                    await view.close()
                    return
                verdict = await self._parts.gate.recheck(incoming)  # rights may have changed while it waited
                if verdict is not Verdict.ANSWER:
                    await self._parts.gate.turn_away(verdict, incoming, view)
                    await view.close()
                    return
                turn = record.turn = await self._opening.turn(incoming, view, record.arrival)
                record.is_command = turn.asked.text.startswith("/")
                record.is_reply = turn.asked.text != incoming.text
                taken_back = await self._edits.take_back(turn, record.replaced)
                view.stop_mark = failure_text(TurnStopped(), turn.person.locale)
                if self._parts.watch is not None:
                    self._parts.watch(turn)
                work = partial(self._run, turn, incoming, taken_back)
                if not await self._parts.limiter.answer(incoming, turn.asked.text, view, turn.person.locale, work):
                    record.turn = None  # nothing of it is stored
        finally:
            if self._running.get(incoming.conversation) is deadline:
                del self._running[incoming.conversation]
        await view.close()
        await self._parts.limiter.tell_owners()

    def _services(self) -> Services:
        parts = self._parts
        actions = tuple(action.info for action in parts.registry.enabled)
        return Services(
            parts.models.now(),
            parts.clock,
            parts.confirmations,
            parts.times,
            parts.memories.profiles,
            parts.additions,
            actions,
        )

    async def _run(self, turn: Turn, incoming: Incoming, taken_back: bool | None) -> None:
        try:
            await self._respond(turn, incoming)
            await tell_of_earlier(turn, taken_back)
        finally:
            await turn.search.close()
            await turn.answer.complete()

    async def _respond(self, turn: Turn, incoming: Incoming) -> None:
        if turn.asked.text.startswith("/"):
            role = await self._parts.gate.role_here(incoming) or Role.GUEST
            request = Request(turn, incoming, role, len(self._locks) - 1, self._running, self._parts.claims)
            await self._parts.commands.run(request, turn.asked.text)
            return
        await turn.log.enter(TurnState.PENDING)
        await self._check(turn)
        await turn.log.enter(TurnState.VALIDATED)
        limits = self._parts.limits
        if limits.cycle.is_single(turn.services.models):
            turn.search.begin()
        began, turn.log.asked = turn.asked.turn, await turn.conversation.add(turn.asked)
        if turn.asked.turn != began:  # the message was stored before: a restart broke its turn off
            turn.memory = replace(turn.memory, context=replace(turn.memory.context, act=turn.asked.turn))
            if await resume(turn, await undo_button(turn)):
                return
            await recover(turn)
        await turn.log.enter(TurnState.INVOKED)
        await think(turn, self._parts.registry, limits.cycle, max_steps=limits.max_steps)
        await turn.log.enter(TurnState.RESPONDED)

    async def _check(self, turn: Turn) -> None:
        """Refuse a message of no or too much text; one with attachments only is stored all the same."""
        limits = self._parts.limits
        try:
            check(turn.asked, min_chars=limits.min_message_chars, max_chars=limits.max_message_chars)
        except EmptyInput:
            if turn.asked.attachments:
                turn.log.asked = await turn.conversation.add(turn.asked)
            raise

    async def _apologise(
        self, error: Exception, incoming: Incoming, where: View | Channel, record: _Record | None = None
    ) -> None:
        """Tell the person what failed, in place of a status on the screen, and record it as the turn's last words."""
        view = where if isinstance(where, View) else self._views.open(incoming, where, recorded=False)
        locale = await self._parts.locales.of(incoming)
        text = failure_text(error, locale)
        if isinstance(error, EmptyInput) and not incoming.text:
            text = (ONLY_TEXT if incoming.attachments else NOTHING_SAID)[locale]
        turn = None if record is None or record.is_command else record.turn
        if turn is not None and turn.log.written and isinstance(error, StorageError | BadReply):
            text = BROKE_OFF[locale]
        choices: tuple[Button, ...] = ()
        if turn is not None and turn.asked.id and helps_to_retry(error):
            choices = (Button(TRY_AGAIN[locale], again(turn.asked.turn)),)
        stopped = isinstance(error, TurnStopped)
        shown = None if stopped and view.is_marked else OutgoingMessage(text, choices=choices, urgent=stopped)
        if (refusal := await view.show_last(shown)) is not None:
            self._later(self._views.report(incoming, refusal))
        if isinstance(error, StorageError):
            self._parts.alerts.storage_failed(error)
        if record is not None and turn is not None:
            record.last_words = text

    async def _end_replaced(self, record: _Record) -> None:
        """Store that a turn ended because its question was edited or deleted; the inbox row is closed with that."""
        if record.turn is not None and not record.is_command:
            with suppress(StorageError):
                await record.turn.log.enter(TurnState.ERROR, TurnReplaced.__name__)

    async def _close(self, incoming: Incoming, record: _Record | None = None) -> None:
        """Close the message in the inbox; store the state of its turn, and log one line for audits (D7)."""
        try:
            try:
                await self._store_end(incoming, record)
            except StorageDown:  # perhaps it was stored; left open, it would be answered again after the next message
                await self._store_end(incoming, record)
        except StorageError as error:  # the message is answered twice rather than never
            _log.warning("inbox not closed", extra={"error": type(error).__name__})
        if record is None:
            return
        said: dict[str, object] = {"question": incoming.text} if self._parts.log_content else {}
        ended_s, trace = self._parts.clock.monotonic(), current()
        spent_s = trace.end(ended_s) if trace is not None else {}
        if self._parts.turn_ended is not None:
            self._parts.turn_ended(incoming.chat.platform, record.error, spent_s)
        facts: dict[str, object] = {
            "thread_id": record.turn.conversation.thread.id if record.turn is not None else "",
            "platform": incoming.chat.platform,
            "status": TurnState.ERROR.value if record.error else TurnState.COMPLETED.value,
            "error": record.error,
            "duration_s": round(ended_s - record.started_s, 3),
            **{f"{phase}_s": round(seconds, 3) for phase, seconds in spent_s.items()},
        }
        _log.info("turn", extra=facts | said)

    async def _store_end(self, incoming: Incoming, record: _Record | None) -> None:
        if record is not None and record.turn is not None and not record.is_command:
            await record.turn.log.complete(record.error, record.last_words)
        await self._intake.close(incoming)
        if record is not None and record.is_reply:
            await self._parts.inbox.seal(incoming)  # the question that it replied to is closed
        if record is not None and not record.error:
            self._parts.alerts.storage_written()


@dataclass(slots=True)
class _Record:
    """How a turn went; `last_words` is the apology of a failed one.

    `is_reply`: the message was read as a command, since it replied to a question; `replaced` is what its edit replaces.
    """

    started_s: float
    arrival: Arrival
    turn: Turn | None = None
    is_command: bool = False
    error: str = ""
    last_words: str = ""
    is_reply: bool = False
    replaced: Replaced | None = None


def _overtakes(incoming: Incoming) -> bool:
    """Return whether the message does not wait for earlier answers: a pressed button, if it asks no model."""
    return incoming.pressed and not (is_retry(incoming.text) or is_continue(incoming.text))


def _is_quick(incoming: Incoming) -> bool:
    """Return whether no model is asked for the answer: that to a command."""
    return incoming.text.startswith("/") and not (is_retry(incoming.text) or is_continue(incoming.text))


async def _contained(work: Coroutine[None, None, None]) -> None:
    """Run a task; log its failure, so that the other tasks of the group go on."""
    try:
        await work
    except ClaimLost:
        _log.info("another worker goes on with a task of the bot")
    except Exception:  # noqa: BLE001  (the other tasks go on)
        _log.exception("a task of the bot failed")


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
