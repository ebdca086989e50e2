"""The one screen that everybody at a terminal looks at. Knows that there is no other place to write to."""

from __future__ import annotations

from core.ports import Surface, Surfaces
from core.types import Incoming, UserKey


class OneScreen(Surfaces):
    """Whatever is said, is said here."""

    def __init__(self, surface: Surface) -> None:
        """Write to that surface."""
        self._surface = surface

    def again(self, incoming: Incoming) -> Surface:
        """Return the screen."""
        del incoming
        return self._surface

    def private(self, user: UserKey) -> Surface:
        """Return the screen."""
        del user
        return self._surface
