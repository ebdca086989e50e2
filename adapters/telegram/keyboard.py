"""Lay out buttons below a message, and read what a press of one means from its data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from telegram import InlineKeyboardButton, InlineKeyboardMarkup

from core.outgoing import Button, OutgoingMessage

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
