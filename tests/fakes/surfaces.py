"""A platform on which everything is said in one place, or where the test says."""

from __future__ import annotations

from collections.abc import Callable

from core.ports import Surface, Surfaces
from core.types import Incoming, UserKey


class OneSurface(Surfaces):
    """Writes everything into one surface; `opened` are the messages that were asked for again."""

    def __init__(self, surface: Surface, private: Callable[[UserKey], Surface] | None = None) -> None:
        self._surface = surface
        self._private = private
        self.opened: list[Incoming] = []

    def again(self, incoming: Incoming) -> Surface:
        self.opened.append(incoming)
        return self._surface

    def private(self, user: UserKey) -> Surface:
        return self._surface if self._private is None else self._private(user)
