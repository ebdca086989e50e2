"""Read a message as the reply to what the bot asked before: a text for a command, yes, no, numbers, times, "undo"."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final

from core.actions.proposal import PROPOSALS, Deletion, Keeping, Proposal, Replacement, Rewrites
from core.answering.confirmations import Arrival, Confirmations, Offer, Open, WhichOne, read_open
from core.answering.parts import ReplyReader
from core.commands.command import ON_ANSWERS, Command, Request, is_retry, is_stop
from core.enclosures import QuoteKind
from core.history.conversation import Conversation
from core.memory.memories import Memories
from core.ports import Clock
from core.text.catalogue import text
from core.text.clauses import sentences, without
from core.text.replies import (
    Doing,
    acknowledges,
    incognito_word,
    means_both,
    means_no,
    means_none,
    means_undo,
    means_yes,
    numbered,
    restores,
)
from core.threads import PendingInput, PendingInputs
from core.types import ChangeKind, Incoming, MessageRole

VALID_FOR: Final = timedelta(minutes=10)
WHICH: Final = "which"
"""What /confirm is told with the code of a `WhichOne`."""

_BOTH: Final = 2
_TAKEN_TOGETHER: Final = {Deletion.__name__, Offer.__name__, WhichOne.__name__}
"""The kinds of questions that a word for both may answer."""

_SKEW: Final = timedelta(seconds=5)
"""How far a platform's clock may be behind ours."""


@dataclass(frozen=True, slots=True)
class QuestionReader:
    """Reads a message as the reply to an open question of a feature: one of `kinds` (`Confirmations`)."""

    kinds: tuple[type[Any], ...]

    reply: Callable[[str, Any, Incoming], str]
    """Returns the command that a message stands for, given the question's code and the question; "" for none."""


class PendingReplies(ReplyReader):
    """Keep, for ten minutes, the command that waits for a text in a conversation; read answers to open questions.

    `questions` read those of features. `can_undo` tells whether a person changed anything lately besides memories.
    """

    def __init__(
        self,
        store: PendingInputs,
        confirmations: Confirmations,
        memories: Memories,
        clock: Clock,
        *,
        questions: Sequence[QuestionReader],
        can_undo: Callable[[Incoming], Awaitable[bool]],
    ) -> None:
        self._store = store
        self._confirmations = confirmations
        self._memories = memories
        self._clock = clock
        self._questions = questions
        self._changed_besides = can_undo

    async def await_text(self, request: Request, command: str) -> None:
        """Let the person's next message there be the argument of `command`, unless it is a command itself."""
        here = request.incoming.conversation
        await self._confirmations.drop(here, *PROPOSALS)
        await self._store.put(here, PendingInput(command, self._clock.now()))

    async def settle(self, request: Request) -> None:
        """Drop the command that waits there, because it was run."""
        await self._store.take(request.incoming.conversation, request.incoming.message_id)

    async def read(self, incoming: Incoming, arrival: Arrival, conversation: Conversation) -> str:
        """Return the command that the message amounts to, or its own text.

        A text sent before the question was asked is no reply to it. A waiting command stays until it was run
        (`settle`), so that a crash before that runs it again; any other command drops it.
        """
        here, text = incoming.conversation, incoming.text
        waiting = await self._store.find(here)
        if arrival.again:
            waiting = await self._store.taken(here, incoming.message_id) or waiting
        if text.startswith("/"):
            await self._take_offer(incoming, await self._confirmations.all_open(here, arrival), text)
        in_words = not (incoming.pressed or incoming.attachments) or is_retry(text)
        if waiting is None and in_words and (command := await self._meant(incoming, arrival, conversation)):
            return command
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
        asked = await self._confirmations.drop(incoming.conversation, *PROPOSALS, *self.kinds, Offer, WhichOne)
        return asked or (waiting is not None and incoming.at - waiting.at <= VALID_FOR)

    async def _meant(self, incoming: Incoming, arrival: Arrival, conversation: Conversation) -> str:
        """Return the command that the message stands for, where none waits for a text; "" for none."""
        text = incoming.text
        if answer := await self._answer(incoming, arrival, conversation):
            return answer
        if word := incognito_word(text):
            return f"/memory {word}"
        if means_undo(text) and (arrival.again or await self._can_undo(incoming)):
            return "/undo"
        if restores(text) and (arrival.again or await self._has_just_lost(incoming)):
            return "/undo"
        return ""

    async def _answer(self, incoming: Incoming, arrival: Arrival, conversation: Conversation) -> str:
        """Return the command that answers an open question as the message does; "" if it answers none.

        A message that was answered since leaves a question open. A word that answers what was asked last answers that;
        one that answers several which were passed over is answered by asking which. Buttons are not read here: their
        command says what they do.
        """
        here = incoming.conversation
        again = await self._confirmations.all_taken(incoming) if arrival.again else ()
        found = [each for each in again or await self._confirmations.all_open(here, arrival) if not each.muted]
        if not found or incoming.text.startswith("/"):
            return ""
        if means_both(incoming.text) and (both := await self._both(incoming, found)):
            return both
        answered = [(each, command) for each in found if (command := self._command(each, incoming))]
        last = [(each, command) for each, command in answered if not each.passed]
        if not last and answered and not again and await _asks_else(conversation):
            answered = []  # a question in the bot's own words came since
        proposed = [(each, command) for each, command in answered if each.kind != Offer.__name__]
        answers = last or proposed or answered  # what was only offered, and passed over, gives way
        if means_no(incoming.text):  # it declines what was asked last, and a later yes is not for what was open besides
            answers = answers[:1]
            await self._confirmations.mute(here, but=answers[0][0].code if answers else "")
        if not answers and (beside := _answered_beside(incoming.text, found)):
            return beside
        if not answers:
            await self._confirmations.pass_over(here)
            return ""
        if len(answers) > 1:
            return await self._which(incoming, answers)
        await self._take_offer(incoming, found, answers[0][1])
        return answers[0][1]

    async def _both(self, incoming: Incoming, found: Sequence[Open]) -> str:
        """Return the command for a word that means two questions which were asked one by one; "" if it does not.

        Two deletions of one memory each are made one; of several offers, which can only be taken one by one, it is
        asked which.
        """
        here = incoming.conversation
        deletions = [read_open(each, Deletion) for each in found if each.kind == Deletion.__name__]
        offers = [each for each in found if each.kind == Offer.__name__]
        others = [each for each in found if not each.passed and each.kind not in _TAKEN_TOGETHER]
        if not others and len(deletions) == _BOTH and all(len(each.versions) == 1 for each in deletions):
            ids, versions = zip(*((each.memory_ids[0], each.versions[0]) for each in reversed(deletions)), strict=True)
            await self._confirmations.drop(here, Deletion, WhichOne)
            return f"/confirm yes {await self._confirmations.ask(here, Deletion(ids, versions))}"
        if not others and not deletions and len(offers) >= _BOTH:
            return await self._which(incoming, [(each, read_open(each, Offer).command) for each in offers])
        return ""

    async def _which(self, incoming: Incoming, answers: Sequence[tuple[Open, str]]) -> str:
        """Return the command that asks which of several questions is meant."""
        choice = WhichOne(tuple(command for _, command in answers))
        about = "\n".join(each.about for each, _ in answers)
        return f"/confirm {WHICH} {await self._confirmations.ask(incoming.conversation, choice, about)}"

    async def _take_offer(self, incoming: Incoming, found: Sequence[Open], command: str) -> None:
        """Close the offer of that command, if it is one: it is taken once, by a word or by its button."""
        for each in found:
            if each.kind == Offer.__name__ and read_open(each, Offer).command == command:
                await self._confirmations.take(incoming, each.code, Offer)

    def _command(self, asked: Open, incoming: Incoming) -> str:
        """Return the command that answers that question as the message does; "" if it is no answer."""
        text = incoming.text
        if asked.passed and text.strip(" .!").isdigit():
            return ""
        for kind in PROPOSALS:
            if asked.kind == kind.__name__:
                proposal: Proposal = read_open(asked, kind)  # type: ignore[assignment]  # one of PROPOSALS
                return _command_to(asked.code, proposal, text)
        if asked.kind == Offer.__name__:
            is_agreed = any(means_yes(text, each) for each in (Doing.KEEP, Doing.REPLACE))  # none offers to delete
            offer = read_open(asked, Offer)
            is_late = asked.passed and not offer.lasts
            return offer.command if is_agreed and not is_late and not acknowledges(text) else ""
        if asked.kind == WhichOne.__name__:
            commands = read_open(asked, WhichOne).commands
            chosen = numbered(text, len(commands)) or ()
            return commands[chosen[0]] if len(chosen) == 1 else ""
        of_feature = next((kind for kind in self.kinds if kind.__name__ == asked.kind), None)
        return "" if of_feature is None else self._reply(asked.code, read_open(asked, of_feature), incoming)

    @property
    def kinds(self) -> tuple[type[Any], ...]:
        """The kinds of questions of features."""
        return tuple(kind for each in self._questions for kind in each.kinds)

    def _reply(self, code: str, asked: object, incoming: Incoming) -> str:
        reader = next(each for each in self._questions if isinstance(asked, each.kinds))
        return reader.reply(code, asked, incoming)

    async def _can_undo(self, incoming: Incoming) -> bool:
        """Whether the person changed something lately."""
        if await self._changed_besides(incoming):
            return True
        return await self._memories.of(await self._memories.owner(incoming.user)).last_change() is not None

    async def _has_just_lost(self, incoming: Incoming) -> bool:
        """Whether the person's last change took away or replaced a memory a few minutes ago."""
        change = await self._memories.of(await self._memories.owner(incoming.user)).last_change()
        is_loss = change is not None and change.kind is not ChangeKind.SAVED
        return change is not None and is_loss and incoming.at - change.at <= VALID_FOR


async def _asks_else(conversation: Conversation) -> bool:
    """Whether the last that the bot said in the conversation ends with a question."""
    said = await conversation.store.tail(conversation.thread.id, 1)
    return bool(said) and said[-1].role is MessageRole.ASSISTANT and said[-1].text.rstrip().endswith("?")


def _names_somebody(incoming: Incoming, waiting: PendingInput | None) -> bool:
    """Whether the message is a forwarded one, and the waiting command asks who is meant."""
    asked_who = waiting is not None and waiting.command.startswith("/admin ")
    return asked_who and any(quote.kind is QuoteKind.FORWARD for quote in incoming.quotes)


def _command_to(code: str, proposal: Proposal, text: str) -> str:
    """Return the command that answers a proposal as a text does; "" if it is no plain answer."""
    verb, *numbers = _answer_to(proposal, text).split() or [""]
    return " ".join(("/confirm", verb, code, *numbers)) if verb else ""


def _answered_beside(text: str, found: Sequence[Open]) -> str:
    """Return the command by which a sentence agrees to the only proposal, and below it the rest of the message.

    "" where none does: "yes, delete it. And what time does the bread come?".
    """
    proposed = [(each, kind) for each in found for kind in PROPOSALS if each.kind == kind.__name__]
    spans = sentences(text)
    if len(proposed) != 1 or len(spans) <= 1:
        return ""
    [(asked, kind)] = proposed
    for begin, end in spans:
        proposal: Proposal = read_open(asked, kind)  # type: ignore[assignment]  # one of PROPOSALS
        command = _command_to(asked.code, proposal, text[begin:end])
        if command.startswith("/confirm yes"):
            return f"{command}\n{without(text, begin, end)}"
    return ""


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
    if isinstance(proposal, Deletion) and proposal.which and means_none(text):
        return "no"
    if isinstance(proposal, Replacement) and (means_both(text) or (options > 1 and means_none(text))):
        return "both"
    if means_yes(text, doing):
        return "yes"
    if means_no(text):
        return "no"
    has_numbers = options > 1 or isinstance(proposal, Deletion | Rewrites)
    chosen = numbered(text, options, doing) if has_numbers else None
    return " ".join(("yes", *(str(at + 1) for at in chosen))) if chosen else ""


def stop_command(replies: PendingReplies) -> Command:
    """Return /stop, which drops what the bot asked in the conversation."""
    return Command(
        "stop",
        text("commands.stop"),
        partial(stop, replies),
        in_conversation=True,
        is_listed=True,
        topics=(ON_ANSWERS,),
    )


async def stop(replies: PendingReplies, request: Request, _: str) -> None:
    """Forget what the bot asked there; a running answer was stopped by the chatbot before this."""
    waited = await replies.drop(request.incoming)
    if waited:
        await request.tell(NOTHING_WAITS)
    else:
        await request.refuse(NOTHING_TO_STOP)


NOTHING_WAITS = text("conversations.nothing_waits")
NOTHING_TO_STOP = text("conversations.nothing_to_stop")
