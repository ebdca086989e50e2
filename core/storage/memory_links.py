"""Accounts that are one owner. Knows what moves when they are linked and parted. Does not know who agreed to it."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from functools import partial

from core.storage.batches import in_batches
from core.storage.memory_items import OWNER
from core.storage.sqlite import Database, Transaction
from core.types import UserKey

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
_ID = "SELECT id FROM owners WHERE platform = ? AND user = ?"

ACCOUNTS = f"""
    SELECT id, platform, user FROM owners WHERE id = {OWNER} OR linked = {OWNER} ORDER BY linked IS NOT NULL, id
"""
FROM_ACCOUNT = f"SELECT key FROM memories WHERE owner = {OWNER} AND coalesce(account, owner) = ({_ID})"
COUNTS = f"SELECT coalesce(account, owner), count(*) FROM memories WHERE owner = {OWNER} GROUP BY 1"


async def link(transaction: Transaction, owner: UserKey, other: UserKey) -> None:
    """Link the other account to the owner; `settle` puts what it has under the owner.

    Raises:
        ValueError: one of them is linked already, or both are the same.
    """
    people = [(owner.platform, owner.user), (other.platform, other.user)]
    await transaction.run_many("INSERT INTO owners (platform, user) VALUES (?, ?) ON CONFLICT DO NOTHING", people)
    [(mine,)], [(theirs,)] = [await transaction.run(_ID, person) for person in people]
    linked = await transaction.run(
        "SELECT 1 FROM owners WHERE linked IS NOT NULL AND (id IN (?1, ?2) OR linked IN (?1, ?2))", (mine, theirs)
    )
    if linked or mine == theirs:
        raise ValueError("an account is linked to one other")
    await transaction.run("UPDATE owners SET linked = ? WHERE id = ?", (mine, theirs))


async def unlink(transaction: Transaction, owner: UserKey, other: UserKey) -> None:
    """Part two accounts, if they are linked; `settle` gives the other one back what came from it."""
    await transaction.run(
        f"UPDATE owners SET linked = NULL WHERE id = ({_ID}) AND linked = ({_ID})",
        (other.platform, other.user, owner.platform, owner.user),
    )


async def settle(database: Database) -> None:
    """Put what came from accounts that were linked or parted where it belongs, some rows at a time."""
    for table in _BELONGING_TO_AN_ACCOUNT:
        for found in (_JOINING, _PARTING):
            await in_batches(database, partial(_move, table, found.format(table=table)))


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
