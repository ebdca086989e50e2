"""The port of the store that holds what each person chose."""

from __future__ import annotations

from typing import Protocol

from core.types import Preferences, UserKey


class PreferenceStore(Protocol):
    """What each person chose."""

    async def of(self, user: UserKey) -> Preferences:
        """Return what they chose; the defaults, where they chose nothing."""
        ...

    async def put(self, user: UserKey, preferences: Preferences) -> None:
        """Keep what they chose, in place of what they chose before."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Go back to the defaults, and keep nothing of them."""
        ...
