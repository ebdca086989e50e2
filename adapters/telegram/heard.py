"""What was said lately in groups, in RAM: messages that the bot was handed, and its own.

The Bot API tells of one hop of a chain of replies and hands out no history, so what a message points at further up, and
what was said in a room before a question, is known from here or not at all. Nothing of it outlives the process.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from core.enclosures import MAX_HOPS, Attachment, Quote, QuoteKind, Speaker

Where: TypeAlias = tuple[int, int | None]
"""A chat, and the topic in it if it has topics."""

_MESSAGES: Final = 64
"""Of one group or topic: the 50 of which a model may be shown, and some that chains lead to."""

_CHATS: Final = 256
_MAX_CHARS: Final = 1_000


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """A message: who said it ("" for the bot itself), what, and the message that it replies to."""

    by: str
    name: str = ""
    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    reply_to: int | None = None

    def quote(self, kind: QuoteKind, asker: str) -> Quote:
        """Return it as a quote for the person of that id, who asks."""
        speaker = Speaker.BOT if not self.by else Speaker.SELF if self.by == asker else Speaker.OTHER
        return Quote(kind, self.text, speaker, self.name if speaker is Speaker.OTHER else "", "", self.attachments)


class Hearing:
    """The last messages of the groups that were talked in last."""

    def __init__(self) -> None:
        self._chats: OrderedDict[Where, OrderedDict[int, HeardMessage]] = OrderedDict()

    def note(self, where: Where, message_id: int, heard: HeardMessage) -> None:
        """Remember a message, or what it says now; the oldest ones are dropped."""
        said = self._chats.setdefault(where, OrderedDict())
        self._chats.move_to_end(where)
        said[message_id] = replace(heard, text=heard.text[:_MAX_CHARS])
        if len(said) > _MESSAGES:
            del said[min(said)]
        if len(self._chats) > _CHATS:
            self._chats.popitem(last=False)

    def knows(self, where: Where, message_id: int) -> bool:
        """Whether that message was noted."""
        return message_id in self._said(where)

    def wrote(self, where: Where, message_id: int, text: str, reply_to: int | None = None) -> None:
        """Remember what the bot itself wrote, or changed; "" for what is not whole yet."""
        before = self._said(where).get(message_id)
        self.note(where, message_id, HeardMessage("", text=text, reply_to=before.reply_to if before else reply_to))

    def removed(self, where: Where, message_id: int) -> None:
        """Forget a message that was deleted."""
        if where in self._chats:
            self._chats[where].pop(message_id, None)

    def moved(self, chat_id: int) -> None:
        """Forget a group whose messages are counted anew."""
        for place in [place for place in self._chats if place[0] == chat_id]:
            del self._chats[place]

    def chain(self, where: Where, message_id: int, asker: str) -> Sequence[Quote]:
        """Return what a message replied to, what that replied to, and so on, as far as it is known.

        What the asker said to the bot is in their conversation.
        """
        said, found = self._said(where), list[Quote]()
        here = said.get(message_id)
        while here is not None and here.reply_to is not None and len(found) < MAX_HOPS - 1:
            above = said.get(here.reply_to)
            if above is None or (quote := above.quote(QuoteKind.EARLIER, asker)).is_unread:
                break
            if quote.speaker is Speaker.SELF and not here.by:
                break
            found.append(quote)
            here = above
        return found

    def before(self, where: Where, message_id: int | None, asker: str, most: int) -> Sequence[Quote]:
        """Return the last messages before that one (None: the very last), the oldest first."""
        said = self._said(where)
        known = [said[at] for at in sorted(said) if message_id is None or at < message_id]
        quotes = [quote for each in known if not (quote := each.quote(QuoteKind.ROOM, asker)).is_unread]
        return quotes[-most:]

    def _said(self, where: Where) -> Mapping[int, HeardMessage]:
        return self._chats.get(where) or {}
