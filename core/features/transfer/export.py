"""/export, /admin export and /admin backup: hand over all that is kept of a person, and copy the whole database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from core.commands.command import Command, Request
from core.delivery.notifier import Notifier
from core.errors import ChannelError, ChannelGone, StorageError
from core.features.admin.decisions import DecisionKind, Decisions, record_deed
from core.features.admin.verb import Verb, person
from core.features.transfer.files import Copies, Spool
from core.features.transfer.takeout import MEDIA_TYPE, Takeout, file_name
from core.outgoing import File, OutgoingMessage
from core.ports import Clock
from core.text.catalogue import text
from core.types import UserKey

_MIB: Final = 1 << 20


class ExportCommands:
    """Offer /export to everybody, and the verbs export and backup to owners."""

    def __init__(
        self, takeout: Takeout, spool: Spool, copies: Copies, *, decisions: Decisions, notifier: Notifier, clock: Clock
    ) -> None:
        self._takeout = takeout
        self._spool = spool
        self._copies = copies
        self._decisions = decisions
        self._notifier = notifier
        self._clock = clock

    @property
    def command(self) -> Command:
        """The command."""
        return Command("export", text("commands.export"), self._export, in_private=True)

    @property
    def verbs(self) -> Sequence[Verb]:
        """The verbs of /admin, in the order of its list."""
        return (
            Verb("backup", text("admin.commands.backup"), self._backup, for_owners=True),
            Verb("export", text("admin.commands.export"), self._export_of, " PLATFORM:ID", for_owners=True),
        )

    async def _export(self, request: Request, _: str) -> None:
        """Hand the person their own file."""
        await self._hand_over(request, request.incoming.user)

    async def _export_of(self, request: Request, argument: str) -> None:
        """Hand the owner the file of somebody, and put that on record."""
        if user := await person(request, argument.split(), self._notifier.seen):
            await record_deed(self._decisions, self._clock, request.incoming.user, DecisionKind.EXPORT, str(user))
            await self._hand_over(request, user)

    async def _hand_over(self, request: Request, user: UserKey) -> None:
        """Send that person's file to the one who asks; if their platform refuses it, say so."""
        name = file_name(user, self._clock.now())
        async with self._spool.place(name) as path:
            tally = await self._takeout.write(user, path)
            told = HERE[request.locale].format(
                memories=tally.memories, threads=tally.threads, messages=tally.messages, user=user
            )
            try:
                await request.turn.hand_over(File(path, name, MEDIA_TYPE), told)
            except ChannelGone:
                raise
            except ChannelError:  # nothing more can be said in this turn: it is said beside it
                size = f"{path.stat().st_size / _MIB:.1f}"
                refused = OutgoingMessage(NOT_TAKEN[request.locale].format(size=size, user=user))
                if not await self._notifier.tell(request.incoming.user, refused):
                    raise

    async def _backup(self, request: Request, _: str) -> None:
        """Make a copy of the whole database and verify it."""
        await request.turn.status(COPYING[request.locale])
        try:
            made = await self._copies.make()
        except StorageError as error:
            await request.tell(NO_BACKUP, reason=error)
            return
        name = f"{made.path.parent.name}/{made.path.name}"
        await request.tell(BACKED_UP, name=name, size=f"{made.size_bytes / _MIB:.1f}")


HERE = text("transfer.export.here")
NOT_TAKEN = text("transfer.export.not_taken")
COPYING = text("transfer.admin.copying")
BACKED_UP = text("transfer.admin.backed_up")
NO_BACKUP = text("transfer.admin.no_backup")
