"""Render Markdown as plain text and entities, which, unlike a `parse_mode`, cannot fail on half-written Markdown.

Below it stand buttons: how they are laid out, and what a press of one means.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from telegram import InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity, User
from telegramify_markdown import convert
from telegramify_markdown.config import RenderConfig
from telegramify_markdown.entity import MessageEntity as Span
from telegramify_markdown.entity import utf16_len

from adapters.running import AGAIN
from core.outgoing import Button, OutgoingMessage
from core.text.markdown import outside_code, without_tables
from core.text.unicode import one_line
from core.types import MemoryNote, Modal

MAX_UNITS = 4096
"""UTF-16 units of one message, counted after formatting. Source: core.telegram.org/bots/api#sendmessage."""

MAX_CAPTION_UNITS = 1024
"""The same of a file's caption. Source: core.telegram.org/bots/api#senddocument."""

ROOM = MAX_UNITS - utf16_len(f"{AGAIN} ")
"""UTF-16 units of a message besides that mark."""

MAX_ENTITIES = 100
"""Entities of one message; the server drops the rest in silence. Source: `telegram.constants.MessageLimit`."""

NOTHING_VISIBLE = "…"
_MAX_NAME_CHARS = 60  # of a memory
_MAX_CONTENT_CHARS = (600, 160, 40)  # the same, the more that fits; the quote shows its first lines until it is opened

# The converter knows more than Markdown: it takes `<word>` for a tag, `[word]: text` for a link's address, `$...$` for
# a formula, `||...||` for a spoiler and `2024.` for the first number of a list, and drops or changes what it takes.
# People and models write these and mean them (think of a password), so they pass it as noncharacters that no text
# holds. What is escaped already is left to Markdown.
_TAKEN = re.compile(r"\\.|<|\$|\|\||(?<=\]):|^[ >]*\d{3,9}[.)]", re.MULTILINE)
_HIDE = str.maketrans("<$|:.)", "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5")
_SHOW = str.maketrans("\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5", "<$|:.)")
_NAME = re.compile(r"(?<!\w)@(?=\w)")
_UNLINKED_NAME = "＠"  # reads as @, and notifies nobody
_TIME = re.compile(r"time:(\d{1,12})")
_LATEST_TIME_S = 2**31 - 1
_UNSENDABLE = re.compile("[\ufdd0-\ufdd5\ud800-\udfff\x00-\x08\x0b-\x1f\x7f-\x9f]")


@dataclass(frozen=True, slots=True)
class Rendered:
    """What is sent: text, entities whose offsets and lengths are UTF-16 units of it, and the buttons below."""

    text: str
    entities: tuple[MessageEntity, ...] = ()
    keyboard: InlineKeyboardMarkup | None = None

    @property
    def plain(self) -> Rendered:
        """The same without formatting."""
        return replace(self, entities=())

    @property
    def again(self) -> Rendered:
        """The same with the mark of what may be there twice, once."""
        if self.text.startswith(AGAIN):
            return self
        head = f"{AGAIN} "
        return replace(self, text=head + self.text, entities=_behind(head, self.entities))

    @property
    def size(self) -> int:
        """The length in UTF-16 units, or the share of entities on the same scale if that is more."""
        units, count = utf16_len(self.text), len(self.entities) + 1  # one more: the quote around memories
        return units if count <= MAX_ENTITIES else max(units, math.ceil(count * MAX_UNITS / MAX_ENTITIES))


def _style() -> RenderConfig:
    """Return the converter's settings: no emoji that the author did not write, plain bullets."""
    config = RenderConfig.isolated()
    symbol = config.markdown_symbol
    symbol.heading_level_1 = symbol.heading_level_2 = symbol.heading_level_3 = symbol.heading_level_4 = ""
    symbol.image = symbol.link = ""
    symbol.unordered_list_item = "•"
    symbol.task_uncompleted, symbol.task_completed = "☐", "☑"
    return config


_STYLE = _style()


def render(markdown: str) -> Rendered:
    """Convert Markdown, finished or not, and lose no word of it."""
    text, spans = convert(_hidden(without_tables(markdown)), latex_escape=False, config=_STYLE)
    text = text.rstrip().translate(_SHOW)
    if not text:  # marks and nothing between them
        return Rendered(_clean(markdown).strip())
    units = utf16_len(text)
    entities = (_entity(span, units) for span in spans if span.offset < units and span.type != "custom_emoji")
    return Rendered(text, tuple(entity for entity in entities if entity is not None))


def naming_nobody(markdown: str) -> str:
    """Return the Markdown, of the same length, without names by which Telegram would notify people."""
    return outside_code(markdown, lambda prose: _NAME.sub(_UNLINKED_NAME, prose))


def naming(shown: OutgoingMessage, drawn: Rendered) -> Rendered:
    """Return the message after the name of the person whom it mentions, who is notified whatever their name is."""
    if shown.mention is None:
        return drawn
    name = _clean(naming_nobody(shown.mention.shown_name))
    head = f"{name}{shown.gap}"
    entities = _behind(head, drawn.entities)
    if shown.mention.user.isdecimal():  # who speaks for a group is nobody who could be notified
        person = User(int(shown.mention.user), name, is_bot=False)
        entities = (MessageEntity(MessageEntity.TEXT_MENTION, 0, utf16_len(name), user=person), *entities)
    return replace(drawn, text=head + drawn.text, entities=entities)


def draw(shown: OutgoingMessage, rendered: Rendered) -> Rendered:
    """Return how a message looks, given its rendered text: never empty, memories in a quote that can be opened."""
    if not rendered.text:
        return Rendered(NOTHING_VISIBLE)
    if shown.modal is not Modal.MEMORY:
        drawn = _with_memories(rendered, shown.memories) if shown.memories else rendered
        return _with_folded(drawn, shown.folded) if shown.folded else drawn
    exact = _memories(shown.memories, _MAX_CONTENT_CHARS[0])
    rendered = exact if exact.text and exact.size <= MAX_UNITS else rendered
    return _quoted(rendered)


def _with_memories(text: Rendered, items: Sequence[MemoryNote]) -> Rendered:
    """Draw memories in a quote below the text: shortened, then left out from the last on, until they fit."""
    head = f"{text.text}\n"
    attempts = [(len(items), max_chars) for max_chars in _MAX_CONTENT_CHARS]
    attempts += [(count, _MAX_CONTENT_CHARS[-1]) for count in range(len(items) - 1, 0, -1)]
    for count, max_chars in attempts:
        quote = _quoted(_memories(items[:count], max_chars, left_out=len(items) - count))
        if utf16_len(head + quote.text) <= ROOM:
            below = _behind(head, quote.entities)
            fitting = below if len(text.entities) + len(below) <= MAX_ENTITIES else below[:1]  # without bold names
            return Rendered(head + quote.text, (*text.entities, *fitting))
    return text


def _with_folded(drawn: Rendered, folded: str) -> Rendered:
    """Draw lines in a quote of their own below what is drawn, as many of the first as fit."""
    head, lines = f"{drawn.text}\n", _clean(folded).split("\n")
    while lines:
        quote = _quoted(Rendered("\n".join(lines)))
        if utf16_len(head + quote.text) <= ROOM and len(drawn.entities) < MAX_ENTITIES:
            return replace(drawn, text=head + quote.text, entities=(*drawn.entities, *_behind(head, quote.entities)))
        lines.pop()
    return drawn


def _quoted(rendered: Rendered) -> Rendered:
    quote = MessageEntity(MessageEntity.EXPANDABLE_BLOCKQUOTE, 0, utf16_len(rendered.text))
    return replace(rendered, entities=(quote, *(e for e in rendered.entities if "blockquote" not in e.type)))


def _memories(items: Sequence[MemoryNote], max_chars: int, *, left_out: int = 0) -> Rendered:
    """Draw memories a line each, letter by letter: they are no Markdown (think of `a*b*c`)."""
    text, entities = "", []
    for item in items:
        text += "\n🧠 " if text else "🧠 "
        name = one_line(_clean(item.phrase), _MAX_NAME_CHARS)
        entities.append(MessageEntity(MessageEntity.BOLD, utf16_len(text), utf16_len(name)))
        text += f"{name}: {one_line(_clean(item.content), max_chars)} · {item.changed}"
    return Rendered(text + (f"\n+ {left_out}" if left_out else ""), tuple(entities))


def _behind(head: str, entities: Sequence[MessageEntity]) -> tuple[MessageEntity, ...]:
    """Return entities of a text for the same text after `head`; the library's own way leaves the times out."""
    shift = utf16_len(head)
    return tuple(
        MessageEntity(
            one.type, one.offset + shift, one.length, one.url, one.user, one.language, unix_time=one.unix_time
        )
        for one in entities
    )


def _hidden(markdown: str) -> str:
    """Return the Markdown with everything replaced that the converter would wrongly take for markup."""
    return _TAKEN.sub(lambda found: found[0] if found[0][0] == "\\" else found[0].translate(_HIDE), _clean(markdown))


def _clean(text: str) -> str:
    return _UNSENDABLE.sub("", text)


def _entity(span: Span, units: int) -> MessageEntity | None:
    """Return the entity; None for links to Telegram itself, by which a text could notify anybody."""
    url, length = span.url.translate(_SHOW) if span.url else "", min(span.length, units - span.offset)
    if url.casefold().startswith("tg:"):
        return None
    if time := _TIME.fullmatch(url):  # shown as its words; a touch shows the reader's own hour
        at = datetime.fromtimestamp(min(int(time[1]), _LATEST_TIME_S), UTC)
        return MessageEntity(MessageEntity.DATE_TIME, span.offset, length, unix_time=at)
    return MessageEntity(span.type, span.offset, length, url=url or None, language=span.language)


# --- buttons below a message ---

_IN_PLACE, _ANEW, _STOP = "!", "+", "x"
"""The first byte of a button's data; the command, or whose answer it stops, is the rest."""

_MENU_COLUMNS = 5
_COLUMNS = 4
_ROW_CHARS = 36  # of labels that a telephone shows side by side, each as wide as the widest


@dataclass(frozen=True, slots=True)
class Pressed:
    """What a button holds: a command, and whether its answer takes the message's place; or whose answer it stops."""

    command: str
    in_place: bool = False
    stops: str = ""


def keyboard(shown: OutgoingMessage) -> InlineKeyboardMarkup | None:
    """Return the buttons below that message: its menu as numbers, then its choices, in even rows."""
    numbers = [_button(choice, choice.label.partition(".")[0]) for choice in shown.menu]
    others = [_button(choice, choice.label) for choice in shown.choices]
    rows = [*_grid(numbers, _MENU_COLUMNS), *_grid(others, _columns(shown.choices))]
    return InlineKeyboardMarkup(rows) if rows else None


def stop_keyboard(label: str, user: str) -> InlineKeyboardMarkup:
    """Return the button that stops an answer; only that user may press it."""
    return InlineKeyboardMarkup([[InlineKeyboardButton(label, callback_data=f"{_STOP}{user}")]])


def pressed(data: str) -> Pressed | None:
    """Return what a press means, or None for one without data.

    A client may send anything: data of no button of ours is passed on as it is, and answered as such.
    """
    mark, rest = data[:1], data[1:]
    if mark == _STOP and rest:
        return Pressed("/stop", stops=rest)
    if mark in {_IN_PLACE, _ANEW} and rest.startswith("/"):
        return Pressed(rest, in_place=mark == _IN_PLACE)
    return Pressed(data) if data else None


def _button(choice: Button, label: str) -> InlineKeyboardButton:
    mark = _IN_PLACE if choice.in_place else _ANEW
    return InlineKeyboardButton(label, callback_data=f"{mark}{choice.command}")


def _grid(buttons: Sequence[InlineKeyboardButton], columns: int) -> list[list[InlineKeyboardButton]]:
    """Return rows of nearly one length: of five columns at most, six are three and three, not five and one."""
    rows = -(-len(buttons) // columns)
    width = -(-len(buttons) // rows) if rows else 1
    return [list(buttons[start : start + width]) for start in range(0, len(buttons), width)]


def _columns(choices: Sequence[Button]) -> int:
    """Return how many can be read side by side, by the widest, so that a changed word moves no button."""
    widest = max((len(choice.label) for choice in choices), default=1)
    return max(1, min(_COLUMNS, _ROW_CHARS // widest))
