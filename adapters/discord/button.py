"""What can be pressed below a message: buttons, menus, and the Stop button of an answer that still grows.

Knows the ids that Discord hands back. All that a press means stands in the id, so that it works after a restart. Ids
come from outside: they tell what somebody wants, never who they are. Does not know what becomes of a press.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import discord

from adapters.discord.markup import Drawn
from adapters.discord.press import MAX_ID_CHARS, press_id
from core.outgoing import Button
from core.text.unicode import one_line

_LOG = logging.getLogger(__name__)

_MAX_ROWS, _ROW, _MAX_OPTIONS = 5, 5, 25
_MAX_LABEL_CHARS, _MAX_OPTION_CHARS = 80, 100
_NO_LABEL = "…"


def view_of(drawn: Drawn) -> discord.ui.View | None:
    """Return what stands below that message; None for nothing.

    Menus come first, then the buttons; of the five rows that there are, each takes one for every 25 entries or 5
    buttons. What finds no room is left out.
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
