"""/undo: takes back the last change of memory, or the one that a button names, and tells exactly what that did.

Knows what each outcome is called. Does not know what may be undone: that is `core/memory/undo_result.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.commands.command import Command, Request
from core.commands.duration import in_words
from core.features.memories.card import SHOW
from core.memory.undo_result import UndoResult
from core.outgoing import Button
from core.text.plural import Counted, counted
from core.turn import memory_line
from core.types import Change, Locale, Localized, MemoryItem, room_name

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
_MAX_LINES: Final = 20


async def undo(request: Request, act: str) -> None:
    """Take back what was done by the act, or last."""
    if not request.turn.memory.undo_within:
        await request.tell(UNDO_IS_OFF)
        return
    undone = await request.turn.memory.undo(act)
    result = undone.result
    known = await _newest(request, act) if result is UndoResult.NOTHING else None
    if result is UndoResult.DONE:
        await _tell_undone(request, undone.changes)
    elif result is UndoResult.CHANGED:
        await request.tell(CHANGED_SINCE)
    elif known is not None and known.undone:
        await request.tell(UNDONE_BEFORE)
    elif result is UndoResult.TOO_LATE or known is not None:
        await request.tell(TOO_LATE, within=in_words(request.context.stores.memories.undo_within, request.locale))
    else:
        await request.tell(NOTHING_OF_IT if act else NOTHING)


async def _newest(request: Request, act: str) -> Change | None:
    """Return the newest change of the act; without one, the newest that was not taken back, however old."""
    memory = request.turn.memory
    changes = await memory.store.changes(memory.owner, act=act, not_undone=not act, limit=1)
    return changes[0] if changes else None


async def _tell_undone(request: Request, changes: Sequence[Change]) -> None:
    """Say what came back, what is gone again and what is as it was: memory by memory, whatever was done to each."""
    before = {change.memory_id: change.before for change in changes}  # the newest first: the oldest has the last word
    after = {change.memory_id: change.after for change in reversed(changes)}
    back = [item for key, item in before.items() if item and not after[key]]
    gone = [item for key, item in after.items() if item and not before[key]]
    restored = [item for key, item in before.items() if item and after[key]]
    lines: list[str] = []
    for title, items in ((BACK, back), (GONE, gone), (RESTORED, restored)):
        if items:
            # Of what is there again, it counts where it is heard now; of what is gone, where it was said.
            told = [item for item in items if _was_said_here(request, item)]
            if title is not GONE:
                told = list(await request.turn.memory.get([item.id for item in items]))
            lines += [title[request.locale], *_lines(request, told, len(items))]
    await request.turn.tell("\n".join(lines) or NOTHING_LEFT[request.locale], choices=_show(request, back + restored))


def _lines(request: Request, told: Sequence[MemoryItem], total: int) -> list[str]:
    """Return the memories that may be spoken of here, a line each, and how many more there are."""
    lines = [memory_line(item, request.turn.zone) for item in told[:_MAX_LINES]]
    if more := total - len(lines):
        lines.append(counted(MORE if len(told) == total else NOT_HERE, request.locale, more))
    return lines


def _was_said_here(request: Request, item: MemoryItem) -> bool:
    """Whether whoever reads along heard it said, too."""
    return request.incoming.private or room_name(request.incoming.chat) in item.rooms


def _show(request: Request, items: Sequence[MemoryItem]) -> list[Button]:
    if len(items) != 1 or not request.incoming.private:
        return []
    return [Button(SHOW[request.locale], f"/memories show {items[0].id}", in_place=True)]


UNDO_IS_OFF: Localized = {
    PT: "Aqui nada se desfaz: quem cuida deste bot escolheu que toda mudança valha na hora, de vez.",
    EN: "Nothing is undone here: the bot's owner chose that every change is final at once.",
    ES: "Aquí nada se deshace: quien cuida este bot eligió que todo cambio valga al momento, para siempre.",
}
BACK: Localized = {PT: "Desfeito. Voltou:", EN: "Undone. Back again:", ES: "Deshecho. Volvió:"}
GONE: Localized = {
    PT: "Desfeito. Já não guardo:",
    EN: "Undone. No longer kept:",
    ES: "Deshecho. Ya no guardo:",
}
RESTORED: Localized = {
    PT: "Desfeito. Está de novo como antes:",
    EN: "Undone. As it was before:",
    ES: "Deshecho. Está como antes:",
}
NOTHING_LEFT: Localized = {
    PT: "Desfeito: o que foi guardado nessa vez já tinha sido apagado na mesma vez.",
    EN: "Undone: what was kept then had been deleted in the same go.",
    ES: "Deshecho: lo que se guardó esa vez ya se había borrado en la misma vez.",
}
MORE: Counted = {
    PT: {"one": "… e mais {count} memória.", "other": "… e mais {count} memórias."},
    EN: {"one": "… and {count} more memory.", "other": "… and {count} more memories."},
    ES: {"one": "… y {count} memoria más.", "other": "… y {count} memorias más."},
}
NOT_HERE: Counted = {
    PT: {
        "one": "{count} memória que só mostro em particular.",
        "other": "{count} memórias que só mostro em particular.",
    },
    EN: {
        "one": "{count} memory that I only show in private.",
        "other": "{count} memories that I only show in private.",
    },
    ES: {
        "one": "{count} memoria que solo muestro en privado.",
        "other": "{count} memorias que solo muestro en privado.",
    },
}
TOO_LATE: Localized = {
    PT: "Tarde demais: uma mudança pode ser desfeita por {within}. Nada foi alterado.",
    EN: "Too late: a change can be undone for {within}. Nothing was changed.",
    ES: "Demasiado tarde: un cambio se puede deshacer durante {within}. No se cambió nada.",
}
CHANGED_SINCE: Localized = {
    PT: "Não desfiz: alguma dessas memórias mudou depois. Nada foi alterado; veja como estão em /memories.",
    EN: "Not undone: one of those memories changed since. Nothing was changed; see how they stand in /memories.",
    ES: "No lo deshice: alguna de esas memorias cambió después. No se cambió nada; mira cómo están en /memories.",
}
UNDONE_BEFORE: Localized = {
    PT: "Isso já foi desfeito.",
    EN: "That was undone already.",
    ES: "Eso ya fue deshecho.",
}
NOTHING_OF_IT: Localized = {
    PT: "Não há mais nada disso para desfazer: já foi desfeito, ou faz tempo demais.",
    EN: "Nothing of that is left to undo: it was undone already, or is too long ago.",
    ES: "Ya no queda nada de eso que deshacer: ya fue deshecho, o hace demasiado tiempo.",
}
NOTHING: Localized = {
    PT: "Não há nada para desfazer.",
    EN: "There is nothing to undo.",
    ES: "No hay nada que deshacer.",
}

UNDO_COMMAND = Command(
    "undo",
    {PT: "desfaz a última mudança na memória", EN: "undo the last change of memory", ES: "deshace el último cambio"},
    undo,
)
