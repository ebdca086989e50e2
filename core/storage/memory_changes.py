"""What was done to memories, in the table of changes, and how it is undone."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from core.storage import memory_rows
from core.storage.database import Row, Transaction
from core.storage.lexicon import Lexicon
from core.storage.memory_rows import EVERYWHERE, OWNER, THOSE, Named, Stored, read, stored, written
from core.storage.record import microseconds, moment, to_json, user_key
from core.types import Change, ChangeKind, UserKey

CHANGE = "id, account, act, kind, at, key, before, after, undone"
GONE = "SELECT key FROM changes WHERE kind = 'deleted' AND undone = 0 GROUP BY key HAVING max(at) < ?"
_GONE_OF_THOSE = """
    SELECT key FROM changes WHERE key IN (SELECT value FROM texts(?)) AND kind = 'deleted' AND undone = 0
    GROUP BY key HAVING max(at) < ?
"""
# The act's changes of a memory must be the last ones that stand.
_OVERTAKEN = """
    SELECT 1 FROM changes AS mine JOIN changes AS later ON later.key = mine.key AND later.id > mine.id
    WHERE mine.id IN (SELECT value FROM numbers(?)) AND later.act != ? AND later.undone = 0 LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Step:
    """What an act made of one memory: how it was before (None: not there), and after (None: deleted)."""

    before: Stored | None
    after: Stored | None

    @property
    def memory(self) -> Stored:
        """The memory, as it is or was."""
        return next(each for each in (self.after, self.before) if each is not None)

    @property
    def kind(self) -> ChangeKind:
        """What was done to it."""
        if self.before is None:
            return ChangeKind.SAVED
        return ChangeKind.DELETED if self.after is None else ChangeKind.UPDATED


def change(row: Row) -> Change:
    """Read a row of CHANGE."""
    _, account, act, kind, at_us, key, before, after, undone = row
    old, new = (None if text is None else read(key, account, text).item for text in (before, after))
    return Change(act, ChangeKind(kind), moment(at_us), old, new, bool(undone))


async def record(transaction: Transaction, owner: UserKey, act: str, at: datetime, steps: Iterable[Step]) -> None:
    """Write what one act made of memories."""
    rows = []
    for step in steps:
        texts = [None if each is None else written(each) for each in (step.before, step.after)]
        known = step.memory
        rows.append((*user_key(owner), known.account, act, step.kind, microseconds(at), known.item.id, *texts))
    await transaction.run_many(
        f"""
        INSERT INTO changes (owner, account, act, kind, at, key, before, after)
        VALUES ({OWNER}, ?, ?, ?, ?, ?, ?, ?)
        """,
        rows,
    )


async def drop(transaction: Transaction, keys: Sequence[str]) -> None:
    """Remove every change of those memories, and so every word of theirs."""
    await transaction.run("DELETE FROM changes WHERE key IN (SELECT value FROM texts(?))", (to_json(list(keys)),))


async def purge(transaction: Transaction, keys: Sequence[str], *, before: datetime) -> None:
    """Remove every change of those of the memories that were deleted before then, and not again since."""
    await transaction.run(
        f"DELETE FROM changes WHERE key IN ({_GONE_OF_THOSE})", (to_json(list(keys)), microseconds(before))
    )


async def undo(transaction: Transaction, lexicon: Lexicon, owner: UserKey, act: str) -> list[Change]:
    """Undo an act and return its changes; change nothing, and return none, where it cannot be undone."""
    person = user_key(owner)
    rows = await transaction.run(
        f"SELECT {CHANGE} FROM changes WHERE owner = {OWNER} AND act = ? AND act != '' AND undone = 0 ORDER BY id",
        (*person, act),
    )
    steps = _steps(rows)
    found = [stored(row) for row in await transaction.run(THOSE, (*person, to_json(list(steps))))]
    now = {each.item.id: each for each in found}
    numbers = to_json([row[0] for row in rows])
    overtaken = await transaction.run(_OVERTAKEN, (numbers, act))
    if overtaken or not all(_said(now.get(key)) == _said(step.after) for key, step in steps.items()):
        return []
    new = [key for key, step in steps.items() if step.before is None]
    if new:
        await memory_rows.remove(transaction, owner, to_json([*new]))
    for key, step in steps.items():
        await _take_back(transaction, lexicon, owner, step, now.get(key))
    await transaction.run("UPDATE changes SET undone = 1 WHERE id IN (SELECT value FROM numbers(?))", (numbers,))
    await drop(transaction, new)
    return [replace(change(row), undone=True) for row in reversed(rows)]


def _said(memory: Stored | None) -> tuple[object, ...]:
    """Return what must be as the act left it; flags and rooms may have been changed since."""
    return () if memory is None else (memory.item.draft, memory.item.updated_at)


def _steps(rows: Sequence[Row]) -> Mapping[str, Step]:
    """Map memory ids to what an act made of each in all; rows of CHANGE, oldest first."""
    steps: dict[str, Step] = {}
    for _, account, _, _, _, key, text_before, text_after, _ in rows:
        before, after = (None if text is None else read(key, account, text) for text in (text_before, text_after))
        steps[key] = Step(steps[key].before if key in steps else before, after)
    return steps


async def _take_back(
    transaction: Transaction, lexicon: Lexicon, owner: UserKey, step: Step, now: Stored | None
) -> None:
    """Write a memory that was changed or deleted as it was before; do nothing for one that was not there before."""
    if step.before is None:
        return
    if now is None or step.after is None:
        await memory_rows.restore(transaction, lexicon, owner, step.before)
    else:
        old = step.before.item
        await memory_rows.replace(transaction, lexicon, Named(old.id, old.draft), old.updated_at)
        await memory_rows.replace_rooms(transaction, old.id, [*old.rooms, EVERYWHERE if old.shared else ""])
