"""A text of a model on its way into the answer: checked against what was done, shown as it comes, and stored."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from core import outcomes
from core.answering.prompting import prompt_of
from core.answering.turn import Turn
from core.dialogue import Delta, Finish, Prompt, Stop, Task, Thoughts, ToolCall
from core.errors import EmptyReply, ProviderError, ProviderRefused
from core.outgoing import Button
from core.text import claims
from core.text.checked import CheckedText, says_nothing
from core.text.citations import Citations
from core.texts import CONTINUE, LENGTH_STOP
from core.types import ChangeKind, Message, MessageRole, OpenQuestion


async def speak(turn: Turn, task: Task, instruction: str, *, in_history: bool) -> None:
    """Add the chat model's text to the answer as it comes, and store it.

    Raises:
        ProviderError: the model failed; the text until then is shown and stored.
    """
    prompt = await prompt_of(turn, task, instruction)
    speech = Speech.begin(turn)
    try:
        await speech.stream(prompt, in_history=in_history)
    except EmptyReply:
        if not turn.answer.text:
            raise
    await speech.complete(in_history=in_history, is_question=task is Task.QUESTION)


@dataclass(slots=True)
class Speech:
    """One text of a model.

    If the person asked for changes that were not made, it is shown whole below our own words on that, without any
    claim to the contrary. In other texts our own words replace a false claim.
    """

    turn: Turn
    checked: CheckedText

    calls: list[ToolCall] = field(default_factory=list)
    """What the model called beside it."""

    thoughts: Thoughts | None = None

    _question: OpenQuestion | None = None
    _was_cut: bool = False
    """Whether it reached its greatest length."""

    @classmethod
    def begin(cls, turn: Turn) -> Speech:
        """Return an empty text."""
        hold = bool(outcomes.left_undone(turn.log.steps, turn.asked.text))
        checked = CheckedText(turn.asked.text, turn.log.may_claim, hold=hold)
        return cls(turn, checked)

    @property
    def text(self) -> str:
        """All that the model wrote, shown or not."""
        return self.checked.text

    async def stream(
        self,
        prompt: Prompt,
        *,
        in_history: bool,
        citations: Citations | None = None,
        informing: frozenset[str] = frozenset(),
    ) -> None:
        """Ask the chat model; show what can be shown of its text as it comes, without `citations`.

        What it writes after it called an `informing` action is left out: it could not know what that finds.

        Raises:
            ProviderError: the model failed; the text until then is shown and stored, and no call is to be run.
        """
        try:
            async with aclosing(self._pieces(prompt, citations, informing)) as pieces:
                async for piece in pieces:
                    self._write(self.checked.feed(piece))
        except BaseException as error:
            if isinstance(error, ProviderError):
                if citations and (rest := citations.finish(is_cut=True)):
                    self._write(self.checked.feed(rest))
                self._write(self.checked.broken_off())
            await self._store(in_history=in_history)
            raise

    async def complete(
        self, *, in_history: bool, is_question: bool = False, told: bool = False, goes_on: bool = False
    ) -> None:
        """Show what was held of the text, with our own words on what was not done, and store all.

        `told`: our own words just said what was done. Then, and in a turn that `goes_on`, claims are left out.
        """
        log, locale = self.turn.log, self.turn.person.locale
        held = self.checked.held
        if told or goes_on:
            held = claims.without(held)
        if goes_on:
            pass
        elif wanted := outcomes.left_undone(log.steps, self.turn.asked.text):
            held = self._with_undone(held, wanted, is_question=is_question)
        elif false := self.checked.claims_falsely(log.may_claim):
            held = outcomes.nothing(false, locale)
            if self.checked.said:
                held = f"\n\n{held}"
        self._write(held)
        await self._store(in_history=in_history)
        if self._was_cut:
            self._was_cut = False
            self.turn.answer.write(LENGTH_STOP[locale])  # shown, and not stored

    def _with_undone(self, held: str, wanted: frozenset[ChangeKind], *, is_question: bool) -> str:
        """Return our own words on what was not done, and the text that was held, without claims to the contrary.

        What this answer said already on that is not said again.
        """
        log, person, said = self.turn.log, self.turn.person, self.turn.answer.text
        tried = outcomes.missing(log.steps)
        untold = [
            kind
            for kind in wanted
            if kind not in tried or outcomes.not_done(kind, tried[kind], person.locale, some=True) not in said
        ]
        told = outcomes.undone(log.steps, untold, person.locale, remembers=person.remembers)
        if claims.claimed(self.text) - (log.written - wanted):
            held = claims.without(held)
        elif not tried and (is_question or claims.denied(self.text)):
            return held
        rest = "\n\n".join(filter(None, (told, held.strip())))
        return f"\n\n{rest}" if self.checked.said and rest else rest

    def _write(self, piece: str) -> None:
        """Show a piece of the text; the first one begins a paragraph."""
        if not piece:
            return
        if self.checked.said:
            self.turn.answer.write_on(piece)
        elif piece := piece.lstrip():
            self.turn.answer.write(piece)
        self.checked.said += piece

    async def _store(self, *, in_history: bool) -> None:
        if said := self.checked.said.strip():
            message = Message(MessageRole.ASSISTANT, said, in_history=in_history, question=self._question)
            await self.turn.log.store(message)

    async def _pieces(
        self, prompt: Prompt, citations: Citations | None, informing: frozenset[str]
    ) -> AsyncGenerator[str]:
        """Yield the text, without citations; note the calls, and how it ended."""
        chat, said = self.turn.services.models.chat, ""
        async with chat.stream(prompt) as events:
            async for event in events:
                match event:
                    case Delta() if any(call.name in informing for call in self.calls):
                        pass
                    case Delta(piece):
                        piece = citations.feed(piece) if citations else piece
                        said += piece
                        yield piece
                    case ToolCall():
                        self.calls.append(event)
                    case Finish(Stop.REFUSED):
                        raise ProviderRefused(f"{chat.name} declined")
                    case Finish(stop=stop, question=question, thoughts=thoughts):
                        rest = citations.finish(is_cut=stop is Stop.LENGTH) if citations else ""
                        if says_nothing(said + rest) and not self.calls:
                            raise EmptyReply(f"{chat.name} answered nothing")
                        yield rest
                        self._question, self.thoughts = question, thoughts
                        if stop is Stop.LENGTH:
                            self._was_cut = True
                            self.turn.answer.add_buttons((Button(CONTINUE[self.turn.person.locale], "/continue"),))
