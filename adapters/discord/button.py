"""What can be pressed below a message: buttons, menus, the Stop button, what a press of one says, and forms.

All that a press means stands in the id that Discord hands back, so that it works after a restart. Ids come from
outside: they tell what somebody wants, never who they are or what they may.

A form opens when a button asks for text, or somebody wants to ask about a message. The text that it begins with may be
long and is the person's own, so it does not stand in the button: the bot is asked for it as it is now. What the bot
cannot tell is kept from when the button was shown, for an hour, in RAM, for that person alone; afterwards, or after a
restart, the form opens empty and says so. The message that is asked about is kept in the same way: Discord does not
tell of it again when the form is sent.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import discord

from adapters.discord.markup import Drawn
from adapters.discord.room import PLATFORM
from core.enclosures import Quote
from core.outgoing import Button
from core.ports import Clock
from core.text.catalogue import text
from core.text.unicode import one_line
from core.types import ChatKey, ConversationKey, Locale, UserKey

_LOG = logging.getLogger(__name__)

YOUR_TEXT = text("discord.your_text")
BEGIN_ANEW = text("discord.begin_anew")
ASK_ABOUT_THIS = text("discord.context.ask")
YOUR_QUESTION = text("discord.your_question")

MAX_ID_CHARS = 100
"""The length of an id. Source: discord.com/developers/docs/components/reference#anatomy-of-a-component-custom-id."""

FORM_FIELD = "text"
"""The id of a form's only field."""

_IN_PLACE, _ASKS, _ASIDE = "p", "f", "a"
_PRESS = re.compile(r"elefante:do:(?P<flags>p?f?a?)\d{1,3}:(?P<command>.{1,80})", re.DOTALL)
_STOP = re.compile(r"elefante:stop:(?P<user>\d{1,20}):(?P<chat>\d{1,20}):(?P<thread>(?:\d{0,20}@)?\d{0,20})")
_ABOUT = re.compile(r"elefante:about:(\d{1,20})")
_MAX_ROWS, _ROW, _MAX_OPTIONS = 5, 5, 25
_MAX_LABEL_CHARS, _MAX_OPTION_CHARS = 80, 100
_NO_LABEL = "…"


@dataclass(frozen=True, slots=True)
class Press:
    """What was pressed: the command that the presser sends by it, with what they wrote in its form.

    `asks` says that a form has to be opened first; `in_place` that the answer takes the message's place; `aside` that
    the button stands in a conversation that somebody has with the bot unseen by the room. `id` tells buttons apart.
    """

    command: str
    id: str
    asks: bool = False
    in_place: bool = False
    aside: bool = False


def press_id(choice: Button, number: int, *, aside: bool) -> str:
    """Return the id of that button; `number` is its place in the message."""
    flags = _IN_PLACE * choice.in_place + _ASKS * bool(choice.asks) + _ASIDE * aside
    return f"elefante:do:{flags}{number}:{choice.command}"


def press_of(data: Mapping[str, Any]) -> Press:
    """Return what was pressed or submitted, from the data of an interaction; no command if the id is not ours."""
    custom_id = str(data.get("custom_id", ""))
    chosen = data.get("values") or []
    found = _PRESS.fullmatch(str(chosen[0]) if chosen else custom_id)
    if found is None:
        return Press("", custom_id)
    flags = found["flags"]
    pressed = Press(found["command"], found[0], _ASKS in flags, _IN_PLACE in flags, _ASIDE in flags)
    if "components" not in data:
        return pressed
    written = next(_written(data["components"]), "")
    return replace(pressed, command=f"{pressed.command} {written}".rstrip(), asks=False)


def stop_id(conversation: ConversationKey) -> str:
    """Return the id of the button that stops an answer in that conversation."""
    chat = conversation.chat
    return f"elefante:stop:{conversation.user.user}:{chat.chat}:{chat.thread}"


def stopped_by(data: Mapping[str, Any]) -> ConversationKey | None:
    """Return the conversation whose Stop button was pressed, or None for another button."""
    found = _STOP.fullmatch(str(data.get("custom_id", "")))
    if found is None:
        return None
    return ConversationKey(ChatKey(PLATFORM, found["chat"], found["thread"]), UserKey(PLATFORM, found["user"]))


def about_id(message_id: int) -> str:
    """Return the id of the form for a question about that message."""
    return f"elefante:about:{message_id}"


def asked_about(data: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return the message that a form asks about, and the question; None for another form or a press."""
    found = _ABOUT.fullmatch(str(data.get("custom_id", "")))
    return (int(found[1]), next(_written(data.get("components", ())), "")) if found else None


def _written(components: Any) -> Iterator[str]:
    """Find what was written in a submitted form: its field stands in a label, or (older clients) in a row."""
    for component in components:
        if component.get("custom_id") == FORM_FIELD:
            yield str(component.get("value", ""))
        else:
            inner = component.get("component")
            yield from _written([inner] if inner else component.get("components", []))


def view_of(drawn: Drawn) -> discord.ui.View | None:
    """Return the buttons and menus below a message; None if there are none.

    Menus come first, then the buttons; of the five rows that there are, each takes one for every 25 entries or 5
    buttons. The rest is left out.
    Source: discord.com/developers/docs/components/reference.
    """
    items = [_stop(drawn.stop)] if drawn.stop else [*_menus(drawn), *_buttons(drawn)]
    if not items:
        return None
    view = discord.ui.View(timeout=None)
    for item in items:
        view.add_item(item)
    view.stop()  # presses are found by the id's form: the library need not keep one object for each message
    return view


def ids_of(rows: Sequence[Any]) -> tuple[str, ...]:
    """Return the ids in the rows below a message of the library's."""
    return tuple(str(item.custom_id) for row in rows for item in getattr(row, "children", ()))


def label_of(message: discord.Message | None, custom_id: str) -> str:
    """Return what the button or menu entry of that id says in a message of the library's, or ""."""
    for row in message.components if message else ():
        for item in getattr(row, "children", ()):
            for found in (item, *getattr(item, "options", ())):
                if custom_id in {getattr(found, "custom_id", None), getattr(found, "value", None)}:
                    return str(found.label or "")
    return ""


def _buttons(drawn: Drawn) -> list[discord.ui.Item[Any]]:
    room = _ROW * (_MAX_ROWS - bool(drawn.menu))
    return [
        discord.ui.Button(label=one_line(choice.label, _MAX_LABEL_CHARS) or _NO_LABEL, custom_id=custom_id)
        for custom_id, choice in _identified(drawn.choices, aside=drawn.aside, first=0)[:room]
    ]


def _menus(drawn: Drawn) -> list[discord.ui.Item[Any]]:
    options = [
        discord.SelectOption(label=one_line(choice.label, _MAX_OPTION_CHARS) or _NO_LABEL, value=custom_id)
        for custom_id, choice in _identified(drawn.menu, aside=drawn.aside, first=len(drawn.choices))
    ]
    room = _MAX_ROWS - -(-min(len(drawn.choices), _ROW * (_MAX_ROWS - 1)) // _ROW)
    parts = [options[at : at + _MAX_OPTIONS] for at in range(0, len(options), _MAX_OPTIONS)][:room]
    return [discord.ui.Select(custom_id=f"elefante:menu:{at}", options=part) for at, part in enumerate(parts)]


def _identified(choices: Sequence[Button], *, aside: bool, first: int) -> list[tuple[str, Button]]:
    """Return the choices, each with an id that no other of its message has."""
    found = [(press_id(choice, number, aside=aside), choice) for number, choice in enumerate(choices, first)]
    fitting = [(custom_id, choice) for custom_id, choice in found if len(custom_id) <= MAX_ID_CHARS]
    if len(fitting) < len(found):
        _LOG.error("a button's command is too long", extra={"dropped": len(found) - len(fitting)})
    return fitting


def _stop(custom_id: str) -> discord.ui.Button[Any]:
    return discord.ui.Button(style=discord.ButtonStyle.secondary, emoji="⏹️", custom_id=custom_id)


# --- forms ---

_MAX_TITLE_CHARS, _MAX_LABEL_CHARS, _MAX_TEXT_CHARS = 45, 80, 4000
"""Source: discord.com/developers/docs/components/reference#text-input, and of a modal's title."""

_MOST_KEPT = 1000
_KEPT_S = 3600.0


class Forms:
    """What forms need that is kept by person and id: the buttons whose texts they begin with, and quoted messages."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: dict[tuple[str, str], tuple[float, Button | tuple[Quote, ...]]] = {}

    def __len__(self) -> int:
        """Return how many are kept."""
        return len(self._kept)

    def note(self, person: str, drawn: Drawn) -> None:
        """Keep the texts that the forms of these buttons begin with, for the person of that id."""
        for number, choice in enumerate((*drawn.choices, *drawn.menu)):
            if choice.asks:
                self._keep(person, press_id(choice, number, aside=drawn.aside), choice)

    def open(
        self, person: str, pressed: Press, label: str, locale: Locale, begun: str | None = None
    ) -> discord.ui.Modal:
        """Return the form of a button. `label`, the button's own, is its title if the text is no longer kept.

        `begun` is the text that it begins with as it is now; None: as it was when the button was shown.
        """
        known = self._found(person, pressed.id)
        choice = known if isinstance(known, Button) else Button(label, pressed.command, asks=label)
        title = one_line(choice.asks, _MAX_TITLE_CHARS) or YOUR_TEXT[locale]
        is_lost = known is None and begun is None
        text = choice.text if begun is None else begun
        return _form(pressed.id, title, YOUR_TEXT[locale], text, hint=BEGIN_ANEW[locale] if is_lost else None)

    def ask_about(self, person: str, message_id: int, quotes: tuple[Quote, ...], locale: Locale) -> discord.ui.Modal:
        """Return the form for a question about a message, which is kept until then as it is quoted."""
        self._keep(person, about_id(message_id), quotes)
        return _form(about_id(message_id), ASK_ABOUT_THIS[locale], YOUR_QUESTION[locale])

    def quotes_about(self, person: str, message_id: int) -> tuple[Quote, ...]:
        """Return that message as it is quoted; nothing if it is no longer kept."""
        found = self._found(person, about_id(message_id))
        return found if isinstance(found, tuple) else ()

    def _keep(self, person: str, custom_id: str, what: Button | tuple[Quote, ...]) -> None:
        self._kept.pop((person, custom_id), None)
        self._kept[person, custom_id] = self._clock.monotonic(), what
        self._let_go()

    def _found(self, person: str, custom_id: str) -> Button | tuple[Quote, ...] | None:
        self._let_go()
        _, found = self._kept.get((person, custom_id), (0.0, None))
        return found

    def _let_go(self) -> None:
        """Drop the oldest of too many, and all that are too old."""
        until_s = self._clock.monotonic() - _KEPT_S
        for key in list(self._kept):
            if len(self._kept) <= _MOST_KEPT and self._kept[key][0] > until_s:
                return
            del self._kept[key]


def _form(custom_id: str, title: str, label: str, text: str = "", hint: str | None = None) -> discord.ui.Modal:
    """Return a form with one field, which begins with a text, or else shows the hint."""
    modal = discord.ui.Modal(title=title, custom_id=custom_id)
    field: discord.ui.TextInput[discord.ui.Modal] = discord.ui.TextInput(
        style=discord.TextStyle.paragraph,
        custom_id=FORM_FIELD,
        default=text[:_MAX_TEXT_CHARS] or None,
        placeholder=hint,
        max_length=_MAX_TEXT_CHARS,
    )
    modal.add_item(discord.ui.Label(text=label, component=field))
    modal.stop()  # what is submitted is found by the id's form: the library need not keep the object
    return modal
