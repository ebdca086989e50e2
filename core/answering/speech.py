"""A text of a model on its way into the answer: checked against what was done, shown as it comes, and stored."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from core.answering import outcomes
from core.answering.outcomes import CONTINUE, LENGTH_STOP
from core.answering.prompting import prompt_of
from core.answering.turn import Turn
from core.dialogue import NOTHING_TO_ADD, Delta, Effect, Finish, Prompt, Stop, Task, Thoughts, ToolCall, Written
from core.errors import EmptyReply, ProviderError, ProviderRefused
from core.outgoing import Button
from core.text import assertions
from core.text.marks import Citations, MachineText
from core.types import Message, MessageRole, OpenQuestion


class CheckedText:
    """A text of a model while it comes. `text` is all of it, `held` the part that was not shown yet, `said` what was.

    From the sentence on that asserts a change of memory which is not among those `written`, everything is held; with
    `hold`, everything is held at once. What limited mode says `is_ours`: it tells of changes from the rows, and quotes,
    so nothing of it is a false assertion. A text that says no more than that there is nothing to add is never shown.
    How the text is cut into pieces changes nothing.
    """

    def __init__(
        self,
        message: str,
        written: frozenset[Written],
        *,
        hold: bool,
        effects: Collection[Effect] = (),
        is_ours: bool = False,
    ) -> None:
        self.text = ""
        self.said = ""
        self._occasion = assertions.Occasion(message, effects)
        self._written = written
        self._hold = hold
        self._is_ours = is_ours
        self._shown = 0

    @property
    def held(self) -> str:
        """What was not shown yet; "" if it only says that there is nothing to add."""
        return "" if says_nothing(self.text) else self.text[self._shown :]

    def feed(self, piece: str) -> str:
        """Add a piece, and return what can be shown now."""
        before, start = len(self.text), self._shown
        self.text += piece
        if self._hold:
            return ""
        if self._is_ours:
            self._shown = 0 if says_nothing(self.text) else len(self.text)
            return self.text[start : self._shown]
        for end in range(before + 1, min(len(self.text), assertions.MAX_UNASKED_CHARS) + 1):
            last = self.text[end - 1]
            if not (last.isascii() and last.isalnum()):  # inside a word no more can be told
                self._release(self.text[:end])
        if len(self.text) > assertions.MAX_UNASKED_CHARS:
            self._release(self.text)
        return self.text[start : self._shown]

    def _release(self, text: str) -> None:
        """Let be shown what can be, now that this much of the text is there."""
        if (end := assertions.settled(text)) > self._shown and not says_nothing(text):
            sure = assertions.before_assertions(text, self._occasion, self._written)
            self._shown = max(self._shown, min(end, sure, self._before_doubt(text)))

    def _before_doubt(self, text: str) -> int:
        """Return how much of the text comes before a sentence that may assert a change, in a turn that made none."""
        return len(text) if self._written else assertions.before_changed_memory(text, self._occasion)

    @property
    def may_assert_falsely(self) -> bool:
        """Whether a sentence of it may assert a change, in words that no list has, though none was made."""
        return not self._is_ours and self._before_doubt(self.text) < len(self.text)

    def asserts_falsely(self, written: frozenset[Written]) -> frozenset[Written]:
        """Return the kinds of change that the text asserts though they were not made."""
        return frozenset() if self._is_ours else assertions.volunteered(self.text, self._occasion) - written

    def broken_off(self) -> str:
        """Return what is left to show of a text that ended too early: nothing of what may be false."""
        return "" if self._hold or self.asserts_falsely(self._written) else self.held


def says_nothing(text: str) -> bool:
    """Return whether a model's text is empty, or only says that there is nothing to add."""
    return not text.strip().strip(_BLANK)


def _tools(turn: Turn, prompt: Prompt) -> frozenset[str]:
    """Return the names by which a model may call something."""
    return frozenset([tool.name for tool in prompt.tools] + [action.name for action in turn.services.actions])


_BLANK: Final = NOTHING_TO_ADD + "–—."


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
    assertion to the contrary. In other texts our own words replace a false assertion.
    """

    turn: Turn
    checked: CheckedText

    calls: list[ToolCall] = field(default_factory=list)
    """What the model called beside it."""

    thoughts: Thoughts | None = None

    _question: OpenQuestion | None = None
    _has_dropped: bool = False
    """Whether a call, or another text for machines, was taken out of it."""

    _was_cut: bool = False
    """Whether it reached its greatest length."""

    _says_off: bool = False
    """Whether it says itself what is switched off."""

    @classmethod
    def begin(cls, turn: Turn) -> Speech:
        """Return an empty text."""
        effects = turn.services.effects
        hold = bool(outcomes.left_undone(turn.log.steps, turn.asked.text, effects))
        may_assert, is_ours = turn.log.may_assert(effects), turn.answer.is_limited
        return cls(turn, CheckedText(turn.asked.text, may_assert, hold=hold, effects=effects, is_ours=is_ours))

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
            self.turn.answer.rest()
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

        `told`: our own words just said what was done. Then, and in a turn that `goes_on`, assertions are left out.
        """
        log, locale, effects = self.turn.log, self.turn.person.locale, self.turn.services.effects
        held = self.checked.held
        if (told or goes_on) and not self.turn.answer.is_limited:
            held = assertions.without(held, effects)
        if goes_on:
            pass
        elif wanted := outcomes.left_undone(log.steps, self.turn.asked.text, effects):
            held = self._with_undone(held, wanted, is_question=is_question)
        elif false := self.checked.asserts_falsely(log.may_assert(effects)):
            held = outcomes.nothing(false, locale)
            if self.checked.said:
                held = f"\n\n{held}"
        elif self._is_doubtful(log.written):
            line = f"{outcomes.UNCHANGED[locale]}\n\n{held.strip()}"
            held = f"\n\n{line}" if self.checked.said else line
        self._write(held)
        await self._store(in_history=in_history)
        if self._was_cut:
            self._was_cut = False
            self.turn.answer.write(LENGTH_STOP[locale])  # shown, and not stored

    def _is_doubtful(self, written: frozenset[Written]) -> bool:
        """Return whether the text may assert a change that was not made, or lost a call that was asked for."""
        is_dropped = self._has_dropped and not written and assertions.asks_to_write(self.turn.asked.text)
        return is_dropped or (self.checked.may_assert_falsely and not self.turn.answer.has_recalled)

    def _with_undone(self, held: str, wanted: frozenset[Written], *, is_question: bool) -> str:
        """Return our own words on what was not done, and the text that was held, without assertions to the contrary.

        What this answer said already on that is not said again.
        """
        log, person, said = self.turn.log, self.turn.person, self.turn.answer.text
        tried = outcomes.missing(log.steps)
        untold = [
            kind
            for kind in wanted
            if kind not in tried or outcomes.not_done(kind, tried[kind], person.locale, some=True) not in said
        ]
        off = self.turn.services.off
        if self._says_off:
            untold = [kind for kind in untold if kind not in off]
        told = outcomes.undone(log.steps, untold, person.locale, remembers=person.remembers, off=off)
        effects = self.turn.services.effects
        if assertions.asserted(self.text, effects) - (log.written - wanted):
            held = assertions.without(held, effects)
        elif not tried and (is_question or assertions.denied(self.text)):
            return held
        rest = "\n\n".join(filter(None, (told, held.strip())))
        return f"\n\n{rest}" if self.checked.said and rest else rest

    def _write(self, piece: str) -> None:
        """Show a piece of the text; the first one begins a paragraph."""
        if not piece:
            return
        answer = self.turn.answer
        if self.checked.said:
            answer.write_on(piece, whole=answer.is_limited)
        elif piece := piece.lstrip():
            answer.write(piece, whole=answer.is_limited)
        self.checked.said += piece

    async def _store(self, *, in_history: bool) -> None:
        if said := self.checked.said.strip():
            message = Message(MessageRole.ASSISTANT, said, in_history=in_history, question=self._question)
            await self.turn.log.store(message)

    async def _pieces(
        self, prompt: Prompt, citations: Citations | None, informing: frozenset[str]
    ) -> AsyncGenerator[str]:
        """Yield the text, without citations; note the calls, and how it ended.

        If all of it is nothing that people read, the model is asked once more.
        """
        for is_last in (False, True):
            machine = MachineText(_tools(self.turn, prompt))
            async with aclosing(self._attempt(prompt, citations, informing, machine)) as pieces:
                said = ""
                async for piece in pieces:
                    said += piece
                    yield piece
            self._has_dropped = machine.has_taken
            if not says_nothing(said) or self.calls:
                return
            if is_last or not machine.has_taken:
                raise EmptyReply(f"{self.turn.services.models.chat.name} answered nothing")

    async def _attempt(
        self, prompt: Prompt, citations: Citations | None, informing: frozenset[str], machine: MachineText
    ) -> AsyncGenerator[str]:
        chat = self.turn.services.models.chat
        async with chat.stream(prompt) as events:
            async for event in events:
                match event:
                    case Delta() if any(call.name in informing for call in self.calls):
                        pass
                    case Delta(piece):
                        piece = piece if self.turn.answer.is_limited else machine.feed(piece)
                        yield citations.feed(piece) if citations else piece
                    case ToolCall():
                        self.calls.append(event)
                    case Finish(Stop.REFUSED):
                        raise ProviderRefused(f"{chat.name} declined")
                    case Finish(stop=stop, question=question, thoughts=thoughts, says_off=says_off):
                        rest = machine.finish()
                        if citations:
                            rest = citations.feed(rest) + citations.finish(is_cut=stop is Stop.LENGTH)
                        yield rest
                        self._question, self.thoughts, self._says_off = question, thoughts, says_off
                        if stop is Stop.LENGTH:
                            self._was_cut = True
                            self.turn.answer.add_buttons((Button(CONTINUE[self.turn.person.locale], "/continue"),))
