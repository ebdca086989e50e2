"""Reminders in RAM: the reference."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count

from core.features.reminders.reminders import LEASE, OPEN, Claim, Reminder, ReminderStore, State
from core.types import UserKey

_FAR = datetime.max.replace(tzinfo=UTC)


class InMemoryReminders(ReminderStore):
    """Everything is gone with the process. `_held` is until when a reminder cannot be claimed, besides its due time."""

    def __init__(self) -> None:
        self._all: dict[str, Reminder] = {}
        self._held: dict[str, datetime] = {}
        self._numbers = count(1)

    async def add(self, reminder: Reminder, *, most: int) -> Reminder | None:
        """Keep a new reminder and return it with its id; None if that account has `most` open ones."""
        if len(await self.of([reminder.user])) >= most:
            return None
        added = replace(reminder, id=f"r{next(self._numbers)}")
        self._all[added.id] = added
        return added

    async def find(self, users: Sequence[UserKey], reminder_id: str) -> Reminder | None:
        """Return the person's reminder of that id, in any state, or None."""
        found = self._all.get(reminder_id)
        return found if found is not None and found.user in users else None

    async def whose(self, reminder_id: str) -> tuple[UserKey, str] | None:
        """Return the account that set that reminder, and the person's name; None if there is none."""
        found = self._all.get(reminder_id)
        return None if found is None else (found.user, found.name)

    async def of(self, users: Sequence[UserKey], states: Collection[State] = OPEN) -> Sequence[Reminder]:
        """Return the person's reminders in those states, the next due first, those without a due time last."""
        return _by_due(each for each in self._all.values() if each.user in users and each.state in states)

    async def in_batch(self, users: Sequence[UserKey], batch: str) -> Sequence[Reminder]:
        """Return the person's reminders that were said in that batch."""
        return _by_due(each for each in self._all.values() if each.user in users and batch == each.batch != "")

    async def replace(self, old: Reminder, new: Reminder) -> bool:
        """Keep `new` in place of `old`; return False, changing nothing, if it is not `old` any more."""
        if self._all.get(old.id) != old:
            return False
        self._all[old.id] = new
        if new.state is not State.SENDING:
            self._held.pop(old.id, None)
        return True

    async def purge(self, before: datetime, removed_before: datetime) -> None:
        """Delete those fired for the last time or given up before then, and those removed before `removed_before`."""
        for each in list(self._all.values()):
            over = each.state in {State.DONE, State.FAILED} and all(
                at < before for at in (each.created_at, each.sent_at, each.due) if at is not None
            )
            removed = each.state is State.REMOVED and (each.changed_at or each.created_at) < removed_before
            if over or removed:
                del self._all[each.id]

    async def next_due(self, platforms: Collection[str], busy: Collection[str] = ()) -> datetime | None:
        """Return when the next reminder on those platforms, not in those chats, can be claimed; None if none waits."""
        return min((at for each, at in self._claimable(platforms) if each.chat.chat not in busy), default=None)

    async def claim(self, claim: Claim) -> Sequence[Reminder]:
        """Mark due reminders SENDING until `now + LEASE`, with one more in `tries`; return them, the longest due first.

        Those of one person in one chat, of one kind and as many failures get a new `batch` in common.
        """
        due = sorted(((at, each.id) for each, at in self._claimable(claim.platforms) if at <= claim.now))
        free = [reminder_id for _, reminder_id in due if self._all[reminder_id].chat.chat not in claim.busy]
        places = {(self._all[reminder_id].user, self._all[reminder_id].chat) for reminder_id in free[: claim.limit]}
        batches: dict[object, str] = {}
        claimed: list[Reminder] = []
        for reminder_id in free:
            each = self._all[reminder_id]
            if (each.user, each.chat) not in places:
                continue
            key = (each.user, each.chat, each.kind, each.failures)
            batch = batches.setdefault(key, f"b{next(self._numbers)}")
            self._all[each.id] = replace(each, state=State.SENDING, tries=each.tries + 1, batch=batch)
            self._held[each.id] = claim.now + LEASE
            claimed.append(self._all[each.id])
        return _by_due(claimed)

    async def renew(self, claimed: Sequence[Reminder], now: datetime) -> None:
        """Hold those claims until `now + LEASE`, as far as nobody else has claimed the reminders since."""
        for each in claimed:
            held = self._all.get(each.id)
            if held is not None and held.state is State.SENDING and held.batch == each.batch:
                self._held[each.id] = now + LEASE

    async def settle(self, outcomes: Sequence[tuple[Reminder, Reminder]], retry_at: datetime | None = None) -> None:
        """End claims: keep what became of each claimed reminder (claimed, settled)."""
        for claimed, settled in outcomes:
            held = self._all.get(claimed.id)
            if held is None or held.batch != claimed.batch:
                continue
            self._all[held.id] = replace(held, sent_at=settled.sent_at)
            if held.state is not State.SENDING:
                continue
            self._held.pop(held.id, None)
            if held.due != claimed.due:
                self._all[held.id] = replace(self._all[held.id], state=State.WAITING, tries=0)
                continue
            self._all[held.id] = replace(settled, text=held.text, changed_at=held.changed_at, before=held.before)
            if retry_at is not None:
                self._held[held.id] = retry_at

    async def release(self, platforms: Collection[str]) -> None:
        """End every lease on those platforms."""
        for each in self._all.values():
            if each.user.platform in platforms and each.state is State.SENDING:
                self._held.pop(each.id, None)

    async def newest_change(self, users: Sequence[UserKey]) -> Reminder | None:
        """Return the reminder that the person changed last, if that change can be taken back, or None."""
        changed = [(each.changed_at, each.id) for each in self._all.values() if each.user in users and each.changed_at]
        return self._all[max(changed)[1]] if changed else None

    async def forget(self, user: UserKey) -> None:
        """Keep no reminder of that account."""
        self._all = {each.id: each for each in self._all.values() if each.user != user}

    def _claimable(self, platforms: Collection[str]) -> list[tuple[Reminder, datetime]]:
        """Return what waits on those platforms, each with the time from which it can be claimed."""
        return [
            (each, max(each.due, self._held.get(each.id, each.due)))
            for each in self._all.values()
            if each.due is not None and each.user.platform in platforms and each.state in {State.WAITING, State.SENDING}
        ]


def _by_due(reminders: Iterable[Reminder]) -> Sequence[Reminder]:
    return sorted(reminders, key=lambda each: (each.due or _FAR, each.created_at, each.id))
