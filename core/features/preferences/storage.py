"""What people chose, in the database: one row a person who chose something."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from typing import Final

from core.storage.database import Database
from core.storage.record import OF_USER, microseconds, moment, user_key
from core.types import Learn, Preferences, UserKey

_COLUMNS: Final = (
    "language",
    "remembers",
    "news",
    "learn",
    "zone",
    "shows_steps",
    "incognito_until",
    "incognito_told",
)


class PreferenceStore:
    """What each person chose: rows of `preferences`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, user: UserKey) -> Preferences:
        """Return a person's choices, with the defaults for what they did not choose."""
        rows = await self._database.rows(
            f"SELECT {', '.join(_COLUMNS)} FROM preferences WHERE {OF_USER}", user_key(user)
        )
        if not rows:
            return Preferences()
        [(language, remembers, news, learn, zone, shows_steps, until, told)] = rows
        return Preferences(
            language,
            bool(remembers),
            bool(news),
            Learn(learn) if learn else None,
            zone,
            bool(shows_steps),
            None if until is None else moment(until),
            bool(told),
        )

    async def put(self, user: UserKey, preferences: Preferences) -> None:
        """Store a person's choices, in place of those before."""
        sql = f"""
            INSERT INTO preferences (platform, "user", {", ".join(_COLUMNS)})
            VALUES ({", ".join("?" * (len(_COLUMNS) + 2))})
            ON CONFLICT (platform, "user") DO UPDATE SET
                {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS)}
        """
        until = preferences.incognito_until
        values = (
            *user_key(user),
            preferences.language,
            int(preferences.remembers),
            int(preferences.news),
            preferences.learn or "",
            preferences.zone,
            int(preferences.shows_steps),
            None if until is None else microseconds(until),
            int(preferences.incognito_told),
        )
        await self._database.write(lambda query: query.run(sql, values))

    async def forget(self, user: UserKey) -> None:
        """Delete a person's choices; the defaults hold again."""
        sql = f"DELETE FROM preferences WHERE {OF_USER}"
        await self._database.write(lambda query: query.run(sql, user_key(user)))
