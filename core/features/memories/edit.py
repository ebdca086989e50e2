"""Editing a memory: its content, at once, as the person writes it. Knows what is kept of it. Asks no model."""

from __future__ import annotations

from core.actions.audience import narrowed_text
from core.actions.memory_drafts import MAX_CONTENT_CHARS, to_kind
from core.actions.undo import undo_button
from core.commands.command import Request
from core.features.memories.card import block, heading, show_card
from core.features.memories.names import tell_unknown
from core.features.preferences.choices import NOT_REMEMBERING
from core.types import Locale, Localized, MemoryDraft, MemoryItem

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


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


ASK: Localized = {
    PT: "Mande, na próxima mensagem e em até 10 minutos, o novo conteúdo de {memory}. Para deixar como está: /stop. "
    "Agora é:",
    EN: "Send the new content of {memory} in your next message, within 10 minutes. To leave it as it is: /stop. "
    "Now it is:",
    ES: "Manda, en tu próximo mensaje y en 10 minutos como máximo, el nuevo contenido de {memory}. Para dejarlo como "
    "está: /stop. Ahora es:",
}
CHANGED: Localized = {PT: "Alterei. Agora é:", EN: "Changed. Now it is:", ES: "Lo cambié. Ahora es:"}
NOW_TEXT: Localized = {
    PT: "(Já não é JSON válido, então guardei como texto.)",
    EN: "(It is no longer valid JSON, so I keep it as text.)",
    ES: "(Ya no es JSON válido, así que lo guardo como texto.)",
}
SAME: Localized = {
    PT: "Já era assim; não mudei nada:",
    EN: "That is what it says already; I changed nothing:",
    ES: "Ya era así; no cambié nada:",
}
TOO_LONG: Localized = {
    PT: "Isso é longo demais para uma memória (o limite é de {max_chars} caracteres). Não mudei nada.",
    EN: "That is too long for a memory (the limit is {max_chars} characters). I changed nothing.",
    ES: "Es demasiado largo para una memoria (el límite es de {max_chars} caracteres). No cambié nada.",
}
