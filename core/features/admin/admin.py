"""/admin: the command by which owners and admins run the bot. Rights are checked on ids, every time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from core.commands.command import Command, Request
from core.commands.menu import MenuEntry
from core.text.catalogue import text
from core.types import Localized, Role, UserKey

HERE: Final = "here"
"""Names the place where a verb is said."""

MAX_ID_CHARS: Final = 64


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of /admin. `run` gets the request and what was written after the verb, stripped.

    Only owners may run a verb that is `for_owners`. A verb that is `in_rooms` may be said where others read along if
    HERE follows it: it is about that room then.
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
        """Whether a person of that role may run it."""
        return role is Role.OWNER or (role is Role.ADMIN and not self.for_owners)


async def person(request: Request, words: list[str], platforms: Collection[str], count: int = 1) -> UserKey | None:
    """Return the person that the first of `count` words names as PLATFORM:ID, or None after telling what is wrong.

    An id alone is one of the platform that the request came from.
    """
    name = words[0] if words else ""
    platform, colon, user = name.partition(":")
    if not colon:
        platform, user = request.incoming.user.platform, name
    if len(words) != count or not user or len(name) > MAX_ID_CHARS:
        await request.tell(HOW_TO_NAME)
    elif platform not in platforms:
        await request.tell(NO_PLATFORM, name=platform, platforms=", ".join(sorted(platforms)))
    else:
        return UserKey(platform, user)
    return None


HOW_TO_NAME = text("admin.names.how_to_name")
NO_PLATFORM = text("admin.names.no_platform")


class Admin:
    """Offer /admin with the verbs of every feature, in the given order."""

    def __init__(self, verbs: Iterable[Verb]) -> None:
        self.verbs: Mapping[str, Verb] = {verb.name: verb for verb in verbs}

    @property
    def command(self) -> Command:
        """The command."""
        verbs = [verb.entry() for verb in self.verbs.values()]
        return Command("admin", text("commands.admin"), self._run, usage=" …", for_staff=True, verbs=verbs)

    async def _run(self, request: Request, argument: str) -> None:
        """Run a verb, or list those that the person may use. In a room, run only verbs that are about that room."""
        name, _, rest = argument.partition(" ")
        verb = self.verbs.get(name.strip().casefold())
        if not request.incoming.private and not (verb and verb.in_rooms and rest.casefold().split()[:1] == [HERE]):
            known = (f"/admin {verb.name} {HERE}" for verb in self._open_to(request) if verb.in_rooms)
            await request.tell(NOT_HERE, known=", ".join(known))
        elif verb is None or not verb.is_for(request.role):
            lines = [
                f"/admin {verb.name}{verb.usage} — {verb.about[request.locale]}" for verb in self._open_to(request)
            ]
            await request.turn.tell("\n".join(lines))
        else:
            await verb.run(request, rest.strip())

    def _open_to(self, request: Request) -> Sequence[Verb]:
        return [verb for verb in self.verbs.values() if verb.is_for(request.role)]


NOT_HERE = text("admin.not_here")
