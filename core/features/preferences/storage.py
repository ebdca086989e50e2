"""What people chose, in SQLite. Knows rows. Does not know what a choice changes."""

from __future__ import annotations

from core.features.preferences.store import PreferenceStore
from core.storage.sqlite import Database
from core.text.language import from_tag
from core.types import Preferences, UserKey


class SqlitePreferences(PreferenceStore):
    """One row a person who chose something."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, user: UserKey) -> Preferences:
        """Return what they chose; the defaults, where they chose nothing."""
        rows = await self._database.rows(
            "SELECT language, remembers, news FROM preferences WHERE platform = ? AND user = ?",
            (user.platform, user.user),
        )
        if not rows:
            return Preferences()
        [(language, remembers, news)] = rows
        return Preferences(
            language=from_tag(language),
            remembers=bool(remembers),
            news=bool(news),
        )

    async def put(self, user: UserKey, preferences: Preferences) -> None:
        """Keep what they chose, in place of what they chose before."""
        async with self._database.transaction() as transaction:
            await transaction.run(
                """
                INSERT INTO preferences (platform, user, language, remembers, news) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (platform, user) DO UPDATE SET language = excluded.language,
                    remembers = excluded.remembers, news = excluded.news
                """,
                (
                    user.platform,
                    user.user,
                    preferences.language or "",
                    preferences.remembers,
                    preferences.news,
                ),
            )

    async def forget(self, user: UserKey) -> None:
        """Go back to the defaults, and keep nothing of them."""
        async with self._database.transaction() as transaction:
            await transaction.run("DELETE FROM preferences WHERE platform = ? AND user = ?", (user.platform, user.user))
