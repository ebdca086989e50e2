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

from core.actions.change_report import open_offers
from core.answering.turn import Turn
from core.memory.user_memory import distinct
from core.outgoing import Button
from core.text.catalogue import text
from core.text.markdown import quoted
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import ChangeKind, Learn, MemoryDraft, Message, MessageRole

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
