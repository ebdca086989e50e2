"""The table of all commands, which the wiring gives to the chatbot: the same on every platform.

/help and /start are its own, since they show what is in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from core.commands.command import (
    ONLY_IN_PRIVATE,
    Command,
    CompletionRequest,
    Request,
    missing_words,
    word_buttons,
)
from core.commands.menu import FORM_TEXT, MenuEntry, choice_field
from core.dialogue import Written
from core.outgoing import MAX_COMMAND_BYTES, Button, Suggestion
from core.text.catalogue import text
from core.text.unicode import fold, one_line
from core.text.words import nearest
from core.types import Localized, Role

_ALL: Final = "all"
_TRY: Final = "try"
_MAX_NAME_CHARS: Final = 32
_MAX_LABEL_CHARS: Final = 40


class CommandTable:
    """Commands of the engine and of every feature in the order of menus, /help first; /start is in none.

    Raises:
        ValueError: two have the same name.
    """

    def __init__(self, commands: Iterable[Command]) -> None:
        self._commands: dict[str, Command] = {}
        commands = (*commands,)
        pages = {topic.word: topic.label for command in commands for topic in command.topics}
        words = {**pages, _ALL: EVERYTHING}
        own = (
            Command(
                "help",
                text("commands.help"),
                self._help,
                usage=f" [{' | '.join(words)}]",
                is_listed=True,
                fields=(choice_field("topic", text("menus.fields.topic"), words),),
            ),
            Command("start", text("commands.start"), self._start, in_menus=False),
        )
        for command in (*own, *commands):
            if command.name in self._commands:
                raise ValueError(f"two commands are named /{command.name}")
            self._commands[command.name] = command

    def __iter__(self) -> Iterator[Command]:
        return iter(self._commands.values())

    def menu(self, off: Collection[Written] = ()) -> tuple[MenuEntry, ...]:
        """Return the entries of menus, without the commands that make a change which is `off`."""
        return tuple(command.entry() for command in self if command.in_menus and command.writes not in off)

    async def run(self, request: Request, said: str) -> None:
        """Run the command that `said` starts with ("/name argument"), or say that there is none.

        Whoever may not run it reads whose it is.
        """
        command = self._named(said)
        if command is None:
            await self._unknown(request, said)
        elif not command.is_for(request.role):
            await request.tell(ONLY_OWNER)
        elif command.in_private and not request.incoming.private:
            await request.tell(ONLY_IN_PRIVATE)
        elif command.writes is not None and (why := request.turn.services.off.get(command.writes)):
            await request.tell(why)
        else:
            argument = said.partition(" ")[2].strip()
            words = missing_words(command.fields, argument)
            request.answer.offers = word_buttons(f"/{command.name} {argument}".rstrip(), words, request.locale)
            await command.run(request, argument)

    async def complete(self, request: CompletionRequest) -> Sequence[Suggestion]:
        """Return what the field offers; nothing where the person could not run the command."""
        command = self._named(request.incoming.text)
        if command is None or not command.is_for(request.role):
            return ()
        if command.in_private and not request.incoming.private:
            return ()
        verb, _, typed = request.typed.partition(" ")
        if verb in {entry.name for entry in command.verbs}:
            request = replace(request, verb=verb, typed=typed.strip())
        complete = command.begins if request.option == FORM_TEXT else command.complete
        return () if complete is None else await complete(request)

    async def _unknown(self, request: Request, said: str) -> None:
        """Say that there is no such command, and offer the one that was meant."""
        name, argument = _name(said), said.partition(" ")[2].strip()
        known = [command.name for command in self if command.is_listed_for(request)]
        told = UNKNOWN[request.locale].format(name=name[:_MAX_NAME_CHARS])
        if meant := nearest(name, known):
            told = f"{told} {MEANT[request.locale].format(name=meant)}"
        await request.answer.tell(told, choices=offer_of(f"/{meant} {argument}".rstrip()) if meant else ())

    def searched(self, said: str) -> str | None:
        """Return the words by which a command that `searches` looks for memories; None if `said` is none.

        The number of a page is no word.
        """
        command = self._named(said) if said.startswith("/") else None
        argument = said.partition(" ")[2].strip()
        if command is None or not command.searches:
            return None
        return "" if argument.isdecimal() else argument

    def _named(self, said: str) -> Command | None:
        return self._commands.get(_name(said))

    async def _start(self, request: Request, argument: str) -> None:
        """Greet; say first what became of a link that brought the person here, or show what can be tried."""
        locale = request.locale
        if argument == _TRY:
            await request.tell(EXAMPLES)
            return
        link = (LINK_OF_OWNER if request.role is Role.OWNER else LINK_OVER)[locale] if argument else ""
        choices = [Button(label[locale], command) for command, label in _FIRST_STEPS.items() if self._named(command)]
        await request.answer.tell(f"{link}\n\n{GREETING[locale]}".lstrip(), choices=choices)

    async def _help(self, request: Request, said: str) -> None:
        """Say what people can have, or list the commands of a topic, or all, that the person may run."""
        listed = [command for command in self if command.is_listed_for(request)]
        pages = {topic.word: topic.label for command in listed for topic in command.topics}
        page = _page(said, {**pages, _ALL: EVERYTHING})
        request.answer.offers = word_buttons("/help", pages, request.locale, now=page)
        if page:
            lines = [
                f"/{command.name}{command.usage} — {command.about[request.locale]}"
                for command in listed
                if page in {_ALL, *(topic.word for topic in command.topics)}
            ]
        else:
            names = " · ".join(label[request.locale].lower() for label in pages.values())
            wishes = [command.wish[request.locale] for command in listed if command.wish]
            lines = [HELP_INTRO[request.locale], *wishes, HELP_MORE[request.locale].format(topics=names)]
        await request.answer.tell("\n".join(lines))


def _page(said: str, pages: Mapping[str, Localized]) -> str:
    """Return the word of the page that this names in any language; "" for none."""
    named = fold(said.strip())
    return next((word for word, label in pages.items() if named in {word, *map(fold, label.values())}), "")


def offer_of(command: str) -> tuple[Button, ...]:
    """Return the button of a command that somebody meant, labelled with all of it; none for one that is too long."""
    fits = len(command.encode()) <= MAX_COMMAND_BYTES and one_line(command, _MAX_LABEL_CHARS) == command
    return (Button(command, command),) if fits else ()


def _name(said: str) -> str:
    return said.removeprefix("/").partition(" ")[0].split("\n", 1)[0].casefold()


HELP_INTRO = text("help.intro")
HELP_MORE = text("help.more")
EVERYTHING = text("help.everything")
GREETING = text("greeting.hello")
EXAMPLES = text("greeting.examples")
LINK_OVER = text("greeting.link_over")
LINK_OF_OWNER = text("greeting.link_of_owner")
_FIRST_STEPS: Final = {
    f"/start {_TRY}": text("greeting.try"),
    "/help": text("greeting.abilities"),
    "/language": text("greeting.language"),
}
UNKNOWN = text("help.unknown")
ONLY_OWNER = text("help.only_owner")
MEANT = text("help.meant")
