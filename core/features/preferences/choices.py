"""/language and /memory: what each person chooses for themselves, until they choose otherwise. Knows the words."""

from __future__ import annotations

from dataclasses import replace

from core.commands.command import ONLY_IN_PRIVATE, Command, Request
from core.features.memories.flags import share
from core.locales import head
from core.text.catalogue import text
from core.text.language import from_tag
from core.types import Locale

AUTO, ON, OFF = "auto", "on", "off"
SHARING = {"share": True, "unshare": False}


async def language(request: Request, argument: str) -> None:
    """Choose the language of every answer, or leave it to what the person writes."""
    chosen = None if argument.casefold() == AUTO else from_tag(argument)
    if chosen is None and argument.casefold() != AUTO:
        offered = ", ".join(f"/language {each.code} ({head(each)['name']})" for each in Locale)
        await request.tell(LANGUAGES, languages=offered)
        return
    store, user = request.context.stores.preferences, request.incoming.user
    await store.put(user, replace(await store.of(user), language=chosen))
    name = head(chosen)["name"] if chosen else ""
    await request.turn.tell((CHOSEN if chosen else AUTOMATIC)[chosen or request.locale].format(language=name))


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


LANGUAGES = text("preferences.choices.languages")
CHOSEN = text("preferences.choices.chosen")
AUTOMATIC = text("preferences.choices.automatic")
REMEMBERING = text("preferences.choices.remembering")
NOT_REMEMBERING = text("preferences.choices.not_remembering")

LANGUAGE = Command(
    "language",
    text("commands.language"),
    language,
    usage=f" {' | '.join(each.code for each in Locale)} | {AUTO}",
)
MEMORY = Command(
    "memory",
    text("commands.memory"),
    memory,
    usage=" off | on | share N | unshare N",
)
