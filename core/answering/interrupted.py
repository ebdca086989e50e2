"""Go on with a turn that a restart broke off."""

from __future__ import annotations

from collections.abc import Sequence

from core import outcomes
from core.answering.turn import Turn
from core.dialogue import Outcome, Step
from core.outgoing import Button
from core.text.markdown import quoted
from core.texts import AGAIN
from core.types import ChangeKind, MessageRole, Modal


async def resume(turn: Turn, undo: Sequence[Button] = ()) -> bool:
    """Show what the turn had recalled and said; return whether it was complete.

    Messages that are still on the screen are taken over. If it is unknown whether they reached the person, what was
    said is repeated with a mark. `undo` are the buttons for what the turn had written.
    """
    answer = turn.answer
    answer.add_buttons(undo)
    context = await turn.conversation.context("")
    mine = [m for m in context.messages if m.turn == turn.asked.turn and not m.error]  # without apologies
    said = [m for m in mine if m.role is MessageRole.ASSISTANT and m.modal is Modal.TEXT]
    is_complete = bool(said) and not said[-1].in_history  # only a final answer is kept out of its turn's calls
    if said and not answer.view.resumes:
        answer.write(AGAIN[turn.person.locale])
    answer.put_below(await turn.memory.get([m.memory_id for m in mine if m.modal is Modal.MEMORY]))
    for message in said:
        answer.write(message.text)
    if is_complete:
        await answer.complete()
    return is_complete


async def recover(turn: Turn) -> None:
    """Add what the turn had written to its steps, and tell what was not told of it."""
    memory, person = turn.memory, turn.person
    context = await turn.conversation.context("")
    said = "\n".join(m.text for m in context.messages if m.turn == turn.asked.turn and m.role is MessageRole.ASSISTANT)
    changes = await memory.store.changes(memory.owner, act=turn.asked.turn, not_undone=True)
    for kind in ChangeKind:
        items = tuple(item for each in changes if each.kind is kind and (item := each.after or each.before))
        items = tuple(item for item in items if not item.current)  # earlier versions were told as what they were
        if items:
            step = turn.log.add(
                Step("before an interruption", Outcome.DONE, items=items, detail=kind.value, writes=kind)
            )
            if untold := [item for item in items if quoted(item.content) not in said]:
                await turn.answer.report(step, outcomes.written(kind, untold, person.locale, person.zone))
