"""Standings in SQLite. Knows rows of people. Does not know what a standing permits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from core.features.access.people import DENIED_FOR, People, Person, Stranger
from core.storage.record import microseconds, moment
from core.storage.sqlite import Database, Row, Transaction
from core.types import Role, UserKey


class SqlitePeople(People):
    """One row a person; times in microseconds since 1970."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, user: UserKey) -> Person | None:
        """Return the person, or None for a stranger."""
        rows = await self._database.rows(f"{_SELECT} WHERE platform = ? AND user = ?", _key(user))
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
            await transaction.run(_NO_STRANGER, _key(person.user))

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
            if claimed:
                await transaction.run(_NO_STRANGER, _key(person.user))
        return bool(claimed)

    async def all(self) -> Sequence[Person]:
        """Return everybody who has a standing, the oldest first."""
        return [_person(row) for row in await self._database.rows(f"{_SELECT} ORDER BY since, rowid")]

    async def remove(self, user: UserKey) -> None:
        """Make a person a stranger again. One who is a stranger is fine."""
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM people WHERE platform = ? AND user = ?", _key(user))
            await transaction.run(_NO_STRANGER, _key(user))

    async def rename(self, user: UserKey, name: str) -> None:
        """Keep what the platform calls a person now. A stranger is fine, and stays one."""
        async with self._database.transaction() as transaction:
            await transaction.run("UPDATE people SET name = ? WHERE platform = ? AND user = ?", (name, *_key(user)))

    async def note_stranger(self, stranger: Stranger, every: timedelta, denied_for: timedelta = DENIED_FOR) -> bool:
        """Note that a stranger wrote. False, and nothing changed, if they were noted or denied a short while before."""
        at = stranger.at
        async with self._database.transaction() as transaction:
            noted = await transaction.run(
                """
                INSERT INTO strangers (platform, user, name, language, at) VALUES (?1, ?2, ?3, ?4, ?5)
                ON CONFLICT (platform, user) DO UPDATE
                    SET name = excluded.name, language = excluded.language, at = excluded.at, denied = 0
                    WHERE at <= iif(denied, ?7, ?6) RETURNING 1
                """,
                (
                    *_key(stranger.user),
                    stranger.name,
                    stranger.language,
                    *map(microseconds, (at, at - every, at - denied_for)),
                ),
            )
        return bool(noted)

    async def deny(self, user: UserKey, at: datetime) -> None:
        """Make a person a stranger who was denied then, in place of whatever they were."""
        async with self._database.transaction() as transaction:
            await deny(transaction, user, at)

    async def stranger(self, user: UserKey) -> Stranger | None:
        """Return what is noted of a stranger, None if nothing."""
        rows = await self._database.rows(f"{_SELECT_STRANGERS} WHERE platform = ? AND user = ?", _key(user))
        return _stranger(rows[0]) if rows else None

    async def strangers(self, limit: int) -> Sequence[Stranger]:
        """Return the strangers who wrote last and were not denied, the newest first."""
        rows = await self._database.rows(f"{_SELECT_STRANGERS} WHERE NOT denied {_NEWEST} LIMIT ?", (limit,))
        return [_stranger(row) for row in rows]

    async def denied(self) -> Sequence[Stranger]:
        """Return the strangers who were denied, the last one first."""
        return [_stranger(row) for row in await self._database.rows(f"{_SELECT_STRANGERS} WHERE denied {_NEWEST}")]

    async def drop_strangers(self, before: datetime) -> None:
        """Forget the strangers who were noted before then."""
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM strangers WHERE at < ?", (microseconds(before),))


async def deny(transaction: Transaction, user: UserKey, at: datetime) -> None:
    """Do what `SqlitePeople.deny` does, within a transaction that does more."""
    await transaction.run(
        """
        INSERT INTO strangers (platform, user, name, at, denied)
        VALUES (?1, ?2, coalesce((SELECT name FROM people WHERE platform = ?1 AND user = ?2), ''), ?3, 1)
        ON CONFLICT (platform, user) DO UPDATE SET at = excluded.at, denied = 1
        """,
        (*_key(user), microseconds(at)),
    )
    await transaction.run("DELETE FROM people WHERE platform = ? AND user = ?", _key(user))


_SELECT = "SELECT platform, user, standing, name, since FROM people"
_SELECT_STRANGERS = "SELECT platform, user, name, at, language, denied FROM strangers"
_NEWEST = "ORDER BY at DESC, platform, user"
_NO_STRANGER = "DELETE FROM strangers WHERE platform = ? AND user = ?"


def _key(user: UserKey) -> tuple[str, str]:
    return (user.platform, user.user)


def _row(person: Person) -> tuple[str, str, str, str, int]:
    return (person.user.platform, person.user.user, person.role.value, person.name, microseconds(person.since))


def _person(row: Row) -> Person:
    platform, user, role, name, since = row
    return Person(UserKey(platform, user), Role(role), name, moment(since))


def _stranger(row: Row) -> Stranger:
    platform, user, name, at, language, denied = row
    return Stranger(UserKey(platform, user), name, moment(at), language, bool(denied))
