"""What has to outlive the process: groups that became supergroups, and the menus that staff were given.

Knows a small JSON file, written whole. Does not know any message.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

_LOG = logging.getLogger(__name__)


class State:
    """Without a path, nothing outlives the process. A group is known by its first id for ever: that is its home."""

    def __init__(self, path: Path | None = None) -> None:
        """Read the file. A missing or damaged one is an empty one."""
        self._path = path
        self._moved: dict[int, int] = {}
        self._homes: dict[int, int] = {}
        self._menus: dict[int, str] = {}
        if path is not None and path.exists():
            self._load(path)

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
        """Note that the group became that supergroup."""
        home = self.home(old)
        if self._moved.get(home) != new and home != new:
            self._moved[home], self._homes[new] = new, home
            _LOG.info("a group became a supergroup", extra={"chat": home, "now": new})
            self._save()

    def put_menu(self, chat_id: int, fingerprint: str) -> None:
        """Note which menu that private chat has; "" for none of its own."""
        if fingerprint:
            self._menus[chat_id] = fingerprint
        else:
            self._menus.pop(chat_id, None)
        self._save()

    def _load(self, path: Path) -> None:
        try:
            kept = json.loads(path.read_text("utf-8"))
            self._moved = {int(old): int(new) for old, new in kept["moved"].items()}
            self._homes = {new: old for old, new in self._moved.items()}
            self._menus = {int(chat): str(menu) for chat, menu in kept["menus"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            _LOG.warning("telegram's state not read", extra={"error": type(error).__name__})

    def _save(self) -> None:
        if self._path is None:
            return
        aside = self._path.with_suffix(".new")
        try:
            aside.write_text(json.dumps({"moved": self._moved, "menus": self._menus}), "utf-8")
            os.replace(aside, self._path)  # noqa: PTH105 (atomic, whatever was there)
        except OSError as error:
            _LOG.warning("telegram's state not written", extra={"error": type(error).__name__})
