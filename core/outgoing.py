"""Messages to put on a screen: text, buttons, files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from core.types import MemoryItem, Modal


@dataclass(frozen=True, slots=True)
class Button:
    """A button: what it says, and the command that whoever presses it sends by that.

    A press is a message like any other and gives nobody a right that they lack; the command stands in the button, so
    that it works after a restart. `command` has at most MAX_COMMAND_BYTES. With `asks`, text is wanted after the
    command: a channel that can ask for it does, under that title, with `text` to begin with; any other sends the
    command alone. The answer of one that is `in_place` takes the place of the message that holds the button.
    """

    label: str
    command: str
    asks: str = ""
    text: str = ""
    in_place: bool = False


MAX_COMMAND_BYTES = 60
"""Of a button's command, in UTF-8. Source: Telegram's callback_data holds 64 bytes, Discord's custom_id 100 chars."""


@dataclass(frozen=True, slots=True)
class File:
    """A file to hand over: where it lies, what it is called there, what it is ("application/json", "image/png")."""

    path: Path
    name: str
    media_type: str


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """What a channel puts on the screen: Markdown text, and how the spec wants it seen.

    `memories` are the items behind a MEMORY message, for channels that draw them in their own manner; `final` is False
    while the text may still grow, so that a channel can leave costly formatting to the end. `choices` are buttons below
    it; `menu` is one choice out of several things that the text lists, in their order, each labelled "N. what it is".
    A `file` is always a message of its own, with the text (a sentence or two) as its caption. A `plain` one is nothing
    but a new text: without formatting, buttons, embeds and a reference to another message.
    """

    text: str
    modal: Modal = Modal.TEXT
    memories: tuple[MemoryItem, ...] = ()
    final: bool = True
    choices: tuple[Button, ...] = ()
    menu: tuple[Button, ...] = ()
    file: File | None = None
    plain: bool = False

    @property
    def stays(self) -> bool:
        """Whether the text is whole, and not to be replaced by the next message."""
        return self.final and self.modal is not Modal.TEXT_FOR_REPLACE


@dataclass(frozen=True, slots=True)
class ChannelLimits:
    """What a channel bears: `max_chars` of one post (in `Channel.measure` units), `edit_interval_s` between edits.

    `shows_pictures` is whether a picture that is handed over can be seen there; `previews` whether what does not stay
    yet (`OutgoingMessage.stays`) leaves nothing behind by itself.
    """

    max_chars: int
    edit_interval_s: float
    shows_pictures: bool = True
    previews: bool = False
