"""One message being answered: the record that actions, commands and features get, and the objects that it is made of.

Each does one job: who asked (`asker.py`), what models were shown (`shown.py`), what is kept (`log.py`), what is looked
for (`search.py`), and here what stands on the screen, how much fits a prompt, and what features add.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from core.answering.asker import Asker
from core.answering.confirmations import Confirmations
from core.answering.enclosed import Enclosed, FileService
from core.answering.log import Log
from core.answering.search import RoomExchanges, Search
from core.answering.shown import Shown
from core.answering.support import Support
from core.delivery.view import View
from core.dialogue import ActionInfo, Effect, Step, Written, switched_off
from core.errors import ContextTooLong
from core.history.conversation import Context, Conversation, Conversations
from core.memory.memories import Profiles
from core.memory.user_memory import UserMemory
from core.models import Models
from core.outgoing import Button, File, OutgoingMessage
from core.ports import Clock, TimeReader
from core.text.catalogue import text
from core.text.days import noted
from core.text.markdown import quoted
from core.text.words import stands_in
from core.types import Locale, Localized, MemoryItem, Message, MessageRole, Modal

_MAX_SHORTENINGS: Final = 3


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
    additions: Sequence[Additions] = ()

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
