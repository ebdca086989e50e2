"""Texts for everybody, and who has each, in the database: one row a broadcast, one row a recipient.

A draft is sealed by its writer's key. What is told to everybody is the bot's own word: it goes on being told, by the
bot's key, when its writer is forgotten.
"""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from core.sealing.port import BOT
from core.storage.database import Database, Query
from core.storage.record import OF_USER, microseconds, moment, storable, user_key
from core.text.language import from_tag
from core.types import Locale, UserKey

DRAFT_KEPT: Final = timedelta(days=1)


class BroadcastState(StrEnum):
    """The state of a broadcast. One that is DONE or CANCELLED is over, and its text was deleted."""

    DRAFT = "draft"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"


class Receipt(StrEnum):
    """Whether a person has it. Of one that is SENDING at a start nobody can know whether it arrived."""

    WAITING = "waiting"
    SENDING = "sending"
    TOLD = "told"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Broadcast:
    """A text for everybody. `by` is its author, None if they were forgotten; `locale` is the author's language."""

    id: int
    at: datetime
    by: UserKey | None
    locale: Locale
    text: str
    state: BroadcastState = BroadcastState.DRAFT


@dataclass(frozen=True, slots=True)
class ReceiptCount:
    """How many people have it, cannot be reached, and wait for it."""

    told: int = 0
    unreachable: int = 0
    waiting: int = 0


_BROADCAST = 'at, platform, "user", language, text, state'
_TEXT = "broadcasts.text"
"""What is sealed; what names the row to the sealing is `at`."""

_MARK = f"UPDATE recipients SET state = ? WHERE broadcast = ? AND {OF_USER}"


class Broadcasts:
    """Broadcasts and their recipients. At most one broadcast runs; who is being told is on the disk before they are."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def draft(self, by: UserKey, locale: Locale, text: str, at: datetime) -> Broadcast:
        """Store a draft in place of the person's earlier one; drafts older than a day are deleted."""
        text, at_us = storable(text), microseconds(at)

        def job(query: Query) -> int:
            query.lock("broadcasts")
            query.run(
                f"DELETE FROM broadcasts WHERE state = ? AND (at < ? OR ({OF_USER}))",
                (BroadcastState.DRAFT, microseconds(at - DRAFT_KEPT), *user_key(by)),
            )
            [(number,)] = query.run(
                f"INSERT INTO broadcasts ({_BROADCAST}) VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
                (at_us, *user_key(by), locale, query.sealing.seal(by, _TEXT, at_us, text), BroadcastState.DRAFT),
            )
            return int(number)

        return Broadcast(await self._database.write(job), at, by, locale, text)

    async def newest(self) -> Broadcast | None:
        """Return the broadcast that runs, or ran last."""
        query = f"SELECT id, {_BROADCAST} FROM broadcasts WHERE state != ? ORDER BY id DESC LIMIT 1"
        for number, at_us, platform, user, language, text, state in await self._database.rows(
            query, (BroadcastState.DRAFT,)
        ):
            by, said = UserKey(platform, user) if user else None, self._database.sealing.open(_TEXT, at_us, text)
            return Broadcast(number, moment(at_us), by, from_tag(language) or Locale.EN, said, BroadcastState(state))
        return None

    async def discard(self, number: int) -> bool:
        """Delete a draft; return False, and change nothing, if it is not a draft."""
        sql = "DELETE FROM broadcasts WHERE id = ? AND state = ? RETURNING id"
        return bool(await self._database.write(lambda query: query.run(sql, (number, BroadcastState.DRAFT))))

    async def begin(self, number: int, recipients: Sequence[UserKey]) -> bool:
        """Start a draft and delete the last broadcast; return False if it is no draft, or another runs."""

        def job(query: Query) -> bool:
            query.lock("broadcasts")
            rows = query.run("SELECT id, state, at, text FROM broadcasts WHERE id = ? OR state = 'running'", (number,))
            if [row[:2] for row in rows] != [(number, BroadcastState.DRAFT)]:
                return False
            [(_, _, at_us, text)] = rows
            told = query.sealing.seal(BOT, _TEXT, at_us, query.sealing.open(_TEXT, at_us, text))
            query.run("DELETE FROM broadcasts WHERE state IN ('done', 'cancelled')")
            query.run("UPDATE broadcasts SET state = ?, text = ? WHERE id = ?", (BroadcastState.RUNNING, told, number))
            query.run_many(
                """
                INSERT INTO recipients (broadcast, platform, "user", state) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING
                """,
                ((number, *user_key(user), Receipt.WAITING) for user in recipients),
            )
            return True

        return await self._database.write(job)

    async def take(self, number: int, platforms: Collection[str]) -> tuple[UserKey, bool] | None:
        """Mark the next recipient on one of those platforms as SENDING and return them; None if nobody waits there.

        The bool is True if they were SENDING before: they may have it already.
        """
        if not platforms:
            return None
        marks = ", ".join("?" * len(platforms))
        following = f"""
            SELECT platform, "user", state FROM recipients WHERE broadcast = ? AND platform IN ({marks})
            AND state IN ('sending', 'waiting') ORDER BY state LIMIT 1
        """

        def job(query: Query) -> tuple[UserKey, bool] | None:
            query.lock("broadcast", number)
            for platform, user, state in query.run(following, (number, *platforms)):
                query.run(_MARK, (Receipt.SENDING, number, platform, user))
                return UserKey(platform, user), state == Receipt.SENDING
            return None

        return await self._database.write(job)

    async def mark(self, number: int, user: UserKey, reach: Receipt | None) -> None:
        """Record whether somebody has it; with None, remove them from the recipients."""
        sql, values = _MARK, [reach, number, *user_key(user)]
        if reach is None:
            sql, values = f"DELETE FROM recipients WHERE broadcast = ? AND {OF_USER}", values[1:]
        await self._database.write(lambda query: query.run(sql, values))

    async def end(self, number: int, state: BroadcastState) -> bool:
        """End a running broadcast and delete its text down to the last byte; return False if it does not run."""
        sql = "UPDATE broadcasts SET state = ?, text = '' WHERE id = ? AND state = ? RETURNING id"
        ended = await self._database.write(lambda query: query.run(sql, (state, number, BroadcastState.RUNNING)))
        if ended:
            await self._database.scrub()
        return bool(ended)

    async def tally(self, number: int) -> ReceiptCount:
        """Return how many have it, how many cannot be reached, and how many wait."""
        rows: dict[str, int] = dict(
            await self._database.rows(
                "SELECT state, count(*) FROM recipients WHERE broadcast = ? GROUP BY state", (number,)
            )
        )
        waiting = rows.get(Receipt.WAITING, 0) + rows.get(Receipt.SENDING, 0)
        return ReceiptCount(rows.get(Receipt.TOLD, 0), rows.get(Receipt.UNREACHABLE, 0), waiting)

    async def forget(self, user: UserKey) -> None:
        """Remove the person from every list of recipients and their drafts, and their name from their broadcasts."""

        def job(query: Query) -> None:
            query.lock("broadcasts")
            for sql in (
                f"DELETE FROM recipients WHERE {OF_USER}",
                f"DELETE FROM broadcasts WHERE {OF_USER} AND state = 'draft'",
                f"""UPDATE broadcasts SET platform = '', "user" = '' WHERE {OF_USER}""",
            ):
                query.run(sql, user_key(user))

        await self._database.write(job)
