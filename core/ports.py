"""Every socket: one Protocol for each thing the core needs from outside, with as few verbs as possible.

Each docstring is the promise; `tests/contracts/` holds every implementation to it. Implementations inherit their
Protocol explicitly, so that the type checker and the reader both see the link.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Protocol

from core.dialogue import Prompt, StreamEvent
from core.thread import Threads
from core.types import (
    Incoming,
    MemoryDraft,
    MemoryItem,
    MemoryKind,
    Message,
    Shown,
    SurfaceLimits,
    UserKey,
    Vector,
    Vectors,
)


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


class Inbox(Protocol):
    """What we still owe an answer to. Durable before any model is asked."""

    async def accept(self, incoming: Incoming) -> bool:
        """Store it; it is on disk when this returns. False, and nothing stored, for a known (chat, message_id)."""
        ...

    async def close(self, incoming: Incoming) -> None:
        """Mark it answered. A message that was never accepted, or is closed already, is fine."""
        ...

    async def owed(self, platform: str) -> Sequence[Incoming]:
        """Return what was accepted on that platform and not closed, oldest first."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Remove every row of that person's."""
        ...


class HistoryStore(Threads, Protocol):
    """Every message ever said, by thread. Order is the order of `append`.

    A thread of which the model is shown less loses nothing here: nothing but `forget` removes a message.
    """

    async def append(self, thread_id: str, message: Message) -> Message:
        """Store it and return it with its id and sequence.

        A known non-empty source_id returns the stored row and stores nothing.
        """
        ...

    async def tail(self, thread_id: str, limit: int, *, before: int = 0) -> Sequence[Message]:
        """Return the newest `limit` messages, oldest first; with `before`, of those with a smaller sequence."""
        ...

    async def since(self, thread_id: str, after: int, limit: int) -> Sequence[Message]:
        """Return the oldest `limit` messages with a sequence greater than `after`, oldest first."""
        ...

    async def shown_memories(self, thread_id: str) -> frozenset[str]:
        """Return the ids of all memories ever shown in the thread."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Remove every thread and message of that person's."""
        ...


class MemoryStore(Protocol):
    """The truth about memories. The owner is the first argument of every verb, so that no query can forget it.

    A memory, its phrases, their vectors, its full-text row and its sources change in one transaction or not at all.
    A *phrase* is a text that a memory is found by: each binding, and the content itself. Each has an integer id of its
    own that is never reused. Vectors are stored per phrase with the `space` they belong to; a phrase may lack one (the
    embedder was down), and then appears in `unembedded`.
    """

    async def add(
        self,
        owner: UserKey,
        drafts: Sequence[MemoryDraft],
        *,
        at: datetime,
        source_ids: Sequence[int] = (),
        vectors: Mapping[str, Vector] | None = None,
        space: str = "",
    ) -> Sequence[MemoryItem]:
        """Store all drafts, in order. `vectors` maps phrase texts to vectors of `space`; others stay unembedded.

        Raises:
            ValueError: a draft without a binding, or with an empty one; nothing is stored.
        """
        ...

    async def update(
        self,
        owner: UserKey,
        memory_id: str,
        draft: MemoryDraft,
        *,
        at: datetime,
        vectors: Mapping[str, Vector] | None = None,
        space: str = "",
    ) -> MemoryItem | None:
        """Replace kind, content and bindings; None, and nothing changed, if the owner has no such memory.

        Phrases whose text stays keep their id and vectors; `created_at` and sources stay.
        """
        ...

    async def delete(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Delete those of the ids that the owner has, with all their rows; return what was deleted."""
        ...

    async def get(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the ids that the owner has, in the order asked."""
        ...

    async def find(self, owner: UserKey, kind: MemoryKind, content: str) -> MemoryItem | None:
        """Return the owner's memory of that kind and content (compared by `core.unicode.fold`), or None."""
        ...

    async def page(self, owner: UserKey, *, limit: int, before: str = "") -> Sequence[MemoryItem]:
        """Return the newest memories first, those older than the memory `before` if it is given."""
        ...

    async def count(self, owner: UserKey) -> int:
        """Return how many memories the owner has."""
        ...

    async def phrase_vectors(self, owner: UserKey, space: str) -> tuple[Sequence[int], Vectors]:
        """Return ids, shape (n,), and vectors, shape (n, dims), of every phrase embedded in that space, by id."""
        ...

    async def phrases(self, owner: UserKey, phrase_ids: Sequence[int]) -> Mapping[int, tuple[str, str]]:
        """Map those of the phrase ids that the owner has to (memory id, text)."""
        ...

    async def memory_phrases(self, owner: UserKey, memory_ids: Sequence[str]) -> Mapping[int, str]:
        """Map the phrase ids of those memories to their texts."""
        ...

    async def lexical(self, owner: UserKey, query: str, limit: int) -> Sequence[tuple[str, float]]:
        """Return (memory id, score > 0, higher is better) of the best full-text matches, best first.

        `query` is free text: no operator in it has a meaning, and text without a word finds nothing.
        """
        ...

    async def unembedded(self, owner: UserKey, space: str, limit: int) -> Mapping[int, str]:
        """Map up to `limit` phrase ids that have no vector in that space to their texts, oldest first."""
        ...

    async def put_vectors(self, owner: UserKey, space: str, vectors: Mapping[int, Vector]) -> None:
        """Store vectors of phrases of the owner's; ids that are gone or another's are left out."""
        ...

    async def owners(self) -> Sequence[UserKey]:
        """Return everybody who has a memory."""
        ...

    async def forget(self, owner: UserKey) -> int:
        """Delete everything of the owner's and return how many memories that were."""
        ...


class VectorIndex(Protocol):
    """Nearest neighbours among one owner's phrases, in RAM. Agrees with exact search."""

    def __len__(self) -> int:
        """Return how many vectors it holds."""
        ...

    def add(self, ids: Sequence[int], vectors: Vectors) -> None:
        """Add rows. Raises ValueError for an id that is present already (or twice in `ids`); then nothing is added."""
        ...

    def remove(self, ids: Sequence[int]) -> None:
        """Remove those of the ids that are present."""
        ...

    def search(self, queries: Vectors, k: int) -> Sequence[Sequence[tuple[int, float]]]:
        """Return, per query row, up to `k` (id, cosine), nearest first; never an id that is not held."""
        ...


class Surface(Protocol):
    """One chat to write into, of whatever platform.

    An edit that changes nothing is success. SurfaceBusy says how long to wait; SurfaceGone that nobody reads any more.
    """

    @property
    def limits(self) -> SurfaceLimits:
        """What one post holds, and how often it may be edited."""
        ...

    def measure(self, text: str) -> int:
        """Return the length of the text in the unit of `limits.max_chars`, as this surface would show it."""
        ...

    async def post(self, shown: Shown) -> str:
        """Write a new message and return a handle for `edit`."""
        ...

    async def edit(self, handle: str, shown: Shown) -> None:
        """Replace a message in place."""
        ...


class Door(Protocol):
    """What a platform is given. Never raises, but for cancellation."""

    async def receive(self, incoming: Incoming, surface: Surface) -> Awaitable[None]:
        """Take one message. It is on disk when this returns; the awaitable that it returns ends when it was answered.

        Awaiting that is a choice: the answer goes on without. Messages of one chat are answered in order, chats side by
        side. A repeat, and what is nobody's business, end at once.
        """
        ...

    async def resume(self, platform: str, reopen: Callable[[Incoming], Surface]) -> None:
        """Answer what was accepted on that platform before a crash and never answered; returns when they are queued."""
        ...
