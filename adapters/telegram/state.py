"""What the adapter knows of chats beyond the present update.

All workers of the bot keep together, each with a copy in RAM, which groups became supergroups and the menus that staff
were given (`State`). What was said lately in groups is in RAM alone (`Hearing`): the Bot API tells of one hop of a
chain of replies and hands out no history, so what a message points at further up, and what was said in a room before a
question, is known from there or not at all.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from adapters.running import understood
from core.enclosures import MAX_HOPS, Attachment, Quote, QuoteKind, Speaker
from core.stores import KeptStore

_LOG = logging.getLogger(__name__)

_NAME: Final = "telegram"
_MOST_MET: Final = 4096


@dataclass(slots=True)
class _Kept:
    """Present ids of groups by their first ones, and the fingerprint of each private chat's own menu."""

    moved: dict[int, int] = field(default_factory=dict)
    menus: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """A chat by the id by which it is known here, and the topic in it if it has topics."""

    chat_id: int
    thread_id: int | None = None

    @property
    def is_group(self) -> bool:
        """Whether it is no private chat: the ids of those are positive."""
        return self.chat_id < 0


class State:
    """A group is known by its first id for ever: that is its home."""

    def __init__(self, store: KeptStore) -> None:
        self._store = store
        self._kept = _Kept()
        self._homes: dict[int, int] = {}
        self._met: set[int] = set()  # groups of which all is known that others knew when they were heard of first

    async def load(self) -> None:
        """Read what is kept.

        Raises:
            StorageError: it cannot be read.
        """
        self._hold(await self._store.get(_NAME))

    async def meet(self, chat_id: int) -> None:
        """Learn what another worker may know of a group that this one hears of for the first time.

        The first thing that is said in a supergroup is that it was a group, and whoever takes that records it before
        anything else of it is taken.

        Raises:
            StorageError: it cannot be read.
        """
        if chat_id >= 0 or chat_id in self._met:
            return
        if chat_id not in self._homes:
            await self.load()
        if len(self._met) >= _MOST_MET:
            self._met.clear()
        self._met.add(chat_id)

    @property
    def menus(self) -> dict[int, str]:
        """Map each private chat that has a menu of its own to the fingerprint of that menu; a copy."""
        return dict(self._kept.menus)

    def home(self, chat_id: int) -> int:
        """Return the id by which that chat is known here."""
        return self._homes.get(chat_id, chat_id)

    def address(self, chat_id: int) -> int:
        """Return the id by which Telegram knows the chat now."""
        return self._kept.moved.get(chat_id, chat_id)

    async def moved(self, old: int, new: int) -> None:
        """Record that a group became a supergroup.

        Raises:
            StorageError: other workers, and the next process, do not know of it.
        """
        home = self.home(old)
        if self._kept.moved.get(home) == new or home == new:
            return
        _LOG.info("a group became a supergroup", extra={"chat": home, "now": new})
        self._kept.moved[home], self._homes[new] = new, home  # also if that cannot be written

        def move(kept: _Kept) -> None:
            kept.moved[home] = new

        await self._change(move)

    async def put_menu(self, chat_id: int, fingerprint: str) -> None:
        """Record which menu a private chat has; "" for none of its own.

        Raises:
            StorageError: it was not recorded.
        """

        def put(kept: _Kept) -> None:
            kept.menus.pop(chat_id, None)
            if fingerprint:
                kept.menus[chat_id] = fingerprint

        await self._change(put)

    async def _change(self, change: Callable[[_Kept], None]) -> None:
        """Change what is kept, among the workers that do so, too."""

        def changed(text: str | None) -> str:
            kept = understood(text, _read, _Kept())
            change(kept)
            return json.dumps({"moved": kept.moved, "menus": kept.menus})

        self._hold(await self._store.change(_NAME, changed))

    def _hold(self, text: str | None) -> None:
        self._kept = understood(text, _read, _Kept())
        self._homes = {new: old for old, new in self._kept.moved.items()}


def _read(kept: Any) -> _Kept:
    return _Kept(
        {int(old): int(new) for old, new in kept["moved"].items()},
        {int(chat): str(menu) for chat, menu in kept["menus"].items()},
    )


# --- what was said lately ---

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
        self._chats: OrderedDict[Place, OrderedDict[int, HeardMessage]] = OrderedDict()

    def note(self, place: Place, message_id: int, heard: HeardMessage) -> None:
        """Remember a message, or what it says now; the oldest ones are dropped."""
        said = self._chats.setdefault(place, OrderedDict())
        self._chats.move_to_end(place)
        said[message_id] = replace(heard, text=heard.text[:_MAX_CHARS])
        if len(said) > _MESSAGES:
            del said[min(said)]
        if len(self._chats) > _CHATS:
            self._chats.popitem(last=False)

    def knows(self, place: Place, message_id: int) -> bool:
        """Whether that message was noted."""
        return message_id in self._said(place)

    def wrote(self, place: Place, message_id: int, text: str, reply_to: int | None = None) -> None:
        """Remember what the bot itself wrote, or changed; "" for what is not whole yet."""
        before = self._said(place).get(message_id)
        self.note(place, message_id, HeardMessage("", text=text, reply_to=before.reply_to if before else reply_to))

    def removed(self, place: Place, message_id: int) -> None:
        """Forget a message that was deleted."""
        if place in self._chats:
            self._chats[place].pop(message_id, None)

    def moved(self, chat_id: int) -> None:
        """Forget a group whose messages are counted anew."""
        for place in [place for place in self._chats if place.chat_id == chat_id]:
            del self._chats[place]

    def chain(self, place: Place, message_id: int, asker: str) -> Sequence[Quote]:
        """Return what a message replied to, what that replied to, and so on, as far as it is known.

        What the asker said to the bot is in their conversation.
        """
        said, found = self._said(place), list[Quote]()
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

    def before(self, place: Place, message_id: int | None, asker: str, most: int) -> Sequence[Quote]:
        """Return the last messages before that one (None: the very last), the oldest first."""
        said = self._said(place)
        known = [said[at] for at in sorted(said) if message_id is None or at < message_id]
        quotes = [quote for each in known if not (quote := each.quote(QuoteKind.ROOM, asker)).is_unread]
        return quotes[-most:]

    def _said(self, place: Place) -> Mapping[int, HeardMessage]:
        return self._chats.get(place) or {}
