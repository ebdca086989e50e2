"""Messages to show: text, buttons, files, places, contacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from mimetypes import guess_extension
from pathlib import Path, PureWindowsPath

from core.enclosures import AttachmentKind
from core.text.markdown import plain_times, verbatim
from core.text.unicode import one_line
from core.types import MemoryNote, Modal

_MAX_BINDING_CHARS, _MAX_CONTENT_CHARS = 60, 160


@dataclass(frozen=True, slots=True)
class Button:
    """A button: its label, and the command that a press sends (at most MAX_COMMAND_BYTES).

    A press is a message like any other and gives no right that the person lacks; as the command is in the button, it
    works after a restart. With `asks`, the command wants a text after it: a channel that has forms opens one with that
    title, filled in with `text`; others send the command alone. The answer to an `in_place` button replaces the
    message with the button.
    """

    label: str
    command: str
    asks: str = ""
    text: str = ""
    in_place: bool = False


MAX_COMMAND_BYTES = 60
"""The longest command in UTF-8. Source: Telegram's callback_data holds 64 bytes, Discord's custom_id 100 characters."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A text that a field of a command offers while the person types: what they read, and what is filled in."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class File:
    """A thing to send: a file on disk or its bytes, what a platform has already, a place, or a contact."""

    path: Path | None = None
    name: str = ""
    """Its name for the person; of a place "TITLE, ADDRESS"; may be ""."""

    media_type: str = ""
    """"application/json", "image/png"."""

    kind: AttachmentKind = AttachmentKind.FILE
    content: bytes | None = field(default=None, repr=False)
    """What is in it, if it does not lie at `path`."""

    handle: str = ""
    """Of the attachment that it was (`Attachment.handle`): where its platform takes that, no bytes are sent."""

    detail: str = ""
    """What it says without bytes, as `Attachment.detail`: of a place "LATITUDE,LONGITUDE", of a contact its vCard."""

    @property
    def has_bytes(self) -> bool:
        """Whether it can be sent without a handle."""
        return self.path is not None or self.content is not None

    @property
    def file_name(self) -> str:
        """A name for its bytes that is no path, on one line; one after its kind if it has none."""
        name = one_line(PureWindowsPath(self.name).name, _MAX_FILE_NAME_CHARS).lstrip(".")  # it splits at both slashes
        return name or f"{self.kind.value.replace(' ', '-')}{guess_extension(self.media_type) or ''}"


_MAX_FILE_NAME_CHARS = 120
_CAPTIONLESS = {
    AttachmentKind.STICKER, AttachmentKind.VIDEO_NOTE, AttachmentKind.LOCATION, AttachmentKind.CONTACT,
}  # fmt: skip
_ALBUMS = {
    AttachmentKind.PHOTO: AttachmentKind.PHOTO,
    AttachmentKind.VIDEO: AttachmentKind.PHOTO,
    AttachmentKind.AUDIO: AttachmentKind.AUDIO,
    AttachmentKind.FILE: AttachmentKind.FILE,
}
"""What may stand in one album: pictures and videos, recordings, files."""

MAX_ALBUM = 10
"""Source: core.telegram.org/bots/api#sendmediagroup; discord.com/developers/docs/resources/message#create-message."""


def albums(files: Sequence[File]) -> list[tuple[File, ...]]:
    """Return the files in groups, each of which is one message: neighbours that platforms show as an album."""
    found: list[list[File]] = []
    for file in files:
        album = _ALBUMS.get(file.kind)
        if found and album and _ALBUMS.get(found[-1][0].kind) is album and len(found[-1]) < MAX_ALBUM:
            found[-1].append(file)
        else:
            found.append([file])
    return [tuple(each) for each in found]


def takes_caption(files: Sequence[File]) -> bool:
    """Return whether a text can stand below these files in the same message."""
    return files[0].kind not in _CAPTIONLESS


@dataclass(frozen=True, slots=True)
class Mention:
    """A person whom a message in a room is for: their id on the platform, and their name."""

    user: str
    name: str

    @property
    def shown_name(self) -> str:
        """The name on one short line; without a name, the id."""
        return one_line(self.name, _MAX_MENTIONED_CHARS) or self.user


MAX_MENTION_CHARS = 75
"""The most that a mention adds to a text, in UTF-16 units."""

_MAX_MENTIONED_CHARS = MAX_MENTION_CHARS // 3


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message for a channel: Markdown text, and how to show it.

    A time in the text is a link, "[Friday, 8:00](time:1764316800)" (`core.text.markdown.time_link`): platforms on which
    everybody reads their own hour show it so, others its words.
    """

    text: str
    modal: Modal = Modal.TEXT
    memories: tuple[MemoryNote, ...] = ()
    """Of a MEMORY message its items, from which a channel may draw its text; of a TEXT message those that it rests on,
    drawn below the text as far as there is room."""

    folded: str = ""
    """Lines below a TEXT message, the first of which is their title, for who wants to see more: shown folded where the
    platform can, letter by letter, as far as there is room."""

    final: bool = True
    """False while the text may still grow, so that a channel can leave costly formatting to the end."""

    choices: tuple[Button, ...] = ()
    """Buttons below it."""

    menu: tuple[Button, ...] = ()
    """One button for each thing that the text lists, in that order, labelled "N. what it is"."""

    files: tuple[File, ...] = ()
    """Sent in messages of their own, the first with the text (a sentence or two) as its caption. A channel is given
    those of one album at a time (`albums`)."""

    plain: bool = False
    """Whether it is a new text without formatting, buttons, embeds or a reference to another message."""

    mention: Mention | None = None
    """Whom it is for in a room: they are notified."""

    unseen: bool = False
    """Whether it is of no use to others than the asker: in a room only they see it, where the platform can do that."""

    goes_on: bool = False
    """Whether it goes on with a text that began in the message before: nobody is notified of it, unless `notify`."""

    notify: bool = False
    """Whether whoever asked is notified of it, as a new message, by the channel's own means."""

    notice: bool = False
    """Whether it only says that a press did nothing: for a moment, to who pressed, where the platform can do that."""

    again: bool = False
    """Whether it may be there already as another message, and says so where the platform has a mark for that."""

    stoppable: bool = False
    """Whether a button below it stops what may still change. A new message has none: one of which a crash leaves
    nobody to know would keep it."""

    urgent: bool = False
    """Whether the person waits for it, such as that an answer was stopped; it goes before everything else."""

    @property
    def gap(self) -> str:
        """What stands between the mention and the text: a text of several lines begins on its own line."""
        return "\n" if "\n" in self.text else " "

    @property
    def reserved(self) -> int:
        """The room that the mention needs beside the text, in UTF-16 units."""
        return 0 if self.mention is None else MAX_MENTION_CHARS

    @property
    def words(self) -> str:
        """The text where nobody can be notified and every reader has one zone: a name, and the words of times."""
        text = plain_times(self.text)
        return text if self.mention is None else f"{verbatim(self.mention.shown_name)}:{self.gap}{text}"

    @property
    def silent(self) -> bool:
        """Whether nobody is notified of it: they were of the beginning of its text."""
        return self.goes_on and not self.notify

    @property
    def stays(self) -> bool:
        """Whether the text is complete and the next message does not replace it."""
        return self.final and self.modal is not Modal.TEXT_FOR_REPLACE


def memory_line(note: MemoryNote) -> str:
    """Return a memory on one line of Markdown: what it is found by, its content, and the day of its last change."""
    phrase = verbatim(one_line(note.phrase, _MAX_BINDING_CHARS))
    content = verbatim(one_line(note.content, _MAX_CONTENT_CHARS))
    return f"🧠 {phrase}: {content} · {note.changed}"


def memories_shown(items: Sequence[MemoryNote], choices: tuple[Button, ...] = ()) -> OutgoingMessage:
    """Return the MEMORY message that shows those memories."""
    return OutgoingMessage("\n".join(map(memory_line, items)), Modal.MEMORY, tuple(items), choices=choices)


@dataclass(frozen=True, slots=True)
class ChannelLimits:
    """Limits of a channel."""

    max_chars: int
    """The most in one post, in `Channel.measure` units."""

    edit_interval_s: float
    """The time between edits. An edit that completes an answer does not wait: the channel itself keeps to its
    platform's limits (`ChannelBusy`)."""

    shows_pictures: bool = True
    """Whether a picture that is sent can be seen there."""

    previews: bool = False
    """Whether messages that do not stay (`OutgoingMessage.stays`) disappear by themselves."""

    typing_s: float = 0.0
    """How often `Channel.show_typing` is to be repeated; 0: there is no such sign."""

    stops: bool = False
    """Whether there is a button that stops an answer."""

    notifies: bool = False
    """Whether a new message notifies whoever asked, where an edit does not."""
