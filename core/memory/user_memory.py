"""One person's long-term memory: search, save, update, delete, undo."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Final

from core.enclosures import Attachment, identities
from core.files.port import FileStore
from core.memory.embedding import Embedding
from core.memory.relation import NEIGHBOURS, Compared, Relation, Resolved, related
from core.memory.search import RunningSearch, parts, search_memories
from core.ports import Clock
from core.stores import ChangeContext, Done, MemoryStore, VectorSearch
from core.text.days import without_day
from core.text.unicode import clean, fold, one_line
from core.text.words import FUNCTION_WORDS, folded_words, same
from core.types import (
    NEAR,
    Change,
    ChangeKind,
    MemoryDraft,
    MemoryHit,
    MemoryItem,
    MemoryKind,
    Passage,
    Span,
    UserKey,
    Vector,
)

MAX_PHRASE_CHARS = 200


def cleaned(draft: MemoryDraft) -> MemoryDraft:
    """Return the draft with clean texts, and each binding once; empty ones are left out."""
    return replace(draft, content=clean(draft.content), bindings=_once(clean(binding) for binding in draft.bindings))


def phrases_of(draft: MemoryDraft) -> tuple[str, ...]:
    """Return the texts that a draft is found by, and that need vectors: bindings and content, cleaned, each once."""
    ready = cleaned(draft)
    return tuple(dict.fromkeys(text for text in (*ready.bindings, ready.content) if text))


def distinct(drafts: Sequence[MemoryDraft]) -> Sequence[MemoryDraft]:
    """Return the drafts, those of one kind, content and things made one that has the bindings of all."""
    found: dict[tuple[object, ...], MemoryDraft] = {}
    for draft in drafts:
        key = (draft.kind, fold(draft.content), *identities(draft.attachments))
        found[key] = merged(found[key], draft) if key in found else draft
    return list(found.values())


def merged(known: MemoryDraft, draft: MemoryDraft) -> MemoryDraft:
    """Return what is known, with those bindings of the draft that it lacks."""
    return replace(known, bindings=_once((*known.bindings, *draft.bindings)))


def said_again(item: MemoryItem, draft: MemoryDraft, room: str) -> tuple[MemoryDraft, tuple[str, ...]]:
    """Return a memory whose content was said again in a room ("": in private), and the rooms where it is heard now.

    The phrases that it is found by are heard wherever the content is: one that was not said in every such place goes.
    What the words mean now counts: "tomorrow" is another day.
    """
    until, meant = draft.until or item.until, draft.meant or item.meant
    rooms = tuple(sorted({*item.rooms, room} - {""}))
    before = item.bindings if meant == item.meant else without_day(item.bindings, item.meant)
    known = [phrase for phrase in before if rooms == item.rooms or phrase in draft.bindings]
    new = draft.bindings if not item.shared and set(rooms) <= {room} else ()
    bindings = _once((*known, *new)) or (one_line(item.content, MAX_PHRASE_CHARS),)
    return replace(item.draft, bindings=bindings, until=until, meant=meant), rooms


def renewed_bindings(bindings: Sequence[str], old: str, new: str) -> tuple[str, ...]:
    """Return the phrases that still find a memory whose content was `old` and is `new`.

    A phrase goes that holds a word of the old content which the new one lacks; one that names what a bare value is for
    ("wifi password") stays. Where none is left, the beginning of the new content is one.
    """
    before, now = set(folded_words(old)), set(folded_words(new))

    def is_over(phrase: str) -> bool:
        words = [word for word in folded_words(phrase) if word not in FUNCTION_WORDS]
        return any(_has(before, word) and not _has(now, word) for word in words)

    return tuple(phrase for phrase in bindings if not is_over(phrase)) or (one_line(new, MAX_PHRASE_CHARS),)


def _has(words: Collection[str], word: str) -> bool:
    return word in words or any(same(word, each) for each in words)


def _once(bindings: Iterable[str]) -> tuple[str, ...]:
    """Return the first of the bindings that differ by case and accents only, none empty."""
    found: dict[str, str] = {}
    for binding in bindings:
        if binding:
            found.setdefault(fold(binding), binding)
    return tuple(found.values())


def _has_other_things(draft: MemoryDraft, known: MemoryItem) -> bool:
    """Return whether a draft keeps things, and not those of the memory; one that says its words alone does not."""
    return bool(draft.attachments) and identities(draft.attachments) != identities(known.attachments)


def _as_done(resolved: Resolved, done: Change | None) -> Resolved:
    """Return a memory that is known as what the act had made it, if it is known by that act."""
    if resolved.relation is not Relation.SAME or done is None:
        return resolved
    if done.before is None:
        return Resolved(resolved.item, Relation.NEW)
    says_the_same = done.before.content == resolved.item.content
    return resolved if says_the_same else Resolved(resolved.item, Relation.REPLACES, done.before)


class UndoResult(StrEnum):
    """Whether it was undone, or why not."""

    DONE = "done"
    NOTHING = "nothing"
    """There is no such act, or it was undone before."""

    TOO_LATE = "too_late"
    CHANGED = "changed"
    """One of the memories was changed again since: nothing was undone."""


@dataclass(frozen=True, slots=True)
class Undone:
    """The outcome, and the changes that were undone, the newest first; none unless it is DONE.

    `gone` counts saved memories that are gone again, and their words with them, if it was done before a restart.
    """

    result: UndoResult
    changes: Sequence[Change] = ()
    gone: int = 0


_MAX_KEPT: Final = 8
"""How many phrases a memory has at most that took the place of another."""


@dataclass(frozen=True, slots=True)
class MemoryReading:
    """The reading half of `UserMemory`: all is `owner`'s, and in a room (`context.room`) what is audible there."""

    owner: UserKey
    store: MemoryStore
    indexes: VectorSearch
    embedding: Embedding
    clock: Clock
    on_partial: Callable[[UserKey], None]
    context: ChangeContext
    files: FileStore

    async def embed(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        """Map the texts to vectors by one call of the embedder; empty while it is down, and then words must do."""
        return await self.embedding.vectors(texts)

    async def embed_drafts(self, drafts: Sequence[MemoryDraft]) -> Mapping[str, Vector]:
        """Map what drafts are found by to vectors, by one call of the embedder."""
        return await self.embed([phrase for draft in drafts for phrase in phrases_of(draft)])

    async def embed_queries(self, queries: Sequence[str]) -> Mapping[str, Vector]:
        """Map what `search` wants the vectors of to them: the queries and their parts, by one call of the embedder."""
        return await self.embed([text for query in queries for text in (query, *parts(query))])

    async def find(self, query: str, *, limit: int) -> Sequence[MemoryHit]:
        """Return up to `limit` memories that a question finds, the best first; one call of the embedder."""
        return await self.search([query], limit=limit)

    async def search(
        self,
        queries: Sequence[str],
        vectors: Mapping[str, Vector] | None = None,
        *,
        limit: int = 5,
        floor: float = NEAR,
        past: bool = False,
        said: Span | None = None,
    ) -> Sequence[MemoryHit]:
        """Return up to `limit` memories, the best first, each with its best score over its phrases and the queries.

        `vectors` holds what `embed_queries` made of the queries (None: it is made now); one that is not in it is
        searched by its words alone.
        Nothing with a chance under `floor` is returned: over the default, most unrelated questions get no answer.
        With `past`, earlier versions and what is no longer true are found, too; with `said`, only what was said then.
        In a room, only what may be spoken of there is looked at, however near the rest may lie.
        """
        if vectors is None:
            vectors = await self.embed_queries(queries)
        return await search_memories(self, queries, vectors, limit=limit, floor=floor, past=past, said=said)

    async def neighbours(self, text: str, vectors: Mapping[str, Vector]) -> Sequence[MemoryItem]:
        """Return the memories that a statement is compared with: those most like it, as far as a bounded search finds.

        However many memories there are, no more rows are read.
        """
        search = RunningSearch(self, (text,), NEIGHBOURS, 0.0, past=False, said=None, is_quick=True)
        return [hit.item for hit in await search.run(vectors)]

    async def get(self, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the ids that this person has, in the order asked; in a room, what is audible there."""
        items = await self.store.get(self.owner, memory_ids)
        return [item for item in items if self._is_audible(item)]

    async def page(self, *, limit: int, before: str = "", skip: int = 0) -> Sequence[MemoryItem]:
        """Return the pinned first, then the newest; with `before`, what comes after that one.

        The first `skip` of these are passed over. In a room only what may be spoken of there.
        """
        room = self.context.room
        return await self.store.page(self.owner, limit=limit, before=before, skip=skip, room=room)

    async def count(self) -> int:
        """Return how many memories this person has; in a room, of how many may be spoken there."""
        return await self.store.count(self.owner, room=self.context.room)

    async def versions(self, memory_id: str) -> Sequence[Change]:
        """Return what was done to a memory, the newest first, as far as it was recorded."""
        return await self.store.changes(self.owner, memory_id=memory_id)

    async def earlier(self, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return the earlier versions of those memories, the newest first; in a room, what is audible there."""
        items = await self.store.earlier(self.owner, memory_ids)
        return [item for item in items if self._is_audible(item)]

    async def passages(self, memory_id: str) -> Sequence[Passage]:
        """Return the passages of what a memory keeps, in order; in a room, of what is audible there."""
        return await self.store.passages(self.owner, memory_id) if await self.get([memory_id]) else ()

    def _is_audible(self, item: MemoryItem) -> bool:
        """Whether it may be spoken of where this is read."""
        return not self.context.room or item.shared or self.context.room in item.rooms


@dataclass(frozen=True, slots=True)
class UserMemory(MemoryReading):
    """What `Memories.of` gives: everything here is `owner`'s, and changes are recorded with `context`.

    A command that is run again after a crash (`context.is_again`) changes nothing twice: what it changed already is
    returned as if it was changed now.
    """

    undo_within: timedelta
    on_changed: Callable[[], None]

    async def save(
        self,
        drafts: Sequence[MemoryDraft],
        vectors: Mapping[str, Vector] | None = None,
        *,
        source_ids: Sequence[int] = (),
        hints: Mapping[str, str] | None = None,
    ) -> Sequence[Resolved]:
        """Store the drafts, and return what became of each different one: first of those that replace nothing.

        Each is compared with the memories near it, in a room with those that are audible there. One that repeats a
        memory adds its source to that; one that takes the place of a memory makes its words an earlier version.
        `hints` are the ids of the memories that a model says drafts repeat or change, by their content. `vectors` are
        those of `embed_drafts` (None: they are made now), as for all that stores drafts.

        Raises:
            ValueError: a draft without a readable binding; nothing is stored.
        """
        vectors = await self.embed_drafts(drafts) if vectors is None else vectors
        return await self.put(await self.compare(drafts, vectors, hints=hints), vectors, source_ids=source_ids)

    async def compare(
        self,
        drafts: Sequence[MemoryDraft],
        vectors: Mapping[str, Vector],
        *,
        hints: Mapping[str, str] | None = None,
    ) -> Sequence[Compared]:
        """Return each different draft with what `save` would make of it; nothing is written.

        One that repeats a memory has the words of that; only the first that would take the place of a memory does.
        """
        made: list[Compared] = []
        replaced: set[str] = set()
        for draft in distinct([cleaned(draft) for draft in drafts]):
            found = await self._related(draft, vectors, (hints or {}).get(draft.content, ""))
            known = found.known
            if known is not None and found.relation is Relation.SAME and _has_other_things(draft, known):
                found, known = Compared(draft), None
            # "The exam is tomorrow", said again next week, is another exam.
            is_other = known is not None and draft.meant != "" and known.meant not in {"", draft.meant}
            if known is not None and found.relation is Relation.SAME and not is_other:
                to_the_letter = folded_words(draft.content) == folded_words(known.content)
                phrases = draft.bindings if to_the_letter else known.bindings
                same = replace(draft, content=known.content, bindings=phrases, attachments=known.attachments)
                found = replace(found, draft=same)
            elif known is not None and found.relation is Relation.SAME:
                found = replace(found, relation=Relation.REPLACES)
            if known is not None and found.relation is Relation.REPLACES and known.id in replaced:
                found = Compared(draft)
            replaced |= {known.id} if known is not None and found.relation is Relation.REPLACES else set()
            made.append(found)
        return made

    async def put(
        self, compared: Sequence[Compared], vectors: Mapping[str, Vector], *, source_ids: Sequence[int] = ()
    ) -> Sequence[Resolved]:
        """Store what was compared, as `save` does: first the drafts that replace nothing.

        Raises:
            ValueError: a draft without a readable binding; nothing is stored.
        """
        plain = [each.draft for each in compared if each.relation is not Relation.REPLACES]
        resolved = await self._add(plain, vectors, source_ids)
        if (done := await self.changed()) and any(each.relation is Relation.SAME for each in resolved):
            resolved = [_as_done(each, done.get(each.item.id)) for each in resolved]
        for each in compared:
            if each.known is not None and each.relation is Relation.REPLACES:
                draft = self._found_as_before(each.draft, each.known)
                item = await self._replace(each.known, draft, vectors, source_ids=source_ids, keeps_past=True)
                resolved += [] if item is None else [Resolved(item, Relation.REPLACES, each.known)]
        return resolved

    def _found_as_before(self, draft: MemoryDraft, known: MemoryItem) -> MemoryDraft:
        """Return a draft with those phrases of the memory whose place it takes that hold no name and no value.

        "Where do I work?" finds "I left Shell for BP". What was not heard here lends none.
        """
        if known.rooms != ((self.context.room,) if self.context.room else ()):
            return draft
        kept = [each for each in known.bindings if each.islower() and not any(map(str.isdigit, each))]
        return replace(draft, bindings=_once((*draft.bindings, *kept))[:_MAX_KEPT])

    async def add(
        self,
        drafts: Sequence[MemoryDraft],
        vectors: Mapping[str, Vector] | None = None,
        *,
        source_ids: Sequence[int] = (),
    ) -> Sequence[MemoryItem]:
        """Store the drafts without a look at what is near, and return the memories that hold them, in order.

        What is known already (same kind, same content) gains the room that it was said in instead of a second memory,
        and those of the new bindings that nobody hears where they were not said.

        Raises:
            ValueError: a draft without a readable binding; nothing is stored.
        """
        vectors = await self.embed_drafts(drafts) if vectors is None else vectors
        return [each.item for each in await self._add(drafts, vectors, source_ids)]

    async def update(
        self,
        memory_id: str,
        *,
        kind: MemoryKind | None = None,
        content: str | None = None,
        bindings: Sequence[str] | None = None,
        until: datetime | None = None,
        meant: str = "",
        attachments: Sequence[Attachment] | None = None,
        passages: Sequence[Passage] = (),
        vectors: Mapping[str, Vector] | None = None,
        source_ids: Sequence[int] = (),
        keeps_past: bool = False,
    ) -> MemoryItem | None:
        """Change what is given of a memory; None, and nothing changed, if this person has none of that id.

        `passages` are those of other `attachments`, in whose place they come.
        `until` and `meant` are those of a new content. With `keeps_past`, what it said until now stays as an earlier
        version. The new words are heard where they were said: in this room, or in private only. In a room, nothing is
        kept of the words of a memory that is not audible there.

        Raises:
            ValueError: no readable binding; nothing is changed.
        """
        if (done := (await self.changed()).get(memory_id)) is not None and done.kind is ChangeKind.UPDATED:
            return next(iter(await self.store.get(self.owner, [memory_id])), None)
        for item in await self.store.get(self.owner, [memory_id]):
            known = item.draft
            if not self._is_audible(item):
                if content is None:
                    return None
                known = MemoryDraft(MemoryKind.TEXT, content, (one_line(content, MAX_PHRASE_CHARS),))
            if content is not None:
                known = replace(known, content=content, until=until, meant=meant)
            draft = replace(
                known,
                kind=known.kind if kind is None else kind,
                bindings=known.bindings if bindings is None else tuple(bindings),
                attachments=known.attachments if attachments is None else tuple(attachments),
            )
            rooms, shared = (item.rooms, item.shared) if draft == item.draft else ((), False)
            return await self._replace(
                item,
                replace(cleaned(draft), passages=tuple(passages)),
                await self.embed_drafts([draft]) if vectors is None else vectors,
                rooms=rooms,
                shared=shared,
                source_ids=source_ids,
                keeps_past=keeps_past and (draft.content, draft.attachments) != (item.content, item.attachments),
            )
        return None

    async def confirm(self, items: Sequence[MemoryItem]) -> None:
        """Note that what these memories say is still so: all of it was said now, at one moment."""
        at = self.clock.now()
        for item in items:
            vectors = await self.embed_drafts([item.draft])
            await self._replace(item, item.draft, vectors, rooms=item.rooms, shared=item.shared, at=at)

    async def delete(self, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Delete those of the ids that this person has, and return what was deleted.

        Where nothing can be undone, nothing of it is kept. In a room, what is not audible there stays.
        """
        context = self.context if self.undo_within else replace(self.context, act="")
        audible = [item.id for item in await self.get(memory_ids)]
        earlier = [] if context.act else await self.store.earlier(self.owner, audible)
        deleted = await self.store.delete(self.owner, audible, at=self.clock.now(), context=context)
        if deleted:
            self.on_changed()
        held = {each.sha256 for item in (*deleted, *earlier) for each in item.attachments} - {""}
        if held and not context.act:
            named = (await self.store.files_named()).get(self.owner, frozenset())
            await self.files.remove(self.owner, held - named)
        done = [each.before for key, each in (await self.changed()).items() if key in memory_ids and not each.after]
        now = {item.id: item for item in (*deleted, *filter(None, done))}
        return [now[key] for key in dict.fromkeys(memory_ids) if key in now]

    async def changed(self) -> Mapping[str, Change]:
        """Map memories to what the act made of each before it was broken off; nothing if it is not run again."""
        if not self.context.is_again:
            return {}
        changes = await self.store.changes(self.owner, act=self.context.act, not_undone=True)
        last: dict[str, Change] = {}
        for each in changes:  # the newest first
            last[each.memory_id] = replace(last.get(each.memory_id, each), before=each.before)
        return {key: each for key, each in last.items() if not (item := each.after or each.before) or not item.current}

    async def done(self) -> Done:
        """Return what was deleted and taken back for the message before its answer was broken off."""
        message = self.context.message
        return await self.store.done(self.owner, message) if self.context.is_again and message else Done()

    async def flag(
        self, memory_id: str, *, pinned: bool | None = None, shared: bool | None = None
    ) -> MemoryItem | None:
        """Set whether a memory stands first in lists, and is known in every room; None leaves it as it is.

        Return the memory, or None if this person has none of that id.
        """
        audible = [item.id for item in await self.get([memory_id])]
        flagged = await self.store.flag(self.owner, audible, pinned=pinned, shared=shared)
        return flagged[0] if flagged else None

    async def last_change(self) -> Change | None:
        """Return the newest change that can still be undone, with all of its act; None if there is none."""
        if not self.undo_within:
            return None
        since = self.clock.now() - self.undo_within
        changes = await self.store.changes(self.owner, since=since, not_undone=True, limit=1)
        return changes[0] if changes else None

    async def undo(self, act: str = "", *, keeps: bool = False) -> Undone:
        """Undo all of an act, or of the newest one that can be undone; with `keeps`, its words are needed after it."""
        if (done := await self.done()).act and act in {"", done.act}:
            return Undone(UndoResult.DONE, done.undone, done.gone)
        if not act and (last := await self.last_change()):
            act = last.act
        changes = await self.store.changes(self.owner, act=act, not_undone=True) if act else ()
        if not changes:
            return Undone(UndoResult.NOTHING)
        if not self.undo_within or changes[0].at < self.clock.now() - self.undo_within:
            return Undone(UndoResult.TOO_LATE)
        before = [change.before for change in changes if change.before]
        vectors = await self.embed([text for item in before for text in (*item.bindings, item.content)])
        undone = await self.store.undo(self.owner, act, context=self.context, keeps=keeps)
        if undone is None:
            return Undone(UndoResult.CHANGED)
        await self._embed_again(list(dict.fromkeys(change.memory_id for change in changes)), vectors)
        self.on_changed()
        return Undone(UndoResult.DONE, undone)

    async def forget(self) -> int:
        """Delete everything of this person's and return how many memories that were."""
        await self.files.remove(self.owner)
        deleted = await self.store.forget(self.owner)
        self.indexes.drop(self.owner)
        return deleted

    async def _add(
        self, drafts: Sequence[MemoryDraft], vectors: Mapping[str, Vector], source_ids: Sequence[int]
    ) -> list[Resolved]:
        saved = await self.store.save(
            self.owner,
            distinct([cleaned(draft) for draft in drafts]),
            at=self.clock.now(),
            merge=partial(said_again, room=self.context.room),
            source_ids=source_ids,
            vectors=vectors,
            space=self.embedding.space,
            context=self.context,
        )
        if len(saved.new) < len(saved.items):  # phrases of known ones may be gone
            self.on_changed()
        if any(draft.passages for draft in drafts):
            self.on_partial(self.owner)
        return [Resolved(item, Relation.NEW if item.id in saved.new else Relation.SAME) for item in saved.items]

    async def _related(self, draft: MemoryDraft, vectors: Mapping[str, Vector], hint: str) -> Compared:
        """Return what a draft is to what is known; `hint` is the memory that a model named."""
        if draft.kind is not MemoryKind.TEXT:
            return Compared(draft)

        async def cosine(known: str) -> float:
            both = await self.embed([known, draft.content])
            return float(both[known] @ both[draft.content]) if len(both) > 1 else -1.0

        named = await self.get([hint]) if hint else ()
        near = {item.id: item for item in (*named, *await self.neighbours(draft.content, vectors))}
        return await related(draft, list(near.values()), cosine, next(iter(named), None))

    async def _replace(
        self,
        old: MemoryItem,
        draft: MemoryDraft,
        vectors: Mapping[str, Vector],
        *,
        rooms: Sequence[str] = (),
        shared: bool = False,
        source_ids: Sequence[int] = (),
        keeps_past: bool = False,
        at: datetime | None = None,
    ) -> MemoryItem | None:
        item = await self.store.update(
            self.owner,
            old.id,
            draft,
            at=at or self.clock.now(),
            vectors=vectors,
            space=self.embedding.space,
            context=self.context,
            rooms=rooms,
            shared=shared,
            source_ids=source_ids,
            keeps_past=keeps_past,
        )
        self.on_changed()
        if draft.passages:
            self.on_partial(self.owner)
        return item

    async def _embed_again(self, memory_ids: Sequence[str], vectors: Mapping[str, Vector]) -> None:
        """Store vectors of the memories' phrases that came back without any."""
        phrases = await self.indexes.phrases.phrases(self.owner, memory_ids=memory_ids)
        known = {i: vectors[text] for i, (_, text) in phrases.items() if text in vectors}
        if known:
            await self.indexes.phrases.put_vectors(self.owner, self.embedding.space, known)
