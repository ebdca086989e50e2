"""Forms, which open when a button asks for text, or somebody wants to ask about a message.

The text that a form begins with may be long and is the person's own, so it does not stand in the button: the bot is
asked for it as it is now. What the bot cannot tell is kept from when the button was shown, for an hour, in RAM, for
that person alone; afterwards, or after a restart, the form opens empty and says so. The message that is asked about is
kept in the same way: Discord does not tell of it again when the form is sent.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import discord

from adapters.discord.button import FORM_FIELD, Press, about_id, press_id
from adapters.discord.markup import Drawn
from adapters.discord.texts import ASK_ABOUT_THIS, BEGIN_ANEW, YOUR_QUESTION, YOUR_TEXT
from core.enclosures import Quote
from core.outgoing import Button
from core.ports import Clock
from core.text.unicode import one_line
from core.types import Locale

_MAX_TITLE_CHARS, _MAX_LABEL_CHARS, _MAX_TEXT_CHARS = 45, 80, 4000
"""Source: discord.com/developers/docs/components/reference#text-input, and of a modal's title."""

_MOST_KEPT = 500
_KEPT_S = 3600.0


class Forms:
    """The texts that forms begin with, by person and button."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun: dict[tuple[str, Any], tuple[float, Button]] = {}
        self._quoted: dict[tuple[str, Any], tuple[float, tuple[Quote, ...]]] = {}

    def __len__(self) -> int:
        """Return how many texts are kept."""
        return len(self._begun)

    def note(self, person: str, drawn: Drawn) -> None:
        """Keep the texts that the forms of these buttons begin with, for the person of that id."""
        for number, choice in enumerate((*drawn.choices, *drawn.menu)):
            if choice.asks:
                key = person, press_id(choice, number, aside=drawn.aside)
                self._begun.pop(key, None)
                self._begun[key] = self._clock.monotonic(), choice
        self._let_go()

    def open(
        self, person: str, pressed: Press, label: str, locale: Locale, begun: str | None = None
    ) -> discord.ui.Modal:
        """Return the form of a button. `label`, the button's own, is its title if the text is no longer kept.

        `begun` is the text that it begins with as it is now; None: as it was when the button was shown.
        """
        self._let_go()
        known = self._begun.get((person, pressed.id))
        choice = known[1] if known else Button(label, pressed.command, asks=label)
        modal = discord.ui.Modal(
            title=one_line(choice.asks, _MAX_TITLE_CHARS) or YOUR_TEXT[locale], custom_id=pressed.id
        )
        field: discord.ui.TextInput[discord.ui.Modal] = discord.ui.TextInput(
            style=discord.TextStyle.paragraph,
            custom_id=FORM_FIELD,
            default=(choice.text if begun is None else begun)[:_MAX_TEXT_CHARS] or None,
            placeholder=None if known or begun is not None else BEGIN_ANEW[locale],
            max_length=_MAX_TEXT_CHARS,
        )
        modal.add_item(discord.ui.Label(text=YOUR_TEXT[locale], component=field))
        modal.stop()  # what is submitted is found by the id's form: the library need not keep the object
        return modal

    def ask_about(self, person: str, message_id: int, quotes: tuple[Quote, ...], locale: Locale) -> discord.ui.Modal:
        """Return the form for a question about a message, which is kept until then as it is quoted."""
        modal = discord.ui.Modal(title=ASK_ABOUT_THIS[locale], custom_id=about_id(message_id))
        self._quoted.pop((person, message_id), None)
        self._quoted[person, message_id] = self._clock.monotonic(), quotes
        field: discord.ui.TextInput[discord.ui.Modal] = discord.ui.TextInput(
            style=discord.TextStyle.paragraph, custom_id=FORM_FIELD, max_length=_MAX_TEXT_CHARS
        )
        modal.add_item(discord.ui.Label(text=YOUR_QUESTION[locale], component=field))
        modal.stop()
        self._let_go()
        return modal

    def quotes_about(self, person: str, message_id: int) -> tuple[Quote, ...]:
        """Return that message as it is quoted; nothing if it is no longer kept."""
        self._let_go()
        _, quotes = self._quoted.get((person, message_id), (0.0, ()))
        return quotes

    def _let_go(self) -> None:
        """Drop the oldest of too many, and all that are too old."""
        until_s = self._clock.monotonic() - _KEPT_S
        for kept in (self._begun, self._quoted):
            _let_go(kept, until_s)


def _let_go(kept: MutableMapping[tuple[str, Any], tuple[float, Any]], until_s: float) -> None:
    while kept:
        oldest = next(iter(kept))
        if len(kept) <= _MOST_KEPT and kept[oldest][0] > until_s:
            return
        del kept[oldest]
