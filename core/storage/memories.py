"""The truth about memories, in the database: saved, changed, listed, undone, linked, forgotten.

Accounts that are linked are one owner: each memory, and each of its changes, stands under the owner and keeps the
account that it came from. What a link or a `forget` moves or removes goes some rows at a time; a crash in between is
made good by `purge`.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

from core.storage import memory_changes, memory_rows
from core.storage.batches import each_batch, in_batches, statement
from core.storage.database import Row, Transaction
from core.storage.memory_changes import Step
from core.storage.memory_rows import ALL, EVERYWHERE, ITEMS, OWNER, THOSE, Named, in_order, items, stored
from core.storage.phrases import SqlPhrases, narrowed
from core.storage.record import (
    NO_LIMIT,
    OF_USER,
    checked,
    digest,
    microseconds,
    random_id,
    storable,
    to_json,
    user_key,
)
from core.stores import NO_CHANGE_CONTEXT, ChangeContext, MemoryStore
from core.types import Change, MemoryDraft, MemoryItem, MemoryKind, UserKey, Vector

_COUNT = f"SELECT count(*) FROM memories AS m WHERE m.owner = {OWNER}"
_ORDER = "m.pinned DESC, m.created_at DESC, m.id DESC"
_PLACE = f"SELECT pinned, created_at, id FROM memories WHERE owner = {OWNER} AND key = ?"
_ID = f"SELECT id FROM owners WHERE {OF_USER}"
_ACCOUNTS = f"""
    SELECT platform, "user" FROM owners WHERE id = {OWNER} OR linked = {OWNER} ORDER BY linked IS NOT NULL, id
"""
_FROM_ACCOUNT = f"SELECT key FROM memories WHERE owner = {OWNER} AND coalesce(account, owner) = ({_ID})"
_FORGOTTEN = "SELECT id FROM owners WHERE platform = ''"

# The terms stay as they are: they name the account, and an owner's search asks for all of theirs.
_MOVED_WITH_THEIR_MEMORY = ("phrases", "rooms")
_BELONGING_TO_AN_ACCOUNT = ("memories", "changes")
# What is not yet where its account belongs: of those just linked, and of those just parted.
_JOINING = """
    SELECT {table}.id, owners.linked, owners.id FROM owners JOIN {table} ON {table}.owner = owners.id
    WHERE owners.linked IS NOT NULL LIMIT ?
"""
_PARTING = """
    SELECT {table}.id, owners.id, NULL FROM owners JOIN {table} ON {table}.account = owners.id
    WHERE owners.linked IS NULL LIMIT ?
"""


class SqlMemories(SqlPhrases, MemoryStore):
    """Rows of `memories`, `owners` and `changes`; every query names the owner."""

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
        """Store all drafts, in order; a few in one transaction, thousands in several.

        Raises:
            ValueError: a draft without a binding, or with an empty one; nothing is stored.
        """
        memories = [Named(random_id(), checked(draft)) for draft in drafts]
        if not memories:
            return []
        added: list[Row] = []

        async def write(transaction: Transaction, batch: Sequence[Named]) -> None:
            await memory_rows.insert(transaction, owner, batch, at, context)
            await memory_rows.insert_terms(transaction, self._lexicon, batch)
            await memory_rows.insert_sources(transaction, batch, source_ids)
            await memory_rows.put_phrase_vectors(transaction, batch, vectors or {}, space)
            rows = await transaction.run(THOSE, (*user_key(owner), to_json([each.key for each in batch])))
            if context.act:
                steps = [Step(None, stored(row)) for row in sorted(rows)]
                await memory_changes.record(transaction, owner, storable(context.act), at, steps)
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
        context: ChangeContext = NO_CHANGE_CONTEXT,
        rooms: Sequence[str] = (),
        shared: bool = False,
    ) -> MemoryItem | None:
        """Replace kind, content, bindings and the rooms that heard them; None if the owner has no such memory.

        Raises:
            ValueError: no binding, or an empty one; nothing is changed.
        """
        memory = Named(storable(memory_id), checked(draft))
        those = (*user_key(owner), to_json([memory.key]))
        async with self._database.transaction() as transaction:
            before = await transaction.run(THOSE, those)
            if not before:
                return None
            await memory_rows.replace(transaction, self._lexicon, memory, at)
            await memory_rows.put_phrase_vectors(transaction, [memory], vectors or {}, space)
            heard = [context.room, *rooms, EVERYWHERE if shared else ""]
            await memory_rows.replace_rooms(transaction, memory.key, heard)
            [row] = await transaction.run(THOSE, those)
            if context.act:
                step = Step(stored(before[0]), stored(row))
                await memory_changes.record(transaction, owner, storable(context.act), at, [step])
        return stored(row).item

    async def delete(
        self,
        owner: UserKey,
        memory_ids: Sequence[str],
        *,
        at: datetime | None = None,
        context: ChangeContext = NO_CHANGE_CONTEXT,
    ) -> Sequence[MemoryItem]:
        """Delete those of the ids that the owner has, with all their rows; return what was deleted.

        With a `context.act`, and `at`, what was deleted is kept as a change until `purge`; without, nothing is.
        """
        deleted: list[Row] = []

        async def write(transaction: Transaction, batch: Sequence[str]) -> None:
            keys = to_json(list(batch))
            rows = await transaction.run(THOSE, (*user_key(owner), keys))
            if rows:
                await memory_rows.remove(transaction, owner, keys)
            if context.act and at is not None:
                steps = [Step(stored(row), None) for row in sorted(rows)]
                await memory_changes.record(transaction, owner, storable(context.act), at, steps)
            else:
                await memory_changes.drop(transaction, [item.id for item in items(rows)])
            deleted.extend(rows)

        await each_batch(self._database, list(dict.fromkeys(memory_ids)), write)
        if deleted:  # what can come back is kept; of the rest no byte
            await (self._database.truncate_log() if context.act else self._database.scrub())
        return in_order(deleted, memory_ids)

    async def flag(
        self,
        owner: UserKey,
        memory_ids: Sequence[str],
        *,
        pinned: bool | None = None,
        shared: bool | None = None,
        room: str = "",
    ) -> Sequence[MemoryItem]:
        """Set what is given of those of the owner's memories, add a room that they were said in, and return them."""
        those = (*user_key(owner), to_json(list(memory_ids)))
        async with self._database.transaction() as transaction:
            keys = [item.id for item in items(await transaction.run(THOSE, those))]
            if pinned is not None:
                flags = [(int(pinned), key) for key in keys]
                await transaction.run_many("UPDATE memories SET pinned = ? WHERE key = ?", flags)
            if shared is False:
                await memory_rows.drop_rooms(transaction, keys, EVERYWHERE)
            await memory_rows.insert_rooms(transaction, keys, room, EVERYWHERE if shared else "")
            return in_order(await transaction.run(THOSE, those), memory_ids)

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
            (*user_key(owner), *(value for _, value, wanted in chosen if wanted), NO_LIMIT if limit is None else limit),
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

    async def link(self, owner: UserKey, other: UserKey) -> None:
        """Put all that the other account has under the owner; they are linked first, and what that moves follows.

        Raises:
            ValueError: one of them is linked already, or both are the same.
        """
        await self._settle()
        async with self._database.transaction() as transaction:
            numbers = []
            for user in (owner, other):
                await memory_rows.name_owner(transaction, user)
                numbers += [number for (number,) in await transaction.run(_ID, user_key(user))]
            linked = await transaction.run(
                "SELECT 1 FROM owners WHERE linked IS NOT NULL AND (id IN (?, ?) OR linked IN (?, ?))", numbers * 2
            )
            if linked or owner == other:
                raise ValueError("an account is linked to one other")
            await transaction.run("UPDATE owners SET linked = ? WHERE id = ?", numbers)
        await self._settle()

    async def unlink(self, owner: UserKey, other: UserKey) -> None:
        """Give the other account back what came from it; do nothing if they are not linked."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                f"UPDATE owners SET linked = NULL WHERE id = ({_ID}) AND linked = ({_ID})",
                (*user_key(other), *user_key(owner)),
            )
        await self._settle()

    async def accounts(self, user: UserKey) -> Sequence[UserKey]:
        """Return every account of that person's, the owner first."""
        rows = await self._database.rows(_ACCOUNTS, user_key(user) * 2)
        return [UserKey(platform, name) for platform, name in rows] or [user]

    async def from_account(self, owner: UserKey, account: UserKey) -> frozenset[str]:
        """Return the ids of the owner's memories that came from that account."""
        rows = await self._database.rows(_FROM_ACCOUNT, (*user_key(owner), *user_key(account)))
        return frozenset(key for (key,) in rows)

    async def get(self, owner: UserKey, memory_ids: Sequence[str]) -> Sequence[MemoryItem]:
        """Return those of the ids that the owner has, in the order asked."""
        rows = await self._database.rows(THOSE, (*user_key(owner), to_json(list(memory_ids))))
        return in_order(rows, memory_ids)

    async def find(self, owner: UserKey, kind: MemoryKind, content: str, *, room: str = "") -> MemoryItem | None:
        """Return the owner's memory of that kind and content, one that has it to the letter first, or None."""
        text, room = storable(content), storable(room)
        rows = await self._database.rows(
            f"""
            {ITEMS} AND m.digest = ? AND m.kind = ?
            AND (? = '' OR m.content = ? OR EXISTS (SELECT 1 FROM rooms WHERE memory = m.id AND room = ?))
            ORDER BY m.content != ?, m.id LIMIT 1
            """,
            (*user_key(owner), digest(text), kind, room, text, room, text),
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
        person = user_key(owner)
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
        async with self._database.transaction() as transaction:
            [(count,)] = await transaction.run(_COUNT, user_key(owner))
            await transaction.run(
                f"""
                UPDATE owners SET platform = '', "user" = CAST(id AS TEXT) WHERE id = {OWNER} OR linked = {OWNER}
                """,
                user_key(owner) * 2,
            )  # no query finds them any more
        await self._remove_forgotten()
        await self._database.scrub()
        return int(count)

    async def _remove_forgotten(self) -> bool:
        """Remove what belongs to owners without a name; return whether there was one."""
        if not await self._database.rows(f"{_FORGOTTEN} LIMIT 1"):
            return False
        for table in _BELONGING_TO_AN_ACCOUNT:
            rows = f"SELECT id FROM {table} WHERE owner IN ({_FORGOTTEN}) LIMIT ?"
            await in_batches(self._database, statement(f"DELETE FROM {table} WHERE id IN ({rows}) RETURNING id"))
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM owners WHERE platform = ''")
        return True

    async def _settle(self) -> None:
        """Put what came from accounts that were linked or parted where it belongs, some rows at a time."""
        for table in _BELONGING_TO_AN_ACCOUNT:
            for found in (_JOINING, _PARTING):
                await in_batches(self._database, partial(_move, table, found.format(table=table)))


async def _move(table: str, found: str, transaction: Transaction, size: int) -> int:
    rows = await transaction.run(found, (size,))
    await transaction.run_many(
        f"UPDATE {table} SET owner = ?, account = ? WHERE id = ?", [(owner, account, i) for i, owner, account in rows]
    )
    for each in _MOVED_WITH_THEIR_MEMORY if table == "memories" else ():
        await transaction.run_many(
            f"UPDATE {each} SET owner = ? WHERE memory = ?", [(owner, i) for i, owner, _ in rows]
        )
    return len(rows)
