"""Read a message as the reply to what the bot asked before: a text for a command, yes, no, numbers, times, "undo"."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from core.actions.proposal import PROPOSALS, Deletion, Keeping, Proposal, Replacement, Rewrites
from core.commands.builtin import is_retry, is_stop
from core.commands.command import Request
from core.confirmations import Arrival, Confirmations
from core.enclosures import QuoteKind
from core.features.reminders.asked import QUESTIONS, Question, reply
from core.features.reminders.service import Place, Reminders
from core.hooks import ReplyReader
from core.memory.memories import Memories
from core.ports import Clock
from core.text.replies import Doing, means_both, means_no, means_none, means_undo, means_yes, numbered
from core.threads import PendingInput, PendingInputs
from core.types import Incoming, Locale

VALID_FOR: Final = timedelta(minutes=10)
_SKEW: Final = timedelta(seconds=5)
"""How far a platform's clock may be behind ours."""


class PendingReplies(ReplyReader):
    """Keep, for ten minutes, the command that waits for a text in a conversation; read answers to proposals."""

    def __init__(
        self,
        store: PendingInputs,
        confirmations: Confirmations,
        memories: Memories,
        reminders: Reminders,
        clock: Clock,
    ) -> None:
        self._store = store
        self._confirmations = confirmations
        self._memories = memories
        self._reminders = reminders
        self._clock = clock

    async def await_text(self, request: Request, command: str) -> None:
        """Let the person's next message there be the argument of `command`, unless it is a command itself."""
        here = request.incoming.conversation
        await self._confirmations.drop(here, *PROPOSALS)
        await self._store.put(here, PendingInput(command, self._clock.now()))

    async def settle(self, request: Request) -> None:
        """Drop the command that waits there, because it was run."""
        await self._store.take(request.incoming.conversation, request.incoming.message_id)

    async def read(self, incoming: Incoming, arrival: Arrival) -> str:
        """Return the command that the message amounts to, or its own text.

        A text sent before the question was asked is no reply to it. A waiting command stays until it was run
        (`settle`), so that a crash before that runs it again; any other command drops it.
        """
        here, text = incoming.conversation, incoming.text
        waiting = await self._store.find(here)
        if arrival.again:
            waiting = await self._store.taken(here, incoming.message_id) or waiting
        if not incoming.pressed or is_retry(text):
            if arrival.again and (answer := await self._answer_again(incoming)):
                return answer
            answer = ""
            is_asked = await self._confirmations.asked_at(here) is not None
            if is_asked:
                answer = await self._answer(incoming, arrival)
            if is_asked and waiting is None:
                answer = answer or await self._on_reminders(incoming, arrival)
            if waiting is None and answer:
                return answer
            if waiting is None and means_undo(text) and (arrival.again or await self._can_undo(incoming)):
                return "/undo"
        is_read = bool(text) or _names_somebody(incoming, waiting)
        if waiting is None or not is_read or incoming.at < waiting.at - _SKEW or is_stop(text):
            return text
        if text.startswith("/") or incoming.at - waiting.at > VALID_FOR:
            await self._store.take(here)
            return text
        return f"{waiting.command} {text}".rstrip()

    async def drop(self, incoming: Incoming) -> bool:
        """Forget what was asked in that conversation; return whether a reply to it would still have counted."""
        waiting = await self._store.find(incoming.conversation)
        await self._store.take(incoming.conversation)
        asked = await self._confirmations.drop(incoming.conversation, *PROPOSALS, *QUESTIONS)
        return asked or (waiting is not None and incoming.at - waiting.at <= VALID_FOR)

    async def _answer(self, incoming: Incoming, arrival: Arrival) -> str:
        """Return the command that answers the open proposal as the message does; "" if it is no answer.

        A message that is no answer drops the proposal. Buttons are not read here: their command says what they do.
        """
        text, here = incoming.text, incoming.conversation
        waiting: tuple[str, Proposal] | None = await self._confirmations.waiting(here, arrival, *PROPOSALS)
        if waiting is not None:
            if text.startswith("/") and waiting[0] in text.upper().split():
                return ""  # it is the answer, typed as a command
            if answer := _command_to(*waiting, text):
                return answer
        await self._confirmations.drop(here, *PROPOSALS)
        return ""

    async def _answer_again(self, incoming: Incoming) -> str:
        """Return the command as which the message was read before its answer was broken off; "" if it was none."""
        if incoming.text.startswith("/"):
            return ""
        proposed: tuple[str, Proposal] | None = await self._confirmations.taken(incoming, *PROPOSALS)
        asked: tuple[str, Question] | None = await self._confirmations.taken(incoming, *QUESTIONS)
        if proposed is not None:
            return _command_to(*proposed, incoming.text)
        return "" if asked is None else reply(*asked, incoming)

    async def _on_reminders(self, incoming: Incoming, arrival: Arrival) -> str:
        """Return the command that answers the open question about reminders as the message does; "" if it is none.

        A message that is no answer drops the question.
        """
        here = incoming.conversation
        asked: tuple[str, Question] | None = await self._confirmations.waiting(here, arrival, *QUESTIONS)
        if asked is None or incoming.text.startswith("/"):
            return ""
        command = reply(*asked, incoming)
        if not command:
            await self._confirmations.drop(here, *QUESTIONS)
        return command

    async def _can_undo(self, incoming: Incoming) -> bool:
        """Whether the person changed a memory or reminder lately."""
        here = Place(incoming.user, incoming.chat, incoming.private, Locale.PT)
        if await self._reminders.newest_change(here) is not None:
            return True
        return await self._memories.of(await self._memories.owner(incoming.user)).last_change() is not None


def _names_somebody(incoming: Incoming, waiting: PendingInput | None) -> bool:
    """Whether the message is a forwarded one, and the waiting command asks who is meant."""
    asked_who = waiting is not None and waiting.command.startswith("/admin ")
    return asked_who and any(quote.kind is QuoteKind.FORWARD for quote in incoming.quotes)


def _command_to(code: str, proposal: Proposal, text: str) -> str:
    """Return the command that answers a proposal as a text does; "" if it is no plain answer."""
    verb, *numbers = _answer_to(proposal, text).split() or [""]
    return " ".join(("/confirm", verb, code, *numbers)) if verb else ""


def _answer_to(proposal: Proposal, text: str) -> str:
    """Return how a text answers a proposal, in the words of /confirm ("yes 1 3"); "" if it is no plain answer.

    A bare yes to several candidates is answered by asking again which.
    """
    match proposal:
        case Deletion():
            doing, options = Doing.DELETE, len(proposal.memory_ids)
        case Keeping():
            doing, options = Doing.KEEP, len(proposal.drafts)
        case _:
            doing, options = Doing.REPLACE, len(proposal.rewrites)
    if isinstance(proposal, Replacement) and (means_both(text) or (options > 1 and means_none(text))):
        return "both"
    if means_yes(text, doing):
        return "yes"
    if means_no(text):
        return "no"
    has_numbers = options > 1 or isinstance(proposal, Deletion | Rewrites)
    chosen = numbered(text, options, doing) if has_numbers else None
    return " ".join(("yes", *(str(at + 1) for at in chosen))) if chosen else ""
