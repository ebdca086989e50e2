"""What can be filled in beside a slash command, read off the command's usage. Knows Discord's fields. Runs nothing."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import discord
from discord import app_commands

from adapters.discord.audience import SPEAKS, STEERS
from adapters.discord.room import PLATFORM
from adapters.discord.texts import ASIDE, FILE, PERSON
from core.text.catalogue import menu_names
from core.types import Locale, Localized

MAX_MESSAGE_CHARS: Final = 6000
"""Of one option. Source: discord.com/developers/docs/interactions/application-commands."""

_WITH_FILE: Final = frozenset({"import"})
_WORDS: Final = re.compile(r"\[?([a-z]+(?: \| [a-z]+)+)\]?")
_NAMED_PERSON: Final = re.compile(r"^ \[?PLATFORM:ID")
_MAX_ABOUT_CHARS: Final = 100

Callback = Callable[..., Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class Option:
    """A field: its name, what it takes, what is said of it, and the words to choose from, if it takes no others."""

    name: str
    kind: Any
    about: Localized | str
    default: Any = ""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Filled:
    """What a person filled in: the text that the command is said with, whether unseen, and a file's address."""

    text: str
    unseen: bool
    file: str


def options_of(name: str, usage: str) -> list[Option]:
    """Return what a command of that name and usage is filled in with."""
    options = []
    if name in _WITH_FILE:
        options.append(Option("file", discord.Attachment, FILE, inspect.Parameter.empty))
    if _NAMED_PERSON.match(usage):
        options.append(Option("person", discord.User | None, PERSON, None))
    if usage.strip() and name not in _WITH_FILE:
        found = _WORDS.fullmatch(usage.strip())
        words = tuple(found[1].split(" | ")) if found else ()
        options.append(Option("text", str, usage.strip()[:_MAX_ABOUT_CHARS], "", words))
    if name in STEERS | SPEAKS:
        options.append(Option("private", bool, ASIDE, default=False))
    return options


def filled(words: str, given: Mapping[str, Any]) -> Filled:
    """Return what the person says by a command: its own words, then what they filled in, in order."""
    person, file = given.get("person"), given.get("file")
    parts = [words, f"{PLATFORM}:{person.id}" if person else "", given.get("text", "")]
    return Filled(" ".join(part for part in parts if part), bool(given.get("private")), file.url if file else "")


def with_options(callback: Callback, options: Sequence[Option]) -> Callback:
    """Let the library see the options as parameters of the callback, which takes them by name."""
    first = inspect.Parameter("interaction", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=discord.Interaction)
    fields = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.kind)
        for one in options
    ]
    callback.__signature__ = inspect.Signature([first, *fields])  # type: ignore[attr-defined]
    app_commands.rename(**{one.name: named(one.name) for one in options})(callback)
    app_commands.describe(**{one.name: told(one.about) for one in options})(callback)
    choices = {one.name: [app_commands.Choice(name=word, value=word) for word in one.words] for one in options}
    app_commands.choices(**{name: words for name, words in choices.items() if words})(callback)
    return callback


def named(name: str) -> app_commands.locale_str:
    """Return a name, with what it is called in other languages."""
    return app_commands.locale_str(name, told=menu_names(name))


def told(text: Localized | str) -> app_commands.locale_str:
    """Return a description in every language; what stands as usage is the same in all."""
    if isinstance(text, str):
        return app_commands.locale_str(text)
    return app_commands.locale_str(text[Locale.EN], told=dict(text))
