"""/admin: the command by which owners and admins run the bot. Rights are checked on ids, every time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from core.commands.command import (
    ON_SETTINGS,
    ONLY_OWNER,
    Command,
    Complete,
    CompletionRequest,
    Request,
    missing_words,
    offer_of,
    word_buttons,
)
from core.commands.menu import MenuEntry, MenuOption, choice_field
from core.delivery.notifier import Delivery, Notifier
from core.features.pending_input import PendingReplies
from core.outgoing import Button, OutgoingMessage, Suggestion
from core.text.catalogue import Sentences, text
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.text.words import nearest
from core.types import ChatKey, Localized, Role, room_name

VERBS = Sentences("admin.verbs")

HERE: Final = "here"
"""Names the place where a verb is said."""

_HELP: Final = {"", "help", "?"}

MAX_ID_CHARS: Final = 64


Run: TypeAlias = Callable[[Request, str], Awaitable[None]]
"""Runs a verb with what was written after it."""


class WrongUse(Exception):
    """A verb of /admin was used as it cannot be; the text says why, in the person's language. Nothing was done.

    If it `waits`, only the name of a person is missing, which the next message may be.
    """

    def __init__(self, said: str, *, waits: bool = False) -> None:
        super().__init__(said)
        self.waits = waits


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of /admin. `run` gets the request and what was written after the verb, stripped, and may raise WrongUse.

    `example` is what may follow it, for whoever used it wrongly; a verb without `usage` takes nothing. Only owners may
    run a verb that is `for_owners`. A verb that is `in_rooms` may be said where others read along if HERE follows it:
    it is about that room then, as one that is `of_room` is without that word; one that goes `by_reply`, as a reply to
    the person it is about. One that is both is about the room where it is said alone. One that is `decisive` changes
    people, or something at once: no button offers it to who mistyped it. `fields` and `complete` are as of a `Command`.
    """

    name: str
    about: Localized
    run: Run
    usage: str = ""
    example: str = ""
    for_owners: bool = False
    in_rooms: bool = False
    of_room: bool = False
    by_reply: bool = False
    decisive: bool = False
    fields: tuple[MenuOption, ...] = ()
    complete: Complete | None = None

    def entry(self) -> MenuEntry:
        """Return what menus show of it."""
        return MenuEntry(self.name, self.about, self.usage, fields=self.fields)

    def is_for(self, role: Role) -> bool:
        """Whether a person of that role may run it."""
        return role is Role.OWNER or (role is Role.ADMIN and not self.for_owners)

    def is_sayable(self, request: Request, rest: str) -> bool:
        """Whether it may be said in that place, with `rest` after it."""
        if request.incoming.private:
            return True
        here = self.of_room or (self.in_rooms and rest.casefold().split()[:1] == [HERE])
        return here or (self.by_reply and bool(request.incoming.quotes)) or (self.is_of_room_alone and not rest)

    @property
    def is_of_room_alone(self) -> bool:
        """Whether it is about the room where it is said with nothing after it."""
        return self.in_rooms and self.by_reply


async def ask_to_confirm(
    request: Request,
    wanted: object,
    *,
    command: str,
    said: Localized,
    label: Localized,
    before: Iterable[str] = (),
    after: Iterable[str] = (),
    **values: object,
) -> None:
    """Ask who runs a verb to confirm what is `wanted`, by a button or by typing `command` with the code.

    `said` is the question, with the whole command among its `values`; lines may stand before and after it.
    """
    command = f"{command} {await request.ask(wanted)}"
    lines = [*before, said[request.locale].format(command=command, **values), *after]
    await request.answer.tell("\n".join(lines), choices=[Button(label[request.locale], command, in_place=True)])


class VerbCommand:
    """A command of that name with verbs, in the given order."""

    def __init__(self, name: str, verbs: Iterable[Verb], replies: PendingReplies) -> None:
        self.name = name
        self.verbs: Mapping[str, Verb] = {verb.name: verb for verb in verbs}
        self._replies = replies

    @property
    def entries(self) -> Sequence[MenuEntry]:
        """What menus show of the verbs."""
        return [verb.entry() for verb in self.verbs.values()]

    async def run_named(self, request: Request, name: str, rest: str) -> None:
        """Run the verb of that name, or say that there is none."""
        await self._replies.settle(request)
        verb = self.verbs.get(name)
        if verb is None:
            await self._unknown(request, name, rest, self.verbs)
        else:
            await self._run_verb(request, verb, rest)

    async def _run_verb(self, request: Request, verb: Verb, rest: str) -> None:
        said = f"/{self.name} {verb.name}"
        if rest and not verb.usage:
            await request.answer.tell(self._how(request, verb, VERBS.takes_nothing[request.locale]))
            return
        words = {} if verb.decisive else missing_words(verb.fields, rest)
        request.answer.offers = word_buttons(f"{said} {rest}".rstrip(), words, request.locale)
        try:
            await verb.run(request, rest)
        except WrongUse as error:
            waits = error.waits and request.incoming.private
            if waits:
                await self._replies.await_text(request, said)
            await request.answer.tell(self._how(request, verb, str(error)))

    def _how(self, request: Request, verb: Verb, said: str) -> str:
        """Return what is wrong, and how the verb is used, with an example."""
        usage = f"/{self.name} {verb.name}"
        how = VERBS.usage[request.locale].format(usage=f"`{usage}{verb.usage}`")
        example = (
            f" {VERBS.example[request.locale].format(example=f'`{usage} {verb.example}`')}" if verb.example else ""
        )
        return f"{said}\n{how}{example}"

    async def _unknown(self, request: Request, name: str, rest: str, known: Mapping[str, Verb]) -> None:
        """Say that there is no such verb among those, and which was meant, by a button if that changes nobody."""
        locale = request.locale
        shown = f"{self.name} {verbatim(one_line(name, MAX_ID_CHARS))}"
        if not (meant := nearest(name, known)):
            await request.tell(VERBS.no_verb, name=shown, verbs=", ".join(known))
            return
        command = f"/{self.name} {meant} {rest}".rstrip()
        said = VERBS.meant[locale].format(name=shown, command=f"`{verbatim(one_line(command, _MAX_COMMAND_CHARS))}`")
        await request.answer.tell(said, choices=() if known[meant].decisive else offer_of(command))


class Admin(VerbCommand):
    """Offer /admin with the verbs of every feature, in the given order."""

    def __init__(self, verbs: Iterable[Verb], replies: PendingReplies) -> None:
        super().__init__("admin", verbs, replies)

    @property
    def command(self) -> Command:
        """The command."""
        return Command(
            "admin",
            text("commands.admin"),
            self._run,
            usage=" …",
            for_staff=True,
            is_listed=True,
            complete=self._complete,
            verbs=self.entries,
            topics=(ON_SETTINGS,),
        )

    async def _complete(self, request: CompletionRequest) -> Sequence[Suggestion]:
        """Return what a field of a verb offers to whoever may run that verb."""
        verb = self.verbs.get(request.verb)
        if verb is None or verb.complete is None or not verb.is_for(request.role):
            return ()
        return await verb.complete(request)

    async def _run(self, request: Request, argument: str) -> None:
        """Run a verb, or list those that the person may use. In a room, run only verbs that are about that room."""
        name, _, rest = argument.partition(" ")
        name, rest = name.casefold(), rest.strip()
        await self._replies.settle(request)
        known = {verb.name: verb for verb in self._open_to(request)}
        verb = known.get(name)
        if verb is None and name in self.verbs:
            await request.tell(ONLY_OWNER)
        elif verb is None and request.incoming.private:
            await (self._list(request) if name in _HELP else self._unknown(request, name, rest, known))
        elif verb is None or not verb.is_sayable(request, rest):
            here = [
                f"/admin {each.name}{'' if each.is_of_room_alone else f' {HERE}'}"
                for each in known.values()
                if each.in_rooms
            ]
            here += [f"/admin {each.name}" for each in known.values() if each.of_room]
            await request.tell(NOT_HERE, known=", ".join(here))
        else:
            await self._run_verb(request, verb, rest)

    async def _list(self, request: Request) -> None:
        lines = [f"/admin {verb.name}{verb.usage} — {verb.about[request.locale]}" for verb in self._open_to(request)]
        await request.answer.tell("\n".join(lines))

    def _open_to(self, request: Request) -> Sequence[Verb]:
        return [verb for verb in self.verbs.values() if verb.is_for(request.role)]


def place_of(request: Request, room: str) -> ChatKey:
    """Return the room named as PLATFORM:ID; that of the request with its thread."""
    here = request.incoming.chat.without_aside
    platform, _, chat = room.partition(":")
    return here if room_name(here) == room else ChatKey(platform, chat)


async def tell_room(request: Request, notifier: Notifier, room: str, said: str) -> None:
    """Say what was decided in the room, named as PLATFORM:ID, that it is about; tell who decided if that fails."""
    if (
        await notifier.write(request.incoming.user, place_of(request, room), OutgoingMessage(said))
        is not Delivery.ARRIVED
    ):
        await request.tell(ROOM_NOT_TOLD)


_MAX_COMMAND_CHARS: Final = 200

WHERE: Final = choice_field("where", text("menus.fields.where"), {HERE: text("menus.where.here")})
"""Says that a setting is about the place where it is said."""

ROOM: Final = choice_field("where", text("menus.fields.room"), WHERE.words)
"""Says that a verb is about that place and no person."""

ROOM_NOT_TOLD = text("pointing.room_not_told")
NOT_HERE = text("admin.not_here")
