"""Who reads the answer to a command or a press, which conversation that is part of, and whether it waits its turn.

Knows commands by what they do to a conversation. Does not know what they answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adapters.discord.room import Room, aside
from core.types import ChatKey

STEERS: Final = frozenset({"reset", "stop", "threads", "context"})
"""Commands about the conversation that they are given in: the room's, unless the person means the one aside."""

SPEAKS: Final = frozenset({"retry"})
"""Commands whose answer is part of the conversation, and so for whoever reads that."""

IN_ORDER: Final = frozenset({"remember", "reset", "threads"}) | SPEAKS
"""Commands that change a conversation: they wait for the answers before them. No other command does."""


@dataclass(frozen=True, slots=True)
class Audience:
    """Where something is said: the conversation's place, and whether nobody but the person reads the answer.

    `hidden` is how: not by the room being private, but by an answer that Discord shows to nobody else there.
    """

    chat: ChatKey
    private: bool
    hidden: bool


def audience(room: Room, user_id: int, text: str, *, unseen: bool) -> Audience:
    """Return for whom the answer to that text is; `unseen` says that the person wants, or began, a talk aside.

    In a room of many, what is recalled for one person stays in a conversation of its own: were it part of what is said
    aloud there, the next answer to all could tell it.
    """
    if room.private:
        return Audience(room.chat, private=True, hidden=False)
    name = command_of(text)
    hidden = unseen or bool(name and name not in SPEAKS)
    apart = unseen or bool(name and name not in STEERS | SPEAKS)
    return Audience(aside(room.chat, user_id) if apart else room.chat, private=hidden, hidden=hidden)


def overtakes(text: str) -> bool:
    """Whether a slash command need not wait for the answers before it."""
    name = command_of(text)
    return bool(name) and name not in IN_ORDER


def command_of(text: str) -> str:
    """Return the name of the command that a text begins with, or ""."""
    return text[1:].split(maxsplit=1)[0].casefold() if text[:1] == "/" and text[1:2].strip() else ""
