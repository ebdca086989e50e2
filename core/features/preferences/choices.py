"""/language and /memory: what each person chooses for themselves, until they choose otherwise. Knows the words."""

from __future__ import annotations

from dataclasses import replace

from core.commands.command import ONLY_IN_PRIVATE, Command, Request
from core.features.memories.flags import share
from core.text.language import from_tag
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
AUTO, ON, OFF = "auto", "on", "off"
SHARING = {"share": True, "unshare": False}


async def language(request: Request, argument: str) -> None:
    """Choose the language of every answer, or leave it to what the person writes."""
    chosen = None if argument.casefold() == AUTO else from_tag(argument)
    if chosen is None and argument.casefold() != AUTO:
        await request.tell(LANGUAGES)
        return
    store, user = request.context.stores.preferences, request.incoming.user
    await store.put(user, replace(await store.of(user), language=chosen))
    await request.turn.tell((AUTOMATIC if chosen is None else CHOSEN)[chosen or request.locale])


async def memory(request: Request, argument: str) -> None:
    """Say whether anything new is remembered, or choose that; or whether a memory is shared with rooms."""
    verb, _, rest = argument.partition(" ")
    if verb.casefold() in SHARING:
        if request.incoming.private:
            await share(request, rest.strip(), shared=SHARING[verb.casefold()])
        else:
            await request.tell(ONLY_IN_PRIVATE)
        return
    store, user = request.context.stores.preferences, request.incoming.user
    wanted = {ON: True, OFF: False}.get(argument.casefold())
    if wanted is not None:
        await store.put(user, replace(await store.of(user), remembers=wanted))
    await request.tell(REMEMBERING if (await store.of(user)).remembers else NOT_REMEMBERING)


LANGUAGES: Localized = {
    PT: "Escolha: /language pt, /language en, /language es, ou /language auto (a língua em que você escreve).",
    EN: "Choose: /language pt, /language en, /language es, or /language auto (the language you write in).",
    ES: "Elige: /language pt, /language en, /language es, o /language auto (el idioma en que escribes).",
}
CHOSEN: Localized = {
    PT: "Combinado: respondo sempre em português.",
    EN: "Done: I always answer in English.",
    ES: "Listo: respondo siempre en español.",
}
AUTOMATIC: Localized = {
    PT: "Combinado: respondo na língua em que você escreve.",
    EN: "Done: I answer in the language you write in.",
    ES: "Listo: respondo en el idioma en que escribes.",
}
REMEMBERING: Localized = {
    PT: "A memória está ligada: guardo o que você pede. Para não guardar nada novo: /memory off",
    EN: "Memory is on: I keep what you ask me to. To have nothing new kept: /memory off",
    ES: "La memoria está activada: guardo lo que pides. Para que no guarde nada nuevo: /memory off",
}
NOT_REMEMBERING: Localized = {
    PT: "A memória está desligada: não guardo nem mudo nada. O que já estava guardado continua, e posso procurar e "
    "apagar. Para ligar: /memory on",
    EN: "Memory is off: I keep and change nothing. What was kept before stays, and can be looked for and deleted. "
    "To turn it on: /memory on",
    ES: "La memoria está desactivada: no guardo ni cambio nada. Lo que ya estaba guardado se queda, y se puede buscar "
    "y borrar. Para activarla: /memory on",
}

LANGUAGE = Command(
    "language",
    {PT: "escolhe a língua das respostas", EN: "choose the language", ES: "elige el idioma"},
    language,
    usage=" pt | en | es | auto",
)
MEMORY = Command(
    "memory",
    {
        PT: "liga ou desliga a memória, compartilha",
        EN: "turn remembering off or on, share",
        ES: "activa o desactiva la memoria, comparte",
    },
    memory,
    usage=" off | on | share N | unshare N",
)
