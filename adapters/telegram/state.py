"""What outlives the process: groups that became supergroups, and the menus that staff were given.

All workers of the bot keep it together, each with a copy in RAM.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from adapters.running import understood
from core.stores import KeptStore

_LOG = logging.getLogger(__name__)

_NAME: Final = "telegram"
_MOST_MET: Final = 4096


@dataclass(slots=True)
class _Kept:
    """Present ids of groups by their first ones, and the fingerprint of each private chat's own menu."""

    moved: dict[int, int] = field(default_factory=dict)
    menus: dict[int, str] = field(default_factory=dict)


class State:
    """A group is known by its first id for ever: that is its home."""

    def __init__(self, store: KeptStore) -> None:
        self._store = store
        self._kept = _Kept()
        self._homes: dict[int, int] = {}
        self._met: set[int] = set()  # groups of which all is known that others knew when they were heard of first

    async def load(self) -> None:
        """Read what is kept.

        Raises:
            StorageError: it cannot be read.
        """
        self._hold(await self._store.get(_NAME))

    async def meet(self, chat_id: int) -> None:
        """Learn what another worker may know of a group that this one hears of for the first time.

        The first thing that is said in a supergroup is that it was a group, and whoever takes that records it before
        anything else of it is taken.

        Raises:
            StorageError: it cannot be read.
        """
        if chat_id >= 0 or chat_id in self._met:
            return
        if chat_id not in self._homes:
            await self.load()
        if len(self._met) >= _MOST_MET:
            self._met.clear()
        self._met.add(chat_id)

    @property
    def menus(self) -> dict[int, str]:
        """Map each private chat that has a menu of its own to the fingerprint of that menu; a copy."""
        return dict(self._kept.menus)

    def home(self, chat_id: int) -> int:
        """Return the id by which that chat is known here."""
        return self._homes.get(chat_id, chat_id)

    def address(self, chat_id: int) -> int:
        """Return the id by which Telegram knows the chat now."""
        return self._kept.moved.get(chat_id, chat_id)

    async def moved(self, old: int, new: int) -> None:
        """Record that a group became a supergroup.

        Raises:
            StorageError: other workers, and the next process, do not know of it.
        """
        home = self.home(old)
        if self._kept.moved.get(home) == new or home == new:
            return
        _LOG.info("a group became a supergroup", extra={"chat": home, "now": new})
        self._kept.moved[home], self._homes[new] = new, home  # also if that cannot be written

        def move(kept: _Kept) -> None:
            kept.moved[home] = new

        await self._change(move)

    async def put_menu(self, chat_id: int, fingerprint: str) -> None:
        """Record which menu a private chat has; "" for none of its own.

        Raises:
            StorageError: it was not recorded.
        """

        def put(kept: _Kept) -> None:
            kept.menus.pop(chat_id, None)
            if fingerprint:
                kept.menus[chat_id] = fingerprint

        await self._change(put)

    async def _change(self, change: Callable[[_Kept], None]) -> None:
        """Change what is kept, among the workers that do so, too."""

        def changed(text: str | None) -> str:
            kept = understood(text, _read, _Kept())
            change(kept)
            return json.dumps({"moved": kept.moved, "menus": kept.menus})

        self._hold(await self._store.change(_NAME, changed))

    def _hold(self, text: str | None) -> None:
        self._kept = understood(text, _read, _Kept())
        self._homes = {new: old for old, new in self._kept.moved.items()}


def _read(kept: Any) -> _Kept:
    return _Kept(
        {int(old): int(new) for old, new in kept["moved"].items()},
        {int(chat): str(menu) for chat, menu in kept["menus"].items()},
    )
