"""Questions that were edited or deleted: stop their answer, take back what it did, and answer the newest text."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace

from core.answering.collecting import Gathering, begins, part_of, revised
from core.answering.deadline import Deadline
from core.answering.hooks import TakeBack
from core.answering.turn import Turn
from core.delivery.view import View
from core.errors import TurnReplaced
from core.ports import Channel, Clock
from core.stores import HistoryStore, Inbox, Replaced
from core.text.catalogue import text
from core.types import ChatKey, ConversationKey, Incoming, Modal


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
