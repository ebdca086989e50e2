"""Numbers of the memory list that was shown last in a conversation, kept in RAM."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from core.types import ConversationKey, UserKey

_MAX_LISTS: Final = 1000


class ListedMemories:
    """Which memory each number stands for, per conversation, until the next list there or the next start."""

    def __init__(self) -> None:
        self._lists: dict[ConversationKey, Mapping[int, str]] = {}

    def put(self, conversation: ConversationKey, memory_ids: Mapping[int, str]) -> None:
        """Keep a list that was just shown; the oldest lists go first."""
        self._lists.pop(conversation, None)
        if len(self._lists) >= _MAX_LISTS:
            self._lists.pop(next(iter(self._lists)))
        self._lists[conversation] = memory_ids

    def memory_id(self, conversation: ConversationKey, number: int) -> str:
        """Return the id of the memory that has the number in the last list there, or ""."""
        return self._lists.get(conversation, {}).get(number, "")

    def forget(self, accounts: Collection[UserKey]) -> None:
        """Drop the lists shown to these accounts."""
        self._lists = {where: ids for where, ids in self._lists.items() if where.user not in accounts}
