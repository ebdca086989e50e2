"""The actions on reminders, in the order in which limited mode reads a sentence: "don't remind me" sets none."""

from __future__ import annotations

from core.actions.action import Action
from core.features.reminders.actions.cancel import reminder_cancel
from core.features.reminders.actions.list import reminder_list
from core.features.reminders.actions.set import reminder_set
from core.features.reminders.service import Reminders


def reminder_actions(reminders: Reminders) -> tuple[Action, ...]:
    """Return the actions, which work on those reminders."""
    return reminder_cancel(reminders), reminder_list(reminders), reminder_set(reminders)


__all__ = ["reminder_actions"]
