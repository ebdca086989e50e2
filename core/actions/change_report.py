"""What is shown below the report of a change: buttons to undo it, and a note when fewer rooms know a memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.answering.confirmations import Offer
from core.answering.turn import Turn
from core.outgoing import Button
from core.text.catalogue import counted, forms, text
from core.text.unicode import one_line
from core.types import Locale, MemoryItem

BOTH: Final = "both"
"""In place of an act, before it: what it saved is saved again once it is undone."""

ERASE = text("actions.erase")
UNDO = text("actions.undo")
DELETED = forms("memories.confirm.deleted")
KEEP_BOTH = text("resolve.keep_both")
ONLY_IN_PRIVATE = text("actions.audience.only_in_private")
ONLY_HERE = text("actions.audience.only_here")


def erase_button(locale: Locale, deleted: Sequence[MemoryItem]) -> tuple[Button, ...]:
    """Return the button that deletes the messages which told the deleted memories; none if they rest on no message."""
    said = [item for item in deleted if item.source_ids]
    if not said:
        return ()
    return (Button(ERASE[locale], f"/forget said {said[0].id}" if len(said) == 1 else "/forget said", in_place=True),)


async def undo_button(turn: Turn, earlier: str = "") -> tuple[Button, ...]:
    """Return the button that undoes the changes of this turn, or of an `earlier` one; none if there are none."""
    memory, act = turn.memory, earlier or turn.memory.context.act
    if not act or not memory.undo_within:
        return ()
    if not await memory.store.changes(memory.owner, act=act, not_undone=True, limit=1):
        return ()
    return (Button(UNDO[turn.person.locale], f"/undo {act}", in_place=True),)


async def open_offers(turn: Turn, offers: Sequence[Button], about: str) -> None:
    """Let a plain yes press those buttons, for as long as it answers questions."""
    here = turn.conversation.thread.conversation
    for button in offers:
        await turn.services.confirmations.ask(here, Offer(button.command), f"{button.label} {one_line(about, 80)}")


async def deleted_text(turn: Turn, memory_ids: Sequence[str], deleted: Sequence[MemoryItem]) -> str:
    """Return the sentence on those that were deleted before a restart, and whose words are gone since; or ""."""
    known = {item.id for item in deleted}
    gone = [key for key in (await turn.memory.done()).deleted if key in memory_ids and key not in known]
    return counted(DELETED, turn.person.locale, len(gone)) if gone else ""


def keep_both_button(turn: Turn) -> Button:
    """Return the button that makes the old words current again beside those that this turn put in their place."""
    return Button(KEEP_BOTH[turn.person.locale], f"/undo {BOTH} {turn.memory.context.act}", in_place=True)


def is_narrowed(before: MemoryItem, after: MemoryItem) -> bool:
    """Return whether the bot may speak of the memory in fewer rooms than before."""
    return not after.shared and (before.shared or not set(before.rooms) <= set(after.rooms))


def narrowed_text(turn: Turn, before: Sequence[MemoryItem], after: Sequence[MemoryItem]) -> str:
    """Return the sentence about memories known in fewer rooms than before, as new words were not said there; or ""."""
    old = {item.id: item for item in before}
    fewer = [item for item in after if item.id in old and is_narrowed(old[item.id], item)]
    if not fewer:
        return ""
    if turn.memory.context.room:
        return ONLY_HERE[turn.person.locale]
    return ONLY_IN_PRIVATE[turn.person.locale].format(id=fewer[0].id if len(fewer) == 1 else "ID")
