"""Buttons in a terminal: something short to type.

A choice below a message is typed as a letter (`/a`), one of a list as the number that it has there (`/3`). A letter
stands for the same button until all letters were used since; a number for what the newest list numbers so.
"""

from __future__ import annotations

from itertools import cycle
from string import ascii_lowercase

from adapters.console.output import printable
from core.outgoing import Button, OutgoingMessage
from core.text.unicode import one_line

_MAX_LABEL_CHARS = 40


class Buttons:
    """The buttons that are on the screen."""

    def __init__(self) -> None:
        self._letters: dict[str, Button] = {}
        self._numbers: dict[str, Button] = {}
        self._next = cycle(ascii_lowercase)

    def line(self, shown: OutgoingMessage) -> str:
        """Return the line below a message that says what may be typed; "" without buttons."""
        parts = [f"/{self._letter(choice)} {_label(choice)}{' …' if choice.asks else ''}" for choice in shown.choices]
        if shown.menu:
            self._numbers = dict(zip(map(_number, shown.menu), shown.menu, strict=True))
            numbers = list(self._numbers)
            parts.insert(0, f"/{numbers[0]}" + (f" … /{numbers[-1]}" if len(numbers) > 1 else ""))
        return f"→ {' · '.join(parts)}" if parts else ""

    def pressed(self, text: str) -> str:
        """Return the command of the button that was typed, or the text as it is.

        Words after the letter or number are the text that the button asks for.
        """
        key, _, words = text.strip().removeprefix("/").partition(" ")
        choice = (self._letters | self._numbers).get(key.casefold()) if text.lstrip().startswith("/") else None
        if choice is None:
            return text
        return f"{choice.command} {words}".rstrip() if choice.asks else choice.command

    def _letter(self, choice: Button) -> str:
        """Return the letter of a button: the one that it has already, or the next."""
        for letter, known in self._letters.items():
            if known == choice:
                return letter
        letter = next(self._next)
        self._letters[letter] = choice
        return letter


def _number(choice: Button) -> str:
    """Return the number that the button has in its list."""
    return choice.label.partition(".")[0].strip()


def _label(choice: Button) -> str:
    return one_line(printable(choice.label), _MAX_LABEL_CHARS)
