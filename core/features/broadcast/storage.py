"""Broadcasts in SQLite. Knows rows of texts and of recipients. Does not know who is meant, nor how they are told."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from core.features.broadcast.broadcasts import DRAFT_KEPT, Broadcast, Broadcasts, BroadcastState, Reach, Tally
from core.storage.record import microseconds, moment, storable
from core.storage.sqlite import Database, Row
from core.text.language import from_tag
from core.types import Locale, UserKey

_SELECT = "SELECT id, at, platform, user, language, text, state FROM broadcasts"
_MARK = "UPDATE recipients SET state = ? WHERE broadcast = ? AND platform = ? AND user = ?"


class SqliteBroadcasts(Broadcasts):
    """One row a broadcast, one row a recipient. Who is being told is noted on the disk before they are."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def draft(self, by: UserKey, locale: Locale, text: str, at: datetime) -> Broadcast:
        """Keep a text that nobody was told yet, in place of the person's earlier one; drafts of yesterday go."""
        text = storable(text)
        async with self._database.transaction() as transaction:
            await transaction.run(
                "DELETE FROM broadcasts WHERE state = ? AND (at < ? OR (platform = ? AND user = ?))",
                (BroadcastState.DRAFT, microseconds(at - DRAFT_KEPT), by.platform, by.user),
            )
            [(number,)] = await transaction.run(
                "INSERT INTO broadcasts (at, platform, user, language, text, state) VALUES (?, ?, ?, ?, ?, ?) "
                "RETURNING id",
                (microseconds(at), by.platform, by.user, locale, text, BroadcastState.DRAFT),
            )
        return Broadcast(number, at, by, locale, text)

    async def find(self, number: int) -> Broadcast | None:
        """Return the broadcast of that id."""
        return _first(await self._database.rows(f"{_SELECT} WHERE id = ?", (number,)))

    async def newest(self) -> Broadcast | None:
        """Return the one that runs, or ran last."""
        query = f"{_SELECT} WHERE state != ? ORDER BY id DESC LIMIT 1"
        return _first(await self._database.rows(query, (BroadcastState.DRAFT,)))

    async def discard(self, number: int) -> bool:
        """Forget a draft. False, and nothing changed, if it is none."""
        async with self._database.transaction() as transaction:
            gone = await transaction.run(
                "DELETE FROM broadcasts WHERE id = ? AND state = ? RETURNING id", (number, BroadcastState.DRAFT)
            )
        return bool(gone)

    async def begin(self, number: int, recipients: Sequence[UserKey]) -> bool:
        """Let a draft run, for those people; the one before it is forgotten. False, if it is none, or another runs."""
        async with self._database.transaction() as transaction:
            rows = await transaction.run(
                "SELECT id, state FROM broadcasts WHERE id = ? OR state = 'running'", (number,)
            )
            if rows != [(number, BroadcastState.DRAFT)]:
                return False
            await transaction.run("DELETE FROM broadcasts WHERE state IN ('done', 'cancelled')")
            await transaction.run("UPDATE broadcasts SET state = ? WHERE id = ?", (BroadcastState.RUNNING, number))
            await transaction.run_many(
                "INSERT OR IGNORE INTO recipients (broadcast, platform, user, state) VALUES (?, ?, ?, ?)",
                ((number, user.platform, user.user, Reach.WAITING) for user in recipients),
            )
        return True

    async def take(self, number: int, platforms: Collection[str]) -> tuple[UserKey, bool] | None:
        """Note that the next on one of those platforms is being told, and return them; None, if nobody waits there."""
        marks = ", ".join("?" * len(platforms))
        async with self._database.transaction() as transaction:
            rows = await transaction.run(
                f"SELECT platform, user, state FROM recipients WHERE broadcast = ? AND platform IN ({marks}) "  # noqa: S608
                "AND state IN ('sending', 'waiting') ORDER BY state LIMIT 1",
                (number, *platforms),
            )
            if not rows:
                return None
            [(platform, user, state)] = rows
            await transaction.run(_MARK, (Reach.SENDING, number, platform, user))
        return UserKey(platform, user), state == Reach.SENDING

    async def mark(self, number: int, user: UserKey, reach: Reach) -> None:
        """Note whether somebody has it."""
        async with self._database.transaction() as transaction:
            await transaction.run(_MARK, (reach, number, user.platform, user.user))

    async def drop(self, number: int, user: UserKey) -> None:
        """Let somebody be no recipient."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                "DELETE FROM recipients WHERE broadcast = ? AND platform = ? AND user = ?",
                (number, user.platform, user.user),
            )

    async def end(self, number: int, state: BroadcastState) -> bool:
        """Let one that runs be over, and keep no word of it: neither in the file nor in its log."""
        async with self._database.transaction() as transaction:
            ended = await transaction.run(
                "UPDATE broadcasts SET state = ?, text = '' WHERE id = ? AND state = ? RETURNING id",
                (state, number, BroadcastState.RUNNING),
            )
        if ended:
            await self._database.scrub()
        return bool(ended)

    async def tally(self, number: int) -> Tally:
        """Return how far it has come."""
        rows: dict[str, int] = dict(
            await self._database.rows(
                "SELECT state, count(*) FROM recipients WHERE broadcast = ? GROUP BY state", (number,)
            )
        )
        waiting = rows.get(Reach.WAITING, 0) + rows.get(Reach.SENDING, 0)
        return Tally(rows.get(Reach.TOLD, 0), rows.get(Reach.UNREACHABLE, 0), waiting)

    async def forget(self, user: UserKey) -> None:
        """Keep nothing of that person: neither that they were to be told, nor that a broadcast is theirs."""
        key = (user.platform, user.user)
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM recipients WHERE platform = ? AND user = ?", key)
            await transaction.run("DELETE FROM broadcasts WHERE platform = ? AND user = ? AND state = 'draft'", key)
            await transaction.run("UPDATE broadcasts SET platform = '', user = '' WHERE platform = ? AND user = ?", key)


def _first(rows: list[Row]) -> Broadcast | None:
    for number, at, platform, user, language, text, state in rows:
        by = UserKey(platform, user) if user else None
        return Broadcast(number, moment(at), by, from_tag(language) or Locale.EN, text, BroadcastState(state))
    return None
