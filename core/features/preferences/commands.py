"""/language and /memory: what people choose for themselves, which holds until they choose otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Protocol

from core.commands.command import ONLY_IN_PRIVATE, Command, Request
from core.features.preferences.store import PreferenceStore
from core.locales import head
from core.text.catalogue import text
from core.text.language import from_tag
from core.types import Locale

AUTO: Final = "auto"
_SWITCH: Final = {"on": True, "off": False}
_SHARING: Final = {"share": True, "unshare": False}


class ShareMemory(Protocol):
    """What shares memories with rooms."""

    async def __call__(self, request: Request, argument: str, /, *, shared: bool) -> None:
        """Let the memory that the argument names be spoken of in rooms, or stop that, and tell what holds."""
        ...


class PreferenceCommands:
    """Offer /language and /memory."""

    def __init__(self, preferences: PreferenceStore, share: ShareMemory) -> None:
        self._preferences = preferences
        self._share = share

    @property
    def language(self) -> Command:
        """The command /language."""
        usage = f" {' | '.join(each.code for each in Locale)} | {AUTO}"
        return Command("language", text("commands.language"), self._language, usage=usage)

    @property
    def memory(self) -> Command:
        """The command /memory."""
        return Command("memory", text("commands.memory"), self._memory, usage=" off | on | share N | unshare N")

    async def _language(self, request: Request, argument: str) -> None:
        """Choose the language of every answer, or let it follow what the person writes."""
        chosen = None if argument.casefold() == AUTO else from_tag(argument)
        if chosen is None and argument.casefold() != AUTO:
            offered = ", ".join(f"/language {each.code} ({head(each)['name']})" for each in Locale)
            await request.tell(LANGUAGES, languages=offered)
            return
        user = request.incoming.user
        await self._preferences.put(user, replace(await self._preferences.of(user), language=chosen))
        name = head(chosen)["name"] if chosen else ""
        await request.turn.tell((CHOSEN if chosen else AUTOMATIC)[chosen or request.locale].format(language=name))

    async def _memory(self, request: Request, argument: str) -> None:
        """Show or choose whether anything new is remembered; or share a memory with rooms, or stop sharing it."""
        verb, _, rest = argument.partition(" ")
        if verb.casefold() in _SHARING:
            if request.incoming.private:
                await self._share(request, rest.strip(), shared=_SHARING[verb.casefold()])
            else:
                await request.tell(ONLY_IN_PRIVATE)
            return
        user, wanted = request.incoming.user, _SWITCH.get(argument.casefold())
        preferences = await self._preferences.of(user)
        if wanted is not None:
            preferences = replace(preferences, remembers=wanted)
            await self._preferences.put(user, preferences)
        await request.tell(REMEMBERING if preferences.remembers else NOT_REMEMBERING)


LANGUAGES = text("preferences.choices.languages")
CHOSEN = text("preferences.choices.chosen")
AUTOMATIC = text("preferences.choices.automatic")
REMEMBERING = text("preferences.choices.remembering")
NOT_REMEMBERING = text("preferences.choices.not_remembering")
