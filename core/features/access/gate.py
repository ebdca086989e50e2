"""Access gate: reject messages before they are stored, say why, and ask the owners about strangers and rooms."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final

from core.answering.asker import Locales
from core.answering.outcomes import AWAY, CLAIMED, CLAIMED_OPEN, DEAD_BUTTON, PAUSED, PRIVATE
from core.answering.parts import Gate, Verdict
from core.answering.turn import by_platform
from core.delivery.notifier import Notifier
from core.delivery.view import View
from core.errors import StorageError
from core.features.access.rules import Access, Mode
from core.features.access.storage import DENIED, Person, Stranger
from core.outgoing import MAX_COMMAND_BYTES, Button, OutgoingMessage
from core.ports import Channel, Clock
from core.stores import KeptStore
from core.text.catalogue import Sentences, counted, forms, text, texts
from core.text.days import short_minute
from core.text.markdown import verbatim
from core.types import ChatKey, Incoming, Invitation, Locale, Localized, Role, UserKey, room_name

INVITED = Sentences("access.invited")

_KEPT_AS: Final = "room_titles"
_MOST_ROOMS: Final = 1000


class RoomTitles:
    """Titles of rooms, by PLATFORM:ID; of more than `_MOST_ROOMS` those that were noted last."""

    def __init__(self, kept: KeptStore) -> None:
        self._kept = kept
        self._noted: dict[str, str] = {}  # by this process, so that each message of a room reads nothing

    async def of(self, room: str) -> str:
        """Return the title of a room, "" if none is known."""
        return str(json.loads(await self._kept.get(_KEPT_AS) or "{}").get(room, ""))

    async def told(self, room: str, locale: Locale) -> str:
        """Return how a room, named as PLATFORM:ID, is called for people who were there: its title, if it is known."""
        title = await self.of(room)
        return f"“{verbatim(title)}”" if title else await by_platform(room, locale)

    async def note(self, room: str, title: str) -> None:
        """Keep the title of a room; "" changes nothing."""
        if not title or self._noted.get(room) == title:
            return
        if title != await self.of(room):
            await self._kept.change(_KEPT_AS, partial(_with_title, room=room, title=title))
        if len(self._noted) >= _MOST_ROOMS:
            self._noted.clear()
        self._noted[room] = title

    async def note_here(self, incoming: Incoming) -> None:
        """Keep the title of the room where that was said."""
        await self.note(room_name(incoming.chat), incoming.room_title)


def _with_title(kept: str | None, *, room: str, title: str) -> str:
    titles: dict[str, str] = json.loads(kept or "{}")
    titles.pop(room, None)
    titles[room] = title
    return json.dumps(dict(list(titles.items())[-_MOST_ROOMS:]), ensure_ascii=False)


def card(stranger: Stranger, locale: Locale, handle: str) -> OutgoingMessage:
    """Return the card that asks about a stranger. What they wrote is not on it, for it was not kept."""
    who = stranger_line(stranger, locale, handle)
    return OutgoingMessage(CARD[locale].format(who=who), choices=verdicts(stranger.user, locale))


def room_card(invitation: Invitation, locale: Locale, *, is_open: bool, may_open: bool) -> OutgoingMessage:
    """Return the card that tells of a room that the bot was brought into."""
    room = room_name(invitation.room)
    names = [f"`{invitation.user}`", *named(invitation.user_name), *at_name(invitation.handle)]
    told = INVITED.card[locale].format(room=" · ".join([*named(invitation.title), f"`{room}`"]), who=" · ".join(names))
    now = (ALL_THERE if is_open else KNOWN_THERE)[locale]
    opens = Button(INVITED.let_ask[locale], f"/admin room {room} allow", in_place=True)
    return OutgoingMessage(f"{told}\n{now}", choices=(opens,) if may_open and fits(opens.command) else ())


def verdicts(user: UserKey, locale: Locale) -> tuple[Button, ...]:
    """Return the buttons that decide on a stranger; those whose command is too long for a button are left out."""
    return tuple(
        Button(label[locale], command, in_place=True)
        for verb, label in VERDICTS.items()
        if fits(command := f"/admin {verb} {user}")
    )


def fits(command: str) -> bool:
    """Whether a button can hold the command."""
    return len(command.encode()) <= MAX_COMMAND_BYTES


def person_line(person: Person, locale: Locale, handle: str) -> str:
    """Return a person's role, id, name and @name on one line."""
    return " · ".join([ROLES[person.role.value][locale], f"`{person.user}`", *named(person.name), *at_name(handle)])


def stranger_line(stranger: Stranger, locale: Locale, handle: str) -> str:
    """Return when a stranger wrote, their id, name, @name and language on one line."""
    names = (*named(stranger.name), *at_name(handle), *named(stranger.language))
    return " · ".join([minute(stranger.at, locale), f"`{stranger.user}`", *names])


def at_name(handle: str) -> list[str]:
    """Return a handle as an @name that notifies nobody; nothing for an empty one."""
    return named(f"@{handle}") if handle else []


def named(name: str) -> list[str]:
    """Return a name so that no Markdown in it takes effect, for its bearer chose it; nothing for an empty one."""
    return [f"`{bare}`"] if (bare := name.replace("`", "").strip()) else []


def minute(at: datetime, locale: Locale) -> str:
    """Return a moment as owners read it, UTC."""
    return short_minute(at.astimezone(UTC), locale)


ROLES = texts("admin.decide.roles", (*map(str, Role), DENIED)) | {"": text("admin.decide.roles.stranger")}
"""What each role is called; a stranger's is ""."""

CARD = text("access.card.card")
VERDICTS = texts("access.card.verdicts", ("allow", "deny", "block"))


MAX_AN_HOUR: Final = 10
_HOUR: Final = "stranger-cards"
_WORDS = {Verdict.CLAIMED: CLAIMED, Verdict.TELL_OFF: PRIVATE, Verdict.TELL_PAUSED: PAUSED}
_log = logging.getLogger(__name__)


class Cards:
    """Ask every owner about each stranger, and each room, by a card in their private chat.

    After `MAX_AN_HOUR` cards one line says that there are more. In `kept` the hour is counted for all workers; that a
    stranger is asked about once a day is the store's rule.
    """

    def __init__(
        self,
        access: Access,
        notifier: Notifier,
        locales: Locales,
        clock: Clock,
        *,
        kept: KeptStore,
        titles: RoomTitles,
    ) -> None:
        self._access = access
        self._notifier = notifier
        self._locales = locales
        self._clock = clock
        self._kept = kept
        self.titles = titles

    async def ask(self, user: UserKey) -> None:
        """Ask the owners about a stranger who has just been noted; /admin users lists every stranger."""
        try:
            stranger = await self._access.people.stranger(user)
            if stranger is not None and not stranger.denied:
                await self._ask(stranger)
        except StorageError as error:
            _log.warning("owners not asked", extra={"error": type(error).__name__})

    async def tell_of(self, invitation: Invitation, *, is_open: bool, may_open: bool) -> None:
        """Tell the owners of a room that somebody else brought the bot into; one button opens it if that may be."""

        def shown(locale: Locale) -> OutgoingMessage:
            return room_card(invitation, locale, is_open=is_open, may_open=may_open)

        await self.titles.note(room_name(invitation.room), invitation.title)
        await self._tell_owners(shown, but=invitation.user)

    async def _ask(self, stranger: Stranger) -> None:
        handle = await self._access.handle(stranger.user)
        await self._tell_owners(lambda locale: card(stranger, locale, handle))

    async def _tell_owners(self, draw: Callable[[Locale], OutgoingMessage], but: UserKey | None = None) -> None:
        counted_now = await self._kept.change(_HOUR, partial(_with_one_more, now=self._clock.now()))
        asked = json.loads(counted_now or "[]")[1]
        if asked > MAX_AN_HOUR + 1:  # the line was said
            return
        for person in await self._access.people.all():
            if person.role is Role.OWNER and person.user != but:
                locale = await self._locales.known(person.user)
                shown = draw(locale)
                if asked > MAX_AN_HOUR:
                    users = (Button(WHO[locale], "/admin users"),)
                    shown = OutgoingMessage(counted(FLOOD, locale, MAX_AN_HOUR), choices=users)
                await self._notifier.tell(person.user, shown)


def _with_one_more(kept: str | None, *, now: datetime) -> str:
    """Count a stranger, in an hour that is kept as a text: when its first stranger came, and how many did."""
    since, asked = json.loads(kept)[:2] if kept else ("", 0)
    is_same = since and timedelta(0) <= now - datetime.fromisoformat(since) < timedelta(hours=1)
    return json.dumps([since, asked + 1] if is_same else [now.isoformat(), 1])


class AccessGate(Gate):
    """Judge every message. Those that are turned away are not stored."""

    def __init__(self, access: Access, cards: Cards, locales: Locales, clock: Clock) -> None:
        self._access = access
        self._cards = cards
        self._locales = locales
        self._clock = clock
        self._away: set[ChatKey] = set()  # chats told that the bot was away, until the next message that is on time

    async def turned_away(self, incoming: Incoming, channel: Channel) -> Sequence[Coroutine[None, None, None]] | None:
        """Return None if the message goes on to the inbox, else what tells its sender why and asks the owners."""
        verdict = await self._access.judge(incoming)
        view = View(channel, self._clock)
        if verdict is not Verdict.ANSWER:
            if channel.hide() and verdict is Verdict.IGNORE:  # nobody else is bothered by it
                return (self._say(await self._reason(incoming), incoming, view),)
            told = self.turn_away(verdict, incoming, view)
            return (told, self._cards.ask(incoming.user)) if verdict is Verdict.TELL_OFF else (told,)
        if incoming.pressed and not incoming.text.startswith("/"):  # no button of ours sends that
            return (self._say(DEAD_BUTTON, incoming, view),)
        if not incoming.stale:
            self._away.discard(incoming.chat)
            return None
        if incoming.chat in self._away:
            return ()
        self._away.add(incoming.chat)
        return (self._say(AWAY, incoming, view),)

    async def welcome(self, invitation: Invitation, channel: Channel) -> None:
        """Say in a room that the bot was brought into who may ask there, with a button to let all; tell the owners."""
        is_open = await self._access.welcomes(room_name(invitation.room))
        may_open = not is_open and await self._access.mode() is Mode.PRIVATE
        if await self._access.role(invitation.user) is not Role.BLOCKED:
            locale = await self._locales.known(invitation.user, invitation.language)
            who = ALL_HERE if is_open else INVITED.known_here_yet if may_open else INVITED.known_here
            choices = (Button(INVITED.let_ask[locale], "/admin allow here"),) if may_open else ()
            shown = OutgoingMessage(f"{invitation.how[locale]}\n\n{who[locale]}", choices=choices)
            await View(channel, self._clock).show_last(shown)
        await self._cards.tell_of(invitation, is_open=is_open, may_open=may_open)

    async def recheck(self, incoming: Incoming) -> Verdict:
        """Judge a stored message again, by the rights that hold now; note the title of a room where one is answered."""
        verdict = await self._access.recheck(incoming)
        if verdict is Verdict.ANSWER:
            await self._cards.titles.note_here(incoming)
        return verdict

    async def role_here(self, incoming: Incoming) -> Role | None:
        """Return the sender's role where they wrote, or None for a stranger."""
        return await self._access.role_here(incoming)

    async def turn_away(self, verdict: Verdict, incoming: Incoming, view: View) -> None:
        """Tell the sender why they are not answered, if that verdict is one to be told."""
        if verdict is Verdict.CLAIMED and await self._access.mode() is Mode.OPEN:
            await self._say(CLAIMED_OPEN, incoming, view)
        elif verdict in _WORDS:
            await self._say(_WORDS[verdict], incoming, view)

    async def _reason(self, incoming: Incoming) -> Localized:
        """Return what is said to whoever is otherwise not answered at all."""
        role = await self._access.role(incoming.user)
        if role is Role.BLOCKED:
            return BLOCKED
        return PRIVATE if await self._access.is_let_here(incoming) else ELSEWHERE

    async def _say(self, words: Localized, incoming: Incoming, view: View) -> None:
        await view.show_last(OutgoingMessage(words[await self._locales.of(incoming)], unseen=True))


BLOCKED = text("access.refused.blocked")
ALL_HERE = text("access.invited.all_here")
ALL_THERE = text("access.invited.all_there")
KNOWN_THERE = text("access.invited.known_there")
ELSEWHERE = text("servers.elsewhere")
WHO = text("access.cards.who")
FLOOD = forms("access.cards.flood")
