"""Standings in SQLite. Knows rows of people. Does not know what a standing permits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from core.people import People, Person, Standing, Stranger
from core.storage.record import microseconds, moment
from core.storage.sqlite import Database, Row
from core.types import UserKey


class SqlitePeople(People):
    """One row a person; times in microseconds since 1970."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, user: UserKey) -> Person | None:
        """Return the person, or None for a stranger."""
        rows = await self._database.rows(f"{_SELECT} WHERE platform = ? AND user = ?", (user.platform, user.user))
        return _person(rows[0]) if rows else None

    async def put(self, person: Person) -> None:
        """Give a person a standing, in place of the one they had."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                """
                INSERT INTO people (platform, user, standing, name, since) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (platform, user) DO UPDATE SET standing = excluded.standing, name = excluded.name,
                    since = excluded.since
                """,
                _row(person),
            )

    async def claim(self, person: Person) -> bool:
        """Make them the first owner of their platform. False, and nothing changed, if it has an owner."""
        async with self._database.transaction() as transaction:
            claimed = await transaction.run(
                """
                INSERT INTO people (platform, user, standing, name, since) SELECT ?1, ?2, ?3, ?4, ?5
                WHERE NOT EXISTS (SELECT 1 FROM people WHERE platform = ?1 AND standing = ?3)
                ON CONFLICT (platform, user) DO UPDATE SET standing = excluded.standing RETURNING 1
                """,
                _row(person),
            )
        return bool(claimed)

    async def all(self) -> Sequence[Person]:
        """Return everybody who has a standing, the oldest first."""
        return [_person(row) for row in await self._database.rows(f"{_SELECT} ORDER BY since, rowid")]

    async def remove(self, user: UserKey) -> None:
        """Make a person a stranger again. One who is a stranger is fine."""
        key = (user.platform, user.user)
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM people WHERE platform = ? AND user = ?", key)
            await transaction.run("DELETE FROM strangers WHERE platform = ? AND user = ?", key)

    async def rename(self, user: UserKey, name: str) -> None:
        """Keep what the platform calls a person now. A stranger is fine, and stays one."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                "UPDATE people SET name = ? WHERE platform = ? AND user = ?", (name, user.platform, user.user)
            )

    async def note_stranger(self, stranger: Stranger, every: timedelta) -> bool:
        """Note that a stranger wrote. False, and nothing changed, if that was noted less than `every` before."""
        user, at = stranger.user, stranger.at
        async with self._database.transaction() as transaction:
            noted = await transaction.run(
                """
                INSERT INTO strangers (platform, user, name, at) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (platform, user) DO UPDATE SET at = excluded.at, name = excluded.name
                    WHERE at <= ?5 RETURNING 1
                """,
                (user.platform, user.user, stranger.name, microseconds(at), microseconds(at - every)),
            )
        return bool(noted)

    async def strangers(self, limit: int) -> Sequence[Stranger]:
        """Return the strangers who wrote last, the newest first; nobody who has a standing by now."""
        rows = await self._database.rows(
            """
            SELECT platform, user, name, at FROM strangers WHERE NOT EXISTS (
                SELECT 1 FROM people WHERE people.platform = strangers.platform AND people.user = strangers.user
            ) ORDER BY at DESC, platform, user LIMIT ?
            """,
            (limit,),
        )
        return [Stranger(UserKey(platform, user), name, moment(at)) for platform, user, name, at in rows]

    async def drop_strangers(self, before: datetime) -> None:
        """Forget the strangers who were noted before then."""
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM strangers WHERE at < ?", (microseconds(before),))


_SELECT = "SELECT platform, user, standing, name, since FROM people"


def _row(person: Person) -> tuple[str, str, str, str, int]:
    return (person.user.platform, person.user.user, person.standing.value, person.name, microseconds(person.since))


def _person(row: Row) -> Person:
    platform, user, standing, name, since = row
    return Person(UserKey(platform, user), Standing(standing), name, moment(since))
