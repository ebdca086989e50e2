"""Answer a command whose word is missing with a button for each word that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.commands.menu import MenuOption
from core.outgoing import MAX_COMMAND_BYTES, Button
from core.types import Locale, Localized


def word_buttons(command: str, words: Mapping[str, Localized], locale: Locale, *, now: str = "") -> tuple[Button, ...]:
    """Return a button for each word, which says it after the command ("/news"), in place; the one that holds is marked.

    None for what is too long for a button.
    """
    said = {word: f"{command} {word}" for word in words}
    return tuple(
        Button(f"✓ {words[word][locale]}" if word == now else words[word][locale], each, in_place=True)
        for word, each in said.items()
        if len(each.encode()) <= MAX_COMMAND_BYTES
    )


def missing_words(fields: Sequence[MenuOption], argument: str) -> Mapping[str, Localized]:
    """Return the words of the closed set that a command still wants, given what was said after its name.

    None for a command that takes any other text, or more sets than one, and where the word was said. A field of one
    word is none to choose from: whoever does not say it means something else.
    """
    sets = [each for each in fields if len(each.words) > 1]
    said = argument.casefold().split()
    fixed = {word for each in fields if len(each.words) == 1 for word in each.words}
    is_closed = len(sets) == 1 and all(each.words for each in fields) and fixed.issuperset(said)
    return sets[0].words if is_closed else {}
