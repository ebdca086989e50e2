"""/news: whether a person wants what owners tell everybody. Knows the words of the choice."""

from __future__ import annotations

from dataclasses import replace

from core.commands.command import Command, Request
from core.outgoing import Button
from core.text.catalogue import text

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


WANTED = text("broadcast.news.wanted")
UNWANTED = text("broadcast.news.unwanted")
TURN_OFF = text("broadcast.news.turn_off")
TURN_ON = text("broadcast.news.turn_on")

NEWS = Command(
    "news",
    text("commands.news"),
    news,
    usage=" off | on",
)
