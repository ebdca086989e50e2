"""People and strangers in the database: one row a person, times in microseconds since 1970."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from core.features.access.people import DENIED_FOR, Account, People, Person, Stranger
from core.storage.database import Database, Row, Transaction
from core.storage.record import NO_LIMIT, OF_USER, microseconds, moment, user_key
from core.types import Role, UserKey

_PERSON = 'platform, "user", standing, name, since'
_SELECT = f"SELECT {_PERSON} FROM people"
_SELECT_STRANGERS = 'SELECT platform, "user", name, at, language, denied FROM strangers'
_NO_STRANGER = f"DELETE FROM strangers WHERE {OF_USER}"
_NO_ACCOUNT = f"DELETE FROM accounts WHERE {OF_USER}"


class SqlPeople(People):
    """Rows of `people`, and of `strangers` for those who have no role."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find(self, user: UserKey) -> Person | None:
        """Return the person, or None for a stranger."""
        rows = await self._database.rows(f"{_SELECT} WHERE {OF_USER}", user_key(user))
        return _person(rows[0]) if rows else None

    async def put(self, person: Person) -> None:
        """Give a person a role, in place of the one they had."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                f"""
                INSERT INTO people ({_PERSON}) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (platform, "user") DO UPDATE SET standing = excluded.standing, name = excluded.name,
                    since = excluded.since
                """,
                _row(person),
            )
            await transaction.run(_NO_STRANGER, user_key(person.user))

    async def claim(self, person: Person) -> bool:
        """Make them the first owner of their platform; return False, and change nothing, if it has an owner."""
        async with self._database.transaction() as transaction:
            if await transaction.run(
                "SELECT 1 FROM people WHERE platform = ? AND standing = ? LIMIT 1", (person.user.platform, Role.OWNER)
            ):
                return False
            await transaction.run(
                f"""
                INSERT INTO people ({_PERSON}) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (platform, "user") DO UPDATE SET standing = excluded.standing
                """,
                _row(person),
            )
            await transaction.run(_NO_STRANGER, user_key(person.user))
        return True

    async def all(self) -> Sequence[Person]:
        """Return everybody who has a role, the oldest first."""
        rows = await self._database.rows(f'{_SELECT} ORDER BY since, platform, "user"')
        return [_person(row) for row in rows]

    async def remove(self, user: UserKey) -> None:
        """Remove the person's role, and what is noted of them as a stranger; do nothing if there is neither."""
        async with self._database.transaction() as transaction:
            await transaction.run(f"DELETE FROM people WHERE {OF_USER}", user_key(user))
            await transaction.run(_NO_STRANGER, user_key(user))

    async def rename(self, user: UserKey, name: str) -> None:
        """Store what the platform calls a person now; do nothing for a stranger."""
        async with self._database.transaction() as transaction:
            await transaction.run(f"UPDATE people SET name = ? WHERE {OF_USER}", (name, *user_key(user)))

    async def note_stranger(self, stranger: Stranger, every: timedelta, denied_for: timedelta = DENIED_FOR) -> bool:
        """Record that a stranger wrote; return False, and change nothing, if they were noted or denied shortly before.

        "Shortly" is `every` for a stranger who was noted, `denied_for` for one who was denied.
        """
        at = stranger.at
        async with self._database.transaction() as transaction:
            noted = await transaction.run(
                """
                INSERT INTO strangers (platform, "user", name, language, at) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (platform, "user") DO UPDATE
                    SET name = excluded.name, language = excluded.language, at = excluded.at, denied = 0
                    WHERE strangers.at <= ? AND strangers.denied = 0 OR strangers.at <= ? AND strangers.denied = 1
                RETURNING 1
                """,
                (
                    *user_key(stranger.user),
                    stranger.name,
                    stranger.language,
                    *map(microseconds, (at, at - every, at - denied_for)),
                ),
            )
        return bool(noted)

    async def stranger(self, user: UserKey) -> Stranger | None:
        """Return what is noted of a stranger, None if nothing."""
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
        async with self._database.transaction() as transaction:
            gone = await transaction.run(
                'DELETE FROM strangers WHERE at < ? RETURNING platform, "user"', (microseconds(before),)
            )
            await transaction.run_many(_NO_ACCOUNT, gone)

    async def put_account(self, account: Account) -> None:
        """Store what is told of an account; another account of its platform loses the same handle."""
        platform, user = user_key(account.user)
        async with self._database.transaction() as transaction:
            await transaction.run(
                """
                UPDATE accounts SET handle = ''
                WHERE platform = ? AND "user" != ? AND handle != '' AND lower(handle) = ?
                """,
                (platform, user, account.handle.lower()),
            )
            await transaction.run(
                """
                INSERT INTO accounts (platform, "user", handle, language) VALUES (?, ?, ?, ?)
                ON CONFLICT (platform, "user") DO UPDATE SET handle = excluded.handle, language = excluded.language
                """,
                (platform, user, account.handle, account.language),
            )

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
        async with self._database.transaction() as transaction:
            await transaction.run(_NO_ACCOUNT, user_key(user))


async def deny(transaction: Transaction, user: UserKey, at: datetime) -> None:
    """Make a person a stranger who was denied then, in place of whatever they were."""
    await transaction.run(
        f"""
        INSERT INTO strangers (platform, "user", name, at, denied)
        VALUES (?, ?, coalesce((SELECT name FROM people WHERE {OF_USER}), ''), ?, 1)
        ON CONFLICT (platform, "user") DO UPDATE SET at = excluded.at, denied = 1
        """,
        (*user_key(user), *user_key(user), microseconds(at)),
    )
    await transaction.run(f"DELETE FROM people WHERE {OF_USER}", user_key(user))


def _row(person: Person) -> tuple[str, str, str, str, int]:
    return (*user_key(person.user), person.role.value, person.name, microseconds(person.since))


def _person(row: Row) -> Person:
    platform, user, role, name, since = row
    return Person(UserKey(platform, user), Role(role), name, moment(since))


def _stranger(row: Row) -> Stranger:
    platform, user, name, at, language, denied = row
    return Stranger(UserKey(platform, user), name, moment(at), language, bool(denied))
