"""Questions that were edited or deleted: stop their answer, take back what it did, and answer the newest text."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace

from core.answering.deadline import Deadline
from core.answering.hooks import TakeBack
from core.answering.turn import Turn
from core.delivery.view import View
from core.errors import TurnReplaced
from core.ports import Channel
from core.stores import HistoryStore, Inbox, Replaced
from core.text.catalogue import text
from core.types import ChatKey, Incoming, Modal


def act_of(chat: ChatKey, message_id: str) -> str:
    """Return the act of the changes that a command makes: the same whenever it is asked for."""
    return uuid.uuid5(uuid.NAMESPACE_URL, f"{chat.platform}\n{chat.chat}\n{chat.thread}\n{message_id}").hex


@dataclass(eq=False, slots=True)
class Asked:
    """A question that waits or is being answered: its newest version, where it is answered, and by when.

    Once it `is_over`, a version that comes is a question of its own.
    """

    incoming: Incoming
    channel: Channel
    view: View | None = None
    deadline: Deadline | None = None
    is_over: bool = False

    def replace(self, incoming: Incoming) -> None:
        """Let another version take the place of this one, whose answer stops at once."""
        self.incoming = incoming
        if self.view is not None:
            self.view.halt()
        if self.deadline is not None:
            self.deadline.stop(TurnReplaced("the question was edited or deleted"))


class OpenQuestions:
    """The questions that are not answered yet, by chat and message."""

    def __init__(self) -> None:
        self._asked: dict[tuple[ChatKey, str], Asked] = {}

    def open(self, incoming: Incoming, channel: Channel) -> Asked:
        """Add a question."""
        asked = self._asked[incoming.chat, incoming.original_id] = Asked(incoming, channel)
        return asked

    def end(self, asked: Asked) -> None:
        """Remove a question that was answered."""
        key = asked.incoming.chat, asked.incoming.original_id
        if self._asked.get(key) is asked:
            del self._asked[key]

    def find(self, chat: ChatKey, message_id: str) -> Asked | None:
        """Return the question, if it is open."""
        asked = self._asked.get((chat, message_id))
        return None if asked is None or asked.is_over else asked


def is_news(incoming: Incoming, open_: Incoming) -> bool:
    """Return whether a message says something else than the open one that has its id."""
    return incoming.user == open_.user and not (incoming.edits and incoming.text == open_.text)


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
        acts = [message.turn for message in await self._history.asked(here, replaced.message_ids) if message.turn]
        acts += [act_of(here.chat, message_id) for message_id in replaced.message_ids]
        results = [await each.take_back(turn, act) for act in dict.fromkeys(acts) for each in self._takes_back]
        await self._history.retract(here, replaced.message_ids)
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
