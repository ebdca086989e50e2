"""Reminders in the database, one row each. Its words are sealed by the key of the account that set it.

The column `claimable` says from when a reminder can be claimed: from its due time, the end of a lease, or the end of a
wait after a refusal. It is NULL for one that is not to be fired.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from core.features.reminders.reminders import (
    LEASE,
    OPEN,
    Before,
    DueClaim,
    Kind,
    Mention,
    Reminder,
    ReminderState,
    Schedule,
)
from core.sealing.port import Sealing
from core.storage.database import Database, Query, Row
from core.storage.record import NO_LIMIT, OF_USER, listed, microseconds, moment, random_id, storable, to_json, user_key
from core.text.language import from_tag
from core.types import ChatKey, JSONValue, Locale, UserKey

_FIELDS: Final = (
    "platform", '"user"', "chat", "topic", "private", "name", "text", "kind", "language", "wall", "zone", "rule",
    "guessed", "due", "state", "tries", "failures", "created", "sent", "batch", "changed", "before", "act",
    "mention",
)  # fmt: skip
_REMINDER: Final = f"id, {', '.join(_FIELDS)}"
_CHANGE: Final = f"UPDATE reminders SET {', '.join(f'{name} = ?' for name in _FIELDS)}, claimable = ? WHERE id = ?"
_WORDS: Final = tuple(f"reminders.{column}" for column in ("text", "before", "mention"))
_MARKS: Final = ", ".join("?" * (len(_FIELDS) + 2))

_NEXT: Final = """
SELECT min(claimable) FROM (
    SELECT (
        SELECT claimable FROM reminders WHERE platform = connected.value AND claimable IS NOT NULL
        AND chat NOT IN (SELECT value FROM texts(?)) ORDER BY claimable LIMIT 1
    ) AS claimable FROM texts(?) AS connected
) AS earliest
"""

_HOLD: Final = "UPDATE reminders SET tries = tries WHERE id IN (SELECT value FROM texts(?))"
"""Lets nobody else change these before the transaction ends; what it returns is how they are."""

# The condition stands twice: of what somebody changes meanwhile in PostgreSQL, it is looked at again after the wait.
_CLAIM: Final = f"""
UPDATE reminders SET state = 'sending', tries = tries + 1, claimable = ? WHERE claimable <= ? AND id IN (
    SELECT each.id FROM reminders AS each JOIN (
        SELECT DISTINCT platform, "user", chat, topic FROM (
            SELECT platform, "user", chat, topic FROM reminders
            WHERE platform IN (SELECT value FROM texts(?)) AND claimable <= ?
            AND chat NOT IN (SELECT value FROM texts(?)) ORDER BY claimable, id LIMIT ?
        ) AS first
    ) AS chosen ON each.platform = chosen.platform AND each."user" = chosen."user"
    AND each.chat = chosen.chat AND each.topic = chosen.topic WHERE +each.claimable <= ?
) RETURNING {_REMINDER}
"""


class ReminderStore:
    """Reminders of everybody. `users` are the accounts of one person: nobody else's reminders are read or changed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, reminder: Reminder, *, most: int) -> Reminder | None:
        """Store a new reminder and return it with its id; None if that account has `most` open ones."""
        added = replace(reminder, id=random_id(), text=storable(reminder.text), name=storable(reminder.name))

        def job(query: Query) -> Reminder | None:
            query.lock("reminders", reminder.user)
            [(count,)] = query.run(
                f"SELECT count(*) FROM reminders WHERE {OF_USER} AND state IN (SELECT value FROM texts(?))",
                (*user_key(reminder.user), listed(OPEN)),
            )
            if count >= most:
                return None
            query.run(
                f"INSERT INTO reminders ({_REMINDER}, claimable) VALUES ({_MARKS})",
                (added.id, *_written(query.sealing, added), _claimable(added)),
            )
            return added

        return await self._database.write(job)

    async def find(self, users: Sequence[UserKey], reminder_id: str) -> Reminder | None:
        """Return the person's reminder of that id, in any state, or None."""
        return next(iter(await self._select(users, "id = ?", (reminder_id,))), None)

    async def whose(self, reminder_id: str) -> tuple[UserKey, str] | None:
        """Return the account that set that reminder, and the person's name; None if there is none."""
        found = 'SELECT platform, "user", name FROM reminders WHERE id = ?'
        for platform, user, name in await self._database.rows(found, (storable(reminder_id),)):
            return UserKey(platform, user), name
        return None

    async def of(self, users: Sequence[UserKey], states: Collection[ReminderState] = OPEN) -> Sequence[Reminder]:
        """Return the person's reminders in those states, the next due first, those without a due time last."""
        return await self._select(users, "state IN (SELECT value FROM texts(?))", (listed(states),))

    async def in_batch(self, users: Sequence[UserKey], batch: str) -> Sequence[Reminder]:
        """Return the person's reminders that were said in that batch."""
        return await self._select(users, "batch = ?", (batch,)) if batch else ()

    async def newest_change(self, users: Sequence[UserKey]) -> Reminder | None:
        """Return the reminder that the person changed last, if that change can be taken back, or None."""
        changed = await self._select(users, "changed IS NOT NULL ORDER BY changed DESC LIMIT 1", ordered=True)
        return next(iter(changed), None)

    async def replace(self, old: Reminder, new: Reminder) -> bool:
        """Store `new` in place of `old`; return False, changing nothing, if it is not `old` any more.

        One that is WAITING can be claimed from its due time, though it was to be tried later.
        """

        def job(query: Query) -> bool:
            for claimable, *row in query.run(f"{_HOLD} RETURNING claimable, {_REMINDER}", (listed([old.id]),)):
                if _read(query.sealing, tuple(row)) != old:
                    return False
                leased = claimable if new.state is ReminderState.SENDING else None
                query.run(_CHANGE, _row(query.sealing, new, leased))
                return True
            return False

        return await self._database.write(job)

    async def purge(self, before: datetime, removed_before: datetime) -> None:
        """Delete those fired for the last time or given up before then, and those removed before `removed_before`.

        No byte of them is left on the disk when this returns.
        """
        before_us = microseconds(before)
        sql = """
            DELETE FROM reminders WHERE state IN ('done', 'failed') AND created < ?
            AND (sent IS NULL OR sent < ?) AND (due IS NULL OR due < ?)
            OR state = 'removed' AND coalesce(changed, created) < ? RETURNING id
        """
        values = (before_us, before_us, before_us, microseconds(removed_before))
        if await self._database.write(lambda query: query.run(sql, values)):
            await self._database.scrub()

    async def next_due(self, platforms: Collection[str], busy: Collection[str] = ()) -> datetime | None:
        """Return when the next reminder on those platforms, not in those chats, can be claimed; None if none waits."""
        [(earliest,)] = await self._database.rows(_NEXT, (listed(busy), listed(platforms)))
        return None if earliest is None else moment(earliest)

    async def claim(self, claim: DueClaim) -> Sequence[Reminder]:
        """Mark due reminders SENDING until `now + LEASE`, with one more in `tries`; return them, the longest due first.

        Nobody else can claim them until the lease is over. Of several that claim at once each reminder goes to one.
        Those of one person in one chat, of one kind and as many failures get a new `batch` in common.
        """
        now_us, until_us = microseconds(claim.now), microseconds(claim.now + LEASE)
        chosen = (listed(claim.platforms), now_us, listed(claim.busy), claim.limit)

        def job(query: Query) -> Sequence[Reminder]:
            for platform in sorted(claim.platforms):
                query.lock("due reminders", platform)
            rows = query.run(_CLAIM, (until_us, now_us, *chosen, now_us))
            batches: defaultdict[object, str] = defaultdict(random_id)
            claimed = [
                replace(each, batch=batches[each.user, each.chat, each.kind, each.failures])
                for each in sorted([_read(query.sealing, row) for row in rows], key=_by_due)
            ]
            query.run_many("UPDATE reminders SET batch = ? WHERE id = ?", ((each.batch, each.id) for each in claimed))
            return claimed

        return await self._database.write(job)

    async def mention(
        self, users: Sequence[UserKey], reminder_ids: Collection[str], act: str, now: datetime
    ) -> Sequence[Reminder]:
        """Mark those that wait for a mention as said by that act; return all that it has said, also before a restart.

        One that is not ready any more stays as it is. With no `act`, nothing is marked.
        """

        def job(query: Query) -> None:
            for row in query.run(f"{_HOLD} RETURNING {_REMINDER}", (listed(reminder_ids),)):
                held = _read(query.sealing, row)
                if held.user in users and held.is_ready(now) and held.mention is not None:
                    said = replace(held, sent_at=now, batch=act)
                    if not held.mention.each:
                        said = replace(said, state=ReminderState.DONE, due=None)
                    query.run(_CHANGE, _row(query.sealing, said))

        if reminder_ids and act:
            await self._database.write(job)
        return [each for each in await self.in_batch(users, act) if each.mention is not None]

    async def renew(self, claimed: Sequence[Reminder], now: datetime) -> None:
        """Hold those claims until `now + LEASE`, as far as nobody else has claimed the reminders since."""
        sql = "UPDATE reminders SET claimable = ? WHERE id = ? AND state = 'sending' AND batch = ?"
        rows = sorted((microseconds(now + LEASE), each.id, each.batch) for each in claimed)
        await self._database.write(lambda query: query.run_many(sql, rows))

    async def settle(self, outcomes: Sequence[tuple[Reminder, Reminder]], retry_at: datetime | None = None) -> None:
        """End claims: store what became of each claimed reminder (claimed, settled), all or none.

        Stored are `due`, `state`, `tries`, `failures` and `sent_at`; one that is WAITING can be claimed from
        `retry_at`, if that is later than `due`. One that somebody else has claimed since is left as it is. What the
        person changed meanwhile is kept: of one that has another due time or state only `sent_at` is stored.
        """
        ids = listed(claimed.id for claimed, _ in outcomes)
        settle = """
            UPDATE reminders SET due = ?, state = ?, tries = ?, failures = ?, sent = ?, claimable = ? WHERE id = ?
        """

        def job(query: Query) -> None:
            read = [_read(query.sealing, row) for row in query.run(f"{_HOLD} RETURNING {_REMINDER}", (ids,))]
            present = {each.id: each for each in read}
            rows = []
            for claimed, settled in outcomes:
                held = present.get(claimed.id)
                if held is None or held.batch != claimed.batch:
                    continue
                new = _settled(held, claimed, settled)
                tried = held.state is ReminderState.SENDING and held.due == claimed.due
                claimable = _claimable(new, _us(retry_at) if tried else None)
                rows.append((_us(new.due), new.state, new.tries, new.failures, _us(new.sent_at), claimable, new.id))
            query.run_many(settle, rows)

        await self._database.write(job)

    async def release(self, platforms: Collection[str]) -> None:
        """End every lease on those platforms: what was claimed there by a process that died can be claimed at once."""
        sql = """
            UPDATE reminders SET claimable = due WHERE state = 'sending' AND claimable IS NOT NULL
            AND platform IN (SELECT value FROM texts(?))
        """
        await self._database.write(lambda query: query.run(sql, (listed(platforms),)))

    async def forget(self, user: UserKey) -> None:
        """Delete every reminder of that account; no byte of them is left on the disk when this returns."""
        sql = f"DELETE FROM reminders WHERE {OF_USER} RETURNING id"
        if await self._database.write(lambda query: query.run(sql, user_key(user))):
            await self._database.scrub()

    async def _select(
        self, users: Sequence[UserKey], condition: str, values: Sequence[object] = (), *, ordered: bool = False
    ) -> list[Reminder]:
        """Return the person's reminders that meet a condition, by due time unless it says the order itself."""
        if not users:
            return []
        theirs = " OR ".join(f"({OF_USER})" for _ in users)
        keys = [part for user in users for part in user_key(user)]
        rows = await self._database.rows(
            f"SELECT {_REMINDER} FROM reminders WHERE ({theirs}) AND {condition}", (*keys, *values)
        )
        found = [_read(self._database.sealing, row) for row in rows]
        return found if ordered else sorted(found, key=_by_due)


def _settled(present: Reminder, claimed: Reminder, settled: Reminder) -> Reminder:
    """Return what a reminder is after its claim. The person may have changed it meanwhile: that comes first."""
    if present.state is not ReminderState.SENDING:
        return replace(present, sent_at=settled.sent_at)
    if present.due != claimed.due:
        return replace(present, state=ReminderState.WAITING, tries=0, sent_at=settled.sent_at)
    return replace(
        present,
        due=settled.due,
        state=settled.state,
        tries=settled.tries,
        failures=settled.failures,
        sent_at=settled.sent_at,
    )


def _by_due(reminder: Reminder) -> tuple[int, datetime, str]:
    return NO_LIMIT if reminder.due is None else microseconds(reminder.due), reminder.created_at, reminder.id


def _claimable(reminder: Reminder, held_us: int | None = None) -> int | None:
    """Return the column `claimable` of a reminder that is held until then."""
    if reminder.due is None or reminder.state not in {ReminderState.WAITING, ReminderState.SENDING}:
        return None
    return max(microseconds(reminder.due), held_us or 0)


def _row(sealing: Sealing, reminder: Reminder, held_us: int | None = None) -> tuple[object, ...]:
    """Return the values of `_CHANGE`, for a reminder that is held until then."""
    return *_written(sealing, reminder), _claimable(reminder, held_us), reminder.id


def _written(sealing: Sealing, reminder: Reminder) -> tuple[object, ...]:
    """Return the values of `_FIELDS`; what names the row to the sealing is the reminder's id."""
    schedule = reminder.schedule
    words = (storable(reminder.text), _before_json(reminder.before), _mention_json(reminder.mention))
    text, before, mention = [
        sealing.seal(reminder.user, column, reminder.id, said) for column, said in zip(_WORDS, words, strict=True)
    ]
    return (
        *user_key(reminder.user),
        reminder.chat.chat,
        reminder.chat.thread,
        int(reminder.private),
        storable(reminder.name),
        text,
        reminder.kind,
        reminder.locale,
        *(schedule.wall.isoformat(), schedule.zone, schedule.rule, int(schedule.guessed)),
        _us(reminder.due),
        reminder.state,
        reminder.tries,
        reminder.failures,
        microseconds(reminder.created_at),
        _us(reminder.sent_at),
        reminder.batch,
        _us(reminder.changed_at),
        before,
        reminder.act,
        mention,
    )


def _read(sealing: Sealing, row: Row) -> Reminder:
    """Return the reminder of a row of `_REMINDER`."""
    reminder_id, platform, user, chat, topic, private, name, text, kind, language, *rest = row
    wall, zone, rule, guessed, due, state, tries, failures, created, sent, batch, changed, before, act, mention = rest
    text, before, mention = [
        sealing.open(column, reminder_id, cell) for column, cell in zip(_WORDS, (text, before, mention), strict=True)
    ]
    return Reminder(
        UserKey(platform, user),
        ChatKey(platform, chat, topic),
        text,
        Schedule(datetime.fromisoformat(wall), zone, rule, bool(guessed)),
        _moment(due),
        created_at=moment(created),
        private=bool(private),
        name=name,
        kind=Kind(kind),
        locale=from_tag(language) or Locale.EN,
        state=ReminderState(state),
        tries=tries,
        failures=failures,
        sent_at=_moment(sent),
        batch=batch,
        changed_at=_moment(changed),
        before=_before(json.loads(before)) if before else None,
        act=act,
        mention=Mention(**json.loads(mention)) if mention else None,
        id=reminder_id,
    )


def _before_json(before: Before | None) -> str:
    if before is None:
        return ""
    schedule = before.schedule
    stored: JSONValue = {
        "text": storable(before.text),
        "wall": schedule.wall.isoformat(),
        "zone": schedule.zone,
        "rule": schedule.rule,
        "guessed": schedule.guessed,
        "due": _us(before.due),
        "state": before.state,
    }
    return to_json(stored)


def _mention_json(mention: Mention | None) -> str:
    return "" if mention is None else to_json({"subject": storable(mention.subject), "each": mention.each})


def _before(stored: dict[str, Any]) -> Before:
    schedule = Schedule(
        datetime.fromisoformat(stored["wall"]), stored["zone"], stored["rule"], guessed=stored["guessed"]
    )
    return Before(stored["text"], schedule, _moment(stored["due"]), ReminderState(stored["state"]))


def _us(at: datetime | None) -> int | None:
    return None if at is None else microseconds(at)


def _moment(at_us: int | None) -> datetime | None:
    return None if at_us is None else moment(at_us)
