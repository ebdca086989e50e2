"""The way of one message that was taken in: read from top to bottom, each step calls the next.

It waits its turn, is judged again, opens its turn, stays within quotas, and is thought through; whatever fails on the
way, the person is told, and other turns go on. Its row in the inbox is closed at the end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from core.actions.memory_send import hand_back
from core.actions.proposal import undo_button
from core.actions.things import asked_about
from core.answering.confirmations import Arrival
from core.answering.enclosed import worded
from core.answering.loop import say_below, think
from core.answering.opening import Opening, check, recover, resume
from core.answering.outcomes import (
    BROKE_OFF,
    HEARD_SO_FAR,
    LISTENING,
    LISTENING_LONG,
    NOTHING_SAID,
    STILL_KNOWN,
    TRY_AGAIN,
    failure_text,
    helps_to_retry,
)
from core.answering.parts import ChatBotParts, Verdict
from core.answering.questions import Asked, ConversationLocks, Edits, act_of, tell_of_earlier
from core.answering.turn import Turn
from core.commands.command import Request, again, is_continue, is_retry, is_stop
from core.delivery.view import View
from core.delivery.views import Views
from core.errors import (
    BadReply,
    BotError,
    ChannelError,
    ChannelGone,
    ClaimLost,
    DiskFull,
    EmptyInput,
    StorageDown,
    StorageError,
    TurnReplaced,
    TurnStopped,
)
from core.files.port import Heard
from core.outgoing import Button, OutgoingMessage, memory_line
from core.ports import Channel
from core.stores import ChangeContext, Replaced
from core.tasks import Deadline, Phase, Tasks, Trace, current, spend, traced
from core.text.days import noted
from core.text.markdown import quoted
from core.threads import TurnState
from core.types import ConversationKey, Incoming, Locale, MemoryItem, MessageKey, Role, room_name
from core.workers.port import check_claim

_LAST_WORDS_S: Final = 2.0
_LATE_TYPING_S: Final = 0.5
"""Commands answer before that, unless they have a lot to do."""

_LONG_S: Final = 60.0
"""From how long on a recording's length and progress are shown."""

_PROGRESS_S: Final = 5.0
"""How often the progress is shown at most: a channel's own pace may be slower."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Attempt:
    """How one version of a question went."""

    started_s: float
    arrival: Arrival

    replaced: Replaced | None = None
    """What an edit replaces."""

    turn: Turn | None = None

    is_incognito: bool | None = None
    """Whether nothing of it is kept; None while that is not known."""

    is_command: bool = False

    is_reply: bool = False
    """Whether the message was read as a command, since it replied to a question of the bot."""

    error: str = ""
    """The name of the error that ended it; "" for none."""

    last_words: str = ""
    """The apology for that error."""


class MessagePipeline:
    """Answers messages that were taken in, each in its turn."""

    def __init__(self, parts: ChatBotParts, tasks: Tasks) -> None:
        self._parts = parts
        self._tasks = tasks
        limits = parts.settings.limits
        self.locks = ConversationLocks(limits.answers_at_once)
        self.running: dict[ConversationKey, Deadline] = {}
        self._edits = Edits(parts.inbox, parts.conversations.store, parts.hooks.takes_back)
        self._opening = Opening(parts)
        self._views = Views(parts.inbox, parts.reach, parts.services.clock, limits)
        self._unclosed: dict[MessageKey, bool] = {}
        """Messages that were answered, and whose rows could not be closed, with whether they are erased."""

    def traced(self, incoming: Incoming) -> AbstractContextManager[None]:
        """Work for the turn of that message inside; all of its versions are one."""
        began_s = self._parts.services.clock.monotonic()
        return traced(Trace(act_of(incoming.chat, incoming.original_id), began_s, incoming))

    # --- waiting its turn ---

    async def answer(self, asked: Asked, posted: Sequence[str] | None = None) -> None:
        """Answer a question in its place in line, and each version of it that comes until it was answered.

        `posted` is what an earlier process had posted for it.
        """
        incoming, clock = asked.incoming, self._parts.services.clock
        arrived_s, confirmations = clock.monotonic(), self._parts.services.confirmations
        arrival = confirmations.arrived(incoming.at, again=posted is not None)
        here = incoming.conversation
        is_busy = partial(self.locks.has_others, here)
        view = asked.view = self._views.open(incoming, asked.channel, posted, is_busy=is_busy)
        waits = None if incoming.private else view.waits
        lane = nullcontext() if _overtakes(incoming) else self.locks.lane(here, waits)
        try:
            async with lane, view.typing(_LATE_TYPING_S if _is_quick(incoming) else 0.0):
                await self._collect(asked)
                spend(Phase.WAITING, clock.monotonic() - arrived_s)
                answered: Incoming | None = None
                while answered is not asked.incoming:
                    answered = asked.incoming
                    await self._answer_version(asked, view, _Attempt(clock.monotonic(), arrival))
                asked.is_over = True  # no version comes after the last look
            if view.sign.may_stand:
                self._tasks.start(view.sign.take_back(), incoming.chat.platform)
        except ClaimLost:
            await view.drop()
            raise

    async def _collect(self, asked: Asked) -> None:
        """Wait for what else belongs to a question; what came is one message of the inbox from then on."""
        if asked.gathering is None:
            return
        await asked.collect()
        try:
            await self._parts.inbox.collect(asked.incoming)
        except StorageError as error:  # after a restart its parts are collected anew
            _log.warning("inbox not told what was collected", extra={"error": type(error).__name__})

    # --- one version of it, and what may fail ---

    async def _answer_version(self, asked: Asked, view: View, attempt: _Attempt) -> None:
        """Answer the newest version of a question; of an edit, in the place of what stands for the earlier ones."""
        incoming, channel = asked.incoming, asked.channel
        try:
            if incoming.edits:
                await view.leave()
                if (replaced := await self._edits.replaced(incoming)) is None:
                    await self._end(incoming)
                    return
                attempt.replaced = replaced
                self._views.replace(view, incoming, replaced.posted)
            await self._within_time(asked, view, attempt)
        except asyncio.CancelledError:
            check_claim()
            await view.close(within_s=_LAST_WORDS_S)
            raise
        except ClaimLost:
            raise
        except TurnReplaced:
            await self._end_replaced(attempt)
            return
        except ChannelGone as error:
            attempt.error = type(error).__name__
            self._tasks.start(self._views.report(incoming, error))
        except Exception as error:  # noqa: BLE001  (whatever failed, the person is told)
            attempt.error = type(error).__name__
            if not isinstance(error, BotError):
                _log.exception("turn failed")
            # A view whose write was refused writes no more.
            await self.apologise(error, incoming, channel if isinstance(error, ChannelError) else view, attempt)
        else:
            self._tasks.start(self._views.settle(incoming, view))
        await self._end(incoming, attempt)

    async def _within_time(self, asked: Asked, view: View, attempt: _Attempt) -> None:
        """Answer before the deadline, or until /stop."""
        incoming, limits = asked.incoming, self._parts.settings.limits
        deadline = asked.deadline = Deadline(self._parts.services.clock, limits.timeout_s, view.stop)
        if not _overtakes(incoming):  # what is stopped is the answer that the button overtook
            self.running[incoming.conversation] = deadline
        try:
            async with deadline:
                is_ours = await self._judge(incoming, view, attempt)
        finally:
            if self.running.get(incoming.conversation) is deadline:
                del self.running[incoming.conversation]
        await view.close()
        if is_ours:
            await self._parts.hooks.limiter.tell_owners()

    # --- gate, edits, quotas ---

    async def _judge(self, incoming: Incoming, view: View, attempt: _Attempt) -> bool:
        """Open the turn of a message that is still to be answered, and answer it within quotas; else return False.

        Rights may have changed while it waited.
        """
        hooks = self._parts.hooks
        if attempt.replaced is not None:
            await hooks.replies.drop(incoming)  # what the earlier version was asked
        if incoming.withdrawn:
            await self._edits.take_back(await self._open(incoming, view, attempt), attempt.replaced)
            return False
        verdict = await hooks.gate.recheck(incoming)
        if verdict is not Verdict.ANSWER:
            await hooks.gate.turn_away(verdict, incoming, view)
            return False
        turn = attempt.turn = await self._open(incoming, view, attempt)
        attempt.is_command = turn.asked.text.startswith("/")
        attempt.is_reply = turn.asked.text != incoming.text
        taken_back = await self._edits.take_back(turn, attempt.replaced)
        view.stop_mark = failure_text(TurnStopped(), turn.person.locale)
        if hooks.watch is not None:
            hooks.watch(turn)
        work = partial(self._respond, turn, incoming, taken_back)
        counted = _parts_of(turn.asked.text)[1] or turn.asked.text
        if not await hooks.limiter.answer(incoming, counted, view, turn.person.locale, work):
            attempt.turn = None  # nothing of it is stored
        return True

    async def _open(self, incoming: Incoming, view: View, attempt: _Attempt) -> Turn:
        turn = await self._opening.turn(incoming, view, attempt.arrival)
        attempt.is_incognito = turn.person.is_incognito
        if attempt.is_incognito:
            view.chat.keep_nothing()
        return turn

    # --- the answer itself ---

    async def _respond(self, turn: Turn, incoming: Incoming, taken_back: bool | None) -> None:
        """Run a command, or think the message through, and complete the answer."""
        try:
            command, rest = _parts_of(turn.asked.text)
            if command:
                await self._run_command(turn, incoming, command)
            if command and rest:
                turn.log.asked = turn.shown.asked = replace(turn.asked, content=rest)
            if rest or not command:
                await self._think(turn, is_rest=bool(command))
            await tell_of_earlier(turn, taken_back)
        except BaseException:
            turn.answer.below = None
            raise
        finally:
            await turn.search.close()
            await turn.enclosed.close()
            await turn.answer.complete()

    async def _run_command(self, turn: Turn, incoming: Incoming, command: str) -> None:
        role = await self._parts.hooks.gate.role_here(incoming) or Role.GUEST
        request = Request(turn, incoming, role, len(self.locks) - 1, self.running, self._parts.worker)
        await self._parts.commands.run(request, command)

    async def _think(self, turn: Turn, *, is_rest: bool = False) -> None:
        """Store the question, and think it through, or go on where a restart broke that off.

        `is_rest`: what stood beside an agreement, which was carried out just now.
        """
        limits = self._parts.settings.limits
        await turn.log.enter(TurnState.PENDING)
        turn.enclosed.tell = self._shows_progress(turn)
        turn.enclosed.before = await asked_about(turn)
        turn.enclosed.begin()
        await self._check(turn)
        await turn.log.enter(TurnState.VALIDATED)
        if limits.cycle.is_single(turn.services.models):
            turn.search.begin()
        turn.answer.below = partial(say_below, turn)
        began, turn.log.asked = turn.asked.turn, await turn.conversation.add(turn.asked)
        if turn.asked.turn != began:  # the message was stored before: a restart broke its turn off
            turn.memory = replace(turn.memory, context=replace(turn.memory.context, act=turn.asked.turn))
            if not is_rest:
                if await resume(turn, await undo_button(turn)):
                    await hand_back(turn)
                    return
                await recover(turn)
        await turn.log.enter(TurnState.INVOKED)
        await think(turn, self._parts.registry, limits.cycle, max_steps=limits.max_steps)
        await hand_back(turn)
        await turn.log.enter(TurnState.RESPONDED)

    async def _check(self, turn: Turn) -> None:
        """Refuse a message of nothing or of too much text. A text that was pasted as a file is the message's."""
        limits = self._parts.settings.limits
        if turn.enclosed.listening:
            longest_s = max(each.duration_s for each in turn.enclosed.listening)
            await turn.answer.status(_listening(longest_s, turn.person.locale))
        said = await worded(turn.enclosed, limits.max_message_chars, asks=turn.services.models.is_limited)
        if said is not None:
            turn.log.asked = turn.shown.asked = said
            if turn.enclosed.heard:
                await turn.answer.tell(f"🎙 {quoted(said.text, None)}")
        check(turn.asked, min_chars=limits.min_message_chars, max_chars=limits.max_message_chars)

    def _shows_progress(self, turn: Turn) -> Heard:
        """Return what shows, now and then, how far a recording of minutes is written down."""
        clock = self._parts.services.clock
        shown_s = clock.monotonic()

        async def show(heard_s: float, of_s: float) -> None:
            nonlocal shown_s
            if of_s >= _LONG_S and clock.monotonic() - shown_s >= _PROGRESS_S:
                shown_s = clock.monotonic()
                progress = HEARD_SO_FAR[turn.person.locale].format(heard=_minutes(heard_s), all=_minutes(of_s))
                await turn.answer.status(progress)

        return show

    # --- what is said where it failed ---

    async def apologise(
        self, error: Exception, incoming: Incoming, where: View | Channel, attempt: _Attempt | None = None
    ) -> None:
        """Tell the person what failed, in place of a status on the screen."""
        view = where if isinstance(where, View) else self._views.open(incoming, where, recorded=False)
        locale = await self._parts.reach.locales.of(incoming)
        text = failure_text(error, locale)
        if isinstance(error, EmptyInput) and not incoming.text:
            text = NOTHING_SAID[locale]
        if isinstance(error, DiskFull):
            text = f"{text}\n\n{await still_known(self._parts, incoming, locale)}".rstrip()
        turn = None if attempt is None or attempt.is_command else attempt.turn
        if turn is not None and turn.log.written and isinstance(error, StorageError | BadReply):
            text = BROKE_OFF[locale]
        choices: tuple[Button, ...] = ()
        if turn is not None and turn.asked.id and helps_to_retry(error):
            choices = (Button(TRY_AGAIN[locale], again(turn.asked.turn)),)
        stopped = isinstance(error, TurnStopped)
        shown = None if stopped and view.is_marked else OutgoingMessage(text, choices=choices, urgent=stopped)
        if (refusal := await view.show_last(shown)) is not None:
            self._tasks.start(self._views.report(incoming, refusal))
        if isinstance(error, StorageError):
            self._parts.reach.alerts.storage_failed(error)
        if attempt is not None and turn is not None:
            attempt.last_words = text

    # --- the end ---

    async def _end_replaced(self, attempt: _Attempt) -> None:
        """Store that a turn ended because its question was edited or deleted; the inbox row is closed with that."""
        if attempt.turn is not None and not attempt.is_command:
            with suppress(StorageError):
                await attempt.turn.log.enter(TurnState.ERROR, TurnReplaced.__name__)

    async def _end(self, incoming: Incoming, attempt: _Attempt | None = None) -> None:
        """Close the message in the inbox; store the state of its turn, and log one line for audits (D7)."""
        try:
            try:
                await self._store_end(incoming, attempt)
            except StorageDown:  # perhaps it was stored; left open, it would be answered again after the next message
                await self._store_end(incoming, attempt)
        except StorageError as error:  # the message is answered twice rather than never
            _log.warning("inbox not closed", extra={"error": type(error).__name__})
        if attempt is not None:
            self._log_end(incoming, attempt)

    async def _store_end(self, incoming: Incoming, attempt: _Attempt | None) -> None:
        if attempt is not None and attempt.turn is not None and not attempt.is_command:
            await attempt.turn.log.complete(attempt.error, attempt.last_words)
        await self.close(incoming, erases=attempt is not None and attempt.is_incognito is True)
        if attempt is not None and (attempt.is_reply or len(incoming.parts) > 1):
            await self._parts.inbox.seal(incoming)  # the question that it replied to is closed, its parts are forgotten
        if attempt is not None and not attempt.error:
            self._parts.reach.alerts.storage_written()

    def _log_end(self, incoming: Incoming, attempt: _Attempt) -> None:
        logs = self._parts.settings.log_content and attempt.is_incognito is False
        said: dict[str, object] = {"question": incoming.text} if logs else {}
        ended_s, trace = self._parts.services.clock.monotonic(), current()
        spent_s = trace.end(ended_s) if trace is not None else {}
        if self._parts.hooks.turn_ended is not None:
            self._parts.hooks.turn_ended(incoming.chat.platform, attempt.error, spent_s)
        facts: dict[str, object] = {
            "thread_id": attempt.turn.conversation.thread.id if attempt.turn is not None else "",
            "platform": incoming.chat.platform,
            "status": TurnState.ERROR.value if attempt.error else TurnState.COMPLETED.value,
            "error": attempt.error,
            "duration_s": round(ended_s - attempt.started_s, 3),
            **{f"{phase}_s": round(seconds, 3) for phase, seconds in spent_s.items()},
        }
        _log.info("turn", extra=facts | said)

    async def close(self, incoming: Incoming, *, erases: bool = False) -> None:
        """Close the row of a message that was answered. One that cannot be closed now is closed by `was_answered`.

        With `erases`, no byte of its words is left soon after: nobody waits until the file was read for that.

        Raises:
            StorageError: it could not be closed.
        """
        inbox = self._parts.inbox
        try:
            await (inbox.erase(incoming) if erases else inbox.close(incoming))
        except StorageError:
            self._unclosed[incoming.key] = erases
            raise
        self._unclosed.pop(incoming.key, None)
        if erases:
            self._tasks.start(inbox.finish_erasing(), incoming.chat.platform)

    async def was_answered(self, incoming: Incoming) -> bool:
        """Return whether a message that is still owed was answered here, and close its row then."""
        erases = self._unclosed.get(incoming.key)
        if erases is None:
            return False
        await self.close(incoming, erases=erases)
        return True

    # --- without an answer ---

    async def clear(self, incoming: Incoming, channel: Channel, posted: Sequence[str], verdict: Verdict) -> None:
        """Clear the unfinished answer to a message whose sender lost the right to it, or has to wait."""
        if incoming.edits:
            posted = (await self._parts.inbox.take_over(incoming)).posted
        await self._views.clear(incoming, channel, posted)
        if verdict is not Verdict.TELL_PAUSED:
            await self._end(incoming)

    async def stop(self, incoming: Incoming) -> bool:
        """Stop the running answer if the message is a /stop; return False if it is not, or nothing runs here."""
        running = self.running.get(incoming.conversation) if is_stop(incoming.text) else None
        if running is None:
            return False
        running.stop()
        await self._parts.hooks.replies.drop(incoming)
        return True


def _listening(longest_s: float, locale: Locale) -> str:
    """Return the status while recordings are written down, the longest of which has so many seconds, 0 if unknown."""
    long = LISTENING_LONG[locale].format(all=_minutes(longest_s))
    return long if longest_s >= _LONG_S else LISTENING[locale]


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _overtakes(incoming: Incoming) -> bool:
    """Return whether the message does not wait for earlier answers: a pressed button, if it asks no model."""
    return incoming.pressed and not (is_retry(incoming.text) or is_continue(incoming.text))


def _is_quick(incoming: Incoming) -> bool:
    """Return whether no model is asked for the answer: that to a command."""
    return incoming.text.startswith("/") and not (is_retry(incoming.text) or is_continue(incoming.text))


# --- looked up outside of a turn, storing nothing: memories while they type, and while the disk is full ---

_MAX_SHOWN: Final = 10


async def role_of(parts: ChatBotParts, incoming: Incoming) -> Role | None:
    """Return the role of a person who may be answered there, or None."""
    gate = parts.hooks.gate
    return await gate.role_here(incoming) if await gate.recheck(incoming) is Verdict.ANSWER else None


async def find(parts: ChatBotParts, incoming: Incoming, limit: int) -> Sequence[MemoryItem]:
    """Return the memories of the sender that the text finds, or the newest; none if that fails or is not allowed."""
    try:
        if await role_of(parts, incoming) is None:
            return ()
        owner = await parts.memories.owner(incoming.user)
        context = ChangeContext("", "" if incoming.private else room_name(incoming.chat), incoming.user)
        memory = parts.memories.of(owner, context)
        if not (query := incoming.text.strip()):
            return await memory.page(limit=limit)
        return [hit.item for hit in await memory.find(query, limit=limit)]
    except Exception:  # noqa: BLE001  (what was not found can be asked for)
        _log.exception("nothing found")
        return ()


async def still_known(parts: ChatBotParts, incoming: Incoming, locale: Locale) -> str:
    """Return the memories that a message looks for while nothing can be stored; "" if it looks for none.

    A question finds by its own words: no model is asked, as its call could not be counted.
    """
    words = parts.commands.searched(incoming.text)
    if "?" in incoming.text and not incoming.text.startswith("/"):
        words = incoming.text
    if words is None or not incoming.private:
        return ""
    found = await find(parts, replace(incoming, text=words), _MAX_SHOWN)
    lines = [f"• {memory_line(noted(item, parts.conversations.zone, locale))}" for item in found]
    return "\n".join([STILL_KNOWN[locale], *lines]) if lines else ""


def _parts_of(text: str) -> tuple[str, str]:
    """Return the command that a message is, and what is to be answered; of an agreement with more below it, both."""
    if not text.startswith("/"):
        return "", text
    command, _, rest = text.partition("\n")
    return (command, rest) if command.startswith(_AGREED) else (text, "")


_AGREED: Final = "/confirm yes "
