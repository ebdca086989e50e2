"""/undo: take back the last change, of a memory or of a feature, or what a button names, and say what that did."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

from core.actions.proposal import BOTH, undo_button
from core.answering.outcomes import TRY_AGAIN, listed
from core.answering.parts import TakeBack
from core.answering.turn import Turn
from core.commands.command import ON_MEMORIES, Command, Request, again, questions
from core.commands.menu import DISLIKED
from core.features.access.gate import at_name, named
from core.features.access.rules import Access
from core.features.feature import Contribution, Shared, Undoable
from core.features.memories.card import SHOW
from core.memory.user_memory import Undone, UndoResult
from core.outgoing import Button, memory_line
from core.text.catalogue import Plurals, Sentences, counted, in_words, text
from core.text.days import noted
from core.types import Change, MemoryItem, Message, UserKey, room_name

UNDO = Sentences("undo")
UNDO_PLURALS = Plurals("undo")
UNDO_DISLIKED = Sentences("undo.disliked")

_MAX_LINES: Final = 20


class TakesBackMemories(TakeBack):
    """Takes back what a turn changed of memories."""

    async def take_back(self, turn: Turn, act: str) -> bool | None:
        """Take back all that the act changed; None if it changed nothing, False if something of it stays."""
        result = (await turn.memory.undo(act)).result
        return None if result is UndoResult.NOTHING else result is UndoResult.DONE


def build(shared: Shared) -> Contribution:
    """Contribute /undo, and the command of who did not like an answer, which names the message that it answers."""
    return Contribution(
        commands=(
            Command(
                "undo",
                text("commands.undo"),
                partial(undo, shared),
                is_listed=True,
                topics=(ON_MEMORIES,),
            ),
            Command(DISLIKED, text("commands.undo"), partial(disliked, shared), in_menus=False),
        )
    )


async def undo(shared: Shared, request: Request, act: str) -> None:
    """Take back the changes of the act, or the newest one that can still be undone, and say what that did."""
    turn, others = request.turn, shared.added.undoes
    done = await turn.memory.done()
    newest = None if act or done.act else await _newest_besides(shared, turn)
    if not act:
        before_a_restart = [found for each in others if (found := await each.done(turn)) is not None]
        newest = before_a_restart[0] if before_a_restart else newest
    if newest is not None and not newest.act:
        await newest.undo(request)
        return
    act = act or (newest.act if newest is not None else "")
    gone = [line for each in others if act and (line := await each.take_back_besides(turn, act))]
    await _undo_memories(request, shared.access, act, gone)


async def disliked(shared: Shared, request: Request, message_id: str) -> None:
    """Offer to take back what the answer to that message changed or, if it changed nothing, to answer again.

    Say nothing about what is no answer to the person, or is too long ago.
    """
    asked = await questions(request.turn.conversation)
    found = [place for place, message in enumerate(asked) if message_id and message.source_id == message_id]
    if not found:
        return
    question, later = asked[found[-1]], asked[found[-1] + 1 :]
    undo = await undo_button(request.turn, question.turn)
    if not undo:
        newest = [change for each in shared.added.undoes if (change := await each.newest(request.turn)) is not None]
        undo = tuple(each.button for each in newest if _is_between(question, each.at, later))[:1]
    try_again = Button(TRY_AGAIN[request.locale], again(question.turn))
    told = UNDO_DISLIKED.take_back if undo else UNDO_DISLIKED.answer_again
    await request.answer.tell(told[request.locale], choices=undo or (try_again,))


def _is_between(question: Message, at: datetime | None, later: Sequence[Message]) -> bool:
    """Whether that was after the question and before what was said next."""
    begin, end = question.at, later[0].at if later else None
    return begin is not None and at is not None and begin <= at and (end is None or at < end)


async def _newest_besides(shared: Shared, turn: Turn) -> Undoable | None:
    """Return the newest change besides those of memories, if no memory was changed since."""
    found = [each for undoes in shared.added.undoes if (each := await undoes.newest(turn)) is not None and each.at]
    newest = max(found, key=lambda each: each.at or datetime.min.replace(tzinfo=UTC), default=None)
    change = await turn.memory.last_change()
    is_older = newest is not None and newest.at is not None and change is not None and change.at > newest.at
    return None if is_older else newest


async def _undo_memories(request: Request, access: Access, act: str, besides: Sequence[str]) -> None:
    """Take back the changes of the act, or of the newest one; say what that did, and the lines `besides`."""
    within = request.turn.memory.undo_within
    if not within:
        await request.tell(UNDO.undo_is_off)
        return
    keeps_both, act = act.startswith(f"{BOTH} "), act.removeprefix(f"{BOTH} ")
    undone = await request.turn.memory.undo(act, keeps=keeps_both)
    result = undone.result
    known = await _newest(request, act) if result is UndoResult.NOTHING else None
    if result is UndoResult.DONE and keeps_both:
        await _keep_both(request, undone.changes)
    elif result is UndoResult.DONE:
        await _tell_undone(request, undone, besides)
    elif besides:
        await request.answer.tell("\n".join(besides))
    elif result is UndoResult.CHANGED:
        await request.tell(UNDO.changed_since)
    elif known is not None and known.undone:
        await request.tell(UNDONE_BEFORE)
    elif result is UndoResult.TOO_LATE or known is not None:
        await request.tell(TOO_LATE, within=in_words(within, request.locale))
    elif act and (other := await request.turn.memory.store.whose(act)) is not None:
        await _tell_whose(request, access, other)
    elif act:
        await request.refuse(NOTHING_OF_IT)
    else:
        await request.tell(NOTHING)


async def _tell_whose(request: Request, access: Access, other: UserKey) -> None:
    """Say whose change it is, to who pressed the button below an answer to somebody else."""
    person = await access.people.find(other)
    names = [*(named(person.name) if person else []), *at_name(await access.handle(other))]
    if names:
        await request.refuse(UNDO.theirs, name=names[0])
    else:
        await request.refuse(ANOTHERS)


async def _newest(request: Request, act: str) -> Change | None:
    """Return the newest change of the act; without an act, the newest that was not taken back, at any age."""
    memory = request.turn.memory
    changes = await memory.store.changes(memory.owner, act=act, not_undone=not act, limit=1)
    return changes[0] if changes else None


async def _tell_undone(request: Request, undone: Undone, besides: Sequence[str]) -> None:
    """Say, memory by memory, what came back, what is gone again, and what has its old text again."""
    before, after = _states(undone.changes)
    back = [item for key, item in before.items() if item and not after[key]]
    gone = [item for key, item in after.items() if item and not before[key]]
    restored = [item for key, item in before.items() if item and after[key]]
    lines: list[str] = []
    for title, items in ((UNDO.back, back), (UNDO.gone, gone), (UNDO.restored, restored)):
        if items:
            # A memory that exists again is told where it may be heard now; one that is gone, where it was said.
            told = [item for item in items if _was_said_here(request, item)]
            if title is not UNDO.gone:
                told = list(await request.turn.memory.get([item.id for item in items]))
            lines += [title[request.locale], *_lines(request, told, len(items))]
    if undone.gone:
        lines += [UNDO.gone[request.locale], counted(UNDO_PLURALS.unnamed, request.locale, undone.gone)]
    answer = "\n".join((*lines, *besides)) or UNDO.nothing_left[request.locale]
    await request.answer.tell(answer, choices=_show(request, back + restored))


async def _keep_both(request: Request, undone: Sequence[Change]) -> None:
    """Save again, as new memories, what the undone changes had put in the place of others; say what is kept now."""
    memory = request.turn.memory
    before, after = _states(undone)
    again = [item for item in after.values() if item]
    sources = {number for item in again for number in item.source_ids}
    sources -= {number for item in before.values() if item for number in item.source_ids}
    added = await memory.add([item.draft for item in again], source_ids=sorted(sources))
    kept = [*await memory.get([key for key, item in before.items() if item]), *added]
    told = listed(BOTH_KEPT[request.locale], kept, request.locale, request.person.zone)
    await request.answer.tell(told, choices=await undo_button(request.turn))


def _states(changes: Sequence[Change]) -> tuple[dict[str, MemoryItem | None], dict[str, MemoryItem | None]]:
    """Return the memories of an act before it and after it, by id, without earlier versions; the newest come first."""
    now = [change for change in changes if not any(item and item.current for item in (change.before, change.after))]
    return {each.memory_id: each.before for each in now}, {each.memory_id: each.after for each in reversed(now)}


def _lines(request: Request, told: Sequence[MemoryItem], total: int) -> list[str]:
    """Return the memories that may be told here, a line each, and how many more there are."""
    lines = [memory_line(noted(item, request.person.zone, request.locale)) for item in told[:_MAX_LINES]]
    if more := total - len(lines):
        lines.append(counted(UNDO_PLURALS.more if len(told) == total else UNDO_PLURALS.not_here, request.locale, more))
    return lines


def _was_said_here(request: Request, item: MemoryItem) -> bool:
    """Whether everybody who reads along heard it said."""
    return request.incoming.private or room_name(request.incoming.chat) in item.rooms


def _show(request: Request, items: Sequence[MemoryItem]) -> list[Button]:
    if len(items) != 1 or not request.incoming.private:
        return []
    return [Button(SHOW[request.locale], f"/memories show {items[0].id}", in_place=True)]


BOTH_KEPT = text("resolve.both")
TOO_LATE = text("undo.too_late")
UNDONE_BEFORE = text("undo.undone_before")
ANOTHERS = text("undo.anothers")
NOTHING_OF_IT = text("undo.nothing_of_it")
NOTHING = text("undo.nothing")
