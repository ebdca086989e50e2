"""Questions that are not answered yet: gathered from several messages, in their turn in line, edited, deleted.

One act is one question: an album, forwarded messages, files and the sentence beside them, the pieces of a long text.
Such messages of one person come within a moment. Each is stored as it comes; they are answered as one message once
nothing more has come for `QUIET_S`. A text that nothing else belongs to never waits.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from core.answering.parts import TakeBack
from core.answering.turn import Turn
from core.delivery.view import View
from core.enclosures import MAX_ATTACHMENTS, MAX_QUOTES, QuoteKind
from core.errors import StorageError, TurnReplaced
from core.ports import Channel, Clock
from core.stores import HistoryStore, Inbox, Replaced
from core.tasks import Deadline, first_of
from core.text.catalogue import text
from core.types import ChatKey, ConversationKey, Incoming, Modal, UserKey

QUIET_S: Final = 0.5
LONGEST_S: Final = 3.0
_APART: Final = timedelta(seconds=2)
"""What was sent at moments that far apart is two acts, though both come at once, as after an outage. Telegram tells
whole seconds."""


def begins(incoming: Incoming) -> bool:
    """Return whether more may belong to a message: to one of an album, with an attachment, forwarded, or cut."""
    if incoming.pressed or incoming.written or incoming.withdrawn or incoming.parts:
        return False
    if incoming.text.startswith("/"):
        return bool(incoming.group)
    forwards = any(quote.kind is QuoteKind.FORWARD for quote in incoming.quotes)
    return bool(incoming.group or incoming.attachments or forwards or incoming.is_cut)


class Gathering:
    """The messages of one act, while they come."""

    def __init__(self, first: Incoming, clock: Clock) -> None:
        self._clock = clock
        self._parts = {first.original_id: first}
        self._began_s = self._last_s = clock.monotonic()
        self._over = asyncio.Event()

    def part(self, original_id: str) -> Incoming | None:
        """Return the newest version of the message of that id; None if it is none of these."""
        return self._parts.get(original_id)

    def takes(self, incoming: Incoming) -> bool:
        """Return whether a message that its sender sent next belongs to these."""
        last = next(reversed(self._parts.values()))
        if self._over.is_set() or incoming.pressed or incoming.written or not self._has_room(incoming):
            return False
        if incoming.group and incoming.group == last.group:
            return True
        now_s = self._clock.monotonic()
        in_time = now_s - self._last_s <= QUIET_S and now_s - self._began_s <= LONGEST_S
        return in_time and abs(incoming.at - last.at) <= _APART and not incoming.text.startswith("/")

    def add(self, incoming: Incoming) -> None:
        """Take a message, or another version of one, in whose place it is."""
        self._parts[incoming.original_id] = incoming
        self._last_s = self._clock.monotonic()

    def end(self) -> None:
        """Wait for nothing more."""
        self._over.set()

    async def complete(self) -> Incoming:
        """Return all that came as one message, once nothing more is to be waited for."""
        while not self._over.is_set() and (rest_s := self._rest_s) > 0:
            await first_of(self._clock.sleep(rest_s), self._over.wait())
        self._over.set()
        first, *_ = parts = tuple(self._parts.values())
        return joined(first, parts)

    @property
    def _rest_s(self) -> float:
        until_s = min(self._last_s + QUIET_S, self._began_s + LONGEST_S)
        return until_s - self._clock.monotonic()

    def _has_room(self, incoming: Incoming) -> bool:
        all_ = [*self._parts.values(), incoming]
        attached, quoted = sum(len(each.attachments) for each in all_), sum(len(each.quotes) for each in all_)
        return attached <= MAX_ATTACHMENTS and quoted <= MAX_QUOTES


def joined(whole: Incoming, parts: Sequence[Incoming]) -> Incoming:
    """Return a message with the words and attachments of those of its parts that were not taken back.

    If all were, so is the whole.
    """
    said = tuple(part for part in parts if not part.withdrawn)
    about = {part.quoted_user for part in said if part.quotes}
    return replace(
        whole,
        text="\n".join(part.text for part in said if part.text),
        attachments=tuple(one for part in said for one in part.attachments),
        quotes=tuple(dict.fromkeys(quote for part in said for quote in part.quotes)),
        quoted_user=about.pop() if len(about) == 1 else "",
        replies_to=next((part.replies_to for part in said if part.replies_to), ""),
        withdrawn=not said,
        parts=tuple(parts),
    )


def revised(whole: Incoming, part: Incoming) -> Incoming:
    """Return the version of a collected message in which that version of a part has the place of the one before."""
    parts = [part if each.original_id == part.original_id else each for each in whole.parts]
    version = replace(whole, message_id=part.message_id, edits=whole.original_id, at=part.at)
    return joined(version, parts) if whole.parts else part


def part_of(whole: Incoming, original_id: str) -> Incoming | None:
    """Return the message of that id which a message is, or was collected from; None if it is none of it."""
    return next((each for each in (*whole.parts, whole) if each.original_id == original_id), None)


def act_of(chat: ChatKey, message_id: str) -> str:
    """Return the act of the changes that a command makes: the same whenever it is asked for."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"{chat.platform}\n{chat.chat}\n{chat.thread}\n{message_id}").hex


@dataclass(eq=False, slots=True)
class Asked:
    """A question that waits or is being answered: its newest version, where it is answered, and by when.

    While more of it may come, it is a `gathering` of messages. Once it `is_over`, a version that comes is a question
    of its own.
    """

    incoming: Incoming
    channel: Channel
    gathering: Gathering | None = None
    view: View | None = None
    deadline: Deadline | None = None
    is_over: bool = False

    def said(self, original_id: str) -> Incoming:
        """Return the newest version of the message of that id, out of those that the question is made of."""
        if self.gathering is not None:
            return self.gathering.part(original_id) or self.incoming
        return part_of(self.incoming, original_id) or self.incoming

    def version(self, incoming: Incoming) -> Incoming:
        """Return the version of the question that a version of one of its messages makes."""
        whole = self.incoming
        is_part = self.gathering is None and bool(whole.parts) and not incoming.parts
        return revised(whole, incoming) if is_part and incoming.edits else incoming

    async def collect(self) -> None:
        """Wait until nothing more of it comes, and become all that came."""
        if self.gathering is not None:
            self.incoming = await self.gathering.complete()
            self.gathering = None

    def replace(self, incoming: Incoming) -> None:
        """Let another version take the place of this one, whose answer stops at once."""
        if self.gathering is not None:
            self.gathering.add(incoming)
            return
        self.incoming = incoming
        if self.view is not None:
            self.view.halt()
        if self.deadline is not None:
            self.deadline.stop(TurnReplaced("the question was edited or deleted"))


class OpenQuestions:
    """The questions that are not answered yet, by chat and message."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: dict[tuple[ChatKey, str], Asked] = {}
        self._gathering: dict[ConversationKey, Asked] = {}

    def open(self, incoming: Incoming, channel: Channel) -> Asked:
        """Add a question, to which more may belong."""
        asked = Asked(incoming, channel, Gathering(incoming, self._clock) if begins(incoming) else None)
        for part in (incoming, *incoming.parts):
            self._asked[incoming.chat, part.original_id] = asked
        if asked.gathering is not None:
            self._gathering[incoming.conversation] = asked
        return asked

    def join(self, incoming: Incoming) -> Asked | None:
        """Add a message to the question that it belongs to, and return that; None if it is one of its own."""
        asked = self._gathering.get(incoming.conversation)
        if asked is None or asked.gathering is None or incoming.pressed:
            return None
        if not asked.gathering.takes(incoming):
            asked.gathering.end()
            return None
        asked.gathering.add(incoming)
        self._asked[incoming.chat, incoming.original_id] = asked
        return asked

    def end(self, asked: Asked) -> None:
        """Remove a question that was answered."""
        whole = asked.incoming
        for part in (whole, *whole.parts):
            if self._asked.get((whole.chat, part.original_id)) is asked:
                del self._asked[whole.chat, part.original_id]
        if self._gathering.get(whole.conversation) is asked:
            del self._gathering[whole.conversation]

    def find(self, chat: ChatKey, message_id: str) -> Asked | None:
        """Return the question that the message of that id is, or is a part of, if it is open."""
        asked = self._asked.get((chat, message_id))
        return None if asked is None or asked.is_over else asked


def is_news(incoming: Incoming, open_: Incoming) -> bool:
    """Return whether a message says something else than the open one that has its id."""
    is_same = incoming.text == open_.text and incoming.withdrawn == open_.withdrawn
    return incoming.user == open_.user and not (incoming.edits and is_same)


def withdrawn(incoming: Incoming) -> Incoming:
    """Return the version of a question that its sender took back: it has no words, and is not answered."""
    return replace(
        incoming,
        message_id=f"{incoming.message_id}.withdrawn",
        edits=incoming.original_id,
        text="",
        attachments=(),
        quotes=(),
        withdrawn=True,
        parts=(),
    )


class Edits:
    """Takes back what the earlier versions of a question did, so that the newest one stands in their place."""

    def __init__(self, inbox: Inbox, history: HistoryStore, takes_back: Collection[TakeBack]) -> None:
        self._inbox = inbox
        self._history = history
        self._takes_back = takes_back

    async def replaced(self, incoming: Incoming) -> Replaced | None:
        """Return what an edit replaces, closed by now; None if it says the same as what was answered before."""
        replaced = await self._inbox.take_over(incoming)
        if replaced.answered and not incoming.withdrawn:
            asked = await self._history.asked(incoming.conversation, replaced.message_ids)
            if incoming.text in [message.content for message in asked if message.modal is Modal.TEXT]:
                return None
        return replaced

    async def take_back(self, turn: Turn, replaced: Replaced | None) -> bool | None:
        """Take back what the earlier versions changed, and clear what was said by them and to them.

        Return None if they changed nothing, and False if something of it can no longer be taken back.
        """
        if replaced is None or not replaced.message_ids:
            return None
        here = turn.conversation.thread.conversation
        history = turn.conversation.store
        acts = [message.turn for message in await history.asked(here, replaced.message_ids) if message.turn]
        acts += [act_of(here.chat, message_id) for message_id in replaced.message_ids]
        results = [await each.take_back(turn, act) for act in dict.fromkeys(acts) for each in self._takes_back]
        await history.retract(here, replaced.message_ids)
        told = [each for each in results if each is not None]
        return all(told) if told else None


async def tell_of_earlier(turn: Turn, taken_back: bool | None) -> None:
    """Say what became of what the earlier version had changed, where the answer does not show it."""
    if taken_back is None or (taken_back and (turn.log.written or turn.asked.text.startswith("/"))):
        return
    told = (TAKEN_BACK if taken_back else KEPT)[turn.person.locale]
    if turn.asked.text.startswith("/"):
        await turn.answer.tell(told)
    else:
        await turn.answer.say(told, in_history=False)


KEPT = text("edits.kept")
TAKEN_BACK = text("edits.taken_back")


@dataclass(slots=True)
class _RoomQueue:
    """One chat: the people being answered, and those who wait, the next one first."""

    answering: set[UserKey] = field(default_factory=set)
    waiting: dict[UserKey, deque[asyncio.Future[None]]] = field(default_factory=dict)


class ConversationLocks:
    """Locks of conversations. In each room at most `at_once` people are answered side by side."""

    def __init__(self, at_once: int = 8) -> None:
        self._at_once = at_once
        self._rooms: dict[ChatKey, _RoomQueue] = {}

    def __len__(self) -> int:
        """Return the number of messages being answered or waiting."""
        rooms = self._rooms.values()
        return sum(len(room.answering) + sum(map(len, room.waiting.values())) for room in rooms)

    def has_others(self, conversation: ConversationKey) -> bool:
        """Return whether other people are being answered in that room, or wait there."""
        room = self._rooms.get(conversation.chat)
        return room is not None and bool({*room.answering, *room.waiting} - {conversation.user})

    @asynccontextmanager
    async def lane(self, conversation: ConversationKey, waits: Callable[[], None] | None = None) -> AsyncIterator[None]:
        """Wait for this person's earlier messages here and for a free place in the room; hold both.

        `waits` is called if they are not free at once.
        """
        room, user = self._rooms.setdefault(conversation.chat, _RoomQueue()), conversation.user
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        room.waiting.setdefault(user, deque()).append(place)
        self._fill(room)
        if waits is not None and not place.done():
            waits()
        try:
            await place
            yield
        finally:
            if place.done() and not place.cancelled():
                self._release(room, user)
            else:
                self._leave(room, user, place)
            self._fill(room)
            if not room.answering and not room.waiting and self._rooms.get(conversation.chat) is room:
                del self._rooms[conversation.chat]

    def _fill(self, room: _RoomQueue) -> None:
        """Give free places to the next people in line who are not being answered yet."""
        while len(room.answering) < self._at_once:
            user = next((user for user in room.waiting if user not in room.answering), None)
            if user is None:
                return
            place = room.waiting[user].popleft()
            if not room.waiting[user]:
                del room.waiting[user]
            if not place.cancelled():  # its task has not run `_leave` yet
                room.answering.add(user)
                place.set_result(None)

    @staticmethod
    def _release(room: _RoomQueue, user: UserKey) -> None:
        """Free a person's place; if they wrote more, they go to the end of the line."""
        room.answering.discard(user)
        if user in room.waiting:
            room.waiting[user] = room.waiting.pop(user)

    @staticmethod
    def _leave(room: _RoomQueue, user: UserKey, place: asyncio.Future[None]) -> None:
        """Take a cancelled place out of the line."""
        queue = room.waiting.get(user, deque())
        if place in queue:
            queue.remove(place)
        if not queue:
            room.waiting.pop(user, None)


# --- what is left of answered ones ---

_log = logging.getLogger(__name__)

KEPT_FOR: Final = timedelta(days=7)
"""Telegram delivers an update for 24 hours (core.telegram.org/bots/api#getting-updates), webhooks included; Discord is
read back from bookmarks that are seconds old."""

FIRST_S: Final = 600.0
"""Wait after a start: by then missed messages were read back, however old they are."""

EVERY_S: Final = 86_400.0
_BATCH: Final = 500  # rows of one transaction: other writes wait for no more than these
_PAUSE_S: Final = 0.1


async def purge_answered(inbox: Inbox, clock: Clock) -> None:
    """Remove answered messages that no platform delivers again: soon after the start, then daily, until cancelled.

    Before that, what a crash left of messages that were erased.
    """
    try:
        await inbox.finish_erasing()
    except StorageError as error:
        _log.warning("inbox not erased", extra={"error": type(error).__name__})
    wait_s = FIRST_S
    while True:
        await clock.sleep(wait_s)
        wait_s = EVERY_S
        try:
            while await inbox.purge(clock.now() - KEPT_FOR, _BATCH) == _BATCH:
                await clock.sleep(_PAUSE_S)
        except StorageError as error:
            _log.warning("inbox not purged", extra={"error": type(error).__name__})
