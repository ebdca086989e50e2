"""/confirm: do what a person was asked to agree to, or drop it. No model is asked again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeVar

from core.actions.memory_delete import NAME as MEMORY_DELETE
from core.actions.memory_delete import WRITING as DELETING
from core.actions.memory_drafts import whole
from core.actions.memory_save import NAME as MEMORY_SAVE
from core.actions.memory_save import SaveResult, buttons, keep, propose, told
from core.actions.memory_update import NAME as MEMORY_UPDATE
from core.actions.memory_update import WRITING as UPDATING
from core.actions.memory_update import rewrite
from core.actions.proposal import (
    OFFERED_FOR,
    PROPOSALS,
    Deletion,
    Keeping,
    Proposal,
    Replacement,
    Rewrite,
    deleted_text,
    erase_button,
    narrowed_text,
    propose_deletion,
    propose_replacement,
    proposes,
    undo_button,
)
from core.answering import outcomes
from core.answering.confirmations import WhichOne, newest
from core.commands.command import Command, Request
from core.commands.menu import CONFIRM
from core.dialogue import Outcome, Step
from core.outgoing import Button
from core.stores import SaidMessage
from core.text.catalogue import Plurals, Sentences, counted, text
from core.types import (
    ChangeKind,
    Localized,
    MemoryDraft,
    MemoryItem,
    Message,
    MessageRole,
    UserKey,
    is_said_by_person,
)

MEMORIES_CONFIRM = Sentences("memories.confirm")
CONFIRM_PLURALS = Plurals("memories.confirm")

YES: Final = "yes"
SAVE: Final = "save"
WHICH: Final = "which"
SAID: Final = "said"
_MAX_ID_CHARS: Final = 18  # of a message's id, an integer of 64 bits
MAX_NUMBERS: Final = 50
Each = TypeVar("Each")


async def confirm(request: Request, argument: str) -> None:
    """Do all of the proposal, or the parts that the numbers name; with "no", leave everything as it is.

    Every other word leaves what was kept beside what it might replace.
    """
    verb, code, *numbers = [*argument.casefold().split(), "", ""][: 2 + MAX_NUMBERS]
    if verb == SAVE:  # no question: an open one stays open
        await _save(request, code, _places(numbers))
    elif verb == SAID:
        await _save_said(request, code)
    elif verb == WHICH:
        await _ask_which(request)
    else:
        await _answer(request, verb, code, _places(numbers))


async def _answer(request: Request, verb: str, code: str, chosen: Sequence[int]) -> None:
    """Do what the answer to an open proposal says."""
    if not request.incoming.pressed and not request.incoming.text.startswith("/"):  # they said it in words
        asked = request.turn.asked
        said = Message(MessageRole.USER, request.incoming.text, source_id=request.incoming.message_id)
        await request.turn.conversation.add(replace(said, room=asked.room, off_record=asked.off_record))
    proposal: Proposal | None = await request.confirmed(code, *PROPOSALS)
    if proposal is None:
        await request.refuse(NOT_OPEN)
    elif isinstance(proposal, Keeping | Replacement):
        await _on_message(request, proposal, verb, chosen)
    elif verb != YES:
        await request.answer.say(MEMORIES_CONFIRM.left[request.locale], in_history=True)
    elif isinstance(proposal, Deletion) and proposal.which and not chosen:
        await _ask_again(request, proposal)
    elif isinstance(proposal, Deletion):
        await delete(request, dict(_of([*zip(proposal.memory_ids, proposal.versions, strict=False)], chosen)))
    else:
        await _rewrite(request, _of(proposal.rewrites, chosen))


async def _ask_again(request: Request, proposal: Deletion) -> None:
    """Ask again which of those memories is to be deleted: a bare yes does not tell."""
    items = await _as_shown(request, dict(zip(proposal.memory_ids, proposal.versions, strict=False)))
    step = Step(MEMORY_DELETE, Outcome.NOTHING, detail=proposes(ChangeKind.DELETED), writes=ChangeKind.DELETED)
    if items:
        await propose_deletion(request.turn, step, items, which=True)
    else:
        await request.answer.say(MEMORIES_CONFIRM.left[request.locale], in_history=True)


async def _ask_which(request: Request) -> None:
    """Ask which of the questions that a word may answer is meant, each with a button that answers it so."""
    confirmations, here = request.turn.services.confirmations, request.incoming.conversation
    arrival = confirmations.arrived(request.incoming.at)
    found = await confirmations.all_open(here, arrival)
    if (waiting := newest(found, WhichOne)) is None:
        await request.tell(NOT_OPEN)
        return
    _, choice = waiting
    abouts = found[0].about.split("\n")
    lines = [
        MEMORIES_CONFIRM.which_one[request.locale],
        *(f"{number}. {about}" for number, about in enumerate(abouts, 1)),
    ]
    buttons = [Button(str(number), command, in_place=True) for number, command in enumerate(choice.commands, 1)]
    await request.answer.say("\n".join(lines), in_history=True, choices=buttons)


async def _on_message(request: Request, proposal: Keeping | Replacement, verb: str, chosen: Sequence[int]) -> None:
    """Carry out a proposal about what a message of the person's told, on which the memories rest."""
    turn = request.turn
    said = await _said(request, request.incoming.user, str(proposal.said_id))
    if verb != YES and isinstance(proposal, Replacement):
        await _keep_both(request, proposal)
    elif verb != YES:
        await turn.answer.say(MEMORIES_CONFIRM.not_kept[request.locale], in_history=True)
    elif not said:
        await request.tell(MEMORIES_CONFIRM.offer_over)
    elif why := _refused(request):
        await request.tell(why)
    elif isinstance(proposal, Keeping):
        drafts = _of(proposal.drafts, chosen if len(proposal.drafts) > 1 else ())
        await _keep(request, said[0].message, drafts)
    else:
        turn.log.asked = replace(said[0].message, turn=turn.asked.turn)
        await _replace(request, proposal, chosen)


async def _keep_both(request: Request, proposal: Replacement) -> None:
    """Note that what was kept and what it might replace are both true, and say so.

    They were both said now then: none of them is told as what was so before.
    """
    turn, locale = request.turn, request.locale
    await turn.memory.confirm(await turn.memory.get([proposal.beside, *(each.memory_id for each in proposal.rewrites)]))
    both = await turn.memory.get([*(each.memory_id for each in proposal.rewrites), proposal.beside])
    lines = outcomes.listed(BOTH_KEPT[locale], both, locale, turn.person.zone)
    await turn.answer.say(lines if both else MEMORIES_CONFIRM.gone[locale], in_history=True)


async def _replace(request: Request, proposal: Replacement, chosen: Sequence[int]) -> None:
    """Make the chosen rewrite in place of what was kept beside it, or ask again which; both stay if one has changed."""
    turn, rewrites = request.turn, proposal.rewrites
    picked = rewrites if len(rewrites) == 1 else _of(rewrites, chosen)
    wanted = picked if len(picked) == 1 else rewrites
    items = await _as_shown(request, {each.memory_id: each.version for each in wanted})
    beside = await turn.memory.get([proposal.beside])
    if len(picked) != 1 and items and beside:
        ids = {item.id for item in items}
        step = Step(MEMORY_UPDATE, Outcome.NOTHING, detail=proposes(ChangeKind.UPDATED), writes=ChangeKind.UPDATED)
        left = [each for each in rewrites if each.memory_id in ids]
        await propose_replacement(turn, step, items, left, beside[0])
    elif items and (updated := await rewrite(turn, picked, [turn.asked.id])):
        await turn.memory.delete([proposal.beside])
        lines = [outcomes.replaced(updated[0], items[0], request.locale, turn.person.zone)]
        lines += [note] if (note := narrowed_text(turn, items, updated)) else []
        step = Step(MEMORY_UPDATE, Outcome.DONE, items=tuple(updated), writes=ChangeKind.UPDATED)
        await turn.answer.report(step, "\n".join(lines), await undo_button(turn))
    else:
        await turn.answer.say(MEMORIES_CONFIRM.kept_anyway[request.locale], in_history=True)


async def _save(request: Request, message_id: str, chosen: Sequence[int]) -> None:
    """Save what was offered for that message of the person's, or the chosen of it; say what was saved, what known."""
    turn, here = request.turn, request.incoming.conversation
    said = await _said(request, here.user, message_id)
    since = turn.services.clock.now() - OFFERED_FOR
    asked = next((one.message for one in said if one.chat == here.chat and (one.message.at or since) >= since), None)
    if asked is None or not asked.offered:
        await request.tell(MEMORIES_CONFIRM.offer_over)
    else:
        await _keep(request, asked, _of(asked.offered, chosen))


async def _save_said(request: Request, message_id: str) -> None:
    """Save what the person said earlier, on any of their accounts, if it may be spoken of here."""
    memory = request.turn.memory
    accounts = await memory.store.accounts(memory.owner)
    found = [each.message for account in accounts for each in await _said(request, account, message_id)]
    own = [each for each in found if is_said_by_person(each) and memory.context.room in {"", each.room} and each.text]
    if own:
        await _keep(request, own[0], [replace(draft, said_at=own[0].at) for draft in whole(own[0].text)])
    else:
        await request.tell(MEMORIES_CONFIRM.offer_over)


async def _said(request: Request, user: UserKey, message_id: str) -> Sequence[SaidMessage]:
    known_form = message_id.isascii() and message_id.isdecimal() and len(message_id) <= _MAX_ID_CHARS
    return await request.turn.conversation.store.said(user, [int(message_id)]) if known_form else ()


def _refused(request: Request) -> Localized | None:
    """Return why nothing may be saved: the person wants nothing to be remembered, or the owner turned saving off."""
    return request.person.why_not_remembering or request.turn.services.off.get(ChangeKind.SAVED)


async def _keep(request: Request, said: Message, drafts: Sequence[MemoryDraft]) -> None:
    """Save drafts of a message of the person's, on which the memories rest, and say what was saved."""
    turn = request.turn
    if why := _refused(request):
        await request.tell(why)
        return
    turn.log.asked = replace(said, turn=turn.asked.turn)  # what the memories rest on
    kept = await keep(turn, drafts)
    if kept.written or kept.known or kept.troubles:
        await _tell_kept(request, kept, await told(turn, kept))
    if kept.doubts:
        await propose(turn, kept)


async def _tell_kept(request: Request, kept: SaveResult, told: str) -> None:
    turn = request.turn
    step = Step(MEMORY_SAVE, Outcome.DONE, items=(*kept.written, *kept.known), writes=ChangeKind.SAVED)
    await turn.answer.report(step, told, await buttons(turn, kept))


async def delete(request: Request, wanted: Mapping[str, datetime | None]) -> None:
    """Delete those memories, by id, that did not change since that version of them, and say which are gone."""
    await request.answer.status(DELETING[request.locale])
    memory_ids, gone = list(wanted), ChangeKind.DELETED
    there = {item.id for item in await request.turn.memory.get(memory_ids)}
    same = {item.id for item in await _as_shown(request, wanted)}
    # One that is not there may have been deleted by this very press, before a restart.
    deleted = await request.turn.memory.delete([key for key in memory_ids if key in same or key not in there])
    step = Step(MEMORY_DELETE, Outcome.DONE, items=tuple(deleted), writes=gone)
    lines = [outcomes.written(gone, deleted, request.locale, request.person.zone)] if deleted else []
    lines += [before] if (before := await deleted_text(request.turn, memory_ids, deleted)) else []
    if not before:
        lines += _not_done(request, gone, len(memory_ids) - len(deleted), some=bool(deleted))
    left = await request.turn.memory.count()
    if len(deleted) > 1 and left:
        lines.append(counted(CONFIRM_PLURALS.stays, request.locale, left))
    choices = (*await undo_button(request.turn), *erase_button(request.locale, deleted))
    await request.answer.report(step, "\n".join(lines), choices)


async def _rewrite(request: Request, wanted: Sequence[Rewrite]) -> None:
    """Rewrite the agreed memories that did not change since they were shown, and say what they are now."""
    turn = request.turn
    await turn.answer.status(UPDATING[request.locale])
    same = {each.id: each for each in await _as_shown(request, {each.memory_id: each.version for each in wanted})}
    rewrites = [each for each in wanted if each.memory_id in same] if turn.person.remembers else []
    updated = await rewrite(turn, rewrites)
    await _tell_updated(request, list(same.values()), updated, missing=len(wanted) - len(updated))


async def _tell_updated(
    request: Request, before: Sequence[MemoryItem], updated: Sequence[MemoryItem], *, missing: int
) -> None:
    turn = request.turn
    step = Step(MEMORY_UPDATE, Outcome.DONE, items=tuple(updated), writes=ChangeKind.UPDATED)
    lines = [outcomes.written(ChangeKind.UPDATED, updated, request.locale, turn.person.zone)] if updated else []
    lines += _not_done(request, ChangeKind.UPDATED, missing, some=bool(updated))
    if fewer := narrowed_text(turn, before, updated):
        lines.append(fewer)
    await turn.answer.report(step, "\n".join(lines), await undo_button(turn))


async def _as_shown(request: Request, versions: Mapping[str, datetime | None]) -> list[MemoryItem]:
    """Return the memories that are as they were shown; those that this press changed before a restart, as they were."""
    memory = request.turn.memory
    changed = await memory.changed()
    before = {key: each.before for key, each in changed.items() if each.before and each.after}
    items = [before.get(item.id, item) for item in await memory.get(list(versions))]
    return [item for item in items if item.updated_at == versions[item.id]]


def _not_done(request: Request, kind: ChangeKind, count: int, *, some: bool) -> list[str]:
    if not count:
        return []
    if some:
        return [counted(CONFIRM_PLURALS.changed_since, request.locale, count)]
    return [f"{outcomes.NOTHING[kind][request.locale]} {MEMORIES_CONFIRM.gone[request.locale]}"]


def _places(numbers: Sequence[str]) -> list[int]:
    """Return the places in a list that numbers name."""
    return [int(number) - 1 for number in numbers if number.isdecimal()]


def _of(each: Sequence[Each], chosen: Sequence[int]) -> Sequence[Each]:
    """Return the chosen ones; all, if none are chosen."""
    return [each[at] for at in chosen if 0 <= at < len(each)] if chosen else each


BOTH_KEPT = text("resolve.both")
NOT_OPEN = text("memories.confirm.not_open")

CONFIRM_COMMAND: Final = Command(
    CONFIRM, text("commands.confirm"), confirm, usage=" yes|both|no CODE|save ID [N …]|said ID", in_menus=False
)
"""What the buttons below a proposal say, or a reply in words (`PendingReplies`)."""
