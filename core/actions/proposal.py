"""Ask a person to agree before memories are deleted, or before more than one is changed.

The proposal is stored (`core/confirmations.py`) and shown with the exact words and two buttons; then the turn ends.
After a yes, the feature of memories carries it out, without asking a model again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from core import outcomes
from core.dialogue import Step
from core.outgoing import Button
from core.text.catalogue import counted, forms, text
from core.text.markdown import quoted
from core.turn import Turn
from core.types import ChangeKind, Localized, MemoryDraft, MemoryItem

MAX_PROPOSED: Final = 50
_MAX_SHOWN_CHARS: Final = 6_000
"""Shared by all memories of a proposal; each gets at least _MIN_SHOWN_CHARS."""

_MIN_SHOWN_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class Deletion:
    """The memories to delete, as the person was shown."""

    memory_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A memory's id and its new content."""

    memory_id: str
    draft: MemoryDraft


@dataclass(frozen=True, slots=True)
class Rewrites:
    """The changes to make, as the person was shown."""

    rewrites: tuple[Rewrite, ...]


Proposal: TypeAlias = Deletion | Rewrites
PROPOSALS: Final = (Deletion, Rewrites)


async def propose_deletion(turn: Turn, step: Step, items: Sequence[MemoryItem]) -> None:
    """Record the step, and ask the person whether to delete those memories."""
    share = _share(len(items))
    lines = [quoted(item.content, share) for item in items]
    lead = counted(DELETE, turn.locale, len(items))
    await _propose(turn, step, Deletion(tuple(item.id for item in items)), [lead, *_numbered(lines)], DELETE_IT)


async def propose_rewrites(turn: Turn, step: Step, items: Sequence[MemoryItem], rewrites: Sequence[Rewrite]) -> None:
    """Record the step, and ask the person whether to make those changes."""
    share = _share(2 * len(items))
    pairs = zip(items, rewrites, strict=True)
    lines = [f"{quoted(item.content, share)} → {quoted(each.draft.content, share)}" for item, each in pairs]
    lead = counted(CHANGE, turn.locale, len(items))
    await _propose(turn, step, Rewrites(tuple(rewrites)), [lead, *_numbered(lines)], CHANGE_IT)


async def _propose(turn: Turn, step: Step, proposal: Proposal, told: list[str], agree: Localized) -> None:
    turn.steps.append(step)
    here = turn.conversation.thread.conversation
    code = await turn.confirmations.ask(here, proposal)
    if step.missing and step.writes is not None:
        told.append(outcomes.not_done(step.writes, step.missing, turn.locale, some=True))
    choices = (
        Button(agree[turn.locale], f"/confirm yes {code}", in_place=True),
        Button(KEEP[turn.locale], f"/confirm no {code}", in_place=True),
    )
    try:
        await turn.say("\n".join(told), in_history=True, choices=choices)
        await turn.finish()
        await turn.view.flush()
    except BaseException:  # nobody can agree to what was not shown
        await turn.confirmations.drop(here, *PROPOSALS)
        raise
    turn.awaits_answer = True


def _numbered(lines: Sequence[str]) -> list[str]:
    return [f"{number}. {line}" for number, line in enumerate(lines, 1)]


def _share(count: int) -> int:
    return max(_MAX_SHOWN_CHARS // count, _MIN_SHOWN_CHARS)


def proposes(kind: ChangeKind) -> str:
    """Return the detail of a step that only proposed a change, for models."""
    return f"the person is asked whether this shall be {kind.value}; nothing is before they agree"


DELETE = forms("actions.proposal.delete")
CHANGE = forms("actions.proposal.change")
DELETE_IT = text("actions.proposal.delete_it")
CHANGE_IT = text("actions.proposal.change_it")
KEEP = text("actions.proposal.keep")
