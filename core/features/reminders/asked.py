"""Read a message as the reply to an open question about reminders: which time, or which one to delete."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias
from zoneinfo import ZoneInfo

from core.features.reminders.mentions import only_replies
from core.features.reminders.request import read_request
from core.features.reminders.telling import Wish
from core.text.language import choose
from core.text.replies import means_no, means_yes, numbered
from core.times.grammar import find_time
from core.types import Incoming


@dataclass(frozen=True, slots=True)
class Removal:
    """The reminders of which one is to be deleted, as the person was shown them."""

    reminder_ids: tuple[str, ...]


Question: TypeAlias = Wish | Removal
QUESTIONS: Final = (Wish, Removal)


def reply(code: str, asked: Question, incoming: Incoming) -> str:
    """Return the command that the message stands for as a reply to that question; "" if it is none."""
    text = incoming.text
    if isinstance(asked, Removal):
        chosen = numbered(text, len(asked.reminder_ids)) or ()
        return f"/reminders delete {asked.reminder_ids[chosen[0]]}" if len(chosen) == 1 else ""
    if means_no(text) or _names_time(asked, incoming):
        return f"/remind at {code} {text}"
    chosen = numbered(text, len(asked.options)) or ()
    if means_yes(text) and len(asked.options) == 1:
        chosen = (0,)
    return f"/remind pick {code} {chosen[0] + 1}" if len(chosen) == 1 else ""


def _names_time(asked: Wish, incoming: Incoming) -> bool:
    """Return whether a message says little more than a time."""
    zone = ZoneInfo(asked.options[0].zone if asked.options else "UTC")
    now: datetime = incoming.at.astimezone(zone)
    locale = choose(incoming.text, incoming.language)
    if incoming.text.rstrip().endswith("?") or read_request(incoming.text, now, locale) is not None:
        return False
    found = find_time(incoming.text, now, locale)
    return found is not None and only_replies(found.without(incoming.text))
