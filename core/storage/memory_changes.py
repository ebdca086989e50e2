"""What was done to memories, in the table of changes; how it is undone, and parted between two linked accounts.

A recorded change knows whose words it replaced, `account`, and who made it, `speaker`. A content is wholly its
speaker's; a phrase, or a source, is of whoever brought it. Parted accounts each get their own last words of a memory,
and nothing else of it; its changes and earlier versions are dropped, as they tell of both.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Generic, TypeVar

from core.enclosures import identities
from core.sealing.port import Sealing
from core.storage import memory_rows
from core.storage.database import Query, Row
from core.storage.history_rows import OF_MESSAGE, message
from core.storage.memory_rows import ALL, OWNER, STATES, Accounts, Stored, change_row, states, stored, those, written
from core.storage.record import listed, microseconds, moment, phrases_of, random_id, to_json, user_key
from core.text.unicode import fold, one_line
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import Change, ChangeKind, MemoryItem, UserKey

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


def undo(query: Query, owner: UserKey, act: str) -> list[Change]:
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
        removed += _take_back(query, whose, step, now.get(key))
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


def _take_back(query: Query, whose: Accounts, step: ChangeRecord, now: Stored | None) -> int:
    """Write a memory that was changed or deleted as it was before, without new vectors; return how many phrases went.

    Its flag and its sources stay as they are now.
    """
    if step.before is None:
        return len(phrases_of(now.item.draft)) if now is not None else 0
    if now is None or step.after is None:
        memory_rows.insert(query, whose, step.before)
        return 0
    removed = memory_rows.replace(query, whose, step.before)
    if step.before.item.attachments != now.item.attachments:
        removed += memory_rows.remove_passages(query, now.number)
        memory_rows.insert_passages(query, whose, step.before)
    return removed


# --- parting linked accounts ------------------------------------------------------------------------------------------

REPEATED: Final = "repeated"
"""The kind of a row that changes nothing: another account said the memory, too, in the words that are its `after`."""

Account = TypeVar("Account", bound=Hashable)
Part = TypeVar("Part", bound=Hashable)

_MAX_PHRASE_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class Logged(Generic[Account]):
    """A change that stands, or a repetition, as it was recorded."""

    account: Account
    speaker: Account
    before: MemoryItem | None
    after: MemoryItem | None

    @property
    def is_new(self) -> bool:
        """Whether it gave the memory other words."""
        return self.after is not None and (self.before is None or self.after.content != self.before.content)


def last_words(
    log: Sequence[Logged[Account]],
    kept: Sequence[tuple[Account, MemoryItem]],
    heard: Mapping[Account, str],
) -> Mapping[Account, MemoryItem]:
    """Map the accounts to what each said last of a memory, without any other's phrases and sources.

    `log` is oldest first. `kept` are the memory's earlier versions, oldest first, and last itself, unless it was
    deleted, each with whose words they are. A phrase that another account brought is also of who said its words in
    `heard`: the messages of each that the memory rests on.
    """
    said: dict[Account, MemoryItem] = {}
    began: dict[Account, datetime] = {}
    for row in log:
        if row.before is not None:
            said[row.account] = row.before
        if row.after is not None and row.is_new:
            if row.before is not None and row.speaker not in said:
                began[row.speaker] = row.after.updated_at
            said[row.speaker] = row.after
    logged = set(said)
    said |= {account: item for account, item in kept if account not in logged or not item.current}
    brought = _brought(log)
    return {
        account: replace(
            _own(item, account, brought, heard.get(account, "")), created_at=began.get(account, item.created_at)
        )
        for account, item in said.items()
    }


@dataclass(frozen=True, slots=True)
class _Brought(Generic[Account]):
    phrases: Mapping[Account, Collection[str]]
    sources: Mapping[Account, Collection[int]]
    things: Mapping[Account, Collection[str]]


def _brought(log: Sequence[Logged[Account]]) -> _Brought[Account]:
    """Return which phrases, folded, sources and things each account brought: those of an unrecorded beginning, too."""
    phrases: dict[Account, set[str]] = defaultdict(set)
    sources: dict[Account, set[int]] = defaultdict(set)
    things: dict[Account, set[str]] = defaultdict(set)
    for row in log:
        for account, item, known in _parts(row):
            is_first = item is row.before
            _note(phrases, account, _phrases(item), _phrases(known), is_first=is_first)
            _note(sources, account, _sources(item), _sources(known), is_first=is_first)
            _note(things, account, _things(item), _things(known), is_first=is_first)
        if row.before is None:  # who said it again brought the same things: with others it is another memory
            things[row.account] |= _things(row.after)
    return _Brought(phrases, sources, things)


def _note(
    brought: dict[Account, set[Part]], account: Account, new: set[Part], known: set[Part], *, is_first: bool
) -> None:
    """Note that an account brought what is new; of an unrecorded beginning, what nobody is known to have brought."""
    others = set[Part]().union(*brought.values()) if is_first else set()
    brought[account] |= new - others - known


def _phrases(item: MemoryItem | None) -> set[str]:
    return {fold(phrase) for phrase in item.bindings} if item else set()


def _sources(item: MemoryItem | None) -> set[int]:
    return set(item.source_ids) if item else set()


def _things(item: MemoryItem | None) -> set[str]:
    return set(identities(item.attachments)) if item else set()


def _parts(row: Logged[Account]) -> Iterator[tuple[Account, MemoryItem, MemoryItem | None]]:
    """Yield whose words, in which state, brought what the state before them lacked."""
    if row.before is not None:
        yield row.account, row.before, None
    if row.after is not None:
        yield row.speaker, row.after, row.before


def _own(item: MemoryItem, account: Account, brought: _Brought[Account], heard: str) -> MemoryItem:
    own, words = brought.phrases.get(account, ()), set(folded_words(f"{heard} {item.content}"))

    def is_own(phrase: str) -> bool:
        is_others = any(fold(phrase) in found for each, found in brought.phrases.items() if each != account)
        return fold(phrase) in own or not is_others or set(folded_words(phrase)) - FUNCTION_WORDS <= words

    foreign = {i for each, found in brought.sources.items() if each != account for i in found}
    foreign -= set(brought.sources.get(account, ()))
    strange = {thing for each, found in brought.things.items() if each != account for thing in found}
    strange -= set(brought.things.get(account, ()))
    return replace(
        item,
        attachments=tuple(each for each in item.attachments if strange.isdisjoint(identities([each]))),
        bindings=tuple(filter(is_own, item.bindings)) or (one_line(item.content, _MAX_PHRASE_CHARS) or "?",),
        source_ids=tuple(i for i in item.source_ids if i not in foreign),
    )


_MIXED: Final = "owner = ? AND coalesce(speaker, owner) != coalesce(account, owner)"


def mixed_keys(query: Query, owner: int, limit: int) -> list[str]:
    """Return the keys of some memories in which both accounts of an owner have words."""
    unrecorded = """
        SELECT past.current FROM memories AS past JOIN memories AS m ON m.key = past.current
        WHERE past.owner = ? AND past.current != '' AND past.part_of IS NULL
        AND coalesce(past.account, past.owner) != coalesce(m.account, m.owner)
    """
    found = query.run(f"SELECT key FROM changes WHERE {_MIXED} UNION {unrecorded} LIMIT ?", (owner, owner, limit))
    return [key for (key,) in found]


@dataclass(frozen=True, slots=True)
class Shares:
    """What the accounts of an owner would have if they were parted, by their numbers."""

    own: Mapping[int, frozenset[str]]
    counts: Mapping[int, int]


def shares(query: Query, owner: int) -> Shares:
    """Return what each account would have: keys in which no other has words, and how many memories."""
    log = query.run(
        f"""
        SELECT key, coalesce(account, owner), coalesce(speaker, owner), kind, undone FROM changes
        WHERE owner = ? AND key IN (SELECT key FROM changes WHERE {_MIXED})
        """,
        (owner, owner),
    )
    memories = "SELECT key, current, coalesce(account, owner) FROM memories WHERE owner = ? AND part_of IS NULL"
    rows = query.run(memories, (owner,))
    holders: dict[str, set[int]] = defaultdict(set)
    for key, account, speaker, kind, undone in log:
        holders[key].update([speaker] if kind == REPEATED else [] if undone else [account])
    there = {key: account for key, current, account in rows if not current}
    mixed = {key for key, *_ in log}
    for _, current, account in rows:
        if current and account != there.get(current, account):
            holders[current].add(account)
            mixed.add(current)
    own: dict[int, set[str]] = defaultdict(set)
    counts: dict[int, int] = defaultdict(int)
    for key, current, account in rows:
        if (current or key) not in mixed and key not in mixed:
            own[account].add(key)
        for each in {account, *holders[key]} if not current else ():
            counts[each] += 1
    return Shares({account: frozenset(keys) for account, keys in own.items()}, counts)


def part(query: Query, whose: Accounts, key: str) -> None:
    """Give each account its own last words of a memory, under the same id who said those of now; the other a new one.

    One that was deleted stays so, for good.
    """
    owner = whose.owner
    versions = f"{ALL} WHERE m.owner = ? AND (m.key = ? OR m.current = ?) AND m.part_of IS NULL"
    rows = query.run(f"{versions} ORDER BY m.key = ?, m.until, m.id", (owner, key, key, key))
    found = [
        memory_rows.with_passages(query, replace(each, account=each.account or owner))
        for each in [stored(query.sealing, row) for row in rows]
    ]
    passages = {identities(each.item.attachments): each.passages for each in found if each.passages}
    there = found.pop() if found and found[-1].item.id == key else None
    said = _words_of(query, owner, key, found if there is None else [*found, there])
    memory_rows.remove(query, [each.number for each in found])
    drop(query, [key, *_deleted_with(query, owner, key), *(each.item.id for each in found)])
    if there is None:
        return
    for account, words in said.items():
        if account == there.account:
            _rewrite(query, whose, replace(there, item=words))
            if words.attachments != there.item.attachments:
                memory_rows.remove_passages(query, there.number)
                kept = passages.get(identities(words.attachments), ())
                row = Stored(there.number, _column(account, owner), words, kept)
                memory_rows.insert_passages(query, whose, row)
            continue
        until = None if words.current else words.until
        item = replace(words, id=random_id(), current="", until=until, pinned=there.item.pinned)
        if known := _known(query, whose, account, item):
            bindings = tuple(dict.fromkeys((*known.item.bindings, *item.bindings)))
            _rewrite(query, whose, replace(known, item=replace(known.item, bindings=bindings)))
        else:
            kept = passages.get(identities(item.attachments), ())
            memory_rows.insert(query, whose, Stored(0, _column(account, owner), item, kept))


def drop(query: Query, keys: Sequence[str]) -> None:
    """Remove every change of those memories, and so every word of theirs."""
    query.run("DELETE FROM changes WHERE key IN (SELECT value FROM texts(?))", (to_json(list(keys)),))


def _words_of(query: Query, owner: int, key: str, found: Sequence[Stored]) -> Mapping[int, MemoryItem]:
    rows = query.run(
        f"""
        SELECT coalesce(account, owner), coalesce(speaker, owner), {STATES} FROM changes
        WHERE key = ? AND owner = ? AND (kind = '{REPEATED}' OR undone = 0) ORDER BY id
        """,
        (key, owner),
    )
    log = []
    for account, speaker, *rest in rows:
        before, after = (None if each is None else each.item for each in states(query.sealing, rest))
        log.append(Logged(account, speaker, before, after))
    kept = [(each.account or owner, each.item) for each in found]
    return last_words(log, kept, _heard(query, [item for _, item in kept]))


def _heard(query: Query, kept: Sequence[MemoryItem]) -> Mapping[int, str]:
    """Map the accounts to what they said in the messages that a memory rests on."""
    sources = sorted({source for item in kept for source in item.source_ids})
    found = query.run(
        f"""
        SELECT o.id, {OF_MESSAGE} FROM messages AS m JOIN threads AS t ON t.id = m.thread
        JOIN owners AS o ON o.platform = t.platform AND o."user" = t."user"
        WHERE m.role = 'user' AND m.id IN (SELECT value FROM numbers(?))
        """,
        (to_json([*sources]),),
    )
    heard: dict[int, str] = defaultdict(str)
    for account, *row in found:
        heard[account] += f" {message(query.sealing, tuple(row)).text}"
    return heard


def _deleted_with(query: Query, owner: int, key: str) -> list[str]:
    """Return the earlier versions that were deleted together with a memory."""
    found = query.run(
        f"""
        SELECT {STATES} FROM changes WHERE owner = ? AND kind = 'deleted'
        AND act IN (SELECT act FROM changes WHERE key = ? AND kind = 'deleted')
        """,
        (owner, key),
    )
    gone = [before.item for before, _ in (states(query.sealing, row) for row in found) if before is not None]
    return [item.id for item in gone if item.current == key]


def _known(query: Query, whose: Accounts, account: int, item: MemoryItem) -> Stored | None:
    """Return the memory of an account that says the same, if it has one."""
    same = "m.owner = ? AND coalesce(m.account, m.owner) = ? AND m.current = '' AND m.digest = ?"
    said = memory_rows.told(query, whose, Stored(0, account, item))
    found = query.run(f"{ALL} WHERE {same} ORDER BY m.id LIMIT 1", (whose.owner, account, said))
    return stored(query.sealing, found[0]) if found else None


def _rewrite(query: Query, whose: Accounts, memory: Stored) -> None:
    query.run(
        "DELETE FROM sources WHERE memory = ? AND message NOT IN (SELECT value FROM numbers(?))",
        (memory.number, to_json(list(memory.item.source_ids))),
    )
    query.run("UPDATE memories SET created_at = ? WHERE id = ?", (microseconds(memory.item.created_at), memory.number))
    account = _column(memory.account, whose.owner)
    memory_rows.replace(query, whose, replace(memory, account=account))


def _column(account: int | None, owner: int) -> int | None:
    """Return an account's number as rows hold it: NULL for the owner's own."""
    return None if account == owner else account
