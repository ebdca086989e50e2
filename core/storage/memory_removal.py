"""Everything of one owner removed: first nobody finds it any more, then its rows go, some at a time."""

# ruff: noqa: S608 - SQL is put together from constants of ours only
from __future__ import annotations

from core.storage.batches import in_batches, statement
from core.storage.memory_items import OWNER
from core.storage.sqlite import Database, Transaction
from core.types import UserKey

_FORGOTTEN = "SELECT id FROM owners WHERE platform = ''"


async def mark_forgotten(transaction: Transaction, owner: UserKey) -> None:
    """Take the names off all of the owner's accounts: no query finds what is theirs any more."""
    await transaction.run(
        f"UPDATE owners SET platform = '', user = id WHERE id = {OWNER} OR linked = {OWNER}",
        (owner.platform, owner.user) * 2,
    )


async def remove_forgotten(database: Database) -> bool:
    """Remove what belongs to owners without a name; return whether there was one."""
    if not await database.rows(f"{_FORGOTTEN} LIMIT 1"):
        return False
    for table in ("memories", "changes"):
        rows = f"SELECT id FROM {table} WHERE owner IN ({_FORGOTTEN}) LIMIT ?"
        await in_batches(database, statement(f"DELETE FROM {table} WHERE id IN ({rows})"))
    async with database.transaction() as transaction:
        await transaction.run("DELETE FROM owners WHERE platform = ''")
    return True
