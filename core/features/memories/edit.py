"""Editing a memory: its content, at once, as the person writes it. Knows what is kept of it. Asks no model."""

from __future__ import annotations

from core.actions.audience import narrowed_text
from core.actions.buttons import undo_button
from core.actions.memory_drafts import MAX_CONTENT_CHARS, to_kind
from core.commands.command import Request
from core.features.memories.card import block, heading, show_card
from core.features.memories.names import tell_unknown
from core.features.preferences.commands import NOT_REMEMBERING
from core.text.catalogue import text
from core.types import MemoryDraft, MemoryItem


async def edit(request: Request, item: MemoryItem, text: str) -> None:
    """Change the content to the text, or ask for one: the person's next message there is it."""
    if not request.turn.remembers:
        await request.tell(NOT_REMEMBERING)
    elif not text:
        await request.context.replies.await_text(request, f"/memories edit {item.id}")
        asked = ASK[request.locale].format(memory=heading(item))
        await request.turn.tell("\n".join([asked, "", block(item)]))
        return
    elif len(text) > MAX_CONTENT_CHARS:
        await request.tell(TOO_LONG, max_chars=MAX_CONTENT_CHARS)
    else:
        await _change(request, item, text)
    await request.context.stores.pending_inputs.drop(request.incoming.conversation)


async def _change(request: Request, item: MemoryItem, text: str) -> None:
    memory, locale = request.turn.memory, request.locale
    if text == item.content:
        await show_card(request, item, told=SAME[locale])
        return
    draft = MemoryDraft(to_kind(item.kind.value, text), text, item.bindings)
    vectors = await memory.embed(memory.phrases_of(draft))
    changed = await memory.update(item.id, kind=draft.kind, content=draft.content, vectors=vectors)
    if changed is None:  # deleted while it was being embedded
        await tell_unknown(request)
        return
    told = CHANGED[locale] if changed.kind is item.kind else f"{CHANGED[locale]} {NOW_TEXT[locale]}"
    told = f"{narrowed_text(request.turn, [item], [changed])}\n{told}".strip()
    await show_card(request, changed, told=told, choices=await undo_button(request.turn))


ASK = text("memories.edit.ask")
CHANGED = text("memories.edit.changed")
NOW_TEXT = text("memories.edit.now_text")
SAME = text("memories.edit.same")
TOO_LONG = text("memories.edit.too_long")
