"""The ports of the stores: the inbox, conversations, memories, and what memories are searched by.

Each docstring is the promise; `tests/contracts/` holds every implementation to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from core.threads import Threads, ToldMemories
from core.types import (
    Change,
    ChatKey,
    Incoming,
    MemoryDraft,
    MemoryItem,
    MemoryKind,
    Message,
    UserKey,
    Vector,
    Vectors,
)


class Inbox(Protocol):
    """Messages that are still owed an answer. Durable before any model is asked."""

    async def accept(self, incoming: Incoming) -> bool:
        """Store it; it is on disk when this returns. False, and nothing stored, for a known (chat, message_id)."""

    async def close(self, incoming: Incoming) -> None:
        """Mark it answered; do nothing for a message that was never accepted, or is closed already."""

    async def put_posted(self, incoming: Incoming, handles: Sequence[str]) -> None:
        """Record, on disk, what is posted for it while it is owed: handles; a last "" for one that is about to be."""

    async def purge(self, before: datetime, limit: int) -> int:
        """Remove up to `limit` answered messages that were sent before then, and return how many."""

    async def owed(self, platform: str) -> Mapping[Incoming, Sequence[str]]:
        """Map what was accepted on that platform and not closed, oldest first, to the handles recorded for it."""

    async def forget(self, user: UserKey) -> None:
        """Remove every row of that person's."""


@dataclass(frozen=True, slots=True)
class Said:
    """A message, and the chat of the thread that it is in."""

    message: Message
    chat: ChatKey


class HistoryStore(Threads, ToldMemories, Protocol):
    """Every message ever said, by thread. Order is the order of `append`.

    A thread of which the model is shown less loses nothing here: nothing but `update`, `delete` and `forget` removes a
    message, and nothing but `redact` and `erase` its words.
    """

    async def append(self, thread_id: str, message: Message) -> Message:
        """Store it and return it with its id and sequence.

        A known non-empty source_id returns the stored row and stores nothing.
        """

    async def tail(self, thread_id: str, limit: int, *, before: int = 0) -> Sequence[Message]:
        """Return the newest `limit` messages, oldest first; with `before`, of those with a smaller sequence."""

    async def since(self, thread_id: str, after: int = 0, limit: int = 2**62) -> Sequence[Message]:
        """Return the oldest `limit` messages with a sequence greater than `after`, oldest first; or all of them."""

    async def said(self, user: UserKey, ids: Sequence[int]) -> Sequence[Said]:
        """Return those of the messages that are in threads of that person's, and where each was said, as asked."""

    async def shown_memories(self, thread_id: str) -> frozenset[str]:
        """Return the ids of all memories ever shown in the thread."""

    async def offer(self, message_id: int, drafts: Sequence[MemoryDraft]) -> None:
        """Set what the person may have saved from a message of theirs (`Message.offered`); it goes with its words."""

    async def forget(self, user: UserKey) -> None:
        """Remove every thread and message of that person's. None is found from the first moment on."""

    async def purge(self) -> None:
        """Remove what a `forget` that was cut short has left, down to the last byte."""


@dataclass(frozen=True, slots=True)
class ChangeContext:
    """How a change of memory came to be: the act that it is part of ("": it cannot be undone), the room it was said in.

    `account` is who said it, where several accounts are one owner.
    """

    act: str = ""
    room: str = ""
    account: UserKey | None = None


NO_CHANGE_CONTEXT = ChangeContext()


class MemoryStore(Protocol):
    """The truth about memories. The owner is the first argument of every verb, so that no query can forget it.

    A memory, its phrases, their vectors, its terms and its sources change in one transaction or not at all; so does an
    act of a few memories. One of thousands is written some at a time, so that nobody waits for it.
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
        context: ChangeContext = NO_CHANGE_CONTEXT,
    ) -> Sequence[MemoryItem]:
        """Store all drafts, in order. `vectors` maps phrase texts to vectors of `space`; others stay unembedded.

        It was said in `context.room` ("": in private), and by `context.account` if that is one of the owner's.

        Raises:
            ValueError: a draft without a binding, or with an empty one; nothing is stored.
        """

    async def update(
        self,
        owner: UserKey,
        memory_id: str,
        draft: MemoryDraft,
        *,
        at: datetime,
        vectors: Mapping[str, Vector] | None = None,
        space: str = "",
        context: ChangeContext = NO_CHANGE_CONTEXT,
        rooms: Sequence[str] = (),
        shared: bool = False,
    ) -> MemoryItem | None:
        """Replace kind, content and bindings; None, and nothing changed, if the owner has no such memory.

        Phrases whose text stays keep their id and vectors; `created_at` and sources stay. The new words may be spoken
        of in `context.room`, in `rooms`, and in every room if `shared`: the rooms of the old ones are dropped.
        """

    async def delete(
        self,
        owner: UserKey,
        memory_ids: Sequence[str],
        *,
        at: datetime | None = None,
        context: ChangeContext = NO_CHANGE_CONTEXT,
    ) -> Sequence[MemoryItem]:
        """Delete those of the ids that the owner has, with all their rows; return what was deleted.

        With a `context.act`, and `at`, what was deleted is kept as a change until `purge`; without, nothing is, and no
        byte of it is left on the disk when this returns.
        """

    async def flag(
        self,
        owner: UserKey,
        memory_ids: Sequence[str],
        *,
        pinned: bool | None = None,
        shared: bool | None = None,
        room: str = "",
    ) -> Sequence[MemoryItem]:
        """Set what is given of those of the owner's memories, and return them, in the order asked.

        `pinned`: they stand first in lists. `shared`: they are known in every room. `room`: they were said there, too.
        """

    async def changes(
        self,
        owner: UserKey,
        *,
        act: str = "",
        memory_id: str = "",
        since: datetime | None = None,
        not_undone: bool = False,
        limit: int | None = None,
    ) -> Sequence[Change]:
        """Return what was changed, the newest first: all of it, that of one act, or that of one memory.

        With `since`, nothing older; with `not_undone`, only what was not taken back.
        """

    async def undo(self, owner: UserKey, act: str) -> Sequence[Change] | None:
        """Take back all of an act, in one transaction, and return its changes, the newest first, marked as undone.

        A deleted memory comes back with its id, age, flags, rooms and sources, without vectors; a saved one is gone,
        with all its changes; a changed one has the text that it had, and is heard where that was: in the same rooms,
        and shared if it was. None, and nothing changed, if there is nothing of that act, it was taken back before, or
        one of its memories changed since.
        """

    async def purge(self, before: datetime) -> int:
        """Remove all changes of memories that were deleted before then, every word of theirs; return how many.

        No byte of such a memory is left on the disk when this returns. What a `forget`, `link` or `unlink` that was cut
        short has left to do is done, too.
        """

    async def link(self, owner: UserKey, other: UserKey) -> None:
        """Make two accounts one owner, by the name of the first: what the other has is the owner's from now on.

        Each memory, and each of its changes, keeps the account that it came from. Every verb takes either account for
        the owner.

        Raises:
            ValueError: one of them is linked already, or both are the same.
        """

    async def unlink(self, owner: UserKey, other: UserKey) -> None:
        """Part them again: what came from the other account is its own again. Do nothing if they are not linked."""

    async def accounts(self, user: UserKey) -> Sequence[UserKey]:
        """Return every account of that person's, the owner first: only themselves, where nothing was linked."""

    async def from_account(self, owner: UserKey, account: UserKey) -> frozenset[str]:
        """Return the ids of the owner's memories that came from that account."""

    async def get(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the ids that the owner has, in the order asked."""

    async def find(self, owner: UserKey, kind: MemoryKind, content: str, *, room: str = "") -> MemoryItem | None:
        """Return the owner's memory of that kind and content (compared by `core.text.unicode.fold`), or None.

        One that has the content to the letter comes first. With a `room`, others count only if they were said there.
        """

    async def page(
        self,
        owner: UserKey,
        *,
        limit: int,
        before: str = "",
        skip: int = 0,
        kind: MemoryKind | None = None,
        room: str = "",
    ) -> Sequence[MemoryItem]:
        """Return the pinned first, then the newest, of one kind or all; with `before`, what comes after that one.

        The first `skip` of these are passed over, unread. With a `room`, only what is audible there.
        """

    async def count(self, owner: UserKey, kind: MemoryKind | None = None, *, room: str = "") -> int:
        """Return how many memories the owner has, of one kind or all; with a `room`, how many are audible there."""

    async def owners(self) -> Sequence[UserKey]:
        """Return everybody who has a memory."""

    async def forget(self, owner: UserKey) -> int:
        """Delete everything of all of the owner's accounts, links included; return how many memories that were."""


class PhraseStore(Protocol):
    """What memories are searched by: their phrases, the vectors of these, and their words.

    A *phrase* is a text that a memory is found by: each binding, and the content itself. Each has an integer id of its
    own that is never reused. Vectors are stored per phrase with the `space` they belong to; a phrase may lack one (the
    embedder was down), and then appears in `unembedded`.
    """

    async def phrases(
        self, owner: UserKey, phrase_ids: Collection[int] = (), *, memory_ids: Sequence[str] = ()
    ) -> Mapping[int, tuple[str, str]]:
        """Map those of the phrase ids that the owner has, or all of those memories', to (memory id, text)."""

    async def audible_phrases(self, owner: UserKey, room: str) -> Sequence[int]:
        """Return the phrase ids of the owner's memories that may be spoken of in that room: said there, or shared.

        They are in ascending order.
        """

    async def newest_phrase(self, owner: UserKey) -> int:
        """Return the id of the owner's newest phrase, 0 where there is none: a greater one tells of an addition."""

    async def foreign_version(self) -> int:
        """Return a number that changes whenever another program, such as the command line, has changed the store."""

    async def vectors(
        self, owner: UserKey, space: str, phrase_ids: Collection[int] | None = None
    ) -> tuple[Sequence[int], Vectors]:
        """Return ids, shape (n,), and vectors, shape (n, dims), of the owner's phrases embedded in that space, by id.

        All of them, or those of the `phrase_ids`.
        """

    async def embedded(self, owner: UserKey, space: str) -> frozenset[int]:
        """Return the ids of every phrase embedded in that space."""

    async def unembedded(self, owner: UserKey, space: str, limit: int) -> Mapping[int, str]:
        """Map up to `limit` phrase ids that have no vector in that space to their texts, oldest first."""

    async def put_vectors(self, owner: UserKey, space: str, vectors: Mapping[int, Vector]) -> None:
        """Store vectors of phrases of the owner's; ids that are gone or another's are left out."""

    async def lexical(self, owner: UserKey, query: str, limit: int, *, room: str = "") -> Sequence[tuple[str, float]]:
        """Return (memory id, score > 0, higher is better) of the best matches by words, best first.

        `query` is free text: no operator in it has a meaning, and text without a word finds nothing. With a `room`,
        only what is audible there is looked at: what is not neither is found nor takes another's place.
        """


class SearchableMemoryStore(MemoryStore, PhraseStore, Protocol):
    """Both in one object, as the stores of an engine give them."""
