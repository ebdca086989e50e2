"""What we owe an answer to, in a dict: the reference, for tests and for those who keep nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.stores import LATEST, Accepted, Backlog, Inbox, Replaced
from core.types import ChatKey, Incoming, UserKey


@dataclass(slots=True)
class _Row:
    incoming: Incoming
    owed: bool = True
    posted: Sequence[str] | None = None
    sealed: bool = False


class InMemoryInbox(Inbox):
    """Gone with the process. Rows are in the order of their arrival."""

    def __init__(self) -> None:
        self._rows: dict[tuple[ChatKey, str], _Row] = {}

    async def accept(self, incoming: Incoming) -> Accepted | None:
        """Keep it. None for a known version, and for an edit that comes too late."""
        if not self._is_wanted(incoming):
            return None
        self._rows[_key(incoming)] = _Row(incoming)
        return Accepted()

    async def take_over(self, edit: Incoming) -> Replaced:
        """Close the earlier versions of a message, and keep what is posted for them for this one; return both."""
        this, earlier = self._rows[_key(edit)], self._earlier(edit)
        last = earlier[-1] if earlier else None
        answered = last is not None and not last.owed and last.posted is not None
        this.posted = tuple(handle for row in (*earlier, this) for handle in row.posted or ())
        for row in earlier:
            row.owed, row.posted = False, None
        return Replaced(tuple(row.incoming.message_id for row in earlier), this.posted, answered=answered)

    async def close(self, incoming: Incoming) -> None:
        """Mark it answered, with its earlier versions."""
        row = self._rows.get(_key(incoming))
        if row is not None and row.owed:
            row.owed, row.posted = False, row.posted or ()
            for earlier in self._earlier(incoming) if incoming.edits else ():
                earlier.owed, earlier.posted = False, None

    async def seal(self, incoming: Incoming) -> None:
        """Take no edit of an answered message from now on."""
        row = self._rows.get(_key(incoming))
        if row is not None and not row.owed:
            row.sealed = True

    async def put_posted(self, incoming: Incoming, handles: Sequence[str]) -> None:
        """Record what stands on the screen for it."""
        row = self._rows.get(_key(incoming))
        if row is not None and row.owed:
            row.posted = tuple(handles)

    async def question(self, user: UserKey, chat: str, handle: str) -> tuple[ChatKey, str] | None:
        """Return where the user said what that message of the chat answers, and its id; None if it answers nothing."""
        mine = [key for key, row in self._rows.items() if row.incoming.user == user and key[0].chat == chat]
        found = [key for key in mine if handle in (self._rows[key].posted or ())]
        return found[-1] if found and handle else None

    async def purge(self, before: datetime, limit: int) -> int:
        """Forget answered messages that were sent before then."""
        old = [key for key, row in self._rows.items() if not row.owed and row.incoming.at < before][:limit]
        for key in old:
            del self._rows[key]
        return len(old)

    async def owed(self, platform: str, chats: Collection[str] | None = None) -> Mapping[Incoming, Sequence[str]]:
        """Map what was accepted on that platform and not closed, oldest first, to the handles recorded for it."""
        rows = [row for row in self._rows.values() if row.owed and row.incoming.chat.platform == platform]
        rows = [row for row in rows if chats is None or row.incoming.chat.chat in chats]
        return {row.incoming: row.posted or () for row in rows if self._versions(row.incoming)[-1] is row}

    async def backlog(self) -> Mapping[str, Backlog]:
        """Map each platform to what is owed on it."""
        platforms = {row.incoming.chat.platform for row in self._rows.values()}
        owed = {platform: await self.owed(platform) for platform in platforms}
        return {name: Backlog(len(each), min(one.at for one in each)) for name, each in owed.items() if each}

    async def forget(self, user: UserKey) -> None:
        """Remove everything of that person's."""
        self._rows = {key: row for key, row in self._rows.items() if row.incoming.user != user}

    def _is_wanted(self, incoming: Incoming) -> bool:
        known = self._versions(incoming)
        if not known:
            return True
        if not incoming.edits or _key(incoming) in self._rows:
            return False
        later = list(self._rows.values())
        later = [row for row in later[later.index(known[-1]) + 1 :] if row.incoming.user == incoming.user]
        here = [row for row in later if row.incoming.chat == incoming.chat]
        return known[-1].owed or (not known[-1].sealed and len(here) < LATEST)

    def _versions(self, incoming: Incoming) -> list[_Row]:
        rows = [row for row in self._rows.values() if row.incoming.chat == incoming.chat]
        return [row for row in rows if row.incoming.original_id == incoming.original_id]

    def _earlier(self, incoming: Incoming) -> list[_Row]:
        versions = self._versions(incoming)
        return versions[: versions.index(self._rows[_key(incoming)])]


def _key(incoming: Incoming) -> tuple[ChatKey, str]:
    return incoming.chat, incoming.message_id
