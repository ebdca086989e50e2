"""What people chose, in the database: one row a person who chose something."""

# ruff: noqa: S608 - SQL is put together from constants of ours only; what people write is always a parameter
from __future__ import annotations

from core.storage.database import Database
from core.storage.record import OF_USER, user_key
from core.types import Learn, Preferences, UserKey


class PreferenceStore:
    """What each person chose: rows of `preferences`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, user: UserKey) -> Preferences:
        """Return a person's choices, with the defaults for what they did not choose."""
        rows = await self._database.rows(
            f"SELECT language, remembers, news, learn, zone, shows_steps FROM preferences WHERE {OF_USER}",
            user_key(user),
        )
        if not rows:
            return Preferences()
        [(language, remembers, news, learn, zone, shows_steps)] = rows
        told = Learn(learn) if learn else None
        return Preferences(language, bool(remembers), bool(news), told, zone, bool(shows_steps))

    async def put(self, user: UserKey, preferences: Preferences) -> None:
        """Store a person's choices, in place of those before."""
        sql = """
            INSERT INTO preferences (platform, "user", language, remembers, news, learn, zone, shows_steps)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (platform, "user") DO UPDATE SET language = excluded.language,
                remembers = excluded.remembers, news = excluded.news, learn = excluded.learn, zone = excluded.zone,
                shows_steps = excluded.shows_steps
        """
        flags = (int(preferences.remembers), int(preferences.news))
        values = (
            *user_key(user),
            preferences.language,
            *flags,
            preferences.learn or "",
            preferences.zone,
            int(preferences.shows_steps),
        )
        await self._database.write(lambda query: query.run(sql, values))

    async def forget(self, user: UserKey) -> None:
        """Delete a person's choices; the defaults hold again."""
        sql = f"DELETE FROM preferences WHERE {OF_USER}"
        await self._database.write(lambda query: query.run(sql, user_key(user)))
