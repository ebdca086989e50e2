"""What a command is, and what it is run with. Knows rights and places as values. Does not know any command."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from core.commands.context import CommandContext
from core.deadline import Deadline
from core.text.catalogue import text
from core.turn import Turn
from core.types import ConversationKey, Incoming, Locale, Localized, Role

STAFF = frozenset({Role.OWNER, Role.ADMIN})


@dataclass(frozen=True, slots=True)
class Request:
    """A command being run: the turn, what the person sent, who they are to the bot there, and the desk.

    `others` is how many other messages are being answered or wait for it; `running` what is being answered, by where.
    """

    turn: Turn
    incoming: Incoming
    role: Role
    context: CommandContext
    others: int = 0
    running: Mapping[ConversationKey, Deadline] = field(default_factory=dict)

    @property
    def locale(self) -> Locale:
        """The language to answer in."""
        return self.turn.locale

    async def tell(self, text: Localized, **values: object) -> None:
        """Answer one sentence of a catalogue."""
        await self.turn.tell(text[self.locale].format(**values))

    async def fetch(self, max_bytes: int) -> bytes:
        """Return what is in the file that came with the message.

        Raises:
            FileTooLarge, SurfaceError: it is not had.
        """
        return await self.turn.view.fetch(self.incoming.file, max_bytes)


@dataclass(frozen=True, slots=True)
class Command:
    """A command as menus show it. `run` gets what was written after the name, stripped.

    Only `STAFF` may run one that is `for_staff`: for everybody else it does not exist. The answer to one that is
    `in_private` is nobody else's business, and is not given where others read along.
    """

    name: str
    about: Localized
    run: Callable[[Request, str], Awaitable[None]]
    usage: str = ""
    for_staff: bool = False
    in_private: bool = False

    def is_for(self, role: Role) -> bool:
        """Whether somebody of that standing may run it."""
        return not self.for_staff or role in STAFF


ONLY_IN_PRIVATE = text("common.only_in_private")
