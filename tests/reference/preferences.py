"""What people chose, in RAM: the reference."""

from __future__ import annotations

from core.features.preferences.store import PreferenceStore
from core.types import Preferences, UserKey


class InMemoryPreferences(PreferenceStore):
    """Everything is gone with the process."""

    def __init__(self) -> None:
        self._chosen: dict[UserKey, Preferences] = {}

    async def of(self, user: UserKey) -> Preferences:
        """Return what they chose; the defaults, where they chose nothing."""
        return self._chosen.get(user, Preferences())

    async def put(self, user: UserKey, preferences: Preferences) -> None:
        """Keep what they chose, in place of what they chose before."""
        self._chosen[user] = preferences

    async def forget(self, user: UserKey) -> None:
        """Go back to the defaults, and keep nothing of them."""
        self._chosen.pop(user, None)
