"""The truth about memories, in SQLite. Knows how they are asked for. Does not know what a search makes of it."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from core.storage import memory_changes, memory_links, memory_removal, memory_rows
from core.storage.batches import each_batch
from core.storage.memory_changes import Step
from core.storage.memory_items import ALL, EVERYWHERE, ITEMS, OWNER, THOSE, in_order, items, stored
from core.storage.memory_phrases import SqlitePhrases, narrowed
from core.storage.memory_rows import Named
from core.storage.record import checked, digest, microseconds, random_id, storable, to_json
from core.storage.sqlite import Row, Transaction
from core.stores import NO_CHANGE_CONTEXT, ChangeContext, MemoryStore
from core.types import Change, MemoryDraft, MemoryItem, MemoryKind, UserKey, Vector

_COUNT = f"SELECT count(*) FROM memories AS m WHERE m.owner = {OWNER}"
_ORDER = "m.pinned DESC, m.created_at DESC, m.id DESC"
_PLACE = f"SELECT pinned, created_at, id FROM memories WHERE owner = {OWNER} AND key = ?"


class SqliteMemories(SqlitePhrases, MemoryStore):
    """Memories as rows of `Database`; every query names the owner."""

    async def add(
        self,
        owner: UserKey,
        drafts: Sequence[MemoryDraft],
        *,
        at: datetime,
        source_ids: Sequence[int] = (),
        vectors: Mapping[str, Vector] | None = None,
        space: str = "",
        mark: ChangeContext = NO_CHANGE_CONTEXT,
    ) -> Sequence[MemoryItem]:
        """Store all drafts, in order; a few in one transaction, thousands in several.

        Raises:
            ValueError: a draft without a binding, or with an empty one; nothing is stored.
        """
        memories = [Named(random_id(), checked(draft)) for draft in drafts]
        if not memories:
            return []
        added: list[Row] = []

        async def write(transaction: Transaction, batch: Sequence[Named]) -> None:
            await memory_rows.insert(transaction, owner, batch, at, mark)
            await memory_rows.insert_terms(transaction, self._lexicon, batch)
            await memory_rows.insert_sources(transaction, batch, source_ids)
            await memory_rows.put_phrase_vectors(transaction, batch, vectors or {}, space)
            rows = await transaction.run(THOSE, (owner.platform, owner.user, to_json([each.key for each in batch])))
            if mark.act:
                steps = [Step(None, stored(row)) for row in sorted(rows)]
                await memory_changes.record(transaction, owner, storable(mark.act), at, steps)
            added.extend(rows)

        await each_batch(self._database, memories, write)
        return in_order(added, [memory.key for memory in memories])

    async def update(
        self,
        owner: UserKey,
        memory_id: str,
        draft: MemoryDraft,
        *,
        at: datetime,
        vectors: Mapping[str, Vector] | None = None,
        space: str = "",
        mark: ChangeContext = NO_CHANGE_CONTEXT,
        rooms: Sequence[str] = (),
        shared: bool = False,
    ) -> MemoryItem | None:
        """Replace kind, content, bindings and where they are heard; None if the owner has no such memory.

        Raises:
            ValueError: no binding, or an empty one; nothing is changed.
        """
        memory = Named(storable(memory_id), checked(draft))
        those = (owner.platform, owner.user, to_json([memory.key]))
        async with self._database.transaction() as transaction:
            before = await transaction.run(THOSE, those)
            if not before:
                return None
            await memory_rows.replace(transaction, self._lexicon, memory, at)
            await memory_rows.put_phrase_vectors(transaction, [memory], vectors or {}, space)
            heard = [mark.room, *rooms, EVERYWHERE if shared else ""]
            await memory_rows.replace_rooms(transaction, memory.key, heard)
            [row] = await transaction.run(THOSE, those)
            if mark.act:
                step = Step(stored(before[0]), stored(row))
                await memory_changes.record(transaction, owner, storable(mark.act), at, [step])
        return stored(row).item

    async def delete(
        self,
        owner: UserKey,
        memory_ids: Sequence[str],
        *,
        at: datetime | None = None,
        mark: ChangeContext = NO_CHANGE_CONTEXT,
    ) -> Sequence[MemoryItem]:
        """Delete those of the ids that the owner has, with all their rows; return what was deleted.

        With a `mark.act`, and `at`, what was deleted is kept as a change until `purge`; without, nothing is.
        """
        deleted: list[Row] = []

        async def write(transaction: Transaction, batch: Sequence[str]) -> None:
            keys = to_json(list(batch))
            rows = await transaction.run(THOSE, (owner.platform, owner.user, keys))
            if rows:
                await memory_rows.remove(transaction, owner, keys)
            if mark.act and at is not None:
                steps = [Step(stored(row), None) for row in sorted(rows)]
                await memory_changes.record(transaction, owner, storable(mark.act), at, steps)
            else:
                await memory_changes.drop(transaction, [item.id for item in items(rows)])
            deleted.extend(rows)

        await each_batch(self._database, list(dict.fromkeys(memory_ids)), write)
        if deleted:  # what can come back is kept; the rest is gone to the byte
            await (self._database.truncate_log() if mark.act else self._database.scrub())
        return in_order(deleted, memory_ids)

    async def put_flags(self, owner: UserKey, memory_id: str, *, pinned: bool, shared: bool) -> MemoryItem | None:
        """Say whether it stands first in lists, and is known in every room; None if the owner has no such memory."""
        key = storable(memory_id)
        those = (owner.platform, owner.user, to_json([key]))
        async with self._database.transaction() as transaction:
            if await transaction.run(THOSE, those):
                await transaction.run("UPDATE memories SET pinned = ? WHERE key = ?", (pinned, key))
                await memory_rows.drop_rooms(transaction, key, [EVERYWHERE])
                await memory_rows.insert_rooms(transaction, [key], EVERYWHERE if shared else "")
            rows = await transaction.run(THOSE, those)
        return stored(rows[0]).item if rows else None

    async def put_room(self, owner: UserKey, memory_ids: Sequence[str], room: str) -> None:
        """Note that those of the owner's memories were said in that room, too."""
        keys = to_json(list(memory_ids))
        async with self._database.transaction() as transaction:
            rows = await transaction.run(THOSE, (owner.platform, owner.user, keys))
            await memory_rows.insert_rooms(transaction, [item.id for item in items(rows)], room)

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
        ]
        also = "".join(f" AND {condition}" for condition, _, wanted in chosen if wanted)
        mine = "+owner" if memory_id else "owner"  # a key leads to its own rows, the owner to all of theirs
        rows = await self._database.rows(
            f"SELECT {memory_changes.CHANGE} FROM changes WHERE {mine} = {OWNER} {also} ORDER BY id DESC LIMIT ?",
            (
                owner.platform,
                owner.user,
                *(value for _, value, wanted in chosen if wanted),
                -1 if limit is None else limit,
            ),
        )
        return [memory_changes.change(row) for row in rows]

    async def undo(self, owner: UserKey, act: str) -> Sequence[Change] | None:
        """Take back all of an act, in one transaction, and return its changes, the newest first, marked as undone."""
        async with self._database.transaction() as transaction:
            changes = await memory_changes.undo(transaction, self._lexicon, owner, storable(act))
        if any(change.before is None for change in changes):
            await self._database.scrub()
        return changes or None

    async def purge(self, before: datetime) -> int:
        """Forget all changes of memories that were deleted before then, every word of theirs; return how many.

        What a `forget`, `link` or `unlink` that was cut short has left is done, too.
        """
        removed = await memory_removal.remove_forgotten(self._database)
        await memory_links.settle(self._database)
        gone = [key for (key,) in await self._database.rows(memory_changes.GONE, (microseconds(before),))]
        await each_batch(self._database, gone, partial(memory_changes.purge, before=before))
        if removed or gone:
            await self._database.scrub()
        return len(gone)

    async def link(self, owner: UserKey, other: UserKey) -> None:
        """Put all that the other account has under the owner; they are linked first, and what that moves follows.

        Raises:
            ValueError: one of them is linked already, or both are the same.
        """
        await memory_links.settle(self._database)
        async with self._database.transaction() as transaction:
            await memory_links.link(transaction, owner, other)
        await memory_links.settle(self._database)

    async def unlink(self, owner: UserKey, other: UserKey) -> None:
        """Give the other account back what came from it; accounts that are not linked are fine."""
        async with self._database.transaction() as transaction:
            await memory_links.unlink(transaction, owner, other)
        await memory_links.settle(self._database)

    async def accounts(self, user: UserKey) -> Sequence[UserKey]:
        """Return every account of that person's, the owner first."""
        rows = await self._database.rows(memory_links.ACCOUNTS, (user.platform, user.user) * 2)
        return [UserKey(platform, name) for _, platform, name in rows] or [user]

    async def counts(self, owner: UserKey) -> Mapping[UserKey, int]:
        """Map each of the owner's accounts to how many memories came from it."""
        person = (owner.platform, owner.user)
        accounts = await self._database.rows(memory_links.ACCOUNTS, person * 2)
        counts: dict[int, int] = dict(await self._database.rows(memory_links.COUNTS, person))
        return {UserKey(platform, name): counts.get(i, 0) for i, platform, name in accounts} or {owner: 0}

    async def from_account(self, owner: UserKey, account: UserKey) -> frozenset[str]:
        """Return the ids of the owner's memories that came from that account."""
        rows = await self._database.rows(
            memory_links.FROM_ACCOUNT, (owner.platform, owner.user, account.platform, account.user)
        )
        return frozenset(key for (key,) in rows)

    async def get(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the ids that the owner has, in the order asked."""
        rows = await self._database.rows(THOSE, (owner.platform, owner.user, to_json(list(memory_ids))))
        return in_order(rows, memory_ids)

    async def find(self, owner: UserKey, kind: MemoryKind, content: str, *, room: str = "") -> MemoryItem | None:
        """Return the owner's memory of that kind and content, one that has it to the letter first, or None."""
        text = storable(content)
        rows = await self._database.rows(
            f"""
            {ITEMS} AND m.digest = ?3 AND m.kind = ?4
            AND (?6 = '' OR m.content = ?5 OR EXISTS (SELECT 1 FROM rooms WHERE memory = m.id AND room = ?6))
            ORDER BY m.content != ?5, m.id LIMIT 1
            """,
            (owner.platform, owner.user, digest(text), kind, text, storable(room)),
        )
        return stored(rows[0]).item if rows else None

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
        """Return the pinned first, then the newest, of one kind or all; with `before`, what comes after that one."""
        person = (owner.platform, owner.user)
        chosen, values = narrowed(owner, kind, room)
        if before:
            chosen += f" AND (m.pinned, m.created_at, m.id) < ({_PLACE})"
            values += [*person, storable(before)]
        # What is skipped is counted off by the index alone: of no more rows than are returned is the text read.
        page = f"SELECT m.id FROM memories AS m WHERE m.owner = {OWNER} {chosen} ORDER BY {_ORDER} LIMIT ? OFFSET ?"
        rows = await self._database.rows(
            f"{ALL} WHERE m.id IN ({page}) ORDER BY {_ORDER}", (*person, *values, max(limit, 0), skip)
        )
        return items(rows)

    async def count(self, owner: UserKey, kind: MemoryKind | None = None, *, room: str = "") -> int:
        """Return how many memories the owner has, of one kind or all; with a `room`, how many are audible there."""
        chosen, values = narrowed(owner, kind, room)
        [(count,)] = await self._database.rows(_COUNT + chosen, (owner.platform, owner.user, *values))
        return int(count)

    async def owners(self) -> Sequence[UserKey]:
        """Return everybody who has a memory."""
        rows = await self._database.rows(
            "SELECT platform, user FROM owners WHERE platform != '' AND id IN (SELECT owner FROM memories) ORDER BY id"
        )
        return [UserKey(platform, user) for platform, user in rows]

    async def forget(self, owner: UserKey) -> int:
        """Delete everything of all of the owner's accounts, down to the last byte; return how many memories."""
        async with self._database.transaction() as transaction:
            [(count,)] = await transaction.run(_COUNT, (owner.platform, owner.user))
            await memory_removal.mark_forgotten(transaction, owner)
        await memory_removal.remove_forgotten(self._database)
        await self._database.scrub()
        return int(count)
