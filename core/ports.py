"""Every socket but those of stores: one Protocol for each thing the core needs from outside, with few verbs.

Each docstring is the promise; `tests/contracts/` holds every implementation to it. Implementations inherit their
Protocol explicitly, so that the type checker and the reader both see the link.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from core.dialogue import Prompt, StreamEvent
from core.errors import ChannelError
from core.outgoing import ChannelLimits, OutgoingMessage
from core.types import Incoming, Message, UserKey, Vectors


class Clock(Protocol):
    """Time. Nothing else in core touches it."""

    def now(self) -> datetime:
        """Return the wall clock, aware UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start; never goes back."""
        ...

    async def sleep(self, delay_s: float) -> None:
        """Return after `delay_s` seconds (at once for 0 or less, but letting others run)."""
        ...


class ChatModel(Protocol):
    """A model bound to its name and parameters.

    `stream` yields Deltas (their texts joined are the answer), then exactly one Finish. Leaving the context early
    closes the connection. Only ProviderError comes out, besides cancellation.
    """

    @property
    def name(self) -> str:
        """`provider:model`, for logs and the ledger."""
        ...

    def stream(self, prompt: Prompt) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask. Nothing is sent before the context is entered."""
        ...


class Embedder(Protocol):
    """Turns texts into vectors, never in the event loop.

    Same order and length as asked; unit vectors; any `str` is accepted, whatever code points it holds. Equal texts
    give equal vectors. Raises ProviderError (ProviderDown while it cannot answer) and nothing else.
    """

    @property
    def space(self) -> str:
        """`name@dims`; changes whenever vectors stop being comparable."""
        ...

    @property
    def dims(self) -> int:
        """The length of every vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return shape (len(texts), dims)."""
        ...

    async def close(self) -> None:
        """Let go of processes and connections. Closing twice is fine."""
        ...


class VectorIndex(Protocol):
    """Nearest neighbours among one owner's phrases, in RAM. Agrees with exact search."""

    def ids(self) -> frozenset[int]:
        """Return what it holds."""
        ...

    def __len__(self) -> int:
        """Return how many vectors it holds."""
        ...

    def add(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add rows. Raises ValueError for an id that is present already (or twice in `ids`); then nothing is added."""
        ...

    def remove(self, ids: Sequence[int]) -> None:
        """Remove those of the ids that are present."""
        ...

    def search(
        self, queries: Vectors, k: int, among: Sequence[int] | None = None
    ) -> Sequence[Sequence[tuple[int, float]]]:
        """Return, per query row, up to `k` (id, cosine), nearest first; never an id not held, or not `among`."""
        ...


class Channel(Protocol):
    """One chat to write into, of whatever platform.

    An edit that changes nothing is success. SurfaceBusy says how long to wait, SurfaceGone that nobody reads there any
    more, any other SurfaceError that this write is refused for good.
    """

    @property
    def limits(self) -> ChannelLimits:
        """What one post holds, and how often it may be edited."""
        ...

    def measure(self, text: str) -> int:
        """Return the length of the text in the unit of `limits.max_chars`, as this channel would show it."""
        ...

    async def post(self, shown: OutgoingMessage) -> str:
        """Write a new message and return a handle for `edit`, or "" for a preview that a restart loses anyway."""
        ...

    async def edit(self, handle: str, shown: OutgoingMessage) -> str | None:
        """Replace a message in place, or a preview by what follows it; return its new handle if that changes.

        Raises:
            MessageLost: it is not there any more, or can no longer be changed.
        """
        ...

    async def remove(self, handle: str) -> None:
        """Take a message away. One that is not there any more is fine."""
        del handle
        raise ChannelError("messages stay here")

    async def show_waiting(self) -> None:
        """Show that the message was seen although nothing is written yet: by a sign that costs no write of the chat's.

        What cannot be shown is left out; where there is no such sign, nothing is.
        """
        del self

    def adopt(self, handles: Sequence[str]) -> Sequence[str]:
        """Go on with the answer of an earlier process, and return the handles that can be edited, in their order.

        `handles` are what it had posted; "" says that one more may have been posted, or not.
        """
        del handles
        return ()

    async def fetch(self, file: str, max_bytes: int) -> bytes:
        """Return what is in a file that came with a message (`Incoming.file`).

        Raises:
            FileTooLarge: it is larger than that.
            SurfaceError: it cannot be had.
        """
        del file, max_bytes
        raise ChannelError("no files come with messages here")


class Channels(Protocol):
    """How a platform is written into when nobody has just written."""

    def again(self, incoming: Incoming) -> Channel:
        """Return where to answer a message that was accepted earlier."""
        ...

    def private(self, user: UserKey) -> Channel:
        """Return the person's private chat. Writing raises SurfaceGone where they let nobody write to them."""
        ...


class MessageHandler(Protocol):
    """What a platform is given. Never raises, but for cancellation."""

    async def receive(self, incoming: Incoming, channel: Channel) -> Awaitable[None]:
        """Take one message. It is on disk when this returns; the awaitable that it returns ends when it was answered.

        Awaiting that is a choice: the answer goes on without. What one person says in one place is answered in order,
        conversations side by side. A repeat, and what is nobody's business, end at once.
        """
        ...

    async def resume(self, platform: str, channels: Channels) -> None:
        """Say how the platform is written into, and answer what was accepted there before a crash and never answered.

        Returns when that is queued.
        """
        ...

    async def leave(self, platform: str) -> None:
        """Break off what is still being answered there, and return when nothing more is written: it is closing.

        What was broken off is answered after the next `resume`.
        """
        del platform


class Tokenizer(Protocol):
    """Counts what a message of some text costs a model. Never raises, and takes time linear in the text."""

    @property
    def name(self) -> str:
        """What it counts by, for people."""
        ...

    @property
    def is_slow(self) -> bool:
        """Whether a count may take so long that it belongs outside the event loop."""
        ...

    def count(self, text: str) -> int:
        """Return the tokens of one message of that text, what a provider adds to each message included."""
        ...

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Return the tokens of all those messages together."""
        return sum(self.count(message.text) for message in messages)
