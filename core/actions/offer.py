"""Offer to save what the person told about themselves in passing: a button below the answer.

The drafts are stored with the person's message, and go with it. The offer is no question: it waits for no reply, closes
no open question, and ends quietly. `/confirm save ID`, which the button says, saves them in the feature of memories;
`/confirm said ID` saves an earlier message that an answer quotes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from core.answering.confirmations import Offer
from core.answering.turn import Turn
from core.memory.user_memory import distinct
from core.outgoing import Button
from core.text.catalogue import counted, forms, text
from core.text.markdown import quoted
from core.text.unicode import one_line
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import ChangeKind, Learn, Locale, MemoryDraft, MemoryItem, Message, MessageRole

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


OFFERED_FOR: Final = timedelta(days=1)
_MAX_NAMED: Final = 3
_MAX_LABEL_CHARS: Final = 40
_PIECE_CHARS: Final = 3
"""Words with other endings, and scripts without spaces, share pieces of this length."""


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
