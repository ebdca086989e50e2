"""The port of the store that holds what each person chose."""

from __future__ import annotations

from typing import Protocol

from core.types import Preferences, UserKey


class PreferenceStore(Protocol):
    """What each person chose."""

    async def of(self, user: UserKey) -> Preferences:
        """Return a person's choices, with the defaults for what they did not choose."""
        ...

    async def put(self, user: UserKey, preferences: Preferences) -> None:
        """Store a person's choices, in place of those before."""
        ...

    async def forget(self, user: UserKey) -> None:
        """Delete a person's choices; the defaults hold again."""
        ...
