"""Draw a message as Discord shows it, and measure it as Discord counts.

Discord reads Markdown itself, so text goes out as it is, but for tables, which it does not know, two bars in a row,
which are a spoiler in Discord and mean nothing in Markdown, and times, which each reader sees in their own zone and
language. Memories stand in a small embed, each under a spoiler, alone or below the text they explain; so does what is
folded, under one spoiler.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import discord

from adapters.running import AGAIN, spelled_out
from core.outgoing import Button, File, OutgoingMessage
from core.text.markdown import TIME_LINK, outside_code, without_tables
from core.text.unicode import one_line
from core.types import MemoryNote, Modal

MAX_CHARS = 2000
"""The length of one message's content. Source: discord.com/developers/docs/resources/message#create-message."""

_MAX_EMBED_CHARS = 4096
_MAX_PHRASE_CHARS = 80
_MAX_CONTENT_CHARS = 300
_COLOUR = 0x7A8B99
_NOTHING_VISIBLE = "…"
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_BARS = re.compile(r"\|{2,}")
_HOUR = re.compile(r"\d{1,2}:\d{2}(?: [AP]M)?")
_HOUR_MARK, _TIME_MARK = "t", "F"
"""An hour; date and hour with the weekday. Source: discord.com/developers/docs/reference#message-formatting."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is sent: text, and the text of an embed below it; files; and what can be pressed below it.

    `stop` is the id of the Stop button ("" for none); `aside` says that it stands in a conversation unseen by the room.
    `mentioned` is the id of the only person who is notified, 0 for nobody, whoever else is named in the text.
    """

    content: str = ""
    embed: str = ""
    stop: str = ""
    choices: tuple[Button, ...] = ()
    menu: tuple[Button, ...] = ()
    aside: bool = False
    files: tuple[File, ...] = ()
    mentioned: int = 0

    @property
    def again(self) -> Drawn:
        """The same with the mark of what may be there twice, once."""
        return self if self.content.startswith(AGAIN) else replace(self, content=f"{AGAIN} {self.content}".rstrip())

    def says(self, other: Drawn) -> bool:
        """Whether it has the text, the embed and the files of the other, whatever can be pressed below."""
        return (self.content, self.embed, self.files) == (other.content, other.embed, other.files)

    @property
    def allowed_mentions(self) -> discord.AllowedMentions:
        """Who may be notified, as the library takes it."""
        people = [discord.Object(self.mentioned)] if self.mentioned else False
        return discord.AllowedMentions(everyone=False, users=people, roles=False, replied_user=False)

    @property
    def embeds(self) -> list[discord.Embed]:
        """The embeds as the library takes them."""
        return [discord.Embed(description=self.embed, colour=_COLOUR)] if self.embed else []


def measure(markdown: str) -> int:
    """Return the length when sent, in UTF-16 units: as Discord's clients count, no less than its server."""
    return _units(_written(markdown))


def draw(shown: OutgoingMessage, *, stop: str = "", aside: bool = False) -> Drawn:
    """Return how a message is shown; a stoppable one carries the Stop button of that id ("" for none)."""
    shown = spelled_out(shown)
    if not shown.final:
        shown = replace(shown, text=without_tables(shown.text, grows=True))
    if shown.mention is not None and shown.mention.user.isdecimal():
        text = f"<@{shown.mention.user}>{shown.gap}{shown.text}"
        drawn = draw(replace(shown, text=text, mention=None), stop=stop, aside=aside)
        return replace(drawn, mentioned=int(shown.mention.user))
    if shown.plain or not shown.stays:
        return Drawn(content=_text(shown), stop=stop if shown.stoppable and not shown.plain else "")
    below = Drawn(choices=shown.choices, menu=shown.menu, aside=aside, files=shown.files)
    if shown.modal is Modal.MEMORY:
        embed = _memories(shown.memories) if shown.memories else _sendable(shown.text)[:_MAX_EMBED_CHARS]
        return replace(below, embed=embed)
    if "://" in shown.text:  # beside an embed of ours Discord would fetch every link, which may hold what was recalled
        return replace(below, content=_text(shown))
    content = _sendable(_written(shown.text))
    content = content if content or shown.files else _NOTHING_VISIBLE
    return replace(below, content=content, embed=_below(shown))


def _text(shown: OutgoingMessage) -> str:
    """Return the text where there are no embeds; memories stay under their spoilers if there is room."""
    text = _sendable(_written(shown.text)) or _NOTHING_VISIBLE
    if shown.modal is Modal.MEMORY:
        lines = _memories(shown.memories)
        return lines if 0 < _units(lines) <= MAX_CHARS else text
    lines = _below(shown, MAX_CHARS - _units(text) - 1)
    return f"{text}\n{lines}" if lines else text


def _written(text: str) -> str:
    """Return the text as Discord reads it: tables laid out, two bars in a row escaped, times as its marks.

    Code is left alone.
    """
    text = without_tables(text)
    if "||" not in text and "](time:" not in text:
        return text
    return outside_code(text, _marked)


def _marked(prose: str) -> str:
    return TIME_LINK.sub(_time, _BARS.sub(lambda found: found[0].replace("|", r"\|"), prose))


def _time(found: re.Match[str]) -> str:
    return f"<t:{found[2]}:{_HOUR_MARK if _HOUR.fullmatch(found[1]) else _TIME_MARK}>"


def _sendable(text: str) -> str:
    """Return the text without characters that Discord refuses; it does not become longer."""
    return _CONTROLS.sub("", _SURROGATES.sub("\ufffd", text)).strip()


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _below(shown: OutgoingMessage, max_chars: int = _MAX_EMBED_CHARS) -> str:
    """Return what stands below a text, as far as it fits: memories, then what is folded, under one spoiler."""
    memories = _memories(shown.memories, max_chars) if shown.memories else ""
    title, *lines = discord.utils.escape_markdown(_sendable(shown.folded)).split("\n")
    while lines:
        folded = f"{title}\n||" + "\n".join(lines) + "||"
        if _units(memories) + _units(folded) + 1 <= max_chars:
            return f"{memories}\n{folded}".lstrip()
        lines.pop()
    return memories


def _memories(items: Sequence[MemoryNote], max_chars: int = _MAX_EMBED_CHARS) -> str:
    """Return the lines that fit, and the number of those that do not; "" if none fits."""
    lines: list[str] = []
    left = max_chars - 8  # for the line that counts the others
    for at, item in enumerate(items):
        line = _memory(item)
        if _units(line) + 1 > left:
            return "\n".join([*lines, f"+ {len(items) - at}"]) if lines else ""
        left -= _units(line) + 1
        lines.append(line)
    return "\n".join(lines)


def _memory(item: MemoryNote) -> str:
    phrase = discord.utils.escape_markdown(one_line(item.phrase, _MAX_PHRASE_CHARS))
    # Escaped, so that what is kept is seen and copied as it is, and no bar in it ends the spoiler.
    content = discord.utils.escape_markdown(one_line(item.content, _MAX_CONTENT_CHARS), ignore_links=False)
    return f"🧠 **{phrase}** ||{content}|| · {item.changed}"
