"""Answer one message: all that an action may use."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from itertools import groupby

from core import outcomes
from core.confirmations import Confirmations
from core.delivery.view import View
from core.dialogue import (
    NOTHING_TO_ADD,
    ActionInfo,
    Delta,
    Finish,
    Outcome,
    Prompt,
    PromptContext,
    Step,
    Stop,
    Task,
    committed,
)
from core.errors import EmptyReply, ProviderError, ProviderRefused
from core.history.conversation import Conversation
from core.history.withholding import tells_of, told_of
from core.memory.user_memory import UserMemory
from core.models import Models, mode_of
from core.outgoing import Button, File, OutgoingMessage
from core.ports import Clock
from core.prompts import build
from core.text import claims
from core.text.markdown import quoted, verbatim
from core.text.unicode import one_line
from core.texts import AGAIN, LENGTH_STOP
from core.threads import TurnState
from core.types import ChangeKind, Locale, MemoryItem, Message, MessageRole, Modal, OpenQuestion

_MEMORY_PREVIEW_CHARS = 160
_BINDING_PREVIEW_CHARS = 60
MEMORY_OFF = """\
The person has turned remembering off: nothing new can be saved or changed. If they ask for that, tell them so, and \
that /memory on turns it on again."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Turn:
    """The answer to one message. `asked` is the person's message as it was stored.

    `locale` is the language of our own sentences, `language` the one chosen for all that the person reads, if any.
    `remembers` is False while the person wants nothing new to be remembered.
    """

    asked: Message
    locale: Locale
    conversation: Conversation
    memory: UserMemory
    models: Models
    view: View
    clock: Clock
    confirmations: Confirmations
    steps: list[Step] = field(default_factory=list)
    max_history_tokens: int | None = None
    """Set once a model found the conversation too long."""
    _sent_tokens: int = 0
    _in_view: tuple[MemoryItem, ...] = ()
    remembers: bool = True
    awaits_answer: bool = False
    """Whether the person was asked to confirm something: the turn ends with that question."""
    language: Locale | None = None
    actions: tuple[ActionInfo, ...] = ()
    """The actions that are on; set by the cycle."""
    _question: OpenQuestion | None = None

    @property
    def zone(self) -> tzinfo:
        """The time zone of times that the person reads."""
        return self.conversation.conversations.zone

    async def enter(self, state: TurnState, error: str = "") -> None:
        """Store the state of the turn (D4)."""
        await self.conversation.enter(self.asked.turn, state, error)

    async def resume(self) -> bool:
        """Resume a turn that a restart broke off: show what it had recalled and said; return whether it was finished.

        Messages that are still on the screen are taken over. If it is unknown whether they reached the person, the
        answer is repeated with a mark.
        """
        context = await self.conversation.context("")
        mine = [m for m in context.messages if m.turn == self.asked.turn and not m.error]  # without apologies
        said = [m for m in mine if m.role is MessageRole.ASSISTANT]
        answered = bool(said) and not said[-1].in_history  # only a final answer is kept out of its turn's calls
        if self.view.resumes:
            await self._show_again(mine)
        elif said:
            mark = AGAIN[self.locale]
            await self.view.show(OutgoingMessage(f"{mark}\n{said[-1].text}" if answered else mark))
        return answered

    async def _show_again(self, messages: Sequence[Message]) -> None:
        for modal, group in groupby(messages, key=lambda message: message.modal):
            told = list(group)
            if modal is not Modal.MEMORY:
                for message in told:
                    if message.role is MessageRole.ASSISTANT:
                        await self.view.show_again(OutgoingMessage(message.text))
            elif items := await self.memory.get([message.memory_id for message in told]):
                await self.view.show_again(self._memories(items))

    async def end(self, error: str, last_words: str) -> None:
        """Store that the turn is over, with the name of the error that ended it and its apology, if any."""
        if last_words:
            await self._store(Message(MessageRole.ASSISTANT, last_words, in_history=False, error=error))
        await self.enter(TurnState.ERROR if error else TurnState.COMPLETED, error)

    async def recover(self, choices: Sequence[Button] = ()) -> None:
        """Add what this turn had written before it was broken off to its steps, and tell what was not told of it."""
        memory = self.memory
        context = await self.conversation.context("")
        said = "\n".join(
            m.text for m in context.messages if m.turn == self.asked.turn and m.role is MessageRole.ASSISTANT
        )
        changes = await memory.store.changes(memory.owner, act=self.asked.turn, not_undone=True)
        for kind in ChangeKind:
            items = tuple(item for each in changes if each.kind is kind and (item := each.after or each.before))
            if items:
                step = Step("before an interruption", Outcome.DONE, items=items, detail=kind.value, writes=kind)
                if untold := [item for item in items if quoted(item.content) not in said]:
                    await self.confirm(step, outcomes.written(kind, untold, self.locale), choices=choices)
                else:
                    self.steps.append(step)

    async def status(self, text: str) -> None:
        """Show a `textForReplace`, which the next message replaces (T5)."""
        await self.view.status(text)

    async def recall(self, items: Sequence[MemoryItem]) -> None:
        """Add one `memory` message for each item to the conversation, and show them all in one compact message."""
        for item in items:
            # Only its id: a later reader gets the memory as it is then, or nothing.
            tokens = await self.conversation.conversations.count(Message(MessageRole.SYSTEM, item.to_json()).text)
            await self._store(
                Message(MessageRole.SYSTEM, {"id": item.id}, Modal.MEMORY, memory_id=item.id, tokens=max(tokens, 1))
            )
        if items:
            await self.view.show(self._memories(items))

    async def tell(self, text: str, *, choices: Sequence[Button] = (), menu: Sequence[Button] = ()) -> None:
        """Show a message that is not part of the conversation, such as a command's answer."""
        await self.view.show(OutgoingMessage(text, choices=tuple(choices), menu=tuple(menu)))

    async def hand_over(self, file: File, text: str) -> None:
        """Send a file with a sentence, and return when it was sent."""
        await self.view.show(OutgoingMessage(text, file=file))
        await self.view.flush()

    async def say(self, text: str, *, in_history: bool, choices: Sequence[Button] = ()) -> None:
        """Show and store a message in the bot's own words."""
        await self.view.show(OutgoingMessage(text, choices=tuple(choices)))
        await self._store(Message(MessageRole.ASSISTANT, text, in_history=in_history))

    async def speak(self, task: Task, instruction: str, *, in_history: bool) -> None:
        """Stream the chat model's answer to the screen, and store it.

        If the person asked for changes that were not made, the text that ends the turn is shown whole below our own
        words on that, without any claim to the contrary. In other texts our own words replace a false claim.

        Raises:
            ProviderError: the model failed; the text until then is shown and stored.
        """
        prompt = await self.prompt(task, instruction)
        ends = task in {Task.FINISH, Task.QUESTION}
        wanted = outcomes.left_undone(self.steps, self.asked.text) if ends else frozenset[ChangeKind]()
        await self._stream(self._checked(prompt, wanted) if wanted else self._set_right(prompt), in_history=in_history)

    async def report(self, step: Step, instruction: str, plainly: str) -> None:
        """Record a step and stream a short text on it; if the model fails, say `plainly` and list the memories."""
        self.steps.append(step)
        try:
            await self.speak(Task.REPORT, instruction, in_history=True)
        except ProviderError as error:
            _log.warning("report failed", extra={"error": type(error).__name__, "action": step.action})
            lines = [memory_line(item, self.zone) for item in step.items]
            await self.say("\n".join([plainly, *lines]), in_history=True)

    async def confirm(self, step: Step, told: str, instruction: str = "", choices: Sequence[Button] = ()) -> None:
        """Record a step that wrote, and say so in our own words, made from the committed rows (`told`).

        With an `instruction`, a short text of the chat model is streamed below them in the same message. Our words come
        first, and stay if the model fails.
        """
        self.steps.append(step)
        if not instruction:
            await self.say(told, in_history=True, choices=choices)
            return
        prompt = await self.prompt(Task.REPORT, instruction)
        await self._stream(self._below(told, prompt), in_history=True, choices=choices)

    async def prompt(self, task: Task, instruction: str, *, choices: Sequence[str] = ()) -> Prompt:
        """Return the prompt with `instruction` and all that this turn may show a model."""
        shown = await self.conversation.context(
            self.asked.turn,
            instruction=instruction,
            max_tokens=self.max_history_tokens,
            mode=mode_of(task),
            lookup=self.memory.get,
        )
        self._in_view = shown.memories
        self._sent_tokens = shown.budget.window + shown.budget.memories
        context = PromptContext(
            task=task,
            locale=self.locale,
            message=self.asked.text,
            now=self.clock.now().astimezone(self.zone),
            history=shown.messages,
            steps=tuple(self.steps),
            choices=tuple(choices),
            attachments=self.asked.attachments,
            quotes=self.asked.quotes,
            language=self.language,
            actions=self.actions,
            memories=shown.memories,
            question=self._asked_before(shown.messages),
        )
        return build(context, shown, instruction if self.remembers else f"{instruction}\n{MEMORY_OFF}")

    def _asked_before(self, messages: Sequence[Message]) -> OpenQuestion | None:
        """Return the question of the last answer before this turn, if it was stored as data."""
        said = (m for m in reversed(messages) if m.turn != self.asked.turn and m.modal is Modal.TEXT)
        last = next((m for m in said if m.role in {MessageRole.USER, MessageRole.ASSISTANT}), None)
        return None if last is None else last.question

    def shorten(self) -> bool:
        """Halve what models are shown of the conversation from now on; return False if that was done before."""
        if self.max_history_tokens is not None:
            return False
        self.max_history_tokens = max(self._sent_tokens // 2, self.asked.tokens, 1)  # the question always fits
        return True

    async def known_ids(self, ids: Sequence[str]) -> tuple[list[MemoryItem], tuple[str, ...]]:
        """Return the memories of the ids that a model answered, and the refused ids.

        Only ids of memories in view count, which are this person's (T15).
        """
        wanted = dict.fromkeys(ids)
        held = {item.id: item for item in await self.in_view()}
        self._in_view += tuple(held[key] for key in wanted if key in held)
        return [held[key] for key in wanted if key in held], tuple(key for key in wanted if key not in held)

    async def in_view(self) -> Sequence[MemoryItem]:
        """Return the memories that were shown in this conversation, still exist, and may be spoken of here."""
        return await self.memory.get(sorted(await self.conversation.store.shown_memories(self.conversation.thread.id)))

    @property
    def written(self) -> frozenset[ChangeKind]:
        """The kinds of change that this turn committed."""
        return frozenset(committed(self.steps))

    async def _stream(self, pieces: AsyncGenerator[str], *, in_history: bool, choices: Sequence[Button] = ()) -> None:
        """Stream a text to the screen, and store what was shown of it."""
        said: list[str] = []
        self._question, started_s = None, self.clock.monotonic()
        try:
            await self.view.stream(_recorded(pieces, said), tuple(choices))
        finally:
            text = "".join(said).replace(f"\n\n{LENGTH_STOP[self.locale]}", "").strip()
            if text:
                duration_s = self.clock.monotonic() - started_s
                answer = Message(MessageRole.ASSISTANT, text, in_history=in_history, duration_s=duration_s)
                await self._store(replace(answer, question=self._question))

    async def _checked(self, prompt: Prompt, wanted: frozenset[ChangeKind]) -> AsyncGenerator[str]:
        """Yield the whole text below our words on what was not done, without sentences that claim it was."""
        text = "".join([piece async for piece in self._pieces(prompt)]).strip()
        tried = bool(outcomes.missing(self.steps))
        told = outcomes.undone(self.steps, wanted, self.locale, remembers=self.remembers)
        if claims.claimed(text) - (self.written - wanted):
            yield f"{told}\n\n{claims.without(text)}".rstrip()
        elif not tried and (prompt.context.task is Task.QUESTION or claims.denied(text)):
            yield text
        else:
            yield f"{told}\n\n{text}"

    async def _set_right(self, prompt: Prompt) -> AsyncGenerator[str]:
        """Yield a text as it comes; our own words replace all from a false claim on."""
        said, shown = "", 0
        try:
            async with aclosing(self._pieces(prompt)) as pieces:
                async for piece in pieces:
                    said += piece
                    if not self._claims_falsely(said) and (end := claims.settled(said)) > shown:
                        yield said[shown:end]
                        shown = end
        except ProviderError:
            if not self._claims_falsely(said):
                yield said[shown:]
            raise
        if false := self._claims_falsely(said):
            yield f"\n\n{outcomes.nothing(false, self.locale)}" if shown else outcomes.nothing(false, self.locale)
        else:
            yield said[shown:]

    def _claims_falsely(self, text: str) -> frozenset[ChangeKind]:
        return claims.volunteered(text, self.asked.text) - self.written

    async def _below(self, told: str, prompt: Prompt) -> AsyncGenerator[str]:
        """Yield our own words, then what a model adds to them, if anything."""
        yield told
        held: str | None = ""
        try:
            async with aclosing(self._set_right(prompt)) as pieces:
                async for piece in pieces:
                    if held is None:
                        yield piece
                    elif (held := held + piece).strip().strip(NOTHING_TO_ADD):
                        yield f"\n\n{held.lstrip()}"
                        held = None
        except ProviderError as error:  # our own words are enough
            _log.warning("report failed", extra={"error": type(error).__name__, "action": self.steps[-1].action})

    async def _pieces(self, prompt: Prompt) -> AsyncGenerator[str]:
        blank = True
        async with self.models.chat.stream(prompt) as events:
            async for event in events:
                match event:
                    case Delta(piece):
                        blank = blank and not piece.strip()
                        yield piece
                    case Finish(Stop.REFUSED):
                        raise ProviderRefused(f"{self.models.chat.name} declined")
                    case Finish() if blank:
                        raise EmptyReply(f"{self.models.chat.name} answered nothing")
                    case Finish(question=question):
                        self._question = question
                        if event.stop is Stop.LENGTH:
                            yield f"\n\n{LENGTH_STOP[self.locale]}"  # shown, and not stored

    def _memories(self, items: Sequence[MemoryItem]) -> OutgoingMessage:
        """Return the compact message that shows recalled memories."""
        lines = "\n".join(memory_line(item, self.zone) for item in items)
        return OutgoingMessage(lines, Modal.MEMORY, tuple(item.in_zone(self.zone) for item in items))

    async def _store(self, message: Message) -> None:
        stored = await self.conversation.add(replace(message, turn=self.asked.turn))
        if stored.role is MessageRole.ASSISTANT:
            await self._tell(stored)

    async def _tell(self, answer: Message) -> None:
        """Store which memories an answer and the person's message tell of, for `core.history.withholding`."""
        done = {item.id: item for step in self.steps for item in step.items}
        seen = {item.id: item for item in self._in_view} | done
        changed = {item.id for step in self.steps if step.writes is not None for item in step.items}
        by_answer = [item for item in seen.values() if item.id in done or tells_of(answer.text, item)]
        by_person = [
            item for item in seen.values() if item.id in changed or tells_of(self.asked.text, item, by_person=True)
        ]
        told = {answer.id: [told_of(item) for item in by_answer]}
        if self.asked.id:  # commands are not stored
            told[self.asked.id] = [told_of(item) for item in by_person]
        await self.conversation.store.tell(told)


def memory_line(item: MemoryItem, zone: tzinfo) -> str:
    """Return a memory on one line: its first binding, its content, and the day of its last change in that zone."""
    binding = verbatim(one_line(item.bindings[0], _BINDING_PREVIEW_CHARS))
    content = verbatim(one_line(item.content, _MEMORY_PREVIEW_CHARS))
    return f"🧠 {binding}: {content} · {item.updated_at.astimezone(zone):%Y-%m-%d}"


async def _recorded(pieces: AsyncGenerator[str], said: list[str]) -> AsyncGenerator[str]:
    """Yield the pieces, and add each to the list."""
    async with aclosing(pieces):
        async for piece in pieces:
            said.append(piece)
            yield piece
