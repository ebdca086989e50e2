"""What was done to memories, in the table of changes, and how it is undone."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from core.sealing.port import Sealing
from core.storage import memory_rows
from core.storage.database import Query, Row
from core.storage.lexicon import Lexicon
from core.storage.memory_rows import OWNER, STATES, Accounts, Stored, change_row, states, those, written
from core.storage.parting import REPEATED, drop
from core.storage.record import listed, microseconds, moment, phrases_of, to_json, user_key
from core.types import Change, ChangeKind, UserKey

CHANGE = f"id, kind, at, undone, {STATES}"
_RECORD = """
    INSERT INTO changes (owner, account, speaker, act, kind, at, key, enclosed, before, after)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
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
class ChangeRecord:
    """What an act made of one memory: how it was before (None: not there), and after (None: deleted).

    `speaker` is the number of the account that did it, None for the owner's own; of a deletion, whose words are gone.
    """

    before: Stored | None
    after: Stored | None
    speaker: int | None

    @property
    def key(self) -> str:
        """The memory's id."""
        return next(each.item.id for each in (self.before, self.after) if each is not None)

    @property
    def kind(self) -> ChangeKind:
        """What was done to it."""
        if self.before is None:
            return ChangeKind.SAVED
        return ChangeKind.DELETED if self.after is None else ChangeKind.UPDATED


def change(sealing: Sealing, row: Row) -> Change:
    """Read a row of CHANGE.

    Raises:
        Unreadable: it cannot be opened.
    """
    _, kind, at_us, undone, *rest = row
    before, after = (None if each is None else each.item for each in states(sealing, rest))
    return Change(rest[3], ChangeKind(kind), moment(at_us), before, after, bool(undone))


def record(query: Query, whose: Accounts, act: str, at: datetime, steps: Iterable[ChangeRecord]) -> None:
    """Write what an act made of memories; nothing for the act ""."""
    rows = []
    for step in steps if act else ():
        account = next(each.account for each in (step.before, step.after) if each is not None)
        rows.append(_row(query, whose, account, step, (act, step.kind, at)))
    query.run_many(_RECORD, rows)


def record_repeated(query: Query, whose: Accounts, act: str, at: datetime, *, known: Stored, said: Stored) -> None:
    """Write that another account said a memory, too, and in which words; in place of what it said before."""
    key = known.item.id
    query.run(
        f"DELETE FROM changes WHERE key = ? AND kind = '{REPEATED}' AND coalesce(speaker, owner) = ?",
        (key, said.account or whose.owner),
    )
    step = ChangeRecord(None, replace(said, item=replace(said.item, id=key)), said.account)
    query.run_many(_RECORD, [_row(query, whose, known.account, step, (act, REPEATED, at))])
    query.run(
        f"UPDATE changes SET undone = 1 WHERE key = ? AND kind = '{REPEATED}'", (key,)
    )  # nothing of it can be undone, and it overtakes nothing


def _row(
    query: Query, whose: Accounts, account: int | None, step: ChangeRecord, about: tuple[str, str, datetime]
) -> tuple[object, ...]:
    """Return the parameters of _RECORD; `about` are act, kind and time, `account` is whose memory it was."""
    act, kind, at = about
    user, row = whose.user(query, account), change_row(account or whose.owner, step.key, act)
    texts = {
        "enclosed": _digests(step.before, step.after),
        "before": None if step.before is None else written(step.before),
        "after": None if step.after is None else written(step.after),
    }
    sealed = (
        None if text is None else query.sealing.seal(user, f"changes.{name}", row, text) for name, text in texts.items()
    )
    return (whose.owner, account, step.speaker, act, kind, microseconds(at), step.key, *sealed)


def _digests(*states: Stored | None) -> str:
    """Return the digests of what the states keep, so that it is known to be named; "" for none."""
    found = {each.sha256 for state in states if state is not None for each in state.item.attachments if each.sha256}
    return to_json([*sorted(found)]) if found else ""


def purge(query: Query, keys: Sequence[str], *, before: datetime) -> None:
    """Remove every change of those of the memories that were deleted before then, and not again since."""
    query.lock("undo")
    query.run(f"DELETE FROM changes WHERE key IN ({_GONE_OF_THOSE})", (listed(keys), microseconds(before)))


def undo(query: Query, lexicon: Lexicon, owner: UserKey, act: str) -> list[Change]:
    """Undo an act and return its changes; change nothing, and return none, where it cannot be undone."""
    query.lock("undo")  # what it brings back is not purged meanwhile
    whose = memory_rows.lock_owner(query, owner)
    rows = query.run(
        f"SELECT {CHANGE} FROM changes WHERE owner = {OWNER} AND act = ? AND act != '' AND undone = 0 ORDER BY id",
        (*user_key(owner), act),
    )
    steps = _steps(query.sealing, rows)
    now = {each.item.id: each for each in those(query, owner, list(steps))}
    numbers = to_json([row[0] for row in rows])
    overtaken = query.run(_OVERTAKEN, (numbers, act))
    as_left = all(_said(now.get(key)) == _said(step.after) for key, step in steps.items())
    if overtaken or not as_left or not _are_whole(query, owner, steps):
        return []
    if _are_told_again(query, whose, steps):
        return []
    removed = 0
    memory_rows.remove(query, [now[key].number for key, step in steps.items() if step.before is None and key in now])
    for key, step in steps.items():
        removed += _take_back(query, lexicon, whose, step, now.get(key))
    query.run("UPDATE changes SET undone = 1 WHERE id IN (SELECT value FROM numbers(?))", (numbers,))
    drop(query, [key for key, step in steps.items() if step.before is None])
    repeated = f"DELETE FROM changes WHERE act = ? AND kind = '{REPEATED}' AND key IN (SELECT value FROM texts(?))"
    query.run(repeated, (act, listed(steps)))
    memory_rows.bump(query, whose.owner, removed)
    return [replace(change(query.sealing, row), undone=True) for row in reversed(rows)]


def _are_whole(query: Query, owner: UserKey, steps: Mapping[str, ChangeRecord]) -> bool:
    """Return whether each earlier version that would come back has the memory that it is a version of."""
    versions = {step.before.item.current for step in steps.values() if step.before is not None} - {""}
    there = {each.item.id for each in those(query, owner, list(versions - steps.keys()))}
    return versions <= there | steps.keys()


def _are_told_again(query: Query, whose: Accounts, steps: Mapping[str, ChangeRecord]) -> bool:
    """Return whether a content that would come back was told again, and is that of another memory now.

    Of two that a change made alike, each may come back.
    """
    back = [each for step in steps.values() if (each := step.before) is not None and not each.item.current]
    found = [
        key
        for each in back
        for (key,) in query.run(
            """
            SELECT m.key FROM memories AS m
            WHERE m.owner = ? AND coalesce(m.account, m.owner) = ? AND m.digest = ? AND m.current = '' AND NOT EXISTS
                (SELECT 1 FROM changes AS c WHERE c.key = m.key AND c.kind = 'updated' AND c.undone = 0)
            """,
            (whose.owner, each.account or whose.owner, memory_rows.told(query, whose, each)),
        )
    ]
    return not steps.keys() >= set(found)


def _said(memory: Stored | None) -> tuple[object, ...]:
    """Return what must be as the act left it; flags and rooms may have been changed since."""
    return () if memory is None else (memory.item.draft, memory.item.updated_at)


def _steps(sealing: Sealing, rows: Sequence[Row]) -> Mapping[str, ChangeRecord]:
    """Map memory ids to what an act made of each in all; rows of CHANGE, oldest first."""
    steps: dict[str, ChangeRecord] = {}
    for *_, owner, account, key, act, text_before, text_after in rows:
        before, after = states(sealing, (owner, account, key, act, text_before, text_after))
        steps[key] = ChangeRecord(steps[key].before if key in steps else before, after, account)
    return steps


def _take_back(query: Query, lexicon: Lexicon, whose: Accounts, step: ChangeRecord, now: Stored | None) -> int:
    """Write a memory that was changed or deleted as it was before, without new vectors; return how many phrases went.

    Its flag and its sources stay as they are now.
    """
    if step.before is None:
        return len(phrases_of(now.item.draft)) if now is not None else 0
    if now is None or step.after is None:
        memory_rows.insert(query, lexicon, whose, step.before)
        return 0
    removed = memory_rows.replace(query, lexicon, whose, step.before)
    if step.before.item.attachments != now.item.attachments:
        removed += memory_rows.remove_passages(query, now.number)
        memory_rows.insert_passages(query, lexicon, whose, step.before)
    return removed
