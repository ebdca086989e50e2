"""/news: whether a person wants what owners tell everybody. Knows the words of the choice."""

from __future__ import annotations

from dataclasses import replace

from core.commands.command import Command, Request
from core.outgoing import Button
from core.types import Locale, Localized

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
_WORDS = {"on": True, "off": False}


async def news(request: Request, argument: str) -> None:
    """Choose, and say what holds."""
    store, user, locale = request.context.stores.preferences, request.incoming.user, request.locale
    wanted = _WORDS.get(argument.casefold())
    if wanted is not None:
        await store.put(user, replace(await store.of(user), news=wanted))
    wants = (await store.of(user)).news
    other = Button((TURN_OFF if wants else TURN_ON)[locale], f"/news {'off' if wants else 'on'}", in_place=True)
    await request.turn.tell((WANTED if wants else UNWANTED)[locale], choices=(other,))


WANTED: Localized = {
    PT: "Você recebe o que quem cuida do bot diz a todos. Para não receber: /news off",
    EN: "You get what the bot's owners tell everybody. To get it no more: /news off",
    ES: "Recibes lo que los dueños del bot dicen a todos. Para no recibirlo: /news off",
}
UNWANTED: Localized = {
    PT: "Você não recebe o que quem cuida do bot diz a todos. Para receber: /news on",
    EN: "You do not get what the bot's owners tell everybody. To get it: /news on",
    ES: "No recibes lo que los dueños del bot dicen a todos. Para recibirlo: /news on",
}
TURN_OFF: Localized = {PT: "Não receber", EN: "Turn off", ES: "No recibir"}
TURN_ON: Localized = {PT: "Receber", EN: "Turn on", ES: "Recibir"}

NEWS = Command(
    "news",
    {PT: "avisos a todos, sim ou não", EN: "turn news off or on", ES: "avisos a todos, sí o no"},
    news,
    usage=" off | on",
)
