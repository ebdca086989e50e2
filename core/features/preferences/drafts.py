"""/drafts: whether a person's answers grow in a draft, where the platform has those. Knows the words of the choice.

A draft is a preview that the platform animates while an answer is on its way; what stays is a message.
"""

from __future__ import annotations

from dataclasses import replace

from core.commands.command import Command, Request
from core.outgoing import Button
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
_WORDS = {"on": True, "off": False, "auto": None}


def has_drafts(request: Request) -> bool:
    """Whether the platform that the request comes from has drafts."""
    return request.incoming.chat.platform in request.context.drafts_on


async def drafts(request: Request, argument: str) -> None:
    """Choose, and say what holds; on a platform without drafts say that."""
    if not has_drafts(request):
        await request.tell(NONE_HERE)
        return
    store, user = request.context.stores.preferences, request.incoming.user
    word = argument.casefold()
    if word in _WORDS:
        await store.put(user, replace(await store.of(user), drafts=_WORDS[word]))
    chosen = (await store.of(user)).drafts
    others = [Button(LABELS[name][request.locale], f"/drafts {name}", in_place=True)
              for name, value in _WORDS.items() if value is not chosen]  # fmt: skip
    await request.turn.tell(HOLDS[chosen][request.locale], choices=others)


LABELS: dict[str, Localized] = {
    "on": {PT: "Ligar", EN: "Turn on", ES: "Activar"},
    "off": {PT: "Desligar", EN: "Turn off", ES: "Desactivar"},
    "auto": {PT: "Como o dono definiu", EN: "As the owner set it", ES: "Como lo fijó el dueño"},
}
HOLDS: dict[bool | None, Localized] = {
    True: {
        PT: "Rascunhos ligados: em particular, você vê minhas respostas crescerem enquanto as escrevo.",
        EN: "Drafts are on: in private, you see my answers grow smoothly as I write them.",
        ES: "Borradores activados: en privado, ves crecer mis respuestas mientras las escribo.",
    },
    False: {
        PT: "Rascunhos desligados: minhas respostas crescem em uma mensagem que é editada.",
        EN: "Drafts are off: my answers grow in a message that is edited.",
        ES: "Borradores desactivados: mis respuestas crecen en un mensaje que se edita.",
    },
    None: {
        PT: "Rascunhos: como o dono do bot definiu. Para escolher: /drafts on, /drafts off",
        EN: "Drafts: as the bot's owner set it. To choose: /drafts on, /drafts off",
        ES: "Borradores: como lo fijó el dueño del bot. Para elegir: /drafts on, /drafts off",
    },
}
NONE_HERE: Localized = {
    PT: "Aqui não há rascunhos: as respostas crescem em uma mensagem.",
    EN: "There are no drafts here: answers grow in a message.",
    ES: "Aquí no hay borradores: las respuestas crecen en un mensaje.",
}

DRAFTS = Command(
    "drafts",
    {
        PT: "respostas que crescem em rascunho",
        EN: "answers that grow in a draft",
        ES: "respuestas que crecen en borrador",
    },
    drafts,
    usage=" on|off|auto",
)
