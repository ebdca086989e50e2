"""Forms, which open when a button asks for text, or somebody wants to ask about a message.

The text that a form begins with may be long and is the person's own, so it does not stand in the button: the bot is
asked for it as it is now. What the bot cannot tell is kept from when the button was shown, for an hour, in RAM, for
that person alone; afterwards, or after a restart, the form opens empty and says so. The message that is asked about is
kept in the same way: Discord does not tell of it again when the form is sent.
"""

from __future__ import annotations

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
