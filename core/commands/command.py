"""A command, a request to run it, the table of all commands, and those of the engine: the same on every platform.

/help and /start are the table's own, since they show what is in it. /retry is not run where there is a question to
repeat: the chatbot answers that question again, in a new turn. What the first answer did to memory stays. Nor is
/continue, which stands for a message that asks for the rest of an answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import fields as fields_of
from io import BytesIO
from typing import Final, TypeAlias

from core.answering.asker import Asker
from core.answering.confirmations import Wanted
from core.answering.turn import AnswerMessage, Turn
from core.commands.menu import DISLIKED, FORM_TEXT, WHY, MenuEntry, MenuOption, choice_field
from core.dialogue import Written
from core.enclosures import Attachment, AttachmentKind
from core.history.conversation import Conversation
from core.outgoing import MAX_COMMAND_BYTES, Button, Suggestion
from core.tasks import Deadline
from core.text.catalogue import Sentences, text
from core.text.unicode import fold, one_line
from core.text.words import nearest
from core.types import ConversationKey, Incoming, Locale, Localized, Message, Role, UserKey, is_said_by_person
from core.workers.port import Worker

HELP = Sentences("help")


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


MOST_OFFERED: Final = 25
MAX_LABEL_CHARS: Final = 100
"""Source of both: discord.com/developers/docs/interactions/application-commands, choices."""


def offered(typed: str, choices: Iterable[Suggestion]) -> list[Suggestion]:
    """Return the choices whose label or value has every word that is typed, as many as can be shown.

    Those in which all of them begin a word come first, else they keep their order.
    """
    words = fold(typed).split()
    told = [(f" {fold(f'{choice.label} {choice.value}')}", choice) for choice in choices]
    held = [(text, choice) for text, choice in told if all(word in text for word in words)]
    held.sort(key=lambda each: not all(f" {word}" in each[0] for word in words))
    return [Suggestion(one_line(choice.label, MAX_LABEL_CHARS), choice.value) for _, choice in held[:MOST_OFFERED]]


STAFF = frozenset({Role.OWNER, Role.ADMIN})


@dataclass(frozen=True, slots=True)
class Request:
    """A request to run a command: its turn, the message, and the sender's role in that chat.

    `others` is the number of other messages being answered or waiting; `running` are the running answers of this
    `worker`.
    """

    turn: Turn
    incoming: Incoming
    role: Role
    others: int = 0
    running: Mapping[ConversationKey, Deadline] = field(default_factory=dict)
    worker: Worker = field(default_factory=Worker)

    @property
    def locale(self) -> Locale:
        """The language to answer in."""
        return self.person.locale

    @property
    def person(self) -> Asker:
        """Who is answered."""
        return self.turn.person

    @property
    def answer(self) -> AnswerMessage:
        """The answer to the command."""
        return self.turn.answer

    async def tell(self, text: Localized, **values: object) -> None:
        """Answer with a sentence of the catalogue, its placeholders filled in."""
        await self.answer.tell(text[self.locale].format(**values))

    async def refuse(self, text: Localized, **values: object) -> None:
        """Say that there is nothing to do; to who pressed a button, only for a moment."""
        await self.answer.tell(text[self.locale].format(**values), notice=self.incoming.pressed)

    async def ask(self, wanted: object) -> str:
        """Store what the person is asked to confirm, any dataclass or enum, and return the code that confirms it."""
        return await self.turn.services.confirmations.ask(self.incoming.conversation, wanted)

    async def confirmed(self, code: str, *kinds: type[Wanted], over: Localized | None = None) -> Wanted | None:
        """Return what the code confirms; None if it confirms none of those kinds any more, which `over` then says."""
        wanted = await self.turn.services.confirmations.take(self.incoming, code, *kinds)
        if wanted is None and over is not None:
            await self.tell(over)
        return wanted

    @property
    def file(self) -> Attachment | None:
        """The file that came with the message; None for none."""
        files = (one for one in self.incoming.attachments if one.kind is AttachmentKind.FILE and one.handle)
        return next(files, None)

    async def fetch(self, file: Attachment, max_bytes: int) -> bytes:
        """Return the content of a file that came with the message.

        Raises:
            FileTooLarge, ChannelError: the file cannot be read.
        """
        into = BytesIO()
        await self.answer.view.chat.fetch(file.handle, max_bytes, into)
        return into.getvalue()

    async def stop_answers(self, accounts: Collection[UserKey]) -> None:
        """Stop the running answers to those accounts at any worker, except the one that runs this command.

        A pressed button overtakes the answer in its own conversation, which is stopped, too.
        """
        here = self.incoming.conversation
        for conversation, running in list(self.running.items()):
            if conversation.user in accounts and (conversation != here or self.incoming.pressed):
                running.stop()
        await self.worker.end_others(accounts)


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A request for texts to offer in a field of a command that a person is filling in and has not sent.

    `option` is the field's name, `typed` what stands in it so far, which may be nothing, `verb` the command's verb (""
    for one without). `incoming` is the message that sending it now would be, `role` the sender's there.
    """

    incoming: Incoming
    locale: Locale
    role: Role
    option: str
    typed: str
    verb: str = ""


Complete: TypeAlias = Callable[[CompletionRequest], Awaitable[Sequence[Suggestion]]]
"""Returns the texts that a field offers, the best first, for each letter typed: quickly, asking no model."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What a page of /help is about: the word that names it in every language, and what people are shown for it."""

    word: str
    label: Localized


ON_MEMORIES: Final = Topic("memories", text("help.topics.memories"))
ON_ANSWERS: Final = Topic("answers", text("help.topics.answers"))
ON_SETTINGS: Final = Topic("settings", text("help.topics.settings"))
ON_DATA: Final = Topic("data", text("help.topics.data"))


@dataclass(frozen=True, slots=True)
class Command:
    """A command. `run` gets the request and the text after the name, stripped.

    `begins` returns, at most once, the text that a form of one of its buttons begins with: what is to be changed, as it
    is now.

    `for_staff`: only owners and admins may run it, and lists show it to nobody else. `in_private`: it is answered only
    where nobody else reads along. `searches`: it shows the person's memories that its argument finds, or the newest,
    which can be done while nothing can be stored. `writes` is the change that it makes without a model: where that is
    turned off, it is refused, and no list shows it. `in_menus` is False for commands of buttons only. `topics` are the
    pages of /help that list it, besides the one of all; `wish` is the line on the first page that says what people can
    have by it. The other fields are those of `MenuEntry`.
    """

    name: str
    about: Localized
    run: Callable[[Request, str], Awaitable[None]]
    usage: str = ""
    topics: Sequence[Topic] = ()
    wish: Localized | None = None
    for_staff: bool = False
    for_managers: bool = False
    in_private: bool = False
    searches: bool = False
    writes: Written | None = None
    in_menus: bool = True
    in_conversation: bool = False
    for_all: bool = False
    in_order: bool = False
    is_listed: bool = False
    fields: tuple[MenuOption, ...] = ()
    complete: Complete | None = None
    begins: Complete | None = None
    verbs: Sequence[MenuEntry] = ()

    def entry(self) -> MenuEntry:
        """Return the command's entry in menus."""
        return MenuEntry(**{each.name: getattr(self, each.name) for each in fields_of(MenuEntry)})

    def is_for(self, role: Role) -> bool:
        """Return whether a person of that role may run it."""
        return not self.for_staff or role in STAFF

    def is_listed_for(self, request: Request) -> bool:
        """Return whether lists show it to who asks there; who manages a room, nobody knows then, but for the staff."""
        can_manage = request.role in STAFF and not request.incoming.is_alone
        is_off = self.writes in request.turn.services.off
        return self.in_menus and self.is_for(request.role) and (can_manage or not self.for_managers) and not is_off


ONLY_IN_PRIVATE = text("common.only_in_private")


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
        told = HELP.unknown[request.locale].format(name=name[:_MAX_NAME_CHARS])
        if meant := nearest(name, known):
            told = f"{told} {HELP.meant[request.locale].format(name=meant)}"
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
            lines = [HELP_INTRO[request.locale], *wishes, HELP.more[request.locale].format(topics=names)]
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
ONLY_OWNER = text("help.only_owner")


_MESSAGES_LOOKED_AT: Final = 200


def is_stop(text: str) -> bool:
    """Return whether the text is /stop."""
    return text.split(maxsplit=1)[:1] == ["/stop"]


def is_retry(text: str) -> bool:
    """Return whether the text is /retry."""
    return text.casefold().split(maxsplit=1)[:1] == ["/retry"]


def is_continue(text: str) -> bool:
    """Return whether the text is /continue."""
    return text.casefold().split(maxsplit=1)[:1] == ["/continue"]


def is_about_answer(text: str) -> bool:
    """Return whether the text is a command about an answer: /why, or /disliked, which stands for a thumbs-down."""
    return text.casefold().split(maxsplit=1)[:1] in ([f"/{DISLIKED}"], [f"/{WHY}"])


def again(turn: str) -> str:
    """Return the command that repeats the question of that turn."""
    return f"/retry {turn}"


async def questions(conversation: Conversation) -> Sequence[Message]:
    """Return what the person said lately in the thread, in order."""
    said = await conversation.store.tail(conversation.thread.id, _MESSAGES_LOOKED_AT)
    return [message for message in said if is_said_by_person(message)]


async def asked_before(conversation: Conversation, text: str) -> Message | None:
    """Return the question that `/retry` or `/retry TURN` repeats: the last one, or that turn's.

    None if the thread has no such question, or its words were removed.
    """
    turn = text.partition(" ")[2].strip()
    asked = [message for message in await questions(conversation) if turn in {"", message.turn}]
    return asked[-1] if asked and (asked[-1].text or asked[-1].quotes) else None


async def reset(request: Request, _: str) -> None:
    """Close the thread (D6): the next message starts another. Memories stay."""
    await request.turn.conversation.reset()
    await request.tell(AFRESH)


async def retry(request: Request, _: str) -> None:
    """Say that there is no question to repeat."""
    await request.tell(NOTHING_ASKED)


AFRESH = text("conversations.afresh")
NOTHING_ASKED = text("conversations.retry.nothing_asked")
CONTINUE_PLEASE = text("conversations.continue.message")
"""What the person says by /continue."""

RESET = Command(
    "reset", text("commands.reset"), reset, in_conversation=True, in_order=True, is_listed=True, topics=(ON_ANSWERS,)
)
CONTINUE_COMMAND = Command(
    "continue", text("commands.continue"), retry, in_menus=False, in_conversation=True, for_all=True, in_order=True
)
RETRY = Command(
    "retry", text("commands.retry"), retry, in_conversation=True, for_all=True, in_order=True, topics=(ON_ANSWERS,)
)
