"""What stands after /admin, and how a person is named there. Knows rights as values. Does not know any verb."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from core.commands.command import Request
from core.commands.menu import MenuEntry
from core.text.catalogue import text
from core.types import Localized, Role

MAX_ID_CHARS = 64


@dataclass(frozen=True, slots=True)
class Verb:
    """What stands after /admin. `run` gets what was written after it; only owners may run one that is `for_owners`.

    One that is `in_rooms` may be said where others read along if "here" follows it: it is then about that room.
    """

    name: str
    about: Localized
    run: Callable[[Request, str], Awaitable[None]]
    usage: str = ""
    for_owners: bool = False
    in_rooms: bool = False

    def entry(self) -> MenuEntry:
        """Return what menus show of it."""
        return MenuEntry(self.name, self.about, self.usage)

    def is_for(self, role: Role) -> bool:
        """Whether somebody of that standing may run it."""
        return role is Role.OWNER or (role is Role.ADMIN and not self.for_owners)


async def person(request: Request, words: list[str], count: int) -> str:
    """Return the person that the first word names, as PLATFORM:ID, or "" after telling what is wrong with it.

    An id alone is one of the platform that the request came from.
    """
    name = words[0] if words else ""
    platform, colon, user = name.partition(":")
    if not colon:
        platform, user = request.incoming.user.platform, name
    platforms = request.context.notifier.seen
    if len(words) != count or not user or len(name) > MAX_ID_CHARS:
        await request.tell(HOW_TO_NAME)
    elif platform not in platforms:
        await request.tell(NO_PLATFORM, name=platform, platforms=", ".join(sorted(platforms)))
    else:
        return f"{platform}:{user}"
    return ""


HOW_TO_NAME = text("admin.names.how_to_name")
NO_PLATFORM = text("admin.names.no_platform")
