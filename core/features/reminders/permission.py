"""Decide whether a reminder that is due may be said, by the rights and switches that hold by then."""

from __future__ import annotations

from core.features.access.rules import Access
from core.features.admin.decisions import Decisions
from core.features.reminders.reminders import Reminder
from core.features.reminders.scheduler import Allowed, Permission
from core.hooks import Verdict
from core.types import Incoming


def permission_by(access: Access, decisions: Decisions) -> Allowed:
    """Return the function that decides: as for a message that the person would write there now."""

    async def allowed(reminder: Reminder) -> Permission:
        at = reminder.due or reminder.created_at
        # Without a name: the one that they had when it was set would take the place of the one that they have now.
        incoming = Incoming(reminder.chat, reminder.user, "", "", "", at, private=reminder.private)
        verdict = await access.recheck(incoming)
        if verdict is Verdict.TELL_PAUSED:
            return Permission.WAIT
        if verdict is not Verdict.ANSWER:
            return Permission.DROP
        if not reminder.private and await decisions.reminders_off(reminder.chat):
            return Permission.PRIVATE
        return Permission.FIRE

    return allowed
