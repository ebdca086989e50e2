"""People with a role, and strangers who wrote, in the database: one row a person, times in microseconds since 1970."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from core.storage.database import Database, Query, Row
from core.storage.record import NO_LIMIT, OF_USER, microseconds, moment, user_key
from core.types import Role, UserKey


@dataclass(frozen=True, slots=True)
class Person:
    """A person with a role. `name` is what the platform calls them, cleaned for display."""

    user: UserKey
    role: Role
    name: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Stranger:
    """A person without a role who wrote. `at` is when they were last told that the bot is private, or were denied.

    `language` is the tag of what they speak, "" if unknown. What they wrote is not kept.
    """

    user: UserKey
    name: str
    at: datetime
    language: str = ""
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Account:
    """An account that wrote, as its platform tells: the @name without the @, and the tag of its language; "" for none.

    It is kept of everybody whom the bot answered or noted as a stranger, whatever their role.
    """

    user: UserKey
    handle: str = ""
    language: str = ""


DENIED = "denied"
"""The decision that a stranger gets no answer, and owners no question about them, for `DENIED_FOR`."""

DENIED_FOR = timedelta(days=30)


_PERSON = 'platform, "user", standing, name, since'
_SELECT = f"SELECT {_PERSON} FROM people"
_KNOWN = """
    SELECT p.standing, p.name, p.since, a.handle, a.language
    FROM (SELECT CAST(? AS TEXT) AS platform, CAST(? AS TEXT) AS "user") AS who
    LEFT JOIN people AS p ON p.platform = who.platform AND p."user" = who."user"
    LEFT JOIN accounts AS a ON a.platform = who.platform AND a."user" = who."user"
"""
_INSERT = f"""
    INSERT INTO people ({_PERSON}) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (platform, "user") DO UPDATE SET standing = excluded.standing
"""
_SELECT_STRANGERS = 'SELECT platform, "user", name, at, language, denied FROM strangers'
_NO_PERSON = f"DELETE FROM people WHERE {OF_USER}"
_NO_STRANGER = f"DELETE FROM strangers WHERE {OF_USER}"
_NO_ACCOUNT = f"DELETE FROM accounts WHERE {OF_USER}"


class People:
    """People with roles (rows of `people`), and `strangers`. Who gets a role is no longer noted as a stranger."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, user: UserKey) -> Person | None:
        """Return the person, or None for a stranger."""
        rows = await self._database.rows(f"{_SELECT} WHERE {OF_USER}", user_key(user))
        return _person(rows[0]) if rows else None

    async def known(self, user: UserKey) -> tuple[Person | None, Account | None]:
        """Return the person, and what is kept of their account; None for what there is not."""
        [(standing, name, since, handle, language)] = await self._database.rows(_KNOWN, user_key(user))
        person = None if standing is None else Person(user, Role(standing), name, moment(since))
        return person, None if handle is None else Account(user, handle, language)

    async def put(self, person: Person) -> None:
        """Give a person a role, in place of the one they had."""

        def job(query: Query) -> None:
            lock_roles(query, person.user.platform)
            query.run(f"{_INSERT}, name = excluded.name, since = excluded.since", _row(person))
            query.run(_NO_STRANGER, user_key(person.user))

        await self._database.write(job)

    async def claim(self, person: Person) -> bool:
        """Make them the first owner of their platform; return False, and change nothing, if it has an owner."""
        owner = "SELECT 1 FROM people WHERE platform = ? AND standing = ? LIMIT 1"

        def job(query: Query) -> bool:
            lock_roles(query, person.user.platform)
            if query.run(owner, (person.user.platform, Role.OWNER)):
                return False
            query.run(_INSERT, _row(person))
            query.run(_NO_STRANGER, user_key(person.user))
            return True

        return await self._database.write(job)

    async def all(self) -> Sequence[Person]:
        """Return everybody who has a role, the oldest first."""
        rows = await self._database.rows(f'{_SELECT} ORDER BY since, platform, "user"')
        return [_person(row) for row in rows]

    async def remove(self, user: UserKey) -> None:
        """Remove the person's role, and what is noted of them as a stranger; do nothing if there is neither."""

        def job(query: Query) -> None:
            lock_roles(query, user.platform)
            query.run(_NO_PERSON, user_key(user))
            query.run(_NO_STRANGER, user_key(user))

        await self._database.write(job)

    async def rename(self, user: UserKey, name: str) -> None:
        """Store what the platform calls a person, or a stranger who is noted, now."""

        def job(query: Query) -> None:
            for table in ("people", "strangers"):
                query.run(f"UPDATE {table} SET name = ? WHERE {OF_USER}", (name, *user_key(user)))

        await self._database.write(job)

    async def note_stranger(self, stranger: Stranger, every: timedelta) -> bool:
        """Record that a stranger wrote; return False, and change nothing, if they were noted or denied shortly before.

        "Shortly" is `every` for a stranger who was noted, DENIED_FOR for one who was denied.
        """
        sql = """
            INSERT INTO strangers (platform, "user", name, language, at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (platform, "user") DO UPDATE
                SET name = excluded.name, language = excluded.language, at = excluded.at, denied = 0
                WHERE strangers.at <= ? AND strangers.denied = 0 OR strangers.at <= ? AND strangers.denied = 1
            RETURNING 1
        """
        times = map(microseconds, (stranger.at, stranger.at - every, stranger.at - DENIED_FOR))
        values = (*user_key(stranger.user), stranger.name, stranger.language, *times)
        return bool(await self._database.write(lambda query: query.run(sql, values)))

    async def stranger(self, user: UserKey) -> Stranger | None:
        """Return what is noted of a stranger, or None."""
        rows = await self._database.rows(f"{_SELECT_STRANGERS} WHERE {OF_USER}", user_key(user))
        return _stranger(rows[0]) if rows else None

    async def strangers(self, limit: int = NO_LIMIT, *, denied: bool = False) -> Sequence[Stranger]:
        """Return the strangers who were denied, or those who were not, the newest first."""
        rows = await self._database.rows(
            f'{_SELECT_STRANGERS} WHERE denied = ? ORDER BY at DESC, platform, "user" LIMIT ?', (int(denied), limit)
        )
        return [_stranger(row) for row in rows]

    async def drop_strangers(self, before: datetime) -> None:
        """Remove the strangers who were noted before then, and what is kept of their accounts."""

        def job(query: Query) -> None:
            gone = 'DELETE FROM strangers WHERE at < ? RETURNING platform, "user"'
            query.run_many(_NO_ACCOUNT, query.run(gone, (microseconds(before),)))

        await self._database.write(job)

    async def put_account(self, account: Account) -> None:
        """Store what is told of an account; another account of its platform loses the same handle."""
        platform, user = user_key(account.user)
        handle = account.handle.lower()

        def job(query: Query) -> None:
            query.lock("handle", platform, handle)
            query.run(
                """
                UPDATE accounts SET handle = ''
                WHERE platform = ? AND "user" != ? AND handle != '' AND lower(handle) = ?
                """,
                (platform, user, handle),
            )
            query.run(
                """
                INSERT INTO accounts (platform, "user", handle, language) VALUES (?, ?, ?, ?)
                ON CONFLICT (platform, "user") DO UPDATE SET handle = excluded.handle, language = excluded.language
                """,
                (platform, user, account.handle, account.language),
            )

        await self._database.write(job)

    async def account(self, user: UserKey) -> Account | None:
        """Return what is kept of an account, or None for one that never wrote."""
        rows = await self._database.rows(f"SELECT handle, language FROM accounts WHERE {OF_USER}", user_key(user))
        return Account(user, *rows[0]) if rows else None

    async def named(self, handle: str) -> Sequence[UserKey]:
        """Return the accounts of that handle, in any case of letters, on every platform."""
        if not handle:
            return []
        rows = await self._database.rows(
            'SELECT platform, "user" FROM accounts WHERE lower(handle) = ? ORDER BY platform, "user"', (handle.lower(),)
        )
        return [UserKey(*row) for row in rows]

    async def forget_account(self, user: UserKey) -> None:
        """Remove what is kept of an account."""
        await self._database.write(lambda query: query.run(_NO_ACCOUNT, user_key(user)))


def lock_roles(query: Query, platform: str) -> None:
    """Keep others from changing who has which role on a platform: the first owner, the last owner."""
    query.lock("roles", platform)


def deny(query: Query, user: UserKey, at: datetime) -> None:
    """Make a person a stranger who was denied then, in place of whatever they were."""
    query.run(
        f"""
        INSERT INTO strangers (platform, "user", name, at, denied)
        VALUES (?, ?, coalesce((SELECT name FROM people WHERE {OF_USER}), ''), ?, 1)
        ON CONFLICT (platform, "user") DO UPDATE SET at = excluded.at, denied = 1
        """,
        (*user_key(user), *user_key(user), microseconds(at)),
    )
    query.run(_NO_PERSON, user_key(user))


def _row(person: Person) -> tuple[str, str, str, str, int]:
    return (*user_key(person.user), person.role.value, person.name, microseconds(person.since))


def _person(row: Row) -> Person:
    platform, user, role, name, since = row
    return Person(UserKey(platform, user), Role(role), name, moment(since))


def _stranger(row: Row) -> Stranger:
    platform, user, name, at, language, denied = row
    return Stranger(UserKey(platform, user), name, moment(at), language, bool(denied))
