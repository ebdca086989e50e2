"""Ports of the engine: one Protocol for each thing that it needs from outside.

Stores have theirs in `core/stores.py`, workers in `core/workers/port.py`.

Each docstring is the contract; `tests/contracts/` tests every implementation against it. Implementations inherit their
Protocol explicitly, so that the type checker and the reader both see the link.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import BinaryIO, Protocol

from core.dialogue import Prompt, StreamEvent
from core.enclosures import Quote
from core.errors import ChannelError, ChannelGone
from core.outgoing import ChannelLimits, OutgoingMessage, Suggestion
from core.types import (
    AskedTime,
    ChatKey,
    Incoming,
    Invitation,
    Locale,
    Localized,
    MemoryItem,
    Message,
    UserKey,
    Vectors,
)


class Clock(Protocol):
    """Time. The core reads it from nowhere else."""

    def now(self) -> datetime:
        """Return the wall clock, aware UTC."""

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start; never goes back."""

    async def sleep(self, delay_s: float) -> None:
        """Return after `delay_s` seconds (at once for 0 or less, but letting others run)."""


class ChatModel(Protocol):
    """A model with its parameters.

    `stream` yields Deltas (their texts joined are the answer) and, if the prompt offers tools, ToolCalls, each once it
    is whole; then exactly one Finish. Leaving the context early closes the connection. Raises only ProviderError,
    besides cancellation.
    """

    @property
    def name(self) -> str:
        """`provider:model`, for logs and the ledger."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all models of a chain, the preferred first."""
        return (self.name,)

    def stream(self, prompt: Prompt) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask. Nothing is sent before the context is entered."""


class Embedder(Protocol):
    """Turn texts into unit vectors, outside the event loop.

    Any `str` is accepted, whatever code points it holds. Equal texts give equal vectors, but for rounding: what is
    embedded together with a text may change its last bits. Raises only ProviderError (ProviderDown while it cannot
    answer).
    """

    @property
    def space(self) -> str:
        """`name@dims`; changes whenever vectors stop being comparable."""

    @property
    def dims(self) -> int:
        """The length of every vector."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return shape (len(texts), dims), one row for each text in order."""

    async def close(self) -> None:
        """End processes and connections. Closing twice does nothing."""


class VectorIndex(Protocol):
    """Nearest neighbours among one owner's phrases, in RAM. Agrees with exact search."""

    def ids(self) -> frozenset[int]:
        """Return the ids of the vectors in it."""

    def __len__(self) -> int:
        """Return the number of vectors in it."""

    def add(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add rows. Raises ValueError, adding nothing, for an id that is present already or twice in `ids`."""

    def remove(self, ids: Sequence[int]) -> None:
        """Remove those of the ids that are present."""

    def search(self, queries: Vectors, k: int, most: int = 0) -> Sequence[Sequence[tuple[int, float]]]:
        """Return, per query row, up to `k` (id, cosine), nearest first; never an id that is not held.

        With `most`, no more than so many rows have to be looked at, those that were added last.
        """

    def cosines(self, ids: Sequence[int], queries: Vectors) -> Vectors:
        """Return the cosines of vectors with queries, shape (len(ids), len(queries)); NaN for what is not held."""


class Channel(Protocol):
    """One chat to write into, on any platform.

    An edit that changes nothing succeeds. Writes raise ChannelBusy with the time to wait, ChannelGone if nobody reads
    there any more, and any other ChannelError if this write is refused for good.
    """

    @property
    def limits(self) -> ChannelLimits:
        """The length of one post, the interval between edits, and what the channel can show."""

    def measure(self, text: str) -> int:
        """Return the length of the text in the unit of `limits.max_chars`, as this channel would show it."""

    async def post(self, shown: OutgoingMessage) -> str:
        """Write a new message and return a handle for `edit`; "" for a preview, which does not outlive a restart."""

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        """Replace a message in place, or a preview by the next message; return the new handle if it changes.

        Raises:
            MessageLost: the message is gone, or can no longer be changed.
        """

    async def remove(self, handle: str) -> None:
        """Delete a message; do nothing if it is gone."""
        del handle
        raise ChannelError("messages stay here")

    async def show_typing(self) -> None:
        """Show that the bot works on the answer, a little longer than `limits.typing_s`; it spends no final's budget.

        Do nothing where there is no such sign.
        """
        del self

    async def show_waiting(self, *, waits: bool = True) -> None:
        """Show on the message that is answered that it waits, or no longer, by a sign that does not count as a write.

        Do nothing where there is no such sign.
        """
        del self, waits

    def note(self, message: Message) -> None:
        """Take note of a message of the turn in the form of document 1 (T1), statuses included; most need only text."""
        del self, message

    def keep_nothing(self) -> None:
        """Keep none of the words of the message that is answered, where they are kept on this side of the platform."""
        del self

    def hide(self) -> bool:
        """Let only the person who wrote see the answer, of which nothing was written; return whether that can be."""
        del self
        return False

    def adopt(self, handles: Sequence[str]) -> Sequence[str]:
        """Take over the answer of an earlier process; return the handles that can be edited, in their order.

        `handles` are its posts; "" stands for one that may or may not have been written.
        """
        del handles
        return ()

    async def fetch(self, handle: str, max_bytes: int, into: BinaryIO) -> None:
        """Write what came with a message, or with one that it quotes (`Attachment.handle`), into a file.

        It takes a minute at most. The handle is good after a restart, too.

        Raises:
            FileTooLarge: it is larger than `max_bytes`, or than what the platform hands out; a part may be written.
            ChannelError: it cannot be read.
        """
        del handle, max_bytes, into
        raise ChannelError("no files come with messages here")

    async def said_before(self, most: int) -> Sequence[Quote]:
        """Return the last `most` messages of the room before the one that is answered, the oldest first (`ROOM`).

        Nothing where the platform does not tell or cannot be asked now; raises nothing.
        """
        del self, most
        return ()

    async def may_manage(self) -> bool:
        """Return whether the platform lets whoever wrote manage this room, or the server that it is a channel of.

        Raises:
            ChannelError: it does not tell now.
        """
        del self
        return False

    async def why_unread(self) -> Localized | None:
        """Return why the bot cannot read what people say to each other in the room; None if it can. Raises nothing."""
        del self
        return None


class Channels(Protocol):
    """Open chats for resumed answers and notifications."""

    account_ids: str = ".+"
    """The form of the ids of people's accounts, as a regular expression that matches all of one."""

    account_url: str = ""
    """Where an account is shown, with {id} or {handle} in it; "" where there is no such page."""

    def message_url(self, chat: ChatKey, message_id: str) -> str:
        """Return where a message that somebody sent in that chat is shown; "" where there is no such page."""
        del self, chat, message_id
        return ""

    def again(self, incoming: Incoming) -> Channel:
        """Return the channel in which to answer a message that was accepted earlier."""

    def private(self, user: UserKey, once: str = "") -> Channel:
        """Return the person's private chat; writing raises ChannelGone if they do not let the bot write to them.

        `once` names what is going to be written: where the platform can tell, it is there once though posted twice.
        """

    def room(self, chat: ChatKey, once: str) -> Channel:
        """Return the channel of a room in which nobody has just written."""
        del chat, once
        raise ChannelGone("there are no rooms here")


class MessageHandler(Protocol):
    """Take the messages of platforms. Raises nothing, besides cancellation and what `receive` names."""

    async def receive(self, incoming: Incoming, channel: Channel) -> Awaitable[None]:
        """Store one message, and return an awaitable that ends when it was answered.

        The answer does not depend on that being awaited. One person's messages in one chat are answered in order,
        different conversations side by side. For repeats and ignored messages the awaitable ends at once.

        An edit (`Incoming.edits`) of a message that is not answered yet takes its place: the awaitable ends at once,
        and that of the first version when the newest one was answered.

        Raises:
            StorageDown: the database server cannot be reached, so nothing was stored and nobody was told: bring it
                again, or say that it failed.
            ClaimLost: raised out of the awaitable where another worker answers, or goes on with the answer.
        """

    async def withdraw(self, chat: ChatKey, message_ids: Collection[str]) -> None:
        """Drop those messages of that chat which their senders deleted, as far as they are not answered yet.

        What stands on the screen of an answer that was under way is removed.
        """
        del self, chat, message_ids

    async def invited(self, invitation: Invitation, channel: Channel) -> None:
        """Say in a room that the bot was brought into how to talk to it and who may; tell the owners of it."""
        del self, invitation, channel

    async def resume(self, platform: str, channels: Channels) -> None:
        """Connect a platform, and queue the messages that were accepted there before a crash and never answered."""

    async def drain(self, platform: str) -> None:
        """Take in nothing more for the platform, and return when what is being answered there was answered.

        What is written there meanwhile is left to other workers, or to the next `resume`.
        """
        del platform

    async def leave(self, platform: str) -> None:
        """Cancel the platform's running answers before it closes; return when nothing more is written.

        They are answered after the next `resume`.
        """
        del platform

    async def complete(self, incoming: Incoming, option: str) -> Sequence[Suggestion]:
        """Return what a field of a command offers, the best first, while a person fills it in; nothing is stored.

        `incoming` is the command with what stands in the field of that name so far, as if it were sent now. Nothing is
        offered to those who would not be answered.
        """
        del incoming, option
        return ()

    async def find(self, incoming: Incoming, limit: int) -> Sequence[MemoryItem]:
        """Return up to `limit` of the sender's memories: the best for the text, the newest for none; store nothing.

        No model is asked. Nothing is found for those who would not be answered, nor is anybody told.
        """
        del incoming, limit
        return ()


class TimeReader(Protocol):
    """What words of people say of times. Raises nothing; takes time linear in the text.

    Every moment is aware and in the person's zone; `locale` is the language that is tried first.
    """

    def asked(self, text: str, now: datetime, locale: Locale) -> AskedTime | None:
        """Return the time that a question names: when it was said what is asked for, or the days that it is about."""

    def meant(self, text: str, at: datetime, locale: Locale) -> str:
        """Return the day or the minute that a fact means, said at that moment, as `MemoryDraft.meant`; "" if none."""

    def until(self, text: str, at: datetime, locale: Locale) -> datetime | None:
        """Return when a fact, said at that moment, stops being true by its own words; None if they tell of no end."""


class Tokenizer(Protocol):
    """Count the tokens of messages. Raises nothing; takes time linear in the text."""

    @property
    def name(self) -> str:
        """The method's name, for people."""

    @property
    def is_slow(self) -> bool:
        """Whether `count` must run outside the event loop."""

    def count(self, text: str) -> int:
        """Return the tokens of one message of that text, including what a provider adds to each message."""

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the tokens of all the messages."""
        return sum(self.count(message.text) for message in messages)
