"""/admin room: what holds in one room: whether models read its last messages, and whether it has reminders."""

from __future__ import annotations

import logging
from typing import Final

from core.answering.room_talk import MAX_MESSAGES
from core.commands.command import Request
from core.commands.menu import choice_field, number_field, text_field
from core.delivery.notifier import Delivery, Notifier
from core.errors import ChannelError
from core.features.admin.admin import HERE, MAX_ID_CHARS, Verb, WrongUse
from core.features.admin.decide import Decider
from core.features.admin.decisions import OFF, ON, Decision, DecisionKind, Decisions
from core.outgoing import OutgoingMessage
from core.text.catalogue import text
from core.text.markdown import verbatim
from core.text.unicode import one_line
from core.types import ChatKey, Localized, room_name

CONTEXT: Final = "context"
REMINDERS: Final = "reminders"
_CHOICES: Final = {
    CONTEXT: text("menus.room.context"),
    f"{CONTEXT} {OFF}": text("menus.room.context_off"),
    f"{REMINDERS} {ON}": text("menus.reminders.on"),
    f"{REMINDERS} {OFF}": text("menus.reminders.off"),
}

_log = logging.getLogger(__name__)


class RoomVerb:
    """Show and change what holds in a room. A room whose talk is read from now on is told so."""

    def __init__(self, decider: Decider, decisions: Decisions, notifier: Notifier) -> None:
        self._decider = decider
        self._decisions = decisions
        self._notifier = notifier
        decider.after[DecisionKind.CONTEXT] = self._announce

    @property
    def verb(self) -> Verb:
        """The verb of /admin."""
        return Verb(
            "room",
            text("admin.commands.room"),
            self._room,
            " [ROOM] [context N | reminders on|off]",
            f"{CONTEXT} 20",
            of_room=True,
            fields=(
                text_field("id", text("menus.fields.room_id")),
                choice_field("what", text("menus.fields.in_room"), _CHOICES),
                number_field("messages", text("menus.fields.messages"), MAX_MESSAGES),
            ),
        )

    async def _room(self, request: Request, argument: str) -> None:
        chat, words = self._meant(request, argument.split())
        name = room_name(chat)
        match [word.casefold() for word in words]:
            case []:
                await self._show(request, chat)
            case ["context", number] if number.isdecimal() and int(number) <= MAX_MESSAGES:
                await self._decider.decide(request, DecisionKind.CONTEXT, name, str(int(number)) if int(number) else "")
            case ["context", word] if word == OFF:
                await self._decider.decide(request, DecisionKind.CONTEXT, name, "")
            case ["context", *_]:
                raise WrongUse(HOW_MANY[request.locale].format(most=MAX_MESSAGES))
            case ["reminders", word] if word in {ON, OFF}:
                await self._decider.decide(request, DecisionKind.REMINDERS, name, OFF if word == OFF else "")
            case _:
                raise WrongUse(NOT_SO[request.locale])

    def _meant(self, request: Request, words: list[str]) -> tuple[ChatKey, list[str]]:
        """Return the room that is meant, and the other words: the one named first, or the one where this is said.

        Raises:
            WrongUse: it is said in private, and names none.
        """
        incoming = request.incoming
        first = words[0] if words else ""
        here = incoming.chat.without_aside
        if not incoming.private or incoming.chat.is_aside:
            return here, words[1:] if first.casefold() == HERE else words
        platform, colon, chat = first.partition(":")
        if not colon or not chat or len(first) > MAX_ID_CHARS:
            raise WrongUse(WHICH_ROOM[request.locale])
        if platform not in self._notifier.seen:
            name, known = verbatim(one_line(platform, MAX_ID_CHARS)), ", ".join(sorted(self._notifier.seen))
            raise WrongUse(NO_PLATFORM[request.locale].format(name=name, platforms=known))
        return ChatKey(platform, chat), words[1:]

    async def _show(self, request: Request, chat: ChatKey) -> None:
        locale = request.locale
        most = await self._decisions.room_messages(chat)
        off = await self._decisions.reminders_off(chat)
        lines = [CONTEXT_ON[locale].format(most=most) if most else CONTEXT_OFF[locale]]
        if most and (why := await self._why_unread(chat)) is not None:
            lines.append(why[locale])
        lines.append((REMINDERS_OFF if off else REMINDERS_ON)[locale])
        await request.answer.tell("\n".join(lines))

    async def _announce(self, request: Request, decision: Decision) -> None:
        """Tell the room that its talk is read from now on, and who decided so if the platform shows the bot none."""
        if not decision.after or decision.before:
            return
        platform, _, chat = decision.name.partition(":")
        here = request.incoming.chat.without_aside
        place = here if room_name(here) == decision.name else ChatKey(platform, chat)
        if (why := await self._why_unread(place)) is not None:
            await request.answer.tell(why[request.locale])
        said = OutgoingMessage(TO_THE_ROOM[request.locale].format(most=decision.after))
        if await self._notifier.write(request.incoming.user, place, said) is not Delivery.ARRIVED:
            await request.tell(ROOM_NOT_TOLD)

    async def _why_unread(self, chat: ChatKey) -> Localized | None:
        channels = self._notifier.platforms.get(chat.platform)
        try:
            return None if channels is None else await channels.room(chat, "").why_unread()
        except ChannelError as error:
            _log.info("room not asked", extra={"error": type(error).__name__})
            return None


WHICH_ROOM = text("pointing.which_room")
HOW_MANY = text("pointing.how_many")
CONTEXT_ON = text("pointing.context_on")
CONTEXT_OFF = text("pointing.context_off")
TO_THE_ROOM = text("pointing.to_the_room")
ROOM_NOT_TOLD = text("pointing.room_not_told")
NOT_SO = text("admin.verbs.not_so")
NO_PLATFORM = text("admin.names.no_platform")
REMINDERS_ON = text("admin.reminders.on")
REMINDERS_OFF = text("admin.reminders.off")
