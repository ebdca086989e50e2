"""Ask a person before memories are deleted, kept, or lose something, or before more than one is changed.

The proposal is stored (`core/answering/confirmations.py`), shown with its exact words and buttons, and ends the turn.
After a yes, the feature of memories carries it out, without asking a model again.

Beside that stand the buttons below a report or an answer: to undo what was done, and to save what the person told about
themselves in passing. Such an offer is no question: it waits for no reply, closes no open question, and ends quietly.
Its drafts are stored with the person's message, and go with it: `/confirm save ID`, which the button says, saves them;
`/confirm said ID` saves an earlier message that an answer quotes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from core.answering import outcomes
from core.answering.confirmations import Offer
from core.answering.turn import Turn
from core.dialogue import Step
from core.memory.relation import dropped
from core.memory.user_memory import distinct
from core.outgoing import Button
from core.text.catalogue import counted, forms, text
from core.text.markdown import quoted
from core.text.unicode import one_line
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import ChangeKind, Learn, Locale, MemoryDraft, MemoryItem, Message, MessageRole

BOTH: Final = "both"
"""In place of an act, before it: what it saved is saved again once it is undone."""

MAX_PROPOSED: Final = 50
MAX_CANDIDATES: Final = 3
"""Of memories that a statement may replace."""

_MAX_SHOWN_CHARS: Final = 6_000
"""Shared by all memories of a proposal; each gets at least _MIN_SHOWN_CHARS."""

_MIN_SHOWN_CHARS: Final = 120
_MAX_ABOUT_CHARS: Final = 160

OFFERED_FOR: Final = timedelta(days=1)
_MAX_NAMED: Final = 3
_MAX_LABEL_CHARS: Final = 40
_PIECE_CHARS: Final = 3
"""Words with other endings, and scripts without spaces, share pieces of this length."""


@dataclass(frozen=True, slots=True)
class Deletion:
    """The memories to delete, as the person was shown: their ids, and when each was changed last (its version).

    With `which`, one of them is meant: a bare yes does not tell it.
    """

    memory_ids: tuple[str, ...]
    versions: tuple[datetime, ...] = ()
    which: bool = False


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


async def propose_deletion(turn: Turn, step: Step, items: Sequence[MemoryItem], *, which: bool = False) -> Step:
    """Ask the person whether to delete those memories, or `which` of them."""
    share, locale = _share(len(items)), turn.person.locale
    which = which and len(items) > 1
    lines = [quoted(item.content, share) for item in items]
    lead = WHICH_TO_DELETE[locale] if which else counted(DELETE, locale, len(items))
    wanted = Deletion(tuple(item.id for item in items), tuple(item.updated_at for item in items), which)
    is_some = 1 < len(items) <= MAX_CANDIDATES  # one of two of a name may be meant
    choices = {f"yes {{code}} {number}": f"🗑️ {number}" for number in range(1, len(items) + 1) if is_some}
    choices |= (
        {"no {code}": NONE_TO_DELETE[locale]} if which else {"yes {code}": DELETE_IT[locale], "no {code}": KEEP[locale]}
    )
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


# --- below a report ---


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


async def open_offers(turn: Turn, offers: Sequence[Button], about: str, *, lasts: bool = True) -> None:
    """Let a plain yes press those buttons, for as long as it answers questions; else only the next message."""
    here = turn.conversation.thread.conversation
    for button in offers:
        await turn.services.confirmations.ask(
            here, Offer(button.command, lasts), f"{button.label} {one_line(about, 80)}"
        )


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


# --- offered below the answer ---


async def offer_saving(turn: Turn, drafts: Sequence[MemoryDraft]) -> tuple[Button, ...]:
    """Store what may be saved of the person's message, and return the buttons that save it; none if nothing may be.

    One saves what they said. What they said in other words, or did not say, has a button of its own, which names it.
    What was offered for the message before stays offered. Left out is what others said (`own_words`), and what they
    have in memory.
    """
    if turn.person.learn is Learn.ASKED or not turn.person.remembers or not turn.asked.id:
        return ()
    store, memory = turn.conversation.store, turn.memory
    known = [await memory.store.find(memory.owner, draft.kind, draft.content) for draft in drafts]
    new = own_words(turn.asked, [draft for draft, item in zip(drafts, known, strict=True) if item is None])
    if not (offered := distinct([*turn.asked.offered, *new])):
        return ()
    turn.log.asked = replace(turn.asked, offered=tuple(offered))
    await store.offer(turn.asked.id, offered)
    said = [at for at, draft in enumerate(offered, 1) if await turn.support.has(draft.content)]
    save, locale = f"/confirm save {turn.asked.id}", turn.person.locale
    which = "" if len(said) == len(offered) else "".join(f" {at}" for at in said)
    plain = [Button(REMEMBER_THIS[locale], f"{save}{which}")] if said else []
    if plain:
        await open_offers(turn, plain, quoted(offered[said[0] - 1].content))
    named = [
        Button(REMEMBER[locale].format(words=quoted(draft.content, _MAX_LABEL_CHARS)), f"{save} {at}")
        for at, draft in enumerate(offered, 1)
        if at not in said
    ]
    return (*plain, *named[:_MAX_NAMED])


def offer_keeping(turn: Turn) -> tuple[Button, ...]:
    """Return the button that keeps what the person said earlier, if the answer quotes it word for word."""
    said = [each.message for step in turn.log.steps for each in step.quotes if each.message.role is MessageRole.USER]
    may_save = turn.person.remembers and ChangeKind.SAVED not in turn.services.off
    quoted = [message for message in said if may_save and turn.answer.quotes(message.text)]
    return tuple(Button(REMEMBER_THIS[turn.person.locale], f"/confirm said {message.id}") for message in quoted[:1])


def own_words(asked: Message, drafts: Sequence[MemoryDraft]) -> list[MemoryDraft]:
    """Return the drafts without those that hold more of the quotes in the message than of the person's own text."""
    own = _pieces([asked.text])
    others = _pieces(part for quote in asked.quotes for part in (quote.text, quote.excerpt)) - own
    held = [_pieces([draft.content]) for draft in drafts]
    return [draft for draft, pieces in zip(drafts, held, strict=True) if len(pieces & others) <= len(pieces & own)]


def _pieces(texts: Iterable[str]) -> set[str]:
    words = {word for each in texts for word in folded_words(each)} - FUNCTION_WORDS
    return {word[at : at + _PIECE_CHARS] for word in words for at in range(max(len(word) - _PIECE_CHARS + 1, 1))}


REMEMBER_THIS = text("actions.offer.remember_this")
REMEMBER = text("actions.offer.remember")
ERASE = text("actions.erase")
UNDO = text("actions.undo")
DELETED = forms("memories.confirm.deleted")
KEEP_BOTH = text("resolve.keep_both")
ONLY_IN_PRIVATE = text("actions.audience.only_in_private")
ONLY_HERE = text("actions.audience.only_here")
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
WHICH_TO_DELETE = text("actions.proposal.which_to_delete")
NONE_TO_DELETE = text("actions.proposal.none_to_delete")
BECOMES = text("actions.proposal.becomes")
LOST = text("actions.proposal.lost")
