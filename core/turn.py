"""Answer one message: all that an action may use."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo
from hashlib import blake2b
from zoneinfo import ZoneInfo

from core import outcomes
from core.candidates import Labelled, Prefetch
from core.confirmations import Confirmations
from core.delivery.view import View
from core.dialogue import (
    ActionInfo,
    Delta,
    Finish,
    Outcome,
    Prompt,
    PromptContext,
    PromptTurn,
    Step,
    Stop,
    Task,
    Thoughts,
    Tool,
    ToolCall,
    committed,
)
from core.enclosures import Quote, QuoteKind, Speaker
from core.errors import ContextTooLong, EmptyReply, ProviderError, ProviderRefused, StepwiseOnly
from core.history.conversation import Context, Conversation
from core.history.quotes import NOTHING, Past, asks, find_quotes
from core.history.withholding import tells_of, told_of
from core.hooks import Additions
from core.memory.asking import wordings
from core.memory.profile import Profiles
from core.memory.user_memory import UserMemory
from core.models import Models, mode_of
from core.outgoing import Button, File, OutgoingMessage
from core.ports import Clock, TimeReader
from core.prompts import build, build_single, render_notes, render_past, render_steps, repeated, single_forms
from core.room_talk import SILENCE, RoomTalk, credited
from core.stores import Quoted
from core.text import claims
from core.text.checked import CheckedText, says_nothing
from core.text.citations import Citations, not_cited
from core.text.days import noted
from core.text.markdown import plain_times, quoted
from core.text.marks import quoted as marked
from core.text.unicode import fold, one_line
from core.text.words import FUNCTION_WORDS, folded_words, same
from core.texts import AGAIN, CONTINUE, LENGTH_STOP
from core.threads import TurnState
from core.types import (
    AskedTime,
    ChangeKind,
    Learn,
    Locale,
    MemoryItem,
    Message,
    MessageRole,
    Modal,
    OpenQuestion,
    is_said_by_person,
)

_MAX_SHORTENINGS = 3
_MAX_TOLD_LATELY = 4
_MAX_NOTES = 5
_MAX_NOTE_CHARS = 300
_SMALL_NUMBER = re.compile(r"\d{1,2}|(?:19|20)\d\d|\w")
MEMORY_OFF = """\
The person has turned remembering off: nothing new can be saved or changed. If they ask for that, tell them so, and \
that /memory on turns it on again."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Reply:
    """What a model answered in the single cycle: its text, and the calls that it wants run."""

    text: CheckedText
    informing: frozenset[str] = frozenset()
    """The names of the actions that find out something for the model."""
    calls: list[ToolCall] = field(default_factory=list)
    thoughts: Thoughts | None = None

    @property
    def awaits_result(self) -> bool:
        """Whether the model called an action of which it has to read the result before it says more."""
        return any(call.name in self.informing for call in self.calls)


@dataclass(slots=True)
class Turn:
    """The answer to one message. `asked` is the person's message as it was stored.

    `locale` is the language of our own sentences, `language` the tag of the one chosen for answers, or "".
    `remembers` is False while the person wants nothing new to be remembered; `learn` is what becomes of facts that they
    tell in passing. `name` is the person's name on the platform; `speaker` is it where others read along, else "".
    """

    asked: Message
    locale: Locale
    conversation: Conversation
    memory: UserMemory
    models: Models
    view: View
    clock: Clock
    confirmations: Confirmations
    times: TimeReader
    steps: list[Step] = field(default_factory=list)
    max_history_tokens: int | None = None
    asks_instead: str = ""
    """The model that found the conversation too long; "" while none did. The budget is its window from then on."""
    _shortenings: int = 0
    _sent_tokens: int = 0
    _in_view: tuple[MemoryItem, ...] = ()
    remembers: bool = True
    learn: Learn = Learn.OFFERED
    awaits_answer: bool = False
    """Whether the person was asked to confirm something: the turn ends with that question."""
    language: str = ""
    speaker: str = ""
    name: str = ""
    profiles: Profiles | None = None
    actions: tuple[ActionInfo, ...] = ()
    """The actions that are on; set by the cycle."""
    _question: OpenQuestion | None = None
    _said: list[str] = field(default_factory=list)
    """Pieces of the answer message, as far as it has come."""
    _buttons: list[Button] = field(default_factory=list)
    _recalled: list[MemoryItem] = field(default_factory=list)
    prefetch: Prefetch | None = None
    """The search for memories that the message may need, in the single cycle."""
    _heard: tuple[str, ...] = ()
    """The person's own words that models were shown."""
    is_single: bool = False
    """Whether the turn is thought in the single cycle: then only memories that the answer cites are recalled."""
    _found: list[MemoryItem] = field(default_factory=list)
    _was_cut: bool = False
    """Whether the text of a model reached its greatest length."""
    own_zone: ZoneInfo | None = None
    """The time zone that the person told; None if they have not."""
    tag: str = ""
    """The platform's tag of the person's language ("pt-br"), or ""."""
    is_private: bool = True
    """Whether nobody else reads along."""
    additions: Additions | None = None
    """What features add to the turn."""
    is_ending: bool = False
    """Whether what is said now ends the turn."""
    room: RoomTalk = SILENCE
    """What was said in the room just before, as far as models may read it."""
    _known: Labelled = field(default_factory=Labelled)
    """The memories that the single cycle's prompts show, by their marks."""
    _past: Past = NOTHING
    """What models were shown of earlier talks."""
    _window: frozenset[int] = frozenset()
    """The ids of the messages that the last prompt showed."""
    _times_in: dict[str, AskedTime | None] = field(default_factory=dict)
    """The times that texts of this turn name."""
    _notes: tuple[str, ...] = ()
    """What features know of what was looked for in this turn."""
    offers: tuple[Button, ...] = ()
    """Buttons for what a command says without any of its own."""
    _base: Prompt | None = None
    """The prompt of the single cycle, before the turn's exchange with tools."""
    _form: int = 0
    """Which of the forms of that prompt is used."""
    _began_s: float = field(init=False)
    """When the turn began, then when the last part of its answer was complete."""

    def __post_init__(self) -> None:
        """Begin to count the time that the answer takes."""
        self._began_s = self.clock.monotonic()

    @property
    def zone(self) -> tzinfo:
        """The time zone of times that the person reads."""
        return self.own_zone or self.conversation.conversations.zone

    @property
    def said_at(self) -> datetime:
        """When the person sent the message, in their zone: from then on "tomorrow" counts, however late it is read."""
        return (self.asked.at or self.clock.now()).astimezone(self.zone)

    @property
    def asked_time(self) -> AskedTime | None:
        """The time that the message names, if it asks for what was said, or is, then."""
        return self._time_in(self.asked.text)

    def _time_in(self, text: str) -> AskedTime | None:
        """Return the time that a text of this turn names; reading one costs 0.2 ms, and each is asked for often."""
        if text not in self._times_in:
            self._times_in[text] = self.times.asked(text, self.said_at, self.locale)
        return self._times_in[text]

    def wordings(self, queries: Sequence[str]) -> Sequence[str]:
        """Return what to search for of queries, some of which may name the time that the message asks for."""
        is_said = (asked := self.asked_time) is not None and asked.said
        return list(
            dict.fromkeys(text for query in queries for text in wordings(query, self._time_in(query), said=is_said))
        )

    async def enter(self, state: TurnState, error: str = "") -> None:
        """Store the state of the turn (D4)."""
        await self.conversation.enter(self.asked.turn, state, error)

    async def resume(self, undo: Sequence[Button] = ()) -> bool:
        """Resume a turn that a restart broke off: show what it had recalled and said; return whether it was finished.

        Messages that are still on the screen are taken over. If it is unknown whether they reached the person, what was
        said is repeated with a mark. `undo` are the buttons for what the turn had written.
        """
        self.add_buttons(undo)
        context = await self.conversation.context("")
        mine = [m for m in context.messages if m.turn == self.asked.turn and not m.error]  # without apologies
        said = [m for m in mine if m.role is MessageRole.ASSISTANT and m.modal is Modal.TEXT]
        answered = bool(said) and not said[-1].in_history  # only a final answer is kept out of its turn's calls
        if said and not self.view.resumes:
            self._write(AGAIN[self.locale])
        self._recalled += await self.memory.get([m.memory_id for m in mine if m.modal is Modal.MEMORY])
        for message in said:
            self._write(message.text)
        if answered:
            await self.finish()
        return answered

    async def end(self, error: str, last_words: str) -> None:
        """Store that the turn is over, with the name of the error that ended it and its apology, if any."""
        if last_words:
            await self._store(Message(MessageRole.ASSISTANT, last_words, in_history=False, error=error))
        await self.enter(TurnState.ERROR if error else TurnState.COMPLETED, error)

    async def recover(self) -> None:
        """Add what this turn had written before it was broken off to its steps, and tell what was not told of it."""
        memory = self.memory
        context = await self.conversation.context("")
        said = "\n".join(
            m.text for m in context.messages if m.turn == self.asked.turn and m.role is MessageRole.ASSISTANT
        )
        changes = await memory.store.changes(memory.owner, act=self.asked.turn, not_undone=True)
        for kind in ChangeKind:
            items = tuple(item for each in changes if each.kind is kind and (item := each.after or each.before))
            items = tuple(item for item in items if not item.current)  # earlier versions were told as what they were
            if items:
                step = Step("before an interruption", Outcome.DONE, items=items, detail=kind.value, writes=kind)
                if untold := [item for item in items if quoted(item.content) not in said]:
                    await self.confirm(step, outcomes.written(kind, untold, self.locale, self.zone))
                else:
                    self.steps.append(step)

    async def status(self, text: str) -> None:
        """Show a `textForReplace`, which the next message replaces (T5)."""
        status = Message(MessageRole.ASSISTANT, text, Modal.TEXT_FOR_REPLACE, in_history=False, turn=self.asked.turn)
        self.view.channel.note(replace(status, at=self.clock.now()))
        await self.view.status(text)

    async def recall(self, items: Sequence[MemoryItem]) -> None:
        """Add one `memory` message for each item to the conversation, and show them below the answer."""
        for item in items:
            await self._store(Message(MessageRole.SYSTEM, item.to_json(), Modal.MEMORY, memory_id=item.id))
        self._recalled += [item for item in items if item not in self._recalled]
        self._in_view += tuple(items)

    async def find(self, items: Sequence[MemoryItem]) -> None:
        """Recall what a search found; in the single cycle only what the answer turns out to rest on."""
        self._found += items
        if not self.is_single:
            await self.recall(items)

    async def recall_told(self, text: str) -> None:
        """Recall what was searched for and is told in a text, if the turn cited nothing."""
        if self._found and not self._recalled:
            await self.recall([item for item in self._found if tells_of(text, item)])

    async def tell(self, text: str, *, choices: Sequence[Button] = (), menu: Sequence[Button] = ()) -> None:
        """Show a message that is not part of the conversation, such as a command's answer."""
        await self.finish()
        offered = tuple(choices) if choices or menu else self.offers
        await self.view.show(OutgoingMessage(text, choices=offered, menu=tuple(menu)))

    async def hand_over(self, file: File, text: str) -> None:
        """Send a file with a sentence, and return when it was sent."""
        await self.finish()
        await self.view.show(OutgoingMessage(text, file=file))
        await self.view.flush()

    async def say(self, text: str, *, in_history: bool, choices: Sequence[Button] = ()) -> None:
        """Add our own words to the answer message, with buttons for its end, and store them."""
        self._write(text, whole=True)
        self.add_buttons(choices)
        await self._store(Message(MessageRole.ASSISTANT, text, in_history=in_history and not self.is_ending))

    async def confirm(self, step: Step, told: str, choices: Sequence[Button] = ()) -> None:
        """Record a step that wrote, and say so in our own words, made from the committed rows (`told`)."""
        self.steps.append(step)
        await self.say(told, in_history=True, choices=choices)

    def add_buttons(self, buttons: Sequence[Button]) -> None:
        """Put buttons below the answer message, each once."""
        self._buttons += [button for button in buttons if button not in self._buttons]

    async def finish(self) -> None:
        """Complete the answer message, with its buttons and the memories it rests on below it.

        A memory that the answer says word for word, or that the turn changed, is not shown; and none in limited mode,
        which quotes what it answers from.
        """
        said, buttons, recalled = "".join(self._said), tuple(self._buttons), tuple(self._recalled)
        self._said, self._buttons, self._recalled = [], [], []
        changed = {item.id for step in self.steps if step.writes is not None for item in step.items}
        memories = [item for item in recalled if item.id not in changed and not _says(said, item.content)]
        if self.models.is_limited and said:
            memories = []
        if said or memories:
            await self.view.finish(buttons, tuple(noted(item, self.zone, self.locale) for item in memories))

    def has_quoted(self, words: str) -> bool:
        """Return whether the answer message says these words as they are."""
        return _says("".join(self._said), words)

    @property
    def has_said(self) -> bool:
        """Whether the answer message has begun."""
        return bool(self._said)

    async def speak(self, task: Task, instruction: str, *, in_history: bool) -> None:
        """Add the chat model's text to the answer message as it comes, and store it.

        If the person asked for changes that were not made, the text is shown whole below our own words on that, without
        any claim to the contrary. In other texts our own words replace a false claim.

        Raises:
            ProviderError: the model failed; the text until then is shown and stored.
        """
        prompt = await self.prompt(task, instruction)
        text = self.begin_text()
        try:
            await self.stream(text, self._pieces(prompt), in_history=in_history)
        except EmptyReply:
            if not self.has_said:
                raise
        await self.end_text(text, in_history=in_history, is_question=task is Task.QUESTION)

    def begin_text(self) -> CheckedText:
        """Return an empty text of a model, for `stream` and `end_text`."""
        hold = bool(outcomes.left_undone(self.steps, self.asked.text))
        self._question = None
        return CheckedText(self.asked.text, self._may_claim, hold=hold)

    async def stream(self, text: CheckedText, pieces: AsyncGenerator[str], *, in_history: bool) -> None:
        """Add the pieces to the text, and show what can be shown of it; on a failure store what was shown."""
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    self._write_on(text, text.feed(piece))
        except BaseException as error:
            if isinstance(error, ProviderError):
                self._write_on(text, text.broken_off())
            await self._store_text(text.said, in_history=in_history)
            raise

    async def end_text(
        self,
        text: CheckedText,
        *,
        in_history: bool,
        is_question: bool = False,
        told: bool = False,
        goes_on: bool = False,
    ) -> None:
        """Show what was held of a text, with our own words on what was not done, and store all.

        `told`: our own words just said what was done. Then, and in a turn that `goes_on`, claims are left out.
        """
        held = text.held
        if told or goes_on:
            held = claims.without(held)
        if goes_on:
            pass
        elif wanted := outcomes.left_undone(self.steps, self.asked.text):
            held = self._with_undone(text, held, wanted, is_question=is_question)
        elif false := text.claims_falsely(self._may_claim):
            held = outcomes.nothing(false, self.locale)
            if text.said:
                held = f"\n\n{held}"
        self._write_on(text, held)
        await self._store_text(text.said, in_history=in_history)
        if self._was_cut:
            self._was_cut = False
            self._write(LENGTH_STOP[self.locale])  # shown, and not stored

    def _with_undone(self, text: CheckedText, held: str, wanted: frozenset[ChangeKind], *, is_question: bool) -> str:
        """Return our own words on what was not done, and the text that was held, without claims to the contrary.

        What this answer said already on that is not said again.
        """
        tried, said = outcomes.missing(self.steps), "".join(self._said)
        untold = [
            kind
            for kind in wanted
            if kind not in tried or outcomes.not_done(kind, tried[kind], self.locale, some=True) not in said
        ]
        told = outcomes.undone(self.steps, untold, self.locale, remembers=self.remembers)
        if claims.claimed(text.text) - (self.written - wanted):
            held = claims.without(held)
        elif not tried and (is_question or claims.denied(text.text)):
            return held
        rest = "\n\n".join(filter(None, (told, held.strip())))
        return f"\n\n{rest}" if text.said and rest else rest

    async def ask(
        self, tools: Sequence[Tool], exchange: Sequence[PromptTurn], informing: frozenset[str] = frozenset()
    ) -> Reply:
        """Ask the chat model once for text and tool calls, as the single cycle does; the text is shown as it comes.

        `exchange` are the calls of this turn so far, with their results. Memories that the text cites are recalled.
        What the model says after a call of an `informing` action is left out.

        Raises:
            ProviderError: the model failed; the text until then is shown and stored, and no call is to be run.
        """
        reply = Reply(self.begin_text(), informing)
        base = await self.look_up(tools)
        prompt = replace(base, turns=(*base.turns, *exchange), tools=single_forms(tools)[self._form].tools)
        citations = Citations(self._known.labels)
        try:
            await self.stream(reply.text, self._pieces(prompt, reply, citations), in_history=False)
        finally:
            await self.recall(self._known.cited(citations.labels))
        return reply

    def result_text(self, step: Step) -> str:
        """Return what came of a tool call, for the model: the step, and what it found."""
        lines = [render_steps((step,)).splitlines()[0].removeprefix("1. ")]
        if step.writes is None:
            lines += [self._labelled(step.items)] if step.items else []
            lines += render_notes(step.notes)
            lines += render_past(step.quotes, self.zone)
        elif step.items:
            lines.append("The person was just shown this, word for word: do not repeat it.")
        return "\n".join(lines)

    async def look_up(self, tools: Sequence[Tool]) -> Prompt:
        """Return the prompt of the single cycle without its exchange, with the memories that the message may need.

        It is the same in all calls of the turn; `tools` are those for which it leaves room.

        Raises:
            StepwiseOnly: it does not fit the model's window.
        """
        if self._base is not None:
            return self._base
        fitting = await self.form_that_fits(tools)
        if fitting is None:
            raise StepwiseOnly("the window is too small for a single call")
        self._form, form = fitting, single_forms(tools)[fitting]
        hits = await self.prefetch.hits() if self.prefetch is not None else ()
        profile = await self._profile()
        found = self._affordable([hit.item for hit in hits])
        last = "\n".join((*(item.content for item in found), repeated(self.asked.text)))
        shown = await self._shown(last, mode="chat", system=form.text)
        found += [item for item in self._told_lately(shown) if item not in found]
        blocks = [self._labelled(found)] if found else []
        about = self._rendered(self._affordable([item for item in profile if item not in found]))
        blocks += render_notes(await self.notes_on([self.asked.text]))
        if asks(self.asked.text) and (quotes := await self.find_quotes([self.asked.text], found)):
            said = render_past(quotes, self.zone)
            shown = await self._shown("\n".join((last, *said)), mode="chat", system=form.text)
            blocks += said
        context = replace(self._context(Task.SINGLE, shown), profile=about)
        base = build_single(context, shown, "\n".join(blocks), form)
        key = blake2b(self.conversation.thread.id.encode(), digest_size=16).hexdigest()  # ids may name people
        self._base = replace(base, cache_key=key)
        return self._base

    async def near_message(self) -> str:
        """Return blocks of the memories that the message may be about, for the model; "" if there are none.

        Limited mode reads no blocks.
        """
        if self.models.is_limited:
            return ""
        if self.prefetch is None:
            self.begin_prefetch()
        hits = await self.prefetch.hits() if self.prefetch is not None else ()
        return self._labelled(self._affordable([hit.item for hit in hits]))

    async def form_that_fits(self, tools: Sequence[Tool]) -> int | None:
        """Return which of the forms of a single-call prompt leaves room to talk in the window; None: none does."""
        texts = [form.text for form in single_forms(tools)]
        return await self.conversation.conversations.longest_fitting(texts, "chat", self.asks_instead)

    def _affordable(self, items: Sequence[MemoryItem]) -> list[MemoryItem]:
        """Return the first of the memories, as many as fit an eighth of the model's window."""
        left = self.conversation.conversations.window_tokens("chat", self.asks_instead) // 2  # four characters a token
        return [item for item in items if (left := left - len(item.content)) >= 0]

    def _labelled(self, items: Sequence[MemoryItem]) -> str:
        """Return blocks of the memories for the model, which counts as having seen them from now on."""
        self._known = self._known.also(items)
        self._in_view += tuple(items)
        return self._known.render(self.zone, items)

    async def _profile(self) -> Sequence[MemoryItem]:
        """Return the memories of the person's profile; none for the mind without a model, which reads no prompt."""
        if self.profiles is None or self.models.is_limited:
            return ()
        return await self.profiles.of(self.memory)

    def _rendered(self, profile: Sequence[MemoryItem]) -> tuple[str, ...]:
        """Return what is known of the person whatever they say, as lines of a prompt."""
        facts = {"name": self.name, "language": self.language, "time zone": str(self.own_zone or "")}
        told = "; ".join(f"{what}: {fact}" for what, fact in facts.items() if fact)
        lines = [f"<profile>{marked(not_cited(told))}</profile>"] if told else []
        return (*lines, *([self._labelled(profile)] if profile else []))

    async def notes_on(self, queries: Sequence[str]) -> tuple[str, ...]:
        """Return what features know about what is looked for: a few lines, the best first."""
        known = await self.additions.known(self, queries) if self.additions is not None else ()
        notes = tuple(one_line(note, _MAX_NOTE_CHARS) for note in known[:_MAX_NOTES])
        self._notes = tuple(dict.fromkeys((*self._notes, *notes)))
        return notes

    async def find_quotes(self, queries: Sequence[str], found: Sequence[MemoryItem]) -> tuple[Quoted, ...]:
        """Return past messages that say something about what is looked for, and that the last prompt did not show.

        Memories that are `found` tell it better. If the message asks for what was said at a time, only what was.
        """
        memory, asked = self.memory, self.asked_time
        past = await find_quotes(
            self.conversation.store,
            await memory.store.accounts(memory.owner),
            self.wordings(queries),
            lookup=memory.get,
            room=memory.context.room,
            said=asked.span if asked is not None and asked.said else None,
            skip={self.asked.id, *self._window},
            beside={item.id for item in found},
        )
        self._past = Past((*self._past.quotes, *past.quotes), (*self._past.items, *past.items))
        return past.quotes

    async def prompt(self, task: Task, instruction: str, *, choices: Sequence[str] = (), action: str = "") -> Prompt:
        """Return the prompt with `instruction` and all that this turn may show a model.

        `action` is the name of the action whose arguments are asked for.
        """
        profile = await self._profile()
        shown = await self._shown(instruction, mode=mode_of(task))
        about = self._rendered(self._affordable([item for item in profile if item not in shown.memories]))
        context = replace(self._context(task, shown, choices), action=action, profile=about)
        return build(context, shown, instruction if self.remembers else f"{instruction}\n{MEMORY_OFF}")

    async def _shown(self, instruction: str, *, mode: str, system: str | None = None) -> Context:
        shown = await self.conversation.context(
            self.asked.turn,
            instruction="\n".join((*self.room.lines, instruction)),
            max_tokens=self.max_history_tokens,
            mode=mode,
            model=self.asks_instead,
            system=system,
            lookup=self.memory.get,
            zone=self.zone,
        )
        self._in_view = shown.memories
        self._window = frozenset(message.id for message in shown.messages)
        self._heard = tuple(message.text for message in shown.messages if is_said_by_person(message))
        self._sent_tokens = shown.budget.window + shown.budget.memories
        return shown

    def _context(self, task: Task, shown: Context, choices: Sequence[str] = ()) -> PromptContext:
        return PromptContext(
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
            speaker=self.speaker,
            actions=self.actions,
            memories=shown.memories,
            question=self._asked_before(shown.messages),
            room=self.room.lines,
        )

    def _told_lately(self, shown: Context) -> list[MemoryItem]:
        """Return the memories that the last messages told of, without those in a block of the conversation."""
        blocks = {message.memory_id for message in shown.messages if message.modal is Modal.MEMORY}
        return [item for item in shown.memories if item.id not in blocks][-_MAX_TOLD_LATELY:]

    def _asked_before(self, messages: Sequence[Message]) -> OpenQuestion | None:
        """Return the question of the last answer before this turn, if it was stored as data."""
        said = (m for m in reversed(messages) if m.turn != self.asked.turn and m.modal is Modal.TEXT)
        last = next((m for m in said if m.role in {MessageRole.USER, MessageRole.ASSISTANT}), None)
        return None if last is None else last.question

    def begin_prefetch(self) -> None:
        """Begin to search for memories that the message may need."""
        self.prefetch = Prefetch(self.memory, self.clock, self.asked.text, self.asked_time).start()

    def shorten(self, error: ContextTooLong) -> bool:
        """Show models less of the conversation from now on; return False if that was done often enough.

        It is fitted to the window of the model that found it too long, if that is known; then it is halved each time.
        """
        if self._shortenings == _MAX_SHORTENINGS:
            return False
        self._shortenings += 1
        if not error.model or error.model == self.asks_instead:
            self.max_history_tokens = max(self._sent_tokens // 2, self.asked.tokens, 1)  # the question always fits
        self.asks_instead = error.model
        self._base = None
        return True

    async def known(self, names: Sequence[str]) -> tuple[dict[str, MemoryItem], tuple[str, ...]]:
        """Map the marks or ids that a model answered to their memories; return the refused ones besides.

        Only memories in view count, which are this person's (T15).
        """
        held = {item.id: item for item in await self.in_view()}
        marked = {name: self._known.find(name) for name in dict.fromkeys(names)}
        ids = {name: name if item is None else item.id for name, item in marked.items()}
        found = {name: held[key] for name, key in ids.items() if key in held}
        self._in_view += tuple(found.values())
        return found, tuple(name for name in ids if name not in found)

    def is_said(self, before: str, after: str) -> bool:
        """Return whether the person said the words that a memory's new content has and the old one has not.

        This tells a change that they asked for from one that a text in a memory or a quote asked for. Short numbers and
        years do not count, as models write dates and hours in their own way. A content that only lost words counts as
        said if the message plainly asks for a change.
        """
        new = set(folded_words(after)) - set(folded_words(before)) - FUNCTION_WORDS
        if not new:
            return bool(claims.asked(self.asked.text))
        said = self._said_of(new)
        return all(_SMALL_NUMBER.fullmatch(word) or word in said for word in new)

    def is_said_as(self, words: str) -> bool:
        """Return whether the person said these very words, now or in what models were shown of the conversation."""
        wanted = " ".join(folded_words(words))
        said = (" ".join(folded_words(text)) for text in (self.asked.text, *self._heard))
        return bool(wanted) and any(f" {wanted} " in f" {text} " for text in said)

    def is_from_others(self, content: str) -> bool:
        """Return whether a content to save comes from what models were shown of memories, quotes and names of files.

        It does if as many of its words as the person said, or a number, stand only there. What the person said in the
        room to others was not said to be saved.
        """
        words = set(folded_words(content)) - FUNCTION_WORDS
        said = self._said_of(words)
        quotes = [quote for quote in self._quotes if quote.kind is QuoteKind.ROOM or quote.speaker is not Speaker.SELF]
        files = [*self.asked.attachments, *(file for quote in quotes for file in quote.attachments)]
        read = [text for item in self._in_view for text in (item.content, *item.bindings)]
        read += [text for quote in quotes for text in (quote.text, quote.excerpt, quote.name)]
        read += [file.name for file in files]
        read += [quote.message.text for quote in self._past.quotes]
        taken = (words - said) & {word for text in read for word in folded_words(text)}
        has_number = any(not word.isalpha() and not _SMALL_NUMBER.fullmatch(word) for word in taken)
        return bool(taken) and (has_number or len(taken) >= len(said))

    def credited(self, content: str) -> str:
        """Return a content with the names of those whose words it holds, if the person did not say them."""
        known = {word for item in self._in_view for word in folded_words(f"{item.content} {' '.join(item.bindings)}")}
        return credited(content, self._quotes, known | self._said_of(set(folded_words(content))))

    @property
    def _quotes(self) -> Sequence[Quote]:
        return (*self.asked.quotes, *reversed(self.room.said))

    def _said_of(self, words: Collection[str]) -> set[str]:
        """Return those of the folded words that the person said in what models were shown of the conversation."""
        text = fold("\n".join((self.asked.text, *self._heard)))
        said = set(folded_words(text))
        return {
            word
            for word in words
            if any(same(word, other) for other in said) or (not word.isascii() and word in text)  # without spaces
        }

    async def in_view(self) -> Sequence[MemoryItem]:
        """Return the memories that models were shown in this conversation, still exist, and may be spoken of here."""
        shown = await self.conversation.store.shown_memories(self.conversation.thread.id)
        return await self.memory.get(sorted({*shown, *(item.id for item in self._known.items)}))

    @property
    def written(self) -> frozenset[ChangeKind]:
        """The kinds of change that this turn committed."""
        return frozenset(committed(self.steps))

    @property
    def _may_claim(self) -> frozenset[ChangeKind]:
        """The kinds of change that a model may tell of: those committed, and reminders that a question is about."""
        knows = self._notes and self.asked.text.rstrip().endswith("?")
        return self.written | ({ChangeKind.REMINDER} if knows else frozenset())

    def _write(self, text: str, *, whole: bool = False) -> None:
        """Add a paragraph to the answer message, or the beginning of one."""
        text = f"\n\n{text}" if self._said else text
        self._said.append(text)
        self.view.write(text, whole=whole)

    def _write_on(self, text: CheckedText, piece: str) -> None:
        """Add a piece of a text to the answer message; the first one begins a paragraph."""
        if not piece:
            return
        if text.said:
            self._said.append(piece)
            self.view.write(piece)
        elif piece := piece.lstrip():
            self._write(piece)
        text.said += piece

    async def _store_text(self, said: str, *, in_history: bool) -> None:
        if said := said.strip():
            answer = Message(MessageRole.ASSISTANT, said, in_history=in_history, question=self._question)
            await self._store(answer)

    async def _pieces(
        self, prompt: Prompt, reply: Reply | None = None, citations: Citations | None = None
    ) -> AsyncGenerator[str]:
        """Yield the text of an answer, without citations; its calls go into `reply`."""
        try:
            async with aclosing(self._answered(prompt, reply, citations)) as pieces:
                async for piece in pieces:
                    yield piece
        except ProviderError:
            if citations and (rest := citations.finish(is_cut=True)):
                yield rest
            raise

    async def _answered(self, prompt: Prompt, reply: Reply | None, citations: Citations | None) -> AsyncGenerator[str]:
        said = ""
        async with self.models.chat.stream(prompt) as events:
            async for event in events:
                match event:
                    case Delta() if reply is not None and reply.awaits_result:
                        pass  # written before the model could know what the call finds
                    case Delta(piece):
                        piece = citations.feed(piece) if citations else piece
                        said += piece
                        yield piece
                    case ToolCall() if reply is not None:
                        reply.calls.append(event)
                    case Finish(Stop.REFUSED):
                        raise ProviderRefused(f"{self.models.chat.name} declined")
                    case Finish(question=question):
                        rest = citations.finish(is_cut=event.stop is Stop.LENGTH) if citations else ""
                        if says_nothing(said + rest) and not (reply and reply.calls):
                            raise EmptyReply(f"{self.models.chat.name} answered nothing")
                        yield rest
                        self._question = question
                        if reply is not None:
                            reply.thoughts = event.thoughts
                        if event.stop is Stop.LENGTH:
                            self._was_cut = True
                            self.add_buttons((Button(CONTINUE[self.locale], "/continue"),))

    async def _store(self, message: Message) -> None:
        if isinstance(message.content, str):
            message = replace(message, content=plain_times(message.content))
        if message.role is MessageRole.ASSISTANT:  # since the question, or the part of the answer before it (D2)
            began_s, self._began_s = self._began_s, self.clock.monotonic()
            message = replace(message, duration_s=self._began_s - began_s)
        # What was answered from the room's talk is found by no search from another place.
        room, off_record = self.memory.context.room, not self.remembers or bool(self.room.said)
        stored = await self.conversation.add(replace(message, turn=self.asked.turn, room=room, off_record=off_record))
        self.view.channel.note(stored)
        if stored.role is MessageRole.ASSISTANT:
            await self._tell(stored)

    async def _tell(self, answer: Message) -> None:
        """Store which memories an answer and the person's message tell of, for `core.history.withholding`."""
        done = {item.id: item for step in self.steps for item in step.items}
        seen = {item.id: item for item in (*self._past.items, *self._in_view)} | done
        changed = {item.id for step in self.steps if step.writes is not None for item in step.items}
        by_answer = [item for item in seen.values() if item.id in done or tells_of(answer.text, item)]
        by_person = [
            item for item in seen.values() if item.id in changed or tells_of(self.asked.text, item, by_person=True)
        ]
        told = {answer.id: [told_of(item) for item in by_answer]}
        if self.asked.id:  # commands are not stored
            told[self.asked.id] = [told_of(item) for item in by_person]
        await self.conversation.store.tell(told)


def _says(text: str, content: str) -> bool:
    """Return whether a text says a memory's content word for word, and not as a part of other words."""
    return any(re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) for words in (content, quoted(content)) if words)
