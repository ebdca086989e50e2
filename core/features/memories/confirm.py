"""/confirm: a person agrees to what they were asked, or not: by a button, or in words (`answered`)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, TypeVar

from core import outcomes
from core.actions.audience import narrowed_text
from core.actions.buttons import erase_button, undo_button
from core.actions.memory_delete import NAME as MEMORY_DELETE
from core.actions.memory_delete import WRITING as DELETING
from core.actions.memory_update import NAME as MEMORY_UPDATE
from core.actions.memory_update import WRITING as UPDATING
from core.actions.memory_update import rewrite
from core.actions.proposal import PROPOSALS, Deletion, Proposal, Rewrites
from core.commands.command import Command, Request
from core.confirmations import Arrival, Confirmations
from core.dialogue import Outcome, Step
from core.text.catalogue import forms, text
from core.text.plural import counted
from core.text.replies import means_deletion, means_no, means_yes, numbered
from core.types import ChangeKind, Incoming, MemoryItem, Message, MessageRole

YES, NO = "yes", "no"
MAX_NUMBERS: Final = 50
Each = TypeVar("Each")


async def answered(confirmations: Confirmations, incoming: Incoming, arrival: Arrival) -> str:
    """Return the command that says what the person answers to what they were asked; "" where it is no answer.

    Whatever is not plainly an answer lets the question go. A button does not: what it does stands in its command.
    """
    text, here = incoming.text, incoming.conversation
    waiting = await confirmations.waiting(here, arrival, *PROPOSALS)
    if waiting is not None:
        code, proposal = waiting
        if text.startswith("/") and text.split()[-1].upper() == code:
            return ""  # it is the answer, typed as a command
        chosen = numbered(text, _count(proposal))
        if means_yes(text) or (isinstance(proposal, Deletion) and means_deletion(text)):
            return f"/confirm {YES} {code}"
        if means_no(text):
            return f"/confirm {NO} {code}"
        if chosen:
            return f"/confirm {YES} {code} {' '.join(str(at + 1) for at in chosen)}"
    await confirmations.drop(here, *PROPOSALS)
    return ""


async def confirm(request: Request, argument: str) -> None:
    """Do what was agreed to, all of it or what the numbers name, or leave everything as it is."""
    verb, code, *numbers = [*argument.casefold().split(), "", ""][: 2 + MAX_NUMBERS]
    here = request.incoming.conversation
    if not request.incoming.pressed and not request.incoming.text.startswith("/"):  # they said it in words
        said = Message(MessageRole.USER, request.incoming.text, source_id=request.incoming.message_id)
        await request.turn.conversation.add(said)
    asked_at = await request.context.confirmations.asked_at(here)
    proposal: Proposal | None = await request.context.confirmations.take(here, code, *PROPOSALS)
    chosen = [int(number) - 1 for number in numbers if number.isdecimal()]
    if proposal is None or asked_at is None:
        await request.tell(NOT_OPEN)
    elif verb != YES:
        await request.turn.say(LEFT[request.locale], in_history=True)
    elif isinstance(proposal, Deletion):
        await delete(request, _of(proposal.memory_ids, chosen), asked_at)
    else:
        await _rewrite(request, Rewrites(tuple(_of(proposal.rewrites, chosen))), asked_at)


async def delete(request: Request, memory_ids: Sequence[str], asked_at: datetime) -> None:
    """Delete what was agreed on and is as it was shown, and tell what is gone."""
    await request.turn.status(DELETING[request.locale])
    same = await _as_shown(request, memory_ids, asked_at)
    deleted = await request.turn.memory.delete([item.id for item in same])
    gone = ChangeKind.DELETED
    request.turn.steps.append(Step(MEMORY_DELETE, Outcome.DONE, items=tuple(deleted), writes=gone))
    lines = [outcomes.written(gone, deleted, request.locale)] if deleted else []
    lines += _not_done(request, ChangeKind.DELETED, len(memory_ids) - len(deleted), some=bool(deleted))
    left = await request.turn.memory.count()
    if len(deleted) > 1 and left:
        lines.append(counted(STAYS, request.locale, left))
    choices = (*await undo_button(request.turn), *erase_button(request.locale, deleted))
    await request.turn.say("\n".join(lines), in_history=True, choices=choices)


async def _rewrite(request: Request, wanted: Rewrites, asked_at: datetime) -> None:
    """Make the changes of memories that are as they were shown, and tell what they are now."""
    turn = request.turn
    await turn.status(UPDATING[request.locale])
    same = {each.id: each for each in await _as_shown(request, [each.memory_id for each in wanted.rewrites], asked_at)}
    rewrites = [each for each in wanted.rewrites if each.memory_id in same] if turn.remembers else []
    updated = await rewrite(turn, rewrites)
    turn.steps.append(Step(MEMORY_UPDATE, Outcome.DONE, items=tuple(updated), writes=ChangeKind.UPDATED))
    lines = [outcomes.written(ChangeKind.UPDATED, updated, request.locale)] if updated else []
    lines += _not_done(request, ChangeKind.UPDATED, len(wanted.rewrites) - len(updated), some=bool(updated))
    if fewer := narrowed_text(turn, list(same.values()), updated):
        lines.append(fewer)
    await turn.say("\n".join(lines), in_history=True, choices=await undo_button(turn))


async def _as_shown(request: Request, memory_ids: Sequence[str], asked_at: datetime) -> list[MemoryItem]:
    """Return those of the memories that are there, and did not change since they were shown."""
    items = await request.turn.memory.get(memory_ids)
    return [item for item in items if item.updated_at <= asked_at]


def _not_done(request: Request, kind: ChangeKind, count: int, *, some: bool) -> list[str]:
    if not count:
        return []
    if some:
        return [counted(CHANGED_SINCE, request.locale, count)]
    return [f"{outcomes.NOTHING[kind][request.locale]} {GONE[request.locale]}"]


def _count(proposal: object) -> int:
    match proposal:
        case Deletion(each) | Rewrites(each):
            return len(each)
        case _:
            return 0


def _of(each: Sequence[Each], chosen: Sequence[int]) -> Sequence[Each]:
    """Return the chosen ones; all, where none are named."""
    return [each[at] for at in chosen if 0 <= at < len(each)] if chosen else each


NOT_OPEN = text("memories.confirm.not_open")
LEFT = text("memories.confirm.left")
GONE = text("memories.confirm.gone")
CHANGED_SINCE = forms("memories.confirm.changed_since")
STAYS = forms("memories.confirm.stays")

CONFIRM = Command(
    "confirm",
    text("commands.confirm"),
    confirm,
    usage=" yes|no CODE",
    in_menus=False,
)
