"""One message being answered: the record that actions, commands and features get, and the objects that it is made of.

Each does one job: who is answered, what is kept, what stands on the screen, what is looked for, how much fits a prompt.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from core.answering.candidates import Prefetch, RoomExchanges
from core.answering.confirmations import Confirmations
from core.answering.enclosed import Enclosed, FileService
from core.answering.outcomes import INCOGNITO, NOT_REMEMBERING
from core.answering.shown import Shown
from core.answering.support import Support
from core.delivery.view import View
from core.dialogue import ActionInfo, Effect, Outcome, Step, Written, committed, switched_off
from core.errors import ContextTooLong
from core.files.passages import answers, find
from core.history.conversation import Context, Conversation, Conversations
from core.history.rendering import find_quotes
from core.history.withholding import tells, told_of
from core.memory.memories import Profiles
from core.memory.timed import wordings
from core.memory.user_memory import UserMemory
from core.models import Models
from core.outgoing import Button, File, OutgoingMessage
from core.ports import Clock, TimeReader
from core.stores import Quoted
from core.text.catalogue import text
from core.text.days import noted
from core.text.markdown import plain_times, quoted
from core.text.words import stands_in
from core.threads import TurnState
from core.types import (
    AskedTime,
    Basis,
    Learn,
    Locale,
    Localized,
    MemoryHit,
    MemoryItem,
    Message,
    MessageRole,
    Modal,
    StepTaken,
    UserKey,
)

OWN_WORDS: Final = ""
"""Stands in place of an action's name for the search for the message's own words."""

_MAX_SHORTENINGS: Final = 3
_MAX_QUOTED: Final = 3
"""How many passages of a document are shown."""


@dataclass(slots=True)
class Asker:
    """Who is answered. A turn in which they choose another language goes on in it, so that all who hold this see it."""

    locale: Locale
    """The language of our own sentences."""

    language: str = ""
    """The tag of the language chosen for answers, or ""."""

    tag: str = ""
    """The platform's tag of their language ("pt-br"), or ""."""

    own_zone: ZoneInfo | None = None
    """The time zone that they told; None if they have not."""

    usual_zone: tzinfo = UTC
    """The zone of those who told none."""

    accounts: tuple[UserKey, ...] = ()
    """All of theirs that have one memory, the owner first, as they were when the turn was opened; none if unasked."""

    name: str = ""
    """Their name on the platform."""

    remembers: bool = True
    """False while they want nothing new to be remembered."""

    is_incognito: bool = False
    """Whether nothing of this turn is kept, and nothing that is kept is used; then `remembers` is False."""

    was_incognito: bool = False
    """Whether they are to be told that it is over."""

    shows_steps: bool = False
    """Whether they want to see the steps of each turn below its answer."""

    learn: Learn = Learn.OFFERED
    """What becomes of facts that they tell in passing."""

    is_private: bool = True
    """Whether nobody else reads along."""

    @property
    def zone(self) -> tzinfo:
        """The time zone of times that they read."""
        return self.own_zone or self.usual_zone

    @property
    def why_not_remembering(self) -> Localized | None:
        """The sentence that says why nothing is remembered of them now; None if it is."""
        if self.is_incognito:
            return INCOGNITO
        return None if self.remembers else NOT_REMEMBERING

    @property
    def speaker(self) -> str:
        """Their name where others read along, else ""."""
        return "" if self.is_private else self.name


@dataclass(slots=True)
class Log:
    """The log of one turn, stored as it goes (D4)."""

    asked: Message
    """The person's message; it has an id once it is stored."""

    person: Asker
    conversation: Conversation
    shown: Shown

    room: str = ""
    """The room in which the turn takes place; "" in private."""

    note: Callable[[Message], None] = lambda _: None
    """Gets each message of the turn as it is said."""

    steps: list[Step] = field(default_factory=list)

    cited: list[MemoryItem] = field(default_factory=list)
    """The memories that the answer was told to rest on."""

    _began_s: float = field(init=False)
    """When the turn began, then when the last part of its answer was complete."""

    def __post_init__(self) -> None:
        """Begin to count the time that the answer takes."""
        self._began_s = self.conversation.conversations.clock.monotonic()

    def add(self, step: Step) -> Step:
        """Add a step. One that was added before, since its report was stored with it, is there once."""
        if not any(each is step for each in self.steps):
            self.steps.append(step)
        return step

    async def enter(self, state: TurnState, error: str = "") -> None:
        """Store the state of the turn."""
        await self.conversation.enter(self.asked.turn, state, error)

    async def complete(self, error: str, last_words: str) -> None:
        """Store that the turn is over, with the name of the error that ended it and the apology, if any."""
        if last_words:
            await self.store(Message(MessageRole.ASSISTANT, last_words, in_history=False, error=error))
        await self.enter(TurnState.ERROR if error else TurnState.COMPLETED, error)

    async def store(self, message: Message) -> None:
        """Store a message of this turn; of ours, also which memories it and the question tell of."""
        if isinstance(message.content, str):
            message = replace(message, content=plain_times(message.content))
        if message.role is MessageRole.ASSISTANT:  # since the question, or the part of the answer before it (D2)
            began_s, self._began_s = self._began_s, self.conversation.conversations.clock.monotonic()
            basis = self.basis(message.text) if self.person.remembers and not message.error else None
            message = replace(message, duration_s=self._began_s - began_s, basis=basis)
        # What was answered from the room's talk is found by no search from another place.
        off_record = not self.person.remembers or bool(self.shown.room.said)
        message = replace(message, turn=self.asked.turn, room=self.room, off_record=off_record)
        stored = await self.conversation.add(message)
        self.note(stored)
        if stored.role is MessageRole.ASSISTANT:
            await self._store_told(stored)

    @property
    def written(self) -> frozenset[Written]:
        """The kinds of change that this turn committed."""
        return frozenset(committed(self.steps))

    def may_claim(self, effects: Collection[Effect]) -> frozenset[Written]:
        """Return what a model may tell of: what was committed; to a question, also what features know of."""
        knows = self.shown.notes and self.asked.text.rstrip().endswith("?")
        return self.written | frozenset(effects if knows else ())

    @property
    def steps_taken(self) -> tuple[StepTaken, ...]:
        """The steps in figures, after the search for the message's own words, if that found anything."""
        found = len(self.shown.hits)
        at_once = (StepTaken(OWN_WORDS, Outcome.DONE, found, 0.0),) if found else ()
        return (*at_once, *map(_taken, self.steps))

    @property
    def changed_ids(self) -> frozenset[str]:
        """The ids of the memories that this turn changed."""
        return frozenset(item.id for step in self.steps if step.writes is not None for item in step.items)

    def basis(self, answer: str) -> Basis:
        """Return what an answer of this turn rests on: what it cites or else tells of, and what the turn changed."""
        hits = (*self.shown.hits, *(hit for step in self.steps for hit in step.hits))
        chances = {hit.item.id: round(hit.chance, 3) for hit in sorted(hits, key=lambda hit: hit.chance)}  # the best
        told = self.cited or [item for item in self.shown.memories if tells(answer, item.content)]
        changed = [item for step in self.steps if step.writes is not None for item in step.items]
        past = [quote.message for quote in self.shown.past.quotes if tells(answer, quote.message.text)]
        return Basis(
            {item.id: chances.get(item.id) for item in (*told, *changed)},
            tuple(dict.fromkeys(message.id for message in past)),
            knows=any(tells(answer, note) for note in self.shown.notes),
            steps=self.steps_taken,
        )

    async def _store_told(self, answer: Message) -> None:
        """Store which memories an answer and the person's message tell of, for `core.history.withholding`."""
        done, changed = {item.id: item for step in self.steps for item in step.items}, self.changed_ids
        seen = {item.id: item for item in (*self.shown.past.items, *self.shown.memories)} | done
        by_answer = [item for item in seen.values() if item.id in done or tells(answer.text, item.content)]
        told = {answer.id: [told_of(item) for item in by_answer]}
        if self.asked.id:  # commands are not stored
            by_person = [
                item
                for item in seen.values()
                if item.id in changed or tells(self.asked.text, item.content, by_person=True)
            ]
            told[self.asked.id] = [told_of(item) for item in by_person]
        await self.conversation.store.tell(told)


def _taken(step: Step) -> StepTaken:
    count = step.count if step.writes is not None else len(step.items) + len(step.quotes) + len(step.notes)
    return StepTaken(step.action, step.outcome, count, round(step.decide_s + step.run_s, 2))


@dataclass(slots=True)
class AnswerMessage:
    """One answer message at a time: its text, the buttons and the memories below it."""

    view: View
    log: Log

    is_limited: bool = False
    """Whether no language model writes it: limited mode quotes what it answers from."""

    is_ending: bool = False
    """Whether what is said now ends the turn."""

    offers: tuple[Button, ...] = ()
    """Buttons for what a command says without any of its own."""

    below: Callable[[], Awaitable[None]] | None = None
    """Adds what stands below the answer, once: called when its first message, or the turn, is about to be complete."""

    trail: Callable[[], str] = str
    """Returns the steps of the turn in words, to be folded below what is completed; "" for none."""

    _said: list[str] = field(default_factory=list)
    _buttons: list[Button] = field(default_factory=list)
    _recalled: list[MemoryItem] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The message as far as it has come; "" before it begins."""
        return "".join(self._said)

    @property
    def has_recalled(self) -> bool:
        """Whether memories stand below it."""
        return bool(self._recalled)

    async def status(self, text: str) -> None:
        """Show a `textForReplace`, which the next message replaces (T5)."""
        at, turn = self.log.conversation.conversations.clock.now(), self.log.asked.turn
        status = Message(MessageRole.ASSISTANT, text, Modal.TEXT_FOR_REPLACE, in_history=False, at=at, turn=turn)
        self.log.note(status)
        await self.view.status(text)

    def write(self, text: str, *, whole: bool = False) -> None:
        """Add a paragraph, or the beginning of one; store nothing."""
        self.write_on(f"\n\n{text}" if self._said else text, whole=whole)

    def write_on(self, piece: str, *, whole: bool = False) -> None:
        """Add a piece to the paragraph that was begun."""
        self._said.append(piece)
        self.view.write(piece, whole=whole)

    def rest(self) -> None:
        """Begin to show it with what follows, if that comes soon: what was being said has ended."""
        self.view.rest()

    async def say(self, text: str, *, in_history: bool, choices: Sequence[Button] = ()) -> None:
        """Add our own words, with buttons for the end of the message, and store them."""
        self.write(text, whole=True)
        self.add_buttons(choices)
        await self.log.store(Message(MessageRole.ASSISTANT, text, in_history=in_history and not self.is_ending))

    async def report(self, step: Step, text: str, choices: Sequence[Button] = ()) -> Step:
        """Say what a step did, in our own words, made from the committed rows; return the step, which is on the log."""
        self.log.add(step)
        await self.say(text, in_history=True, choices=choices)
        return step

    def add_buttons(self, buttons: Sequence[Button]) -> None:
        """Put buttons below the message, each once."""
        self._buttons += [button for button in buttons if button not in self._buttons]

    async def recall(self, items: Sequence[MemoryItem], *, cited: bool = True) -> None:
        """Add one `memory` message for each item to the conversation, and show them below the answer.

        What is not `cited` was only found, and the answer may rest on it or not.
        """
        self.log.cited += items if cited else ()
        for item in items:
            await self.log.store(Message(MessageRole.SYSTEM, item.to_json(), Modal.MEMORY, memory_id=item.id))
        self.put_below(items)
        self.log.shown.memories += tuple(items)
        self.log.shown.recalled += tuple(items)

    def put_below(self, items: Sequence[MemoryItem]) -> None:
        """Show memories below the message once it is complete."""
        self._recalled += [item for item in items if item not in self._recalled]

    def quotes(self, words: str) -> bool:
        """Return whether the message says these words as they are."""
        return _says(self.text, words)

    async def complete(self) -> None:
        """Complete the message, with its buttons and the memories it rests on below it.

        A memory that it says word for word, or that the turn changed, is not shown; and none in limited mode.
        """
        below, self.below = self.below, None
        if below is not None:
            await below()
        said, buttons, recalled, person = self.text, tuple(self._buttons), self._recalled, self.log.person
        self._said, self._buttons, self._recalled = [], [], []
        changed = self.log.changed_ids
        memories = [item for item in recalled if item.id not in changed and not _says(said, item.content)]
        if self.is_limited and said:
            memories = []
        if said or memories:
            shown = tuple(noted(item, person.zone, person.locale) for item in memories)
            await self.view.complete(buttons, shown, self.trail())

    async def tell(
        self,
        text: str,
        *,
        choices: Sequence[Button] = (),
        menu: Sequence[Button] = (),
        notice: bool = False,
        folded: str = "",
    ) -> None:
        """Show a message that is not part of the conversation, such as a command's answer, or only a `notice`."""
        await self.complete()
        offered = tuple(choices) if choices or menu or notice else self.offers
        shown = OutgoingMessage(text, choices=offered, menu=tuple(menu), notice=notice, folded=folded)
        await self.view.show(shown)

    async def hand_over(self, files: Sequence[File], text: str, choices: Sequence[Button] = ()) -> None:
        """Send files with a sentence, and return when they were sent."""
        await self.complete()
        await self.view.show(OutgoingMessage(text, files=tuple(files), choices=tuple(choices)))
        await self.view.flush()


def _says(text: str, content: str) -> bool:
    """Return whether a text says a memory's content word for word, and not as a part of other words."""
    return any(stands_in(words, text) for words in (content, quoted(content)) if words)


@dataclass(slots=True)
class Search:
    """The searches of one turn."""

    memory: UserMemory
    log: Log
    clock: Clock
    times: TimeReader

    found: list[MemoryItem] = field(default_factory=list)
    """What searches found that a model asked for."""

    _prefetch: Prefetch | None = None
    _shown_before: frozenset[str] | None = None
    """The ids of the memories that the thread had shown when first asked for."""

    _in_view: Sequence[MemoryItem] | None = None

    _times_in: dict[str, AskedTime | None] = field(default_factory=dict)
    """The times that texts of this turn name."""

    @property
    def said_at(self) -> datetime:
        """When the person sent the message, in their zone: from then on "tomorrow" counts, however late it is read."""
        return (self.log.asked.at or self.clock.now()).astimezone(self.log.person.zone)

    @property
    def asked_time(self) -> AskedTime | None:
        """The time that the message names, if it asks for what was said, or is, then."""
        return self._time_in(self.log.asked.text)

    def wordings(self, queries: Sequence[str]) -> Sequence[str]:
        """Return what to search for of queries, some of which may name the time that the message asks for."""
        is_said = (asked := self.asked_time) is not None and asked.said
        return list(
            dict.fromkeys(text for query in queries for text in wordings(query, self._time_in(query), said=is_said))
        )

    def begin(self) -> None:
        """Begin to search for memories that the message may need."""
        if self._prefetch is None and self.log.asked.text.strip():
            self._prefetch = Prefetch(self.memory, self.clock, self.log.asked.text, self.asked_time).start()

    async def near_message(self) -> tuple[MemoryHit, ...]:
        """Return the memories that the message may need, the best first."""
        self.begin()
        hits = await self._prefetch.hits() if self._prefetch is not None else ()
        hits = await self.with_passages(hits)
        self.log.shown.hits = hits
        return hits

    async def with_passages(self, hits: Sequence[MemoryHit]) -> tuple[MemoryHit, ...]:
        """Return the hits, those of documents with the passages found in them that may answer the message."""
        return tuple([await self._opened(hit) if hit.passages else hit for hit in hits])

    async def _opened(self, hit: MemoryHit) -> MemoryHit:
        found = await find(self.log.asked.text, [hit.passages], self.memory.embed, _MAX_QUOTED)
        told = tuple(each.passage for each in answers(found, _MAX_QUOTED))
        return replace(hit, passages=told or hit.passages)

    async def close(self) -> None:
        """End the search, if it is still under way."""
        if self._prefetch is not None:
            await self._prefetch.close()

    async def in_view(self) -> Sequence[MemoryItem]:
        """Return the memories that models were shown in this conversation, still exist, and may be spoken of here."""
        if self._shown_before is None:
            conversation = self.log.conversation
            self._shown_before = await conversation.store.shown_memories(conversation.thread.id)
        return await self.memory.get(sorted({*self._shown_before, *(item.id for item in self._shown_now)}))

    async def may_be_meant(self) -> Sequence[MemoryItem]:
        """Return the memories in view as this turn read them: enough to say what there is to do something with."""
        if self._in_view is None:
            self._in_view = await self.in_view()
        return (*self._in_view, *self._shown_now)

    @property
    def _shown_now(self) -> Sequence[MemoryItem]:
        return (*self.log.shown.labelled.items, *self.log.shown.recalled)

    async def find_quotes(self, queries: Sequence[str], found: Collection[MemoryItem]) -> tuple[Quoted, ...]:
        """Return past messages that say something about what is looked for, and that the last prompt did not show.

        Memories that are `found` tell it better. If the message asks for what was said at a time, only what was.
        """
        memory, asked = self.memory, self.asked_time
        past = await find_quotes(
            self.log.conversation.store,
            self.log.person.accounts or await memory.store.accounts(memory.owner),
            self.wordings(queries),
            lookup=memory.get,
            room=memory.context.room,
            said=asked.span if asked is not None and asked.said else None,
            skip={self.log.asked.id, *self.log.shown.window},
            beside={item.id for item in found},
        )
        self.log.shown.show_past(past)
        return past.quotes

    def _time_in(self, text: str) -> AskedTime | None:
        """Return the time that a text of this turn names; reading one costs 0.2 ms, and each is asked for often."""
        if text not in self._times_in:
            self._times_in[text] = self.times.asked(text, self.said_at, self.log.person.locale)
        return self._times_in[text]


@dataclass(slots=True)
class PromptBudget:
    """The room for the prompts of one turn."""

    conversations: Conversations

    model: str = ""
    """The model that found the conversation too long, whose window counts from then on; "" while none did."""

    max_tokens: int | None = None
    """The most of the conversation that is shown; None: what the window allows."""

    shortenings: int = 0

    _sent_tokens: int = 0
    """Of the conversation, in the last prompt."""

    def note(self, context: Context) -> None:
        """Note what a prompt shows of the conversation."""
        self._sent_tokens = context.budget.window + context.budget.memories

    def shorten(self, error: ContextTooLong, question_tokens: int) -> bool:
        """Show models less of the conversation from now on; return False if that was done often enough.

        It is fitted to the window of the model that found it too long, if that is known; then it is halved each time.
        The question always fits.
        """
        if self.shortenings == _MAX_SHORTENINGS:
            return False
        self.shortenings += 1
        if not error.model or error.model == self.model:
            self.max_tokens = max(self._sent_tokens // 2, question_tokens, 1)
        self.model = error.model
        return True

    @property
    def eighth_chars(self) -> int:
        """An eighth of the chat model's window, at four characters a token."""
        return self.conversations.window_tokens("chat", self.model) // 2

    def affordable(self, items: Sequence[MemoryItem]) -> list[MemoryItem]:
        """Return the first of the memories, as many as fit an eighth of the window."""
        left = self.eighth_chars
        return [item for item in items if (left := left - len(item.content)) >= 0]

    async def first_fitting(self, texts: Sequence[str]) -> int | None:
        """Return the index of the first system text that leaves room to talk in the chat model's window, or None."""
        return await self.conversations.longest_fitting(texts, "chat", self.model)


@dataclass(frozen=True, slots=True)
class Heard:
    """What a feature offers about a message, whatever else is answered: a sentence, and buttons.

    A plain yes presses `offer`. `is_all`: it is all that there is to answer, but for the `rest` of the message.
    """

    text: str
    buttons: tuple[Button, ...] = ()
    offer: Button | None = None
    is_all: bool = False
    rest: str = ""


class Additions:
    """What features add to a turn: nothing, where they do not say what."""

    async def known(self, turn: Turn, queries: Sequence[str]) -> Sequence[str]:
        """Return what features know about what is looked for, a line each in the person's language, the best first."""
        del self, turn, queries
        return ()

    async def below_saved(self, turn: Turn, saved: Sequence[MemoryItem]) -> Sequence[Button]:
        """Return what features offer below memories that were just saved."""
        del self, turn, saved
        return ()

    async def heard(self, turn: Turn) -> Heard | None:
        """Return what a feature offers about the message itself, or None."""
        del self, turn
        return None

    async def below_answer(self, turn: Turn) -> Heard | None:
        """Return what a feature says below the answer, or None: the same if a restart begins the answer anew."""
        del self, turn
        return None


async def by_platform(room: str, locale: Locale) -> str:
    """Return how a room, named as PLATFORM:ID, is called where nobody knows its title: "a room on Telegram"."""
    return A_ROOM[locale].format(platform=room.partition(":")[0].title())


A_ROOM = text("memories.card.a_room")


@dataclass(frozen=True, slots=True)
class Services:
    """What a turn works with that is not its own."""

    models: Models
    clock: Clock
    confirmations: Confirmations
    times: TimeReader
    profiles: Profiles | None = None
    additions: Additions = field(default_factory=Additions)

    room_called: Callable[[str, Locale], Awaitable[str]] = by_platform
    """Returns how a room, named as PLATFORM:ID, is called for people who were there, as Markdown."""

    effects: tuple[Effect, ...] = ()
    """What actions of features do besides changing memories, whichever are on."""

    actions: tuple[ActionInfo, ...] = ()
    """All actions, with whether they are on."""

    files: FileService | None = None
    """Reads what comes with messages; None: nothing is read."""

    @property
    def off(self) -> Mapping[Written, Localized]:
        """The kinds of change that are turned off, with the sentence that says why."""
        return switched_off(self.actions)


@dataclass(slots=True)
class Turn:
    """One message being answered."""

    person: Asker
    conversation: Conversation

    memory: UserMemory
    """What the bot remembers of the person, as far as it may be spoken of here."""

    services: Services
    shown: Shown
    log: Log
    answer: AnswerMessage
    search: Search
    budget: PromptBudget

    enclosed: Enclosed
    """What came with the message, and with what it replies to."""

    beside: RoomExchanges | None = None
    """What others asked in the room; None in private."""

    is_single: bool = False
    """Whether the model answers and calls actions in one: then it cites what its answer rests on."""

    @property
    def asked(self) -> Message:
        """The person's message."""
        return self.log.asked

    @property
    def support(self) -> Support:
        """What a write that a model wants may rest on."""
        return Support(
            self.shown,
            self.memory,
            self.services.times,
            self.search.said_at,
            self.person.locale,
            self.person.name,
            is_command=self.shown.asked.text.startswith("/"),
            is_limited=self.services.models.is_limited,
        )
