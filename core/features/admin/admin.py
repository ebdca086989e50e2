"""/admin: the command by which owners and admins run the bot. Rights are checked on ids, every time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from core.commands.command import Command, Request
from core.features.admin.verb import HERE, Verb
from core.text.catalogue import text


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
