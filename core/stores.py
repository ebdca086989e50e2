"""The ports of the stores: the inbox, conversations, memories, and what memories are searched by.

Each docstring is the promise; `tests/contracts/` holds every implementation to it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol, TypeAlias

import numpy as np

from core.enclosures import Attachment
from core.threads import Threads, ToldMemories, Transition
from core.types import (
    Change,
    ChatKey,
    ConversationKey,
    Incoming,
    MemoryDraft,
    MemoryItem,
    MemoryKind,
    Message,
    MessageKey,
    Passage,
    Span,
    Thread,
    UserKey,
    Vector,
    Vectors,
)

LATEST: Final = 5
"""An answered message may be edited while its sender has sent fewer than so many later ones in that chat."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """The earlier versions of a message that was edited: their ids, and the handles of the answer to the last one.

    `answered`: that answer was complete when this version took its place.
    """

    message_ids: tuple[str, ...] = ()
    posted: tuple[str, ...] = ()
    answered: bool = False


@dataclass(frozen=True, slots=True)
class Backlog:
    """The messages of a platform that are owed an answer: how many, and when the oldest was sent."""

    messages: int
    oldest: datetime


@dataclass(frozen=True, slots=True)
class Accepted:
    """Who answers a message that was accepted: the worker that holds its chat by the claim of that epoch, 0 for nobody.

    `follows`: something was owed in that chat before. Where one process holds all chats, nothing of it is set.
    """

    worker: int = 0
    epoch: int = 0
    follows: bool = False


class Inbox(Protocol):
    """Messages that are still owed an answer. Durable before any model is asked.

    A message and its edits (`Incoming.edits`) are versions of one: only the last that was accepted is owed an answer.
    """

    async def accept(self, incoming: Incoming) -> Accepted | None:
        """Store it; it is on disk when this returns, and its chat is claimed, if it was free.

        None, and nothing stored, for a known (chat, message_id), for a message of which an edit is known, and for an
        edit of one that was answered and is `seal`ed or not among the `LATEST` of its sender's in that chat.
        """

    async def collect(self, whole: Incoming) -> None:
        """Store what was collected from its `parts` as one message; it is on disk when this returns.

        The row is that of the part whose id it has. Those of the others are closed for good.
        """

    async def take_over(self, edit: Incoming) -> Replaced:
        """Close the earlier versions of a message, and record what is posted for them for this one; return both."""

    async def close(self, incoming: Incoming) -> None:
        """Mark it answered, with its earlier versions; do nothing for a message that is not owed an answer.

        What was posted for it stays recorded, for an edit of it to take over.
        """

    async def erase(self, incoming: Incoming) -> None:
        """Close it, and accept no edit of it from now on; `finish_erasing` removes what is left of its words."""

    async def finish_erasing(self) -> None:
        """Return when no byte of what was erased before this call is left on the disk, also before a crash.

        Raises:
            StorageError: it could not be done whole; the next call goes on with it.
        """

    async def seal(self, incoming: Incoming) -> None:
        """Accept no edit of an answered message from now on."""

    async def put_posted(self, incoming: Incoming, handles: Sequence[str]) -> None:
        """Record, on disk, what is posted for it while it is owed: handles; a last "" for one that is about to be."""

    async def question(self, platform: str, chat: str, handle: str) -> tuple[ConversationKey, str] | None:
        """Return in whose conversation that message of the chat answers what, by its id; None if it answers nothing.

        The message goes by its handle, or by ANSWER_TO and the id of what it answers. It is known as long as the row is
        kept, also after a restart.
        """

    async def purge(self, before: datetime, limit: int) -> int:
        """Remove up to `limit` answered messages that were sent before then, and return how many."""

    async def owed(self, platform: str, chats: Collection[str] | None = None) -> Mapping[Incoming, Sequence[str]]:
        """Map what was accepted on that platform and not closed, oldest first, to the handles recorded for it.

        With `chats`, only in the chats of those ids.
        """

    async def backlog(self) -> Mapping[str, Backlog]:
        """Map each platform to what is owed on it; those on which nothing is are left out."""

    async def forget(self, user: UserKey) -> None:
        """Remove every row of that person's."""


class PeoplesKeys(Protocol):
    """The keys of people. What is sealed with a destroyed key nobody can open any more, wherever a copy of it lies."""

    async def destroy(self, owners: Sequence[UserKey]) -> Sequence[str]:
        """Destroy the keys of these accounts for good, and return their ids; whoever has none has no id.

        Raises:
            StorageError: not all of them are destroyed; the next start does it.
        """
        ...

    async def purged(self, keys: Sequence[str]) -> None:
        """Note that the rows which were sealed with the keys of these ids are gone."""
        ...


class NoKeys(PeoplesKeys):
    """Nobody has a key: nothing is sealed."""

    async def destroy(self, owners: Sequence[UserKey]) -> Sequence[str]:  # noqa: ARG002 - none of them has one
        """Return nothing."""
        return ()

    async def purged(self, keys: Sequence[str]) -> None:
        """Do nothing."""


class KeptStore(Protocol):
    """Small texts by name: what all workers agree on, and what outlives the container that wrote it."""

    async def get(self, name: str) -> str | None:
        """Return what is kept under that name, or None."""

    async def put(self, name: str, value: str) -> None:
        """Keep the text, in place of what was kept under that name."""

    async def delete(self, name: str) -> None:
        """Keep nothing under that name."""

    async def change(self, name: str, change: Callable[[str | None], str | None]) -> str | None:
        """Keep what `change` makes of what is kept (None: nothing), and return it: no other worker is in between.

        `change` is called on the store's thread, and may be called again: it neither waits nor takes long.
        """


@dataclass(frozen=True, slots=True)
class SaidMessage:
    """A message, and the chat of the thread that it is in."""

    message: Message
    chat: ChatKey


BEFORE_WEIGHT: Final = 0.5
"""What a word counts, in a search for past messages, that stands only in what was said just before one."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """A past message that a search found, and the thread that it is in.

    `before` is what was said just before it, if that has words of the query which the message lacks. `score` is how
    much of the query's words they hold, 0..1: each weighs its IDF over the messages of those people, and
    `BEFORE_WEIGHT` of it if only `before` has it.
    """

    message: Message
    thread: Thread
    before: Message | None
    score: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a person asked, and what answered it, in that order, in a thread of theirs."""

    thread: Thread
    messages: tuple[Message, ...]


class MessageStore(Protocol):
    """The messages of a memory id: all that a program has to bring to keep conversations in a place of its own."""

    async def get(self, memory_id: str, /) -> Sequence[Message]:
        """Return all messages, in the order in which they were said; none for an unknown id."""

    async def update(self, memory_id: str, messages: Sequence[Message], /) -> object:
        """Store the messages in place of those of that id."""

    async def delete(self, memory_id: str, /) -> None:
        """Remove the messages."""


class HistoryStore(Threads, ToldMemories, Protocol):
    """Every message ever said, by thread. Order is the order of `append`.

    A thread of which the model is shown less loses nothing here: nothing but `update`, `delete` and `forget` removes a
    message, and nothing but `redact` and `retract` its words.
    """

    async def append(self, thread_id: str, message: Message, entered: Sequence[Transition] = ()) -> Message:
        """Store it with the states that its turn had entered; return it with its id and sequence.

        A known non-empty source_id returns the stored row, and stores the states only.
        """

    async def get(self, thread_id: str, /) -> Sequence[Message]:
        """Return all messages of the thread, oldest first."""
        return await self.since(thread_id)

    async def tail(self, thread_id: str, limit: int, *, before: int = 0) -> Sequence[Message]:
        """Return the newest `limit` messages, oldest first; with `before`, of those with a smaller sequence."""

    async def since(self, thread_id: str, after: int = 0, limit: int = 2**62) -> Sequence[Message]:
        """Return the oldest `limit` messages with a sequence greater than `after`, oldest first; or all of them."""

    async def said(self, user: UserKey, ids: Sequence[int]) -> Sequence[SaidMessage]:
        """Return those of the messages that are in threads of that person's, and where each was said, as asked."""

    async def search(
        self,
        users: Sequence[UserKey],
        queries: Sequence[str],
        *,
        limit: int,
        room: str = "",
        said: Span | None = None,
        skip: Collection[int] = (),
    ) -> Sequence[Sequence[Quoted]]:
        """Return, for each query, up to `limit` past messages of these accounts, and answers to them, the best first.

        They are found by their words. What has no words any more, and what was said off the record, is not found; what
        is withheld is, and the caller's to leave out. With a `room`, only what was said there. `said` is when; messages
        whose ids are in `skip` are left out. What was stored by an older version, or restored, is found by and by: each
        search indexes some.
        """

    async def beside(self, conversation: ConversationKey, limit: int, *, source_id: str = "") -> Sequence[Exchange]:
        """Return the newest `limit` exchanges of others in the same place, oldest first; with `source_id`, only that.

        They are of questions that a named speaker asked in the room on the record, and that have their words; answers
        without words are left out, apologies and recalled memories, too. What is withheld is the caller's to leave out.
        Without a `source_id`, none is older than the last reset of the conversation.
        """

    async def asked(self, conversation: ConversationKey, source_ids: Collection[str]) -> Sequence[Message]:
        """Return the messages of those source ids in all threads of the conversation, oldest first."""

    async def turn(self, conversation: ConversationKey, source_id: str) -> Sequence[Message]:
        """Return the messages of the turn that began with that message in any thread of the conversation, in order.

        None for an id that began no turn there.
        """

    async def retract(self, conversation: ConversationKey, source_ids: Collection[str]) -> None:
        """Clear the turns that began with those messages: no model is shown them, and no search finds them, any more.

        Each message of them keeps its place, with no words and `Modal.TEXT_FOR_REPLACE`. Summaries that cover one are
        removed.
        """

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

    `account` is who said it, where two accounts are one owner: those words are its own if they are parted. `message`
    asked for it; `is_again`: the command that it is was begun before, and broken off.
    """

    act: str = ""
    room: str = ""
    account: UserKey | None = None
    message: MessageKey | None = None
    is_again: bool = False


NO_CHANGE_CONTEXT = ChangeContext()


Merge: TypeAlias = Callable[[MemoryItem, MemoryDraft], tuple[MemoryDraft, tuple[str, ...]]]
"""Given a memory and the same said again: what it is then, and the rooms in which it is heard."""


@dataclass(frozen=True, slots=True)
class Saved:
    """What `save` stored: the memory that holds each draft, in order, and the ids of those that are new."""

    items: Sequence[MemoryItem]
    new: frozenset[str]


@dataclass(frozen=True, slots=True)
class Done:
    """What was done for a message: the ids of the memories deleted, and the act taken back ("": none).

    `undone` are the changes of that act whose words are still kept, `gone` counts the saved memories whose are not;
    `linked` tells whether it linked two accounts.
    """

    deleted: tuple[str, ...] = ()
    act: str = ""
    undone: Sequence[Change] = ()
    gone: int = 0
    linked: bool = False


@dataclass(frozen=True, slots=True)
class Share:
    """What an account has of a memory that it shares with another, or would have if they were parted.

    `own`: ids of memories, earlier versions included, in which the other one has no words. `count`: how many memories.
    """

    own: frozenset[str]
    count: int


class MemoryStore(Protocol):
    """The truth about memories. The owner is the first argument of every verb, so that no query can forget it.

    A memory, its phrases, their vectors, its terms and its sources change in one transaction or not at all; so does an
    act of a few memories. One of thousands is written some at a time, so that nobody waits for it.
    """

    async def save(
        self,
        owner: UserKey,
        drafts: Sequence[MemoryDraft],
        *,
        at: datetime,
        merge: Merge,
        source_ids: Sequence[int] = (),
        vectors: Mapping[str, Vector] | None = None,
        space: str = "",
        context: ChangeContext = NO_CHANGE_CONTEXT,
    ) -> Saved:
        """Store the drafts that are new; what is known already (`find`) becomes what `merge` makes of both.

        `vectors` maps phrase texts to vectors of `space`; others stay unembedded. It was said in `context.room` ("": in
        private), and by `context.account` if that is one of the owner's. What is new has the times of its draft's
        `said_at`, at most `at`.

        A memory that was said again gains the sources; one that changes by it is recorded as changed, without an
        earlier version. Looking and writing are one transaction, so that two who save the same store it once.

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
        source_ids: Sequence[int] = (),
        keeps_past: bool = False,
    ) -> MemoryItem | None:
        """Replace what a memory says; None, and nothing changed, if the owner has no such memory.

        With `keeps_past`, what it said until now is stored as an earlier version: a memory with an id of its own,
        `until` this time, whose `current` is this one; it keeps age, sources, rooms and vectors. It is deleted with its
        `current`, taken back with the act, and returned by `get`, `earlier` and a `search` of the past only.
        `source_ids` are added to the sources.

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

    async def undo(
        self, owner: UserKey, act: str, *, context: ChangeContext = NO_CHANGE_CONTEXT, keeps: bool = False
    ) -> Sequence[Change] | None:
        """Take back all of an act, in one transaction, and return its changes, the newest first, marked as undone.

        A deleted memory comes back with its id, age, flags, rooms and sources, without vectors; a saved one is gone,
        with all its changes; a changed one has the text that it had, and is heard where that was: in the same rooms,
        and shared if it was. None, and nothing changed, if there is nothing of that act, it was taken back before, or
        one of its memories changed since. With `keeps`, the words of saved memories stay in what `done` returns.
        """

    async def done(self, owner: UserKey, message: MessageKey) -> Done:
        """Return what was deleted, taken back and linked for a message that is still owed an answer."""

    async def purge(self, before: datetime) -> int:
        """Remove all changes of memories that were deleted before then, every word of theirs; return how many.

        No byte of such a memory is left on the disk when this returns. What a `forget`, `link` or `unlink` that was cut
        short has left to do is done, too.
        """

    async def link(self, owner: UserKey, other: UserKey, message: MessageKey | None = None) -> None:
        """Make two accounts one owner, by the name of the first: what the other has is the owner's from now on.

        Each memory, and each of its changes, keeps the account that said its words. Every verb takes either account for
        the owner. That it was done for the message is in what `done` returns, until that is answered.

        Raises:
            ValueError: one of them is linked already, or both are the same.
        """

    async def unlink(self, owner: UserKey, other: UserKey) -> None:
        """Part them again: each has its own last words, as if the other had said nothing; what both said, both have.

        A memory in which both have words keeps its id with who said its present ones; the other account's have a new
        one. What an account had said and the other one changed comes back; phrases and sources go with who brought
        them. Its changes and earlier versions are dropped: what was deleted stays so. Do nothing if they are not
        linked.
        """

    async def whose(self, act: str) -> UserKey | None:
        """Return the account that made those changes, None if nobody did: for who pressed another person's button."""

    async def accounts(self, user: UserKey) -> Sequence[UserKey]:
        """Return every account of that person's, the owner first: only themselves, where nothing was linked."""

    async def shares(self, owner: UserKey) -> Mapping[UserKey, Share]:
        """Return what each of the owner's accounts would have if they were parted now."""

    async def get(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the ids that the owner has, in the order asked."""

    async def earlier(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return the earlier versions of those memories of the owner's, the newest first."""

    async def passages(self, owner: UserKey, memory_id: str) -> Sequence[Passage]:
        """Return the passages of what a memory of the owner's keeps, in order."""

    async def files_named(self) -> Mapping[UserKey, frozenset[str]]:
        """Map owners to the digests of the files that anything of theirs names.

        That are memories with their earlier versions, changes that are kept, messages that are owed an answer, and what
        the person is asked to agree to.
        """

    async def find(
        self,
        owner: UserKey,
        kind: MemoryKind,
        content: str,
        *,
        room: str = "",
        attachments: Sequence[Attachment] = (),
    ) -> MemoryItem | None:
        """Return the owner's memory of that kind, content and things, or None.

        Case, accents and punctuation do not count, nor what things are called.
        One that has the content to the letter comes first. With a `room`, others count only if they were said there.
        """

    async def page(
        self,
        owner: UserKey,
        *,
        limit: int,
        before: str = "",
        skip: int = 0,
        room: str = "",
    ) -> Sequence[MemoryItem]:
        """Return the pinned first, then the newest; with `before`, what comes after that one.

        The first `skip` of these are passed over, unread. With a `room`, only what is audible there.
        """

    async def count(self, owner: UserKey, *, room: str = "") -> int:
        """Return how many memories the owner has; with a `room`, how many are audible there."""

    async def owners(self) -> Sequence[UserKey]:
        """Return everybody who has a memory."""

    async def forget(self, owner: UserKey) -> int:
        """Delete everything of all of the owner's accounts, links included; return how many memories that were."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory that a search may return, before it is read.

    `number` is greater for a newer one. `phrases` are the ids of its phrases. `words` holds for each query how much of
    it the memory's words cover, 0..1: each word weighs its IDF over this owner's memories alone. That is BM25 with
    k1 = 0, divided by what the whole query weighs; how often a word stands there, or how long the memory is, is noise.
    `context` is the same of its words and those of the memory that was told just before it. `document` is the number of
    the memory of which it is a passage, 0 if it is none.
    """

    number: int
    phrases: tuple[int, ...]
    words: tuple[float, ...]
    context: tuple[float, ...]
    document: int = 0


Cosines: TypeAlias = Callable[[Sequence[int], Vectors], Vectors]
"""Given phrase ids and normalized rows: their cosines, shape (phrases, rows); NaN for a phrase without a vector."""


def no_cosines(ids: Sequence[int], rows: Vectors) -> Vectors:
    """Return the `Cosines` of phrases that have no vectors."""
    return np.full((len(ids), len(rows)), np.nan, np.float32)


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What vectors tell one search: the ids of the phrases nearest to what was asked, and the cosines of any others."""

    nearest: frozenset[int] = frozenset()
    cosines: Cosines = no_cosines


NO_NEIGHBOURS: Final = Neighbours()

Order: TypeAlias = Callable[[Sequence[Candidate], int, Neighbours], Sequence[int]]
"""Given candidates, how many memories the owner has, and their neighbours: the numbers of those to read, in this order.

It is called on the store's thread, must neither wait nor take long, and may be called again for the same search.
"""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What a search asks a store for.

    Candidates are the memories of the nearest phrases, and for each query the `depth` best by words; so many times more
    rows of words are read as `depth` is greater, up to a limit. In a `room` only
    what is audible there counts, with `said` only what was said then; what is past at `at` counts only with `past`.
    """

    queries: tuple[str, ...]
    order: Order
    at: datetime
    depth: int = 32
    room: str = ""
    past: bool = False
    said: Span | None = None


@dataclass(frozen=True, slots=True)
class Fresh:
    """What an index lacks.

    `embedded` are all phrases that have a vector, where it may hold what is gone, or lack what is older; else None.
    `partial`: some of these, or of the new phrases alone, have no vector.
    """

    version: int
    ids: Sequence[int]
    vectors: Vectors
    removed: int
    partial: bool
    embedded: frozenset[int] | None = None


class PhraseStore(Protocol):
    """What memories are searched by: their phrases, the vectors of these, and their words.

    A *phrase* is a text that a memory is found by: each binding, and the content itself. Each has an integer id of its
    own that is never reused. Vectors are stored per phrase with the `space` they belong to; a phrase may lack one (the
    embedder was down), and then appears in `unembedded`. Of vectors at least half floats are kept.
    """

    async def phrases(
        self, owner: UserKey, phrase_ids: Collection[int] = (), *, memory_ids: Sequence[str] = ()
    ) -> Mapping[int, tuple[str, str]]:
        """Map those of the phrase ids that the owner has, or all of those memories', to (memory id, text)."""

    async def search(
        self,
        owner: UserKey,
        search: SearchRequest,
        neighbours: Neighbours = NO_NEIGHBOURS,
        *,
        version: int | None = None,
    ) -> Sequence[MemoryItem] | None:
        """Return the memories that `search.order` names, in its order; None if the owner's version is not `version`.

        All is read in one job: a word counts by how few of the owner's memories hold it, whoever else uses it. The
        memories of the `neighbours` count as far as they are the owner's; `version` is that of their index.
        """

    async def version(self, owner: UserKey) -> int:
        """Return a number that changes with every change of the owner's memories, by whatever process."""

    async def fresh(self, owner: UserKey, space: str, after: int, removed: int | None = None) -> Fresh:
        """Return the phrases with an id greater than `after` that are embedded in that space, and their vectors.

        `removed` counts what was ever removed, or embedded later than it was stored: where it is another number than
        that given, `Fresh.embedded` is told, too.
        """

    async def vectors(
        self, owner: UserKey, space: str, phrase_ids: Collection[int] | None = None
    ) -> tuple[Sequence[int], Vectors]:
        """Return ids, shape (n,), and vectors, shape (n, dims), of the owner's phrases embedded in that space, by id.

        All of them, or those of the `phrase_ids`.
        """

    async def unembedded(self, owner: UserKey, space: str, limit: int) -> Mapping[int, str]:
        """Map up to `limit` phrase ids that have no vector in that space to their texts, oldest first."""

    async def put_vectors(self, owner: UserKey, space: str, vectors: Mapping[int, Vector]) -> None:
        """Store vectors of phrases of the owner's; ids that are gone or another's are left out."""

    async def keep_space(self, owner: UserKey, space: str) -> None:
        """Delete the owner's vectors of every other space."""


@dataclass(frozen=True, slots=True)
class AskedVectors:
    """What a search asks for by vectors: the `nearest` phrases to each of the rows, shape (n, dims), n > 0.

    The rows are normalized, and so is what they are compared with: the `mean` of the `space` is taken out of unit
    vectors, and they are made unit vectors again (`core/memory/embedding.py`).
    """

    space: str
    mean: Vector
    rows: Vectors
    nearest: int
    most: int = 0
    """How many phrases have to be looked at, 0 for all: what was added last, where an engine looks at them in turn."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search by words and vectors found.

    `partial`: some of the owner's phrases have no vector. `whole`: there are no more phrases than it has looked at.
    """

    items: Sequence[MemoryItem]
    partial: bool
    whole: bool


class VectorSearch(Protocol):
    """Search a person's memories by words and vectors: over an index in RAM, or in the database itself.

    Both find the nearest among that owner's phrases alone, and give equal cosines, but for the rounding of half floats.
    """

    @property
    def phrases(self) -> PhraseStore:
        """The store that is searched."""

    async def search(self, owner: UserKey, search: SearchRequest, asked: AskedVectors) -> SearchResult:
        """Return what `PhraseStore.search` finds with the neighbours of what is asked, over one state of the store."""

    def drop(self, owner: UserKey) -> None:
        """Let go of what is held in RAM of a person, if anything is."""


class SearchableMemoryStore(MemoryStore, PhraseStore, Protocol):
    """Both in one object, as the stores of an engine give them."""
