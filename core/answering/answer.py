"""The answer to a message, as it grows on the screen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.answering.log import Log
from core.delivery.view import View
from core.dialogue import Step
from core.outgoing import Button, File, OutgoingMessage
from core.text.days import noted
from core.text.markdown import quoted
from core.types import MemoryItem, Message, MessageRole, Modal


@dataclass(slots=True)
class Answer:
    """One answer message at a time: its text, the buttons and the memories below it."""

    view: View
    log: Log

    is_limited: bool = False
    """Whether no language model writes it: limited mode quotes what it answers from."""

    is_ending: bool = False
    """Whether what is said now ends the turn."""

    offers: tuple[Button, ...] = ()
    """Buttons for what a command says without any of its own."""

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
        await self.view.status(text)

    def write(self, text: str, *, whole: bool = False) -> None:
        """Add a paragraph, or the beginning of one; store nothing."""
        self.write_on(f"\n\n{text}" if self._said else text, whole=whole)

    def write_on(self, piece: str, *, whole: bool = False) -> None:
        """Add a piece to the paragraph that was begun."""
        self._said.append(piece)
        self.view.write(piece, whole=whole)

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

    async def recall(self, items: Sequence[MemoryItem]) -> None:
        """Add one `memory` message for each item to the conversation, and show them below the answer."""
        conversations = self.log.conversation.conversations
        for item in items:
            # Only its id: a later reader gets the memory as it is then, or nothing.
            tokens = max(await conversations.count(Message(MessageRole.SYSTEM, item.to_json()).text), 1)
            content = {"id": item.id}
            await self.log.store(Message(MessageRole.SYSTEM, content, Modal.MEMORY, memory_id=item.id, tokens=tokens))
        self.put_below(items)
        self.log.shown.memories += tuple(items)

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
        said, buttons, recalled, person = self.text, tuple(self._buttons), self._recalled, self.log.person
        self._said, self._buttons, self._recalled = [], [], []
        changed = self.log.changed_ids
        memories = [item for item in recalled if item.id not in changed and not _says(said, item.content)]
        if self.is_limited and said:
            memories = []
        if said or memories:
            await self.view.finish(buttons, tuple(noted(item, person.zone, person.locale) for item in memories))

    async def tell(self, text: str, *, choices: Sequence[Button] = (), menu: Sequence[Button] = ()) -> None:
        """Show a message that is not part of the conversation, such as a command's answer."""
        await self.complete()
        offered = tuple(choices) if choices or menu else self.offers
        await self.view.show(OutgoingMessage(text, choices=offered, menu=tuple(menu)))

    async def hand_over(self, file: File, text: str) -> None:
        """Send a file with a sentence, and return when it was sent."""
        await self.complete()
        await self.view.show(OutgoingMessage(text, file=file))
        await self.view.flush()


def _says(text: str, content: str) -> bool:
    """Return whether a text says a memory's content word for word, and not as a part of other words."""
    return any(re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) for words in (content, quoted(content)) if words)
