"""/server: the command by which who manages a server, or a group, steers the bot there, within what the owner allows.

The platform says who that is, each time. What is decided is on record with what owners and admins decide.
"""

from __future__ import annotations

import asyncio
import logging
import re
from functools import partial
from typing import Final

from core.answering.shown import MAX_MESSAGES
from core.commands.command import ON_SETTINGS, STAFF, Command, Request
from core.commands.menu import MenuOption, OptionKind, choice_field, number_field, text_field
from core.errors import ChannelError
from core.features.admin.admin import HERE, Verb, VerbCommand, WrongUse, tell_room
from core.features.admin.decide import TALKS, UNSET
from core.features.admin.settings import DEFAULT, HOW_TALK, MAX_PERSONA_CHARS, TO_THE_ROOM, tell_of_talk
from core.features.admin.storage import (
    ALONE,
    OF_ROOMS,
    OFF,
    TOGETHER,
    Decision,
    DecisionKind,
    Matter,
    entries,
    of_entries,
)
from core.features.feature import Contribution, Shared
from core.features.quotas.limits import Limit, NotALimit, read, written
from core.text.catalogue import Sentences, text
from core.text.language import find_language, name_in
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.types import Locale, Localized, places_of, room_name, server_name

SURVEY = Sentences("admin.survey")
SERVERS = Sentences("servers")
SERVERS_HERE = Sentences("servers.here")

EVERYWHERE: Final = "everywhere"
EVERYBODY: Final = "everybody"
AUTO: Final = "auto"
_MOST_ENTRIES: Final = 50
_MAX_SHOWN_CHARS: Final = 200
_ENTRY = re.compile(r"-?\d{1,20}(=[^\n]{0,100})?")
_log = logging.getLogger(__name__)


def build(shared: Shared) -> Contribution:
    """Contribute /server."""
    return Contribution(commands=(Servers(shared).command,), matters=MATTERS)


class ServerCommand(VerbCommand):
    """The command, which runs where it is about, for who may manage that place, and for the bot's staff."""

    async def run(self, request: Request, argument: str) -> None:
        """Run a verb; without one, show what holds."""
        incoming = request.incoming
        if incoming.is_alone:
            await request.tell(SERVERS.in_a_server)
            return
        here = (SERVERS_HERE.server if incoming.chat.server else SERVERS_HERE.group)[request.locale]
        try:
            if request.role not in STAFF and not await request.answer.view.chat.may_manage():
                await request.tell(SERVERS.only_managers, here=here)
                return
        except ChannelError as error:
            _log.warning("who manages a room is not told", extra={"error": type(error).__name__})
            await request.tell(SERVERS.not_told, here=here)
            return
        name, _, rest = argument.partition(" ")
        await self.run_named(request, name.casefold() or "show", rest.strip())


class Servers:
    """The verbs of /server. Each shows what holds, or decides something else."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._decisions = shared.stores.decisions
        self._decide = shared.decider.decide
        shared.decider.after[DecisionKind.SERVER_CONTEXT] = self._announce
        shared.decider.after[DecisionKind.SERVER_TALK] = partial(tell_of_talk, shared)
        self._verbs = ServerCommand("server", self._all(), shared.replies)

    @property
    def command(self) -> Command:
        """The command."""
        return Command(
            "server",
            text("commands.server"),
            self._verbs.run,
            usage=" …",
            for_managers=True,
            verbs=self._verbs.entries,
            topics=(ON_SETTINGS,),
        )

    def _all(self) -> tuple[Verb, ...]:
        return (
            Verb("show", text("servers.commands.show"), self.show),
            Verb(
                "channels",
                text("servers.commands.channels"),
                self.channels,
                f" [{HERE} | CHANNEL | {EVERYWHERE}]",
                HERE,
                fields=_CHANNEL_FIELDS,
                decisive=True,
            ),
            Verb(
                "roles",
                text("servers.commands.roles"),
                self.roles,
                f" [ROLE | {EVERYBODY}]",
                EVERYBODY,
                fields=_ROLE_FIELDS,
                decisive=True,
            ),
            Verb(
                "limits",
                text("servers.commands.limits"),
                self.limits,
                f" [LIMITS | {DEFAULT}]",
                "messages_minute=20 tokens_day=200000",
                fields=(text_field("limits", text("menus.fields.limits")), _word(DEFAULT, text("menus.settings"))),
            ),
            Verb(
                "persona",
                text("servers.commands.persona"),
                self.persona,
                f" [TEXT | {OFF}]",
                fields=(text_field("text", text("menus.fields.prompt")), _word(OFF, text("menus.prompt.off"))),
            ),
            Verb(
                "language",
                text("servers.commands.language"),
                self.language,
                f" [LANGUAGE | {AUTO}]",
                "en",
                fields=(
                    text_field("language", text("servers.fields.language")),
                    _word(AUTO, text("servers.values.auto")),
                ),
            ),
            Verb(
                "context",
                text("servers.commands.context"),
                self.context,
                f" [N | {OFF}]",
                "20",
                fields=(
                    number_field("messages", text("menus.fields.messages"), MAX_MESSAGES),
                    _word(OFF, text("menus.room.context_off")),
                ),
            ),
            Verb(
                "talk",
                text("servers.commands.talk"),
                self.talk,
                f" [{TOGETHER} | {ALONE}]",
                TOGETHER,
                fields=(
                    choice_field(
                        "what",
                        text("menus.fields.in_room"),
                        {TOGETHER: text("menus.room.together"), ALONE: text("menus.room.alone")},
                    ),
                ),
            ),
            Verb("changes", text("servers.commands.changes"), self.changes),
            Verb("undo", text("servers.commands.undo"), self.undo, decisive=True),
        )

    async def show(self, request: Request, _: str) -> None:
        """Show all that holds there, and who can change it."""
        await request.answer.tell(
            "\n".join([SERVERS.holds[request.locale], *[await self._line(request, each) for each in MATTERS]])
        )

    async def channels(self, request: Request, argument: str) -> None:
        """Answer in one more channel and no longer everywhere, or everywhere again."""
        chat = request.incoming.chat.without_aside
        here = chat.chat if chat.server else chat.thread or chat.chat
        said = here if argument.casefold() == HERE else argument
        await self._list(request, DecisionKind.SERVER_CHANNELS, said, all_word=EVERYWHERE)

    async def roles(self, request: Request, argument: str) -> None:
        """Answer one more role and no longer everybody, or everybody again."""
        await self._list(request, DecisionKind.SERVER_ROLES, argument, all_word=EVERYBODY)

    async def limits(self, request: Request, argument: str) -> None:
        """Set limits of each of its rooms; those of the owner hold besides."""
        if not argument:
            await self._tell(request, DecisionKind.SERVER_LIMITS)
            return
        if argument.casefold() == DEFAULT:
            await self._set(request, DecisionKind.SERVER_LIMITS, "")
            return
        try:
            limits = read(argument)
        except NotALimit:
            raise WrongUse(SERVERS.not_a_limit[request.locale]) from None
        if any(limit.is_cost for limit in limits):
            raise WrongUse(SERVERS.no_money[request.locale])
        if not limits.get(Limit.MESSAGES_MINUTE, 1):  # nobody could take that back there
            raise WrongUse(SERVERS.not_a_limit[request.locale])
        await self._set(request, DecisionKind.SERVER_LIMITS, written(limits))

    async def persona(self, request: Request, argument: str) -> None:
        """Say how the bot is to be there, unless its owner said so for that very room."""
        if not argument:
            await self._tell(request, DecisionKind.SERVER_PERSONA)
        elif len(argument) > MAX_PERSONA_CHARS:
            raise WrongUse(SERVERS.too_long[request.locale].format(max_chars=MAX_PERSONA_CHARS))
        else:
            await self._set(request, DecisionKind.SERVER_PERSONA, "" if argument.casefold() == OFF else argument)

    async def language(self, request: Request, argument: str) -> None:
        """Choose the language of answers there, for all who have not chosen one themselves."""
        if not argument:
            await self._tell(request, DecisionKind.SERVER_LANGUAGE)
            return
        is_auto = argument.casefold() == AUTO
        tag = "" if is_auto else await asyncio.to_thread(find_language, argument)
        if not tag and not is_auto:
            raise WrongUse(NO_LANGUAGE[request.locale].format(name=verbatim(one_line(argument, _MAX_SHOWN_CHARS))))
        await self._set(request, DecisionKind.SERVER_LANGUAGE, tag or "")

    async def context(self, request: Request, argument: str) -> None:
        """Let a model read the last messages of this room with each question, unless the owner turned that off."""
        if not argument:
            await self._tell(request, DecisionKind.SERVER_CONTEXT)
            return
        number = "0" if argument.casefold() == OFF else argument
        if not number.isdecimal() or int(number) > MAX_MESSAGES:
            raise WrongUse(HOW_MANY[request.locale].format(most=MAX_MESSAGES))
        await self._set(request, DecisionKind.SERVER_CONTEXT, str(int(number)) if int(number) else "")

    async def talk(self, request: Request, argument: str) -> None:
        """Let people continue one conversation in this room, or each their own, unless the owner decided that."""
        if not argument:
            await self._tell(request, DecisionKind.SERVER_TALK)
        elif (word := argument.casefold()) not in {TOGETHER, ALONE}:
            raise WrongUse(HOW_TALK[request.locale])
        else:
            await self._set(request, DecisionKind.SERVER_TALK, word)

    async def changes(self, request: Request, _: str) -> None:
        """Show the newest decisions on this place by who manages it: when, by whom, what."""
        lines = await self._shared.decider.changes(request.locale, places_of(request.incoming.chat))
        await request.answer.tell(
            "\n".join([SURVEY.changes[request.locale], *lines]) if lines else SURVEY.no_changes[request.locale]
        )

    async def undo(self, request: Request, _: str) -> None:
        """Take back the newest of these decisions that was not taken back."""
        await self._shared.decider.undo(request, places_of(request.incoming.chat))

    async def _list(self, request: Request, kind: DecisionKind, said: str, *, all_word: str) -> None:
        """Add one entry to a decided list, or end the list by the word for all; show it where nothing is said."""
        known = entries(await self._value(request, kind))
        if not said:
            await self._tell(request, kind)
        elif said.casefold() == all_word:
            await self._set(request, kind, "")
        elif not _ENTRY.fullmatch(said) or len(known) >= _MOST_ENTRIES:
            raise WrongUse(SERVERS.pick[request.locale])
        else:
            id_, _, name = said.partition("=")
            await self._set(request, kind, of_entries({**known, id_: one_line(name, _MAX_SHOWN_CHARS)}))

    async def _set(self, request: Request, kind: DecisionKind, value: str) -> None:
        await self._decide(request, kind, self._name(request, kind), value)

    async def _tell(self, request: Request, kind: DecisionKind) -> None:
        await request.answer.tell(await self._line(request, self._shared.decider.matter(kind)))

    async def _line(self, request: Request, matter: Matter) -> str:
        kind, locale = DecisionKind(matter.kind), request.locale
        about = matter.about[locale] if matter.about else ""
        value = await self._value(request, kind)
        return f"- {about}: {self._shared.decider.value_text(kind, value, locale)} — /server {kind.partition('.')[2]}"

    async def _value(self, request: Request, kind: DecisionKind) -> str:
        return await self._decisions.value(kind, self._name(request, kind))

    @staticmethod
    def _name(request: Request, kind: DecisionKind) -> str:
        chat = request.incoming.chat
        return room_name(chat) if kind in OF_ROOMS else server_name(chat)

    async def _announce(self, request: Request, decision: Decision) -> None:
        """Tell the room that its talk is read from now on."""
        if not decision.after or decision.before:
            return
        said = TO_THE_ROOM[request.locale].format(most=decision.after)
        await tell_room(request, self._shared.notifier, decision.name, said)


def _names(value: str, locale: Locale) -> str:
    del locale
    return ", ".join(verbatim(name) if name else f"`{id_}`" for id_, name in entries(value).items())


def _word(word: str, shown: Localized) -> MenuOption:
    """Return a field for the one word that takes back what the other field decides."""
    return choice_field("what", text("servers.fields.instead"), {word: shown})


_CHANNEL_FIELDS: Final = (
    MenuOption("channel", OptionKind.CHANNEL, text("servers.fields.channel")),
    choice_field(
        "where",
        text("menus.fields.where"),
        {HERE: text("menus.where.here"), EVERYWHERE: text("servers.values.everywhere")},
    ),
)
_ROLE_FIELDS: Final = (
    MenuOption("role", OptionKind.ROLE, text("servers.fields.role")),
    _word(EVERYBODY, text("servers.values.everybody")),
)

_of_server = partial(Matter, of_servers=True)
MATTERS: Final = (
    _of_server(
        DecisionKind.SERVER_CHANNELS,
        text("servers.about.channels"),
        {"": text("servers.values.everywhere")},
        shown=_names,
    ),
    _of_server(
        DecisionKind.SERVER_ROLES, text("servers.about.roles"), {"": text("servers.values.everybody")}, shown=_names
    ),
    _of_server(DecisionKind.SERVER_LIMITS, text("servers.about.limits"), {"": UNSET}),
    _of_server(DecisionKind.SERVER_PERSONA, text("servers.about.persona"), {"": UNSET}),
    _of_server(
        DecisionKind.SERVER_LANGUAGE,
        text("servers.about.language"),
        {"": text("servers.values.auto")},
        shown=name_in,
    ),
    _of_server(DecisionKind.SERVER_CONTEXT, text("servers.about.context"), {"": text("pointing.decide.off")}),
    _of_server(DecisionKind.SERVER_TALK, text("servers.about.talk"), TALKS),
)

NO_LANGUAGE = text("preferences.language.unknown")
HOW_MANY = text("pointing.how_many")
