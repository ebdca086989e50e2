"""Broadcasts in RAM: the reference."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from core.features.broadcast.broadcasts import DRAFT_KEPT, Broadcast, Broadcasts, BroadcastState, Reach, Tally
from core.types import Locale, UserKey


class InMemoryBroadcasts(Broadcasts):
    """Everything is gone with the process."""

    def __init__(self) -> None:
        self._all: dict[int, Broadcast] = {}
        self._reached: dict[int, dict[UserKey, Reach]] = {}
        self._next = 1

    async def draft(self, by: UserKey, locale: Locale, text: str, at: datetime) -> Broadcast:
        """Keep a text that nobody was told yet, in place of the person's earlier one; drafts of yesterday go."""
        for number, each in list(self._all.items()):
            if each.state is BroadcastState.DRAFT and (each.by == by or each.at < at - DRAFT_KEPT):
                del self._all[number]
        drafted = Broadcast(self._next, at, by, locale, text)
        self._next += 1
        self._all[drafted.id] = drafted
        return drafted

    async def newest(self) -> Broadcast | None:
        """Return the one that runs, or ran last."""
        return next((each for each in self._all.values() if each.state is not BroadcastState.DRAFT), None)

    async def discard(self, number: int) -> bool:
        """Forget a draft. False, and nothing changed, if it is none."""
        found = self._all.get(number)
        if found is None or found.state is not BroadcastState.DRAFT:
            return False
        del self._all[number]
        return True

    async def begin(self, number: int, recipients: Sequence[UserKey]) -> bool:
        """Let a draft run, for those people; the one before it is forgotten. False, if it is none, or another runs."""
        found, before = self._all.get(number), await self.newest()
        if (
            found is None
            or found.state is not BroadcastState.DRAFT
            or (before and before.state is BroadcastState.RUNNING)
        ):
            return False
        if before is not None:
            del self._all[before.id]
        self._all[number] = replace(found, state=BroadcastState.RUNNING)
        self._reached[number] = dict.fromkeys(recipients, Reach.WAITING)
        return True

    async def take(self, number: int, platforms: Collection[str]) -> tuple[UserKey, bool] | None:
        """Note that the next on one of those platforms is being told, and return them; None, if nobody waits there."""
        reached = self._reached.get(number, {})
        for wanted in (Reach.SENDING, Reach.WAITING):
            for user, reach in sorted(reached.items(), key=lambda item: (item[0].platform, item[0].user)):
                if reach is wanted and user.platform in platforms:
                    reached[user] = Reach.SENDING
                    return user, reach is Reach.SENDING
        return None

    async def mark(self, number: int, user: UserKey, reach: Reach | None) -> None:
        """Record whether somebody has it; with None, remove them from the recipients."""
        if user in self._reached.get(number, {}) and reach is not None:
            self._reached[number][user] = reach
        elif reach is None:
            self._reached.get(number, {}).pop(user, None)

    async def end(self, number: int, state: BroadcastState) -> bool:
        """Let one that runs be over, and keep no word of it. False, and nothing changed, if it does not run."""
        found = self._all.get(number)
        if found is None or found.state is not BroadcastState.RUNNING:
            return False
        self._all[number] = replace(found, state=state, text="")
        return True

    async def tally(self, number: int) -> Tally:
        """Return how far it has come."""
        reached = list(self._reached.get(number, {}).values())
        waiting = reached.count(Reach.WAITING) + reached.count(Reach.SENDING)
        return Tally(reached.count(Reach.TOLD), reached.count(Reach.UNREACHABLE), waiting)

    async def forget(self, user: UserKey) -> None:
        """Keep nothing of that person: neither that they were to be told, nor that a broadcast is theirs."""
        for reached in self._reached.values():
            reached.pop(user, None)
        for number, each in list(self._all.items()):
            if each.by == user and each.state is BroadcastState.DRAFT:
                del self._all[number]
            elif each.by == user:
                self._all[number] = replace(each, by=None)
