"""What is kept by name, in RAM: the reference."""

from __future__ import annotations

from collections.abc import Callable

from core.stores import KeptStore


class InMemoryKept(KeptStore):
    """Everything is gone with the process."""

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    async def get(self, name: str) -> str | None:
        """Return what is kept under that name, or None."""
        return self._kept.get(name)

    async def put(self, name: str, value: str) -> None:
        """Keep the text, in place of what was kept under that name."""
        self._kept[name] = value

    async def delete(self, name: str) -> None:
        """Keep nothing under that name."""
        self._kept.pop(name, None)

    async def change(self, name: str, change: Callable[[str | None], str | None]) -> str | None:
        """Keep what `change` makes of what is kept (None: nothing), and return it."""
        if (after := change(self._kept.get(name))) is None:
            self._kept.pop(name, None)
        else:
            self._kept[name] = after
        return after
