"""Ask a person before memories are deleted, kept, or lose something, or before more than one is changed.

The proposal is stored (`core/answering/confirmations.py`), shown with its exact words and buttons, and ends the turn.
After a yes, the feature of memories carries it out, without asking a model again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeAlias

from core.actions.offer import KEEP_BOTH
from core.answering import outcomes
from core.answering.turn import Turn
from core.dialogue import Step
from core.memory.relation import dropped
from core.outgoing import Button
from core.text.catalogue import counted, forms, text
from core.text.markdown import quoted
from core.text.unicode import one_line
from core.types import ChangeKind, MemoryDraft, MemoryItem

MAX_PROPOSED: Final = 50
MAX_CANDIDATES: Final = 3
"""Of memories that a statement may replace."""

_MAX_SHOWN_CHARS: Final = 6_000
"""Shared by all memories of a proposal; each gets at least _MIN_SHOWN_CHARS."""

_MIN_SHOWN_CHARS: Final = 120
_MAX_ABOUT_CHARS: Final = 160


@dataclass(frozen=True, slots=True)
class Deletion:
    """The memories to delete, as the person was shown: their ids, and when each was changed last (its version)."""

    memory_ids: tuple[str, ...]
    versions: tuple[datetime, ...] = ()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A memory's id and its new content; `version` is when what was shown of it was changed last."""

    memory_id: str
    draft: MemoryDraft
    version: datetime | None = None


@dataclass(frozen=True, slots=True)
class Rewrites:
    """The changes to make, as the person was shown."""

    rewrites: tuple[Rewrite, ...]


@dataclass(frozen=True, slots=True)
class Keeping:
    """The drafts to save, as the person was shown; `said_id` is the id of the message that told them."""

    drafts: tuple[MemoryDraft, ...]
    said_id: int


@dataclass(frozen=True, slots=True)
class Replacement:
    """The rewrites of which one is to be made, and the memory that holds the person's new words beside the old.

    Without an answer both stay. `said_id` is the id of the message that told it.
    """

    rewrites: tuple[Rewrite, ...]
    beside: str
    said_id: int


Proposal: TypeAlias = Deletion | Rewrites | Keeping | Replacement
PROPOSALS: Final = (Deletion, Rewrites, Keeping, Replacement)


async def propose_deletion(turn: Turn, step: Step, items: Sequence[MemoryItem]) -> Step:
    """Ask the person whether to delete those memories."""
    share = _share(len(items))
    lines = [quoted(item.content, share) for item in items]
    lead = counted(DELETE, turn.person.locale, len(items))
    wanted = Deletion(tuple(item.id for item in items), tuple(item.updated_at for item in items))
    is_some = 1 < len(items) <= MAX_CANDIDATES  # one of two of a name may be meant
    choices = {f"yes {{code}} {number}": f"🗑️ {number}" for number in range(1, len(items) + 1) if is_some}
    choices |= {"yes {code}": DELETE_IT[turn.person.locale], "no {code}": KEEP[turn.person.locale]}
    return await _propose(turn, step, wanted, [lead, *_numbered(lines)], choices)


async def propose_rewrites(turn: Turn, step: Step, items: Sequence[MemoryItem], rewrites: Sequence[Rewrite]) -> Step:
    """Ask the person whether to make those changes."""
    pairs = zip(items, rewrites, strict=True)
    lines = [_changed(item, each, _share(2 * len(items))) for item, each in pairs]
    lead = counted(CHANGE, turn.person.locale, len(items))
    choices = {"yes {code}": CHANGE_IT[turn.person.locale], "no {code}": KEEP[turn.person.locale]}
    return await _propose(turn, step, Rewrites(tuple(rewrites)), [lead, *_numbered(lines)], choices)


async def propose_keeping(turn: Turn, step: Step, drafts: Sequence[MemoryDraft]) -> Step:
    """Ask the person whether to save those drafts of their message."""
    lines = [quoted(draft.content, _share(len(drafts))) for draft in drafts]
    lead = counted(SAVE, turn.person.locale, len(drafts), new=lines[0])
    told = [lead, *_numbered(lines)] if len(drafts) > 1 else [lead]
    choices = {"yes {code}": SAVE_IT[turn.person.locale], "no {code}": NO[turn.person.locale]}
    return await _propose(turn, step, Keeping(tuple(drafts), turn.asked.id), told, choices)


async def propose_replacement(
    turn: Turn, step: Step, items: Sequence[MemoryItem], rewrites: Sequence[Rewrite], beside: MemoryItem
) -> Step:
    """Ask the person which of those memories what was just kept `beside` them replaces, the likeliest first.

    What would be lost by it is shown. Of more than MAX_CANDIDATES, the first count.
    """
    pairs = list(zip(items, rewrites, strict=True))[:MAX_CANDIDATES]
    share, locale = _share(2 * len(pairs)), turn.person.locale
    if len(pairs) > 1:
        lines = [
            quoted(item.content, share) if each.draft.content == beside.content else _changed(item, each, share)
            for item, each in pairs
        ]
        told = [WHICH[locale].format(new=quoted(beside.content, share)), *_numbered(lines)]
        choices = {f"yes {{code}} {number}": str(number) for number in range(1, len(pairs) + 1)}
        choices["both {code}"] = NONE_OF_THEM[locale]
    else:
        [(item, rewrite)] = pairs
        is_swapped = rewrite.draft.content != beside.content
        told = [REPLACE[locale].format(old=quoted(item.content, share))]
        told += [BECOMES[locale].format(new=quoted(rewrite.draft.content, share))] if is_swapped else []
        lost = () if is_swapped else dropped(item.content, rewrite.draft.content)
        told += [LOST[locale].format(lost=", ".join(quoted(each, share) for each in lost))] if lost else []
        choices = {"yes {code}": REPLACE_IT[locale], "both {code}": KEEP_BOTH[locale]}
    wanted = Replacement(tuple(each for _, each in pairs), beside.id, turn.asked.id)
    return await _propose(turn, step, wanted, told, choices)


async def _propose(turn: Turn, step: Step, proposal: Proposal, told: list[str], choices: Mapping[str, str]) -> Step:
    """Store the proposal, and show it with a button for each of the choices; return the step, which asks.

    A choice is what its button says after /confirm, and maps to its label.
    """
    here = turn.conversation.thread.conversation
    about = one_line(" ".join(told), _MAX_ABOUT_CHARS)
    commands = {f"/confirm {choice}": label for choice, label in choices.items()}
    code = await turn.services.confirmations.ask(here, proposal, about, commands)
    if step.missing and step.writes is not None:
        told.append(outcomes.not_done(step.writes, step.missing, turn.person.locale, some=True))
    buttons = [Button(label, command.format(code=code), in_place=True) for command, label in commands.items()]
    try:
        await turn.answer.say("\n".join(told), in_history=True, choices=buttons)
        await turn.answer.complete()
        await turn.answer.view.flush()
    except BaseException:  # nobody can agree to what was not shown
        await turn.services.confirmations.drop(here, *PROPOSALS)
        raise
    return replace(step, asks=True)


def _changed(item: MemoryItem, rewrite: Rewrite, share: int) -> str:
    return f"{quoted(item.content, share)} → {quoted(rewrite.draft.content, share)}"


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
SAVE = forms("actions.proposal.save")
SAVE_IT = text("actions.proposal.save_it")
NO = text("actions.proposal.no")
REPLACE = text("actions.proposal.replace")
WHICH = text("actions.proposal.which")
REPLACE_IT = text("actions.proposal.replace_it")
NONE_OF_THEM = text("actions.proposal.none_of_them")
BECOMES = text("actions.proposal.becomes")
LOST = text("actions.proposal.lost")
