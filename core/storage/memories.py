"""The truth about memories, in the database: saved, changed, listed, undone, linked, forgotten.

Accounts that are linked are one owner: each memory, and each of its changes, stands under the owner and keeps the
account that said its words. What a link or a `forget` moves or removes goes some rows at a time; a crash in between is
made good by `purge`.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Final

from pydantic import TypeAdapter

from core.enclosures import Attachment
from core.storage import inbox, memory_changes, memory_rows
from core.storage.database import Query, each_batch, in_batches, statement
from core.storage.files import files_named
from core.storage.memory_changes import REPEATED, ChangeRecord, drop, mixed_keys, part, shares
from core.storage.memory_rows import (
    ACCOUNTS,
    ALL,
    EARLIER,
    EVERYWHERE,
    OWNER,
    PASSAGES,
    THOSE,
    Accounts,
    Embedded,
    Stored,
    accounts_in,
    in_order,
    items,
    stored,
    those,
)
from core.storage.memory_search import SqlPhrases, audible
from core.storage.record import (
    NO_LIMIT,
    OF_USER,
    checked,
    listed,
    microseconds,
    moment,
    phrases_of,
    random_id,
    storable,
    user_key,
)
from core.stores import NO_CHANGE_CONTEXT, ChangeContext, Done, MemoryStore, Merge, Saved, Share
from core.types import Change, JSONValue, MemoryDraft, MemoryItem, MemoryKind, MessageKey, Passage, UserKey, Vector

_COUNT = f"SELECT count(*) FROM memories AS m WHERE m.owner = {OWNER} AND m.current = ''"
_ORDER = "m.pinned DESC, m.created_at DESC, m.id DESC"
_PLACE = f"SELECT pinned, created_at, id FROM memories WHERE owner = {OWNER} AND key = ?"
_ID = f"SELECT id FROM owners WHERE {OF_USER}"
_WHOSE = """
    SELECT owners.platform, owners."user" FROM changes AS c JOIN owners ON owners.id = coalesce(c.speaker, c.owner)
    WHERE c.act = ? LIMIT 1
"""
_FORGOTTEN = "SELECT id FROM owners WHERE platform = ''"

# The terms stay as they are: they name the account, and an owner's search asks for all of theirs.
_MOVED_WITH_THEIR_MEMORY = ("phrases", "rooms")
_BELONGING_TO_AN_ACCOUNT = ("memories", "changes")
# What is not yet where its account belongs: of those just linked; of those just parted, whoever they are linked to now.
_JOINING = """
    SELECT {table}.id, {table}.owner, owners.linked, owners.id
    FROM owners JOIN {table} ON {table}.owner = owners.id AND {table}.account IS NULL
    WHERE owners.linked IS NOT NULL LIMIT ?
"""
_PARTING = """
    SELECT {table}.id, {table}.owner, coalesce(owners.linked, owners.id),
        CASE WHEN owners.linked IS NULL THEN NULL ELSE owners.id END
    FROM owners JOIN {table} ON {table}.account = owners.id
    WHERE {table}.owner != coalesce(owners.linked, owners.id) LIMIT ?
"""


_FIRST_PASSAGES: Final = 4
"""So many are written at first: the words of a long document are new, and each takes 0.1 ms."""

_DELETED, _LINKED, _UNDONE = "deleted", "linked", "undone"
"""The names under which an inbox row has what was done to memories for it."""

_CHANGES: Final = TypeAdapter(list[Change])


class SqlMemories(SqlPhrases, MemoryStore):
    """Rows of `memories`, `owners` and `changes`; every query names the owner."""

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
        """Store the drafts that are new, and merge those that are known; thousands in several transactions."""
        ready, embedded = [checked(draft) for draft in drafts], Embedded.of(vectors, space)
        now, sources = moment(microseconds(at)), sorted(set(source_ids))

        def write(query: Query, batch: Sequence[MemoryDraft]) -> list[tuple[MemoryItem, bool]]:
            whose = memory_rows.lock_owner(query, owner, make=True)
            written: list[tuple[MemoryItem, bool]] = []
            account = whose.linked(context.account or owner)
            steps, removed = [], 0
            for draft in batch:
                before = _known(query, whose, draft, context.room)
                if before is None:
                    item = _new(draft, now, sources, context.room)
                    after = memory_rows.insert(query, whose, Stored(0, account, item), embedded)
                    steps.append(ChangeRecord(None, after, account))
                else:
                    merged, rooms = merge(before.item, draft)
                    shared = before.item.shared
                    after = _changed(before, checked(merged), now, rooms, sources, shared=shared)
                    memory_rows.insert_sources(query, after.number, sources)
                    if account != before.account:
                        said = Stored(0, account, _new(draft, now, sources, context.room))
                        memory_changes.record_repeated(query, whose, storable(context.act), at, known=before, said=said)
                    if (after.item.draft, after.item.rooms) == (before.item.draft, before.item.rooms):
                        item = replace(after.item, updated_at=before.item.updated_at)
                    else:
                        item = after.item
                        removed += memory_rows.replace(query, whose, after, embedded)
                        steps.append(ChangeRecord(before, after, account))
                written.append((item, before is None))
            memory_changes.record(query, whose, storable(context.act), at, steps)
            memory_rows.bump(query, whose.owner, removed)
            return written

        saved = list(chain(*await each_batch(self._database, ready, write)))
        for draft, (item, _) in zip(ready, saved, strict=True):
            await self._add_passages(owner, item.id, draft.passages, embedded)
        held = {item.id: item for item, _ in saved}  # as it is after the last of them
        return Saved([held[item.id] for item, _ in saved], frozenset(item.id for item, is_new in saved if is_new))

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
        """Replace what a memory says and the rooms that heard it; None if the owner has no such memory.

        Raises:
            ValueError: no binding, or an empty one; nothing is changed.
        """
        ready, embedded = checked(draft), Embedded.of(vectors, space)
        now = moment(microseconds(at))

        def job(query: Query) -> MemoryItem | None:
            whose = memory_rows.lock_owner(query, owner)
            speaker = whose.linked(context.account or owner)
            for before in those(query, owner, [storable(memory_id)]):
                steps, copy = [], None
                if keeps_past and not before.item.current:
                    past = replace(before.item, id=random_id(), current=before.item.id, until=now, pinned=False)
                    copy = memory_rows.insert_past(query, whose, before, past)
                    steps = [ChangeRecord(None, copy, copy.account)]
                after = _changed(before, ready, now, (context.room, *rooms), source_ids, shared=shared)
                removed = 0
                if ready.attachments != before.item.attachments:
                    before = memory_rows.with_passages(query, before)  # noqa: PLW2901
                    if copy is None:
                        removed = memory_rows.remove_passages(query, before.number)
                    else:
                        memory_rows.move_passages(query, before.number, copy)
                if ready.content != before.item.content:
                    after = replace(after, account=speaker)
                removed += memory_rows.replace(query, whose, after, embedded)
                memory_rows.insert_sources(query, after.number, after.item.source_ids)
                steps.append(ChangeRecord(before, after, speaker))
                memory_changes.record(query, whose, storable(context.act), at, steps)
                memory_rows.bump(query, whose.owner, removed)
                return after.item
            return None

        item = await self._database.write(job)
        if item is not None:
            await self._add_passages(owner, item.id, ready.passages, embedded)
        return item

    async def _add_passages(
        self, owner: UserKey, memory_id: str, passages: Sequence[Passage], embedded: Embedded
    ) -> None:
        """Write those of the passages that a memory has not yet, some at a time: of a long document there are many."""

        def write(query: Query, batch: Sequence[Passage]) -> None:
            whose = memory_rows.lock_owner(query, owner)
            for memory in those(query, owner, [memory_id]):
                added = replace(memory, passages=tuple(batch))
                memory_rows.insert_passages(query, whose, added, embedded)
                memory_rows.bump(query, whose.owner)

        if passages:
            there = await self.passages(owner, memory_id)  # of a save that was cut short
            await each_batch(self._database, passages[len(there) :], write, first=_FIRST_PASSAGES)

    async def passages(self, owner: UserKey, memory_id: str) -> Sequence[Passage]:
        """Return the passages of what a memory of the owner's keeps, in order."""
        rows = await self._database.rows(
            f"{PASSAGES} JOIN memories AS m ON m.id = p.part_of WHERE +m.owner = {OWNER} AND m.key = ? ORDER BY p.id",
            (*user_key(owner), storable(memory_id)),
        )
        return [memory_rows.passage(self._sealing, row) for row in rows]

    async def files_named(self) -> Mapping[UserKey, frozenset[str]]:
        """Map owners to the digests of the files that anything of theirs names."""
        return await files_named(self._database.rows, self._database.sealing)

    async def delete(
        self,
        owner: UserKey,
        memory_ids: Sequence[str],
        *,
        at: datetime | None = None,
        context: ChangeContext = NO_CHANGE_CONTEXT,
    ) -> Sequence[MemoryItem]:
        """Delete those of the ids that the owner has, and their earlier versions, with all their rows.

        Return those that were asked for. With a `context.act`, and `at`, all is kept as changes until `purge`; without,
        nothing is.
        """

        def write(query: Query, batch: Sequence[str]) -> list[Stored]:
            whose = memory_rows.lock_owner(query, owner)
            gone = [memory_rows.with_passages(query, each) for each in _with_earlier(query, owner, batch)]
            if not gone:
                return []
            memory_rows.remove(query, [each.number for each in gone])
            if context.message is not None:
                earlier = _texts(inbox.done(query, context.message).get(_DELETED))
                inbox.note(query, context.message, _DELETED, [*earlier, *(each.item.id for each in gone)])
            if context.act and at is not None:
                steps = [ChangeRecord(each, None, each.account) for each in gone]
                memory_changes.record(query, whose, storable(context.act), at, steps)
            else:
                drop(query, [each.item.id for each in gone])
            memory_rows.bump(query, whose.owner, sum(len(phrases_of(each.item.draft)) for each in gone))
            return gone

        batches = await each_batch(self._database, list(dict.fromkeys(memory_ids)), write)
        deleted = {each.item.id: each.item for each in chain(*batches)}
        if deleted:  # what can come back is kept; of the rest no byte
            await (self._database.truncate_log() if context.act else self._database.scrub())
        return [deleted[key] for key in dict.fromkeys(memory_ids) if key in deleted]

    async def flag(
        self,
        owner: UserKey,
        memory_ids: Sequence[str],
        *,
        pinned: bool | None = None,
        shared: bool | None = None,
        room: str = "",
    ) -> Sequence[MemoryItem]:
        """Set what is given of those of the owner's memories, add a room that they were said in, and return them.

        One that is shared no more has no earlier version that is.
        """

        def job(query: Query) -> Sequence[MemoryItem]:
            whose = memory_rows.lock_owner(query, owner)
            found = those(query, owner, memory_ids)
            if pinned is not None:
                flags = [(int(pinned), each.number) for each in found]
                query.run_many("UPDATE memories SET pinned = ? WHERE id = ?", flags)
            if shared is False:
                for each in _with_earlier(query, owner, memory_ids):
                    memory_rows.remove_room(query, each.number, EVERYWHERE)
            heard = [storable(room), EVERYWHERE if shared else ""]
            for each in found:
                memory_rows.insert_rooms(query, whose.owner, each.number, heard)
            memory_rows.bump(query, whose.owner)
            return in_order(query.sealing, query.run(THOSE, (*user_key(owner), listed(memory_ids))), memory_ids)

        return await self._database.write(job)

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
        """Return what was changed, the newest first: all of it, that of one act, or that of one memory."""
        chosen = [
            ("act = ?", storable(act), bool(act)),
            ("key = ?", storable(memory_id), bool(memory_id)),
            ("at >= ?", 0 if since is None else microseconds(since), since is not None),
            ("undone = ?", 0, not_undone),
            ("kind != ?", REPEATED, True),
        ]
        also = "".join(f" AND {condition}" for condition, _, wanted in chosen if wanted)
        mine = "+owner" if memory_id else "owner"  # a key leads to its own rows, the owner to all of theirs
        rows = await self._database.rows(
            f"SELECT {memory_changes.CHANGE} FROM changes WHERE {mine} = {OWNER} {also} ORDER BY id DESC LIMIT ?",
            (*user_key(owner), *(value for _, value, wanted in chosen if wanted), NO_LIMIT if limit is None else limit),
        )
        return [memory_changes.change(self._sealing, row) for row in rows]

    async def undo(
        self, owner: UserKey, act: str, *, context: ChangeContext = NO_CHANGE_CONTEXT, keeps: bool = False
    ) -> Sequence[Change] | None:
        """Take back all of an act, in one transaction, and return its changes, the newest first, marked as undone."""

        def job(query: Query) -> list[Change]:
            changes = memory_changes.undo(query, owner, storable(act))
            gone = [each for each in changes if each.before is None and each.after and not each.after.current]
            kept = _CHANGES.dump_python(changes, mode="json") if keeps else None
            noted = {"act": storable(act), "gone": len(gone), "kept": kept}
            inbox.note(query, context.message if changes else None, _UNDONE, noted)
            return changes

        changes = await self._database.write(job)
        if any(change.before is None for change in changes):
            await self._database.scrub()
        return changes or None

    async def done(self, owner: UserKey, message: MessageKey) -> Done:
        """Return what was deleted, taken back and linked for a message that is still owed an answer."""
        noted = await self._database.read(lambda query: inbox.done(query, message))
        deleted, undone = tuple(_texts(noted.get(_DELETED))), noted.get(_UNDONE)
        if not isinstance(undone, dict):
            return Done(deleted, linked=_LINKED in noted)
        if undone["kept"] is not None:
            return Done(deleted, undone["act"], _CHANGES.validate_python(undone["kept"]))
        left = [each for each in await self.changes(owner, act=undone["act"]) if each.undone]
        return Done(deleted, undone["act"], left, undone["gone"])

    async def purge(self, before: datetime) -> int:
        """Remove all changes of memories that were deleted before then, every word of theirs; return how many.

        What a `forget`, `link` or `unlink` that was cut short has left is done, too.
        """
        removed = await self._remove_forgotten()
        await self._settle()
        gone = [key for (key,) in await self._database.rows(memory_changes.GONE, (microseconds(before),))]
        await each_batch(self._database, gone, partial(memory_changes.purge, before=before))
        if removed or gone:
            await self._database.scrub()
        return len(gone)

    async def link(self, owner: UserKey, other: UserKey, message: MessageKey | None = None) -> None:
        """Put all that the other account has under the owner; they are linked first, and what that moves follows.

        Raises:
            ValueError: one of them is linked already, or both are the same.
        """

        def job(query: Query) -> None:
            query.lock("links")
            for user in sorted((owner, other), key=user_key):
                memory_rows.lock_owner(query, user, make=True)
            numbers = [number for user in (owner, other) for (number,) in query.run(_ID, user_key(user))]
            linked = query.run(
                "SELECT 1 FROM owners WHERE linked IS NOT NULL AND (id IN (?, ?) OR linked IN (?, ?))", numbers * 2
            )
            if linked or owner == other:
                raise ValueError("an account is linked to one other")
            query.run("UPDATE owners SET linked = ? WHERE id = ?", numbers)
            inbox.note(query, message, _LINKED, True)

        await self._settle()
        await self._database.write(job)
        await self._settle()

    async def unlink(self, owner: UserKey, other: UserKey) -> None:
        """Give each account its own last words; do nothing if they are not linked.

        While memories in which both have words are parted, some at a time, the accounts are still linked.
        """
        are_linked = f"id = ({_ID}) AND linked = ({_ID})"

        def step(query: Query, size: int) -> int:
            query.lock("links")
            query.lock("undo")
            whose = memory_rows.lock_owner(query, owner)
            if not query.run(f"SELECT 1 FROM owners WHERE {are_linked}", (*user_key(other), *user_key(owner))):
                return 0
            keys = mixed_keys(query, whose.owner, size)
            for key in keys:
                part(query, whose, key)
            memory_rows.bump(query, whose.owner, len(keys))
            if len(keys) < size:  # none is left: nobody can say anything in both names any more
                query.run(f"UPDATE owners SET linked = NULL WHERE {are_linked}", (*user_key(other), *user_key(owner)))
            return len(keys)

        await self._settle()
        await in_batches(self._database, step)
        await self._settle()

    async def whose(self, act: str) -> UserKey | None:
        """Return the account that made those changes, None if nobody did: for who pressed another person's button."""
        for platform, user in await self._database.rows(_WHOSE, (storable(act),)):
            return UserKey(platform, user)
        return None

    async def accounts(self, user: UserKey) -> Sequence[UserKey]:
        """Return every account of that person's, the owner first."""
        return accounts_in(await self._database.rows(ACCOUNTS, user_key(user) * 2)).users or [user]

    async def shares(self, owner: UserKey) -> Mapping[UserKey, Share]:
        """Return what each of the owner's accounts has said, and would have if they were parted."""

        def job(query: Query) -> Mapping[UserKey, Share]:
            whose = memory_rows.accounts_of(query, owner)
            found = shares(query, whose.owner)
            return {
                user: Share(found.own.get(number, frozenset()), found.counts.get(number, 0))
                for number, user in whose.by_number.items()
            }

        return await self._database.read(job) or {owner: Share(frozenset(), 0)}

    async def get(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the ids that the owner has, in the order asked."""
        if not memory_ids:
            return ()
        rows = await self._database.rows(THOSE, (*user_key(owner), listed(memory_ids)))
        return in_order(self._sealing, rows, memory_ids)

    async def earlier(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return the earlier versions of those memories of the owner's, the newest first."""
        rows = await self._database.rows(EARLIER, (*user_key(owner), listed(memory_ids)))
        return items(self._sealing, rows)

    async def find(
        self,
        owner: UserKey,
        kind: MemoryKind,
        content: str,
        *,
        room: str = "",
        attachments: Sequence[Attachment] = (),
    ) -> MemoryItem | None:
        """Return the owner's memory of that kind, content and things, one that has it to the letter first, or None."""

        def job(query: Query) -> Stored | None:
            whose = memory_rows.accounts_of(query, owner)
            return memory_rows.find(query, whose, kind, content, room=room, attachments=attachments)

        found = await self._database.read(job)
        return None if found is None else found.item

    async def page(
        self,
        owner: UserKey,
        *,
        limit: int,
        before: str = "",
        skip: int = 0,
        room: str = "",
    ) -> Sequence[MemoryItem]:
        """Return the pinned first, then the newest; with `before`, what comes after that one."""
        person = user_key(owner)
        chosen, values = audible(owner, room)
        if before:
            chosen += f" AND (m.pinned, m.created_at, m.id) < ({_PLACE})"
            values += [*person, storable(before)]
        # What is skipped is counted off by the index alone: of no more rows than are returned is the text read.
        page = f"""
            SELECT m.id FROM memories AS m WHERE m.owner = {OWNER} AND m.current = '' {chosen}
            ORDER BY {_ORDER} LIMIT ? OFFSET ?
        """
        rows = await self._database.rows(
            f"{ALL} WHERE m.id IN ({page}) ORDER BY {_ORDER}", (*person, *values, max(limit, 0), skip)
        )
        return items(self._sealing, rows)

    async def count(self, owner: UserKey, *, room: str = "") -> int:
        """Return how many memories the owner has; with a `room`, how many are audible there."""
        chosen, values = audible(owner, room)
        [(count,)] = await self._database.rows(_COUNT + chosen, (*user_key(owner), *values))
        return int(count)

    async def owners(self) -> Sequence[UserKey]:
        """Return everybody who has a memory."""
        rows = await self._database.rows(
            """
            SELECT platform, "user" FROM owners WHERE platform != '' AND id IN (SELECT owner FROM memories) ORDER BY id
            """
        )
        return [UserKey(platform, user) for platform, user in rows]

    async def forget(self, owner: UserKey) -> int:
        """Delete everything of all of the owner's accounts, down to the last byte; return how many memories."""

        def job(query: Query) -> int:
            query.lock("links")
            memory_rows.lock_owner(query, owner)
            [(count,)] = query.run(_COUNT, user_key(owner))
            query.run(
                f"""
                UPDATE owners SET platform = '', "user" = CAST(id AS TEXT) WHERE id = {OWNER} OR linked = {OWNER}
                """,
                user_key(owner) * 2,
            )  # no query finds them any more
            return int(count)

        count = await self._database.write(job)
        await self._remove_forgotten()
        await self._database.scrub()
        return count

    async def _remove_forgotten(self) -> bool:
        """Remove what belongs to owners without a name; return whether there was one."""
        if not await self._database.rows(f"{_FORGOTTEN} LIMIT 1"):
            return False
        for table in _BELONGING_TO_AN_ACCOUNT:
            rows = f"SELECT id FROM {table} WHERE owner IN ({_FORGOTTEN}) LIMIT ?"
            await in_batches(self._database, statement(f"DELETE FROM {table} WHERE id IN ({rows}) RETURNING id"))
        await self._database.write(lambda query: query.run("DELETE FROM owners WHERE platform = ''"))
        return True

    async def _settle(self) -> None:
        """Put what came from accounts that were linked or parted where it belongs, some rows at a time."""
        for table in _BELONGING_TO_AN_ACCOUNT:
            for found in (_JOINING, _PARTING):
                await in_batches(self._database, partial(_move, table, found.format(table=table)))


def _known(query: Query, whose: Accounts, draft: MemoryDraft, room: str) -> Stored | None:
    """Return the owner's memory of that kind and content, if there is one."""
    return memory_rows.find(query, whose, draft.kind, draft.content, room=room, attachments=draft.attachments)


def _with_earlier(query: Query, owner: UserKey, keys: Sequence[str]) -> list[Stored]:
    """Return those of the memories that the owner has, and their earlier versions, oldest first."""
    values = (*user_key(owner), listed(keys))
    rows = {row[0]: row for sql in (THOSE, EARLIER) for row in query.run(sql, values)}
    return [stored(query.sealing, row) for _, row in sorted(rows.items())]


def _new(draft: MemoryDraft, now: datetime, sources: Sequence[int], room: str) -> MemoryItem:
    said_at = now if draft.said_at is None else min(draft.said_at, now)
    return MemoryItem(
        id=random_id(),
        kind=draft.kind,
        content=draft.content,
        bindings=draft.bindings,
        created_at=said_at,
        updated_at=said_at,
        source_ids=tuple(sources),
        rooms=_rooms([room]),
        until=draft.until,
        meant=draft.meant,
        may_replace=draft.may_replace,
        attachments=draft.attachments,
    )


def _changed(
    before: Stored, draft: MemoryDraft, now: datetime, rooms: Iterable[str], sources: Iterable[int], *, shared: bool
) -> Stored:
    """Return a memory as it is with other words, heard where these were said, and with more sources.

    Until when an earlier version was true stays.
    """
    item = replace(
        before.item,
        kind=draft.kind,
        content=draft.content,
        bindings=draft.bindings,
        updated_at=now,
        source_ids=tuple(sorted({*before.item.source_ids, *sources})),
        rooms=_rooms(rooms),
        shared=shared,
        until=before.item.until if before.item.current else draft.until,
        meant=draft.meant,
        attachments=draft.attachments,
    )
    return replace(before, item=item)


def _rooms(rooms: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({storable(room) for room in rooms if room}))


def _move(table: str, found: str, query: Query, size: int) -> int:
    query.lock("links")
    concerned = {number for _, *both, _ in query.run(found, (size,)) for number in both}
    for number in sorted(concerned):
        query.lock("owner", number)
    rows = [row for row in query.run(found, (size,)) if concerned.issuperset(row[1:3])]
    for number in sorted({number for _, *both, _ in rows for number in both}) if table == "memories" else ():
        memory_rows.bump(query, number, removed=1)
    columns = ("owner", "account") if table == "memories" else ("owner", "account", "speaker")
    query.run_many(
        f"UPDATE {table} SET {', '.join(f'{column} = ?' for column in columns)} WHERE id = ?",
        [(owner, *[account] * (len(columns) - 1), i) for i, _, owner, account in rows],
    )
    for each in _MOVED_WITH_THEIR_MEMORY if table == "memories" else ():
        query.run_many(f"UPDATE {each} SET owner = ? WHERE memory = ?", [(owner, i) for i, _, owner, _ in rows])
    return len(rows)


def _texts(noted: JSONValue) -> list[str]:
    return [str(each) for each in noted] if isinstance(noted, list) else []
