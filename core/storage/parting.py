"""Part a memory in which two linked accounts have words: each gets its own last ones, with their earlier versions.

A recorded change knows whose words it replaced, `account`, and who made it, `speaker`. A content is wholly its
speaker's; a phrase, or a source, is of whoever brought it.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Final, Generic, TypeVar

from core.storage import memory_rows
from core.storage.database import Query
from core.storage.lexicon import Lexicon
from core.storage.memory_rows import ALL, Stored, read, stored, written
from core.storage.record import digest, microseconds, random_id, to_json
from core.text.unicode import fold, one_line
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import ChangeKind, MemoryItem

REPEATED: Final = "repeated"
"""The kind of a row that changes nothing: another account said the memory, too, in the words that are its `after`."""

Account = TypeVar("Account", bound=Hashable)

_MAX_PHRASE_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class Logged(Generic[Account]):
    """A change that stands, or a repetition, as it was recorded."""

    number: int
    account: Account
    speaker: Account
    kind: str
    act: str
    before: MemoryItem | None
    after: MemoryItem | None


@dataclass(frozen=True, slots=True)
class Version:
    """What an account said of a memory, and the number and act of its change; 0 and "" if that was not recorded."""

    number: int
    act: str
    item: MemoryItem


def versions(
    log: Sequence[Logged[Account]],
    kept: Sequence[tuple[Account, MemoryItem]],
    heard: Mapping[Account, str],
) -> Mapping[Account, Sequence[Version]]:
    """Map the accounts to what each said of a memory, oldest first, without any other's phrases and sources.

    `log` is oldest first. `kept` are the memory's earlier versions, oldest first, and last itself, unless it was
    deleted, each with whose words they are. A phrase that another account brought is also of who said its words in
    `heard`: the messages of each that the memory rests on.
    """
    said: dict[Account, list[Version]] = defaultdict(list)
    began: dict[Account, datetime] = {}
    for row in log:
        if row.before is not None:
            _note(said[row.account], row.before)
        if row.after is not None and _is_new(row):
            if row.before is not None and not said[row.speaker]:
                began[row.speaker] = row.after.updated_at
            said[row.speaker].append(Version(row.number, row.act, row.after))
    logged = {account for account, all_of in said.items() if all_of}
    for account, item in kept:
        if account not in logged or not item.current:
            _note(said[account], item)
    brought = _brought(log)

    def own(account: Account, item: MemoryItem) -> MemoryItem:
        mine = _own(item, account, brought, heard.get(account, ""))
        return replace(mine, created_at=began.get(account, item.created_at))

    return {
        account: [replace(version, item=own(account, version.item)) for version in all_of]
        for account, all_of in said.items()
        if all_of
    }


def _is_new(row: Logged[Account]) -> bool:
    return row.before is None or row.after is None or row.after.content != row.before.content


def _note(said: list[Version], item: MemoryItem) -> None:
    """Take an account's words as they were later, with their flags and phrases, or for its first that are known."""
    if said and said[-1].item.content == item.content:
        said[-1] = replace(said[-1], item=item)
    else:
        said.append(Version(0, "", item))


@dataclass(frozen=True, slots=True)
class _Brought(Generic[Account]):
    phrases: Mapping[Account, Collection[str]]
    sources: Mapping[Account, Collection[int]]


def _brought(log: Sequence[Logged[Account]]) -> _Brought[Account]:
    """Return which phrases, folded, and sources each account brought: those of an unrecorded beginning, too."""
    phrases: dict[Account, set[str]] = defaultdict(set)
    sources: dict[Account, set[int]] = defaultdict(set)
    for row in log:
        for account, item, known in _parts(row):
            found = {fold(phrase) for phrase in item.bindings}
            strange = item is row.before
            others = set().union(*phrases.values()) if strange else set()
            phrases[account] |= found - others - {fold(phrase) for phrase in (known.bindings if known else ())}
            numbers = set().union(*sources.values()) if strange else set()
            sources[account] |= set(item.source_ids) - numbers - set(known.source_ids if known else ())
    return _Brought(phrases, sources)


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
    return replace(
        item,
        bindings=tuple(filter(is_own, item.bindings)) or (one_line(item.content, _MAX_PHRASE_CHARS) or "?",),
        source_ids=tuple(i for i in item.source_ids if i not in foreign),
    )


def kind_of(before: object | None, after: object | None) -> ChangeKind:
    """Return what was done to a memory that was so before, and after."""
    if before is None:
        return ChangeKind.SAVED
    return ChangeKind.DELETED if after is None else ChangeKind.UPDATED


_MIXED: Final = "owner = ? AND coalesce(speaker, owner) != coalesce(account, owner)"


def mixed_keys(query: Query, owner: int, limit: int) -> list[str]:
    """Return the keys of some memories in which both accounts of an owner have words."""
    unrecorded = """
        SELECT past.current FROM memories AS past JOIN memories AS m ON m.key = past.current
        WHERE past.owner = ? AND past.current != ''
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
    rows = query.run("SELECT key, current, coalesce(account, owner) FROM memories WHERE owner = ?", (owner,))
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


class Parting:
    """Parts the memories of one owner, in a transaction."""

    def __init__(self, query: Query, lexicon: Lexicon, owner: int) -> None:
        self._query = query
        self._lexicon = lexicon
        self._owner = owner

    def part(self, key: str) -> None:
        """Give each account its own last words, under the same id who said those of now, and the changes of them."""
        query, owner = self._query, self._owner
        rows = query.run(
            """
            SELECT id, coalesce(account, owner), coalesce(speaker, owner), kind, act, before, after, undone
            FROM changes WHERE key = ? AND owner = ? ORDER BY id
            """,
            (key, owner),
        )
        log = [
            Logged(*row[:5], *(None if text is None else read(key, None, text).item for text in row[5:7]))
            for row in rows
            if row[3] == REPEATED or not row[7]
        ]
        there = [
            replace(each, account=each.account or owner)
            for each in map(stored, query.run(f"{ALL} WHERE m.owner = ? AND m.key = ?", (owner, key)))
        ]
        past = [
            replace(each, account=each.account or owner)
            for each in map(
                stored, query.run(f"{ALL} WHERE m.owner = ? AND m.current = ? ORDER BY m.until, m.id", (owner, key))
            )
        ]
        kept = [(each.account or owner, each.item) for each in (*past, *there)]
        said = versions(log, kept, self._heard([item for _, item in kept]))
        deleted = next((row for row in reversed(log) if row.after is None), None)
        written_rows: set[int] = set()
        for account, history in said.items():
            if there:
                memory = self._placed(account, history, there[0], past)
            elif deleted is not None:
                memory = self._gone(account, history, deleted, key)
            else:
                continue
            self._keep_versions(account, history, memory, past)
            written_rows |= self._log(memory, history, deleted)
        self._remove(past)
        if deleted is not None:
            self._drop_versions(deleted.act, key)
        gone = [row[0] for row in rows if row[0] not in written_rows]
        query.run("DELETE FROM changes WHERE id IN (SELECT value FROM numbers(?))", (to_json(gone),))

    def _heard(self, kept: Sequence[MemoryItem]) -> Mapping[int, str]:
        """Map the accounts to what they said in the messages that a memory rests on."""
        sources = sorted({source for item in kept for source in item.source_ids})
        found = self._query.run(
            """
            SELECT o.id, m.content FROM messages AS m JOIN threads AS t ON t.id = m.thread
            JOIN owners AS o ON o.platform = t.platform AND o."user" = t."user"
            WHERE m.role = 'user' AND m.id IN (SELECT value FROM numbers(?))
            """,
            (to_json([*sources]),),
        )
        heard: dict[int, str] = defaultdict(str)
        for account, content in found:
            heard[account] += f" {content}"
        return heard

    def _placed(self, account: int, history: Sequence[Version], there: Stored, past: list[Stored]) -> Stored:
        """Write an account's last words: in the place of the joint ones, of an earlier version, or as a new row."""
        last = history[-1].item
        if account == there.account:
            return self._rewritten(Stored(there.number, account, last))
        until = None if last.current else last.until
        last = replace(last, id=random_id(), current="", until=until, pinned=there.item.pinned)
        if (known := self._known(account, last)) is not None:
            bindings = tuple(dict.fromkeys((*known.item.bindings, *last.bindings)))
            return self._rewritten(Stored(known.number, account, replace(known.item, bindings=bindings)))
        for each in reversed(past):
            if each.account == account and each.item.content == last.content:
                past.remove(each)
                return self._rewritten(Stored(each.number, account, replace(last, id=each.item.id)))
        return memory_rows.insert(self._query, self._lexicon, self._owner, Stored(0, self._column(account), last))

    def _known(self, account: int, item: MemoryItem) -> Stored | None:
        """Return the memory of an account that says the same, if it has one."""
        same = "m.owner = ? AND coalesce(m.account, m.owner) = ? AND m.current = '' AND m.digest = ?"
        found = self._query.run(
            f"{ALL} WHERE {same} ORDER BY m.id LIMIT 1", (self._owner, account, digest(item.kind, item.content))
        )
        return stored(found[0]) if found else None

    def _rewritten(self, memory: Stored) -> Stored:
        sources = to_json(list(memory.item.source_ids))
        self._query.run(
            "DELETE FROM sources WHERE memory = ? AND message NOT IN (SELECT value FROM numbers(?))",
            (memory.number, sources),
        )
        self._query.run(
            "UPDATE memories SET pinned = ?, current = ?, created_at = ? WHERE id = ?",
            (int(memory.item.pinned), memory.item.current, microseconds(memory.item.created_at), memory.number),
        )
        mine = replace(memory, account=self._column(memory.account))
        memory_rows.replace(self._query, self._lexicon, self._owner, mine)
        return mine

    def _gone(self, account: int, history: Sequence[Version], deleted: Logged[int], key: str) -> Stored:
        """Return an account's last words of a deleted memory, and have their deletion among its changes."""
        first = account == deleted.account
        memory = Stored(0, self._column(account), replace(history[-1].item, id=key if first else random_id()))
        if not first:
            self._query.run(
                """
                INSERT INTO changes (owner, account, speaker, act, kind, at, key, before)
                SELECT owner, ?, ?, act, kind, at, ?, ? FROM changes WHERE id = ?
                """,
                (memory.account, memory.account, memory.item.id, written(memory), deleted.number),
            )
        return memory

    def _keep_versions(self, account: int, history: Sequence[Version], memory: Stored, past: list[Stored]) -> None:
        """Keep what was once true and said by the account, below its own last words."""
        for each in [each for each in past if each.account == account]:
            for version, later in pairwise(history):
                if version.item.content != each.item.content:
                    continue
                past.remove(each)
                words = version.item
                item = replace(words, id=each.item.id, until=each.item.until, current=memory.item.id)
                mine = self._rewritten(Stored(each.number, account, item))
                if not later.act:
                    self._drop([each.item.id])
                self._query.run(
                    "UPDATE changes SET act = ?, account = ?, speaker = ?, after = ? WHERE key = ? AND kind = 'saved'",
                    (later.act, mine.account, mine.account, written(mine), each.item.id),
                )
                break

    def _log(self, memory: Stored, history: Sequence[Version], deleted: Logged[int] | None) -> set[int]:
        """Write the account's own versions as the changes that led to its memory; return the rows that hold them."""
        query, key, account = self._query, memory.item.id, memory.account
        past: MemoryItem | None = None
        for version in history:
            if version.number:
                both = [None if each is None else written(replace(memory, item=each)) for each in (past, version.item)]
                query.run(
                    """
                    UPDATE changes SET account = ?, speaker = ?, kind = ?, key = ?, before = ?, after = ?, undone = 0
                    WHERE id = ?
                    """,
                    (account, account, kind_of(past, version.item), key, *both, version.number),
                )
            past = version.item
        rows = {version.number for version in history}
        if deleted is not None and deleted.before is not None and key == deleted.before.id:
            query.run(
                "UPDATE changes SET speaker = account, before = ? WHERE id = ?", (written(memory), deleted.number)
            )
            rows.add(deleted.number)
        return rows

    def _remove(self, past: Sequence[Stored]) -> None:
        memory_rows.remove(self._query, [each.number for each in past])
        self._drop([each.item.id for each in past])

    def _drop_versions(self, act: str, key: str) -> None:
        """Let the changes go of the earlier versions that were deleted together with a memory."""
        found = self._query.run(
            "SELECT key, before FROM changes WHERE owner = ? AND act = ? AND kind = 'deleted'", (self._owner, act)
        )
        self._drop([each for each, text in found if read(each, None, text).item.current == key])

    def _drop(self, keys: Sequence[str]) -> None:
        self._query.run("DELETE FROM changes WHERE key IN (SELECT value FROM texts(?))", (to_json(list(keys)),))

    def _column(self, account: int | None) -> int | None:
        """Return an account's number as rows hold it: NULL for the owner's own."""
        return None if account == self._owner else account
