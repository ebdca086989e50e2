"""What outlives the process, in one small file: groups that became supergroups, and the menus that staff were given."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from adapters.running import StateFile

_LOG = logging.getLogger(__name__)


class State:
    """A group is known by its first id for ever: that is its home. Without a path nothing outlives the process."""

    def __init__(self, path: Path | None = None) -> None:
        """Read the file."""
        self._file = StateFile(path)
        self._moved: dict[int, int] = {}
        self._homes: dict[int, int] = {}
        self._menus: dict[int, str] = {}
        self._file.load(self._read)

    @property
    def menus(self) -> dict[int, str]:
        """Map each private chat that has a menu of its own to the fingerprint of that menu; a copy."""
        return dict(self._menus)

    def home(self, chat_id: int) -> int:
        """Return the id by which that chat is known here."""
        return self._homes.get(chat_id, chat_id)

    def address(self, chat_id: int) -> int:
        """Return the id by which Telegram knows the chat now."""
        return self._moved.get(chat_id, chat_id)

    def moved(self, old: int, new: int) -> None:
        """Record that a group became a supergroup."""
        home = self.home(old)
        if self._moved.get(home) != new and home != new:
            self._moved[home], self._homes[new] = new, home
            _LOG.info("a group became a supergroup", extra={"chat": home, "now": new})
            self._save()

    def put_menu(self, chat_id: int, fingerprint: str) -> None:
        """Record which menu a private chat has; "" for none of its own."""
        if fingerprint:
            self._menus[chat_id] = fingerprint
        else:
            self._menus.pop(chat_id, None)
        self._save()

    def _read(self, kept: Any) -> None:
        self._moved = {int(old): int(new) for old, new in kept["moved"].items()}
        self._homes = {new: old for old, new in self._moved.items()}
        self._menus = {int(chat): str(menu) for chat, menu in kept["menus"].items()}

    def _save(self) -> None:
        self._file.save({"moved": self._moved, "menus": self._menus})
