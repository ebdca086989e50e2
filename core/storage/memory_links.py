"""Accounts that are one owner. Knows what moves when they are linked and parted. Does not know who agreed to it."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from core.storage.memory_items import OWNER
from core.storage.sqlite import Transaction
from core.types import UserKey

# The terms stay as they are: they name the account, and an owner's search asks for all of theirs.
_MOVED_WITH_THEIR_MEMORY = ("phrases", "rooms")
_BELONGING_TO_AN_ACCOUNT = ("memories", "changes")
_ID = "SELECT id FROM owners WHERE platform = ? AND user = ?"

ACCOUNTS = f"""
    SELECT id, platform, user FROM owners WHERE id = {OWNER} OR linked = {OWNER} ORDER BY linked IS NOT NULL, id
"""
FROM_ACCOUNT = f"SELECT key FROM memories WHERE owner = {OWNER} AND coalesce(account, owner) = ({_ID})"
COUNTS = f"SELECT coalesce(account, owner), count(*) FROM memories WHERE owner = {OWNER} GROUP BY 1"


async def link(transaction: Transaction, owner: UserKey, other: UserKey) -> None:
    """Put all that the other account has under the owner.

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
    for table in _BELONGING_TO_AN_ACCOUNT:
        await transaction.run(f"UPDATE {table} SET owner = ?1, account = ?2 WHERE owner = ?2", (mine, theirs))
    for table in _MOVED_WITH_THEIR_MEMORY:
        await transaction.run(f"UPDATE {table} SET owner = ? WHERE owner = ?", (mine, theirs))
    await transaction.run("UPDATE owners SET linked = ? WHERE id = ?", (mine, theirs))


async def unlink(transaction: Transaction, owner: UserKey, other: UserKey) -> None:
    """Give the other account back what came from it, if they are linked."""
    found = await transaction.run(
        f"{_ID} AND linked = ({_ID})", (other.platform, other.user, owner.platform, owner.user)
    )
    for (theirs,) in found:
        for table in _MOVED_WITH_THEIR_MEMORY:
            await transaction.run(
                f"UPDATE {table} SET owner = ?1 WHERE memory IN (SELECT id FROM memories WHERE account = ?1)", (theirs,)
            )
        for table in _BELONGING_TO_AN_ACCOUNT:
            await transaction.run(f"UPDATE {table} SET owner = ?1, account = NULL WHERE account = ?1", (theirs,))
        await transaction.run("UPDATE owners SET linked = NULL WHERE id = ?", (theirs,))
