"""/why: tell what an answer rests on, fact by fact: who said it, when and where, and how sure it is.

Only the person who asked is told, and in a room only what may be spoken of there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from core.answering.trail import in_figures
from core.commands.command import ON_ANSWERS, Command, Request, questions
from core.commands.menu import WHY
from core.enclosures import Speaker
from core.features.feature import Contribution, Shared
from core.features.memories.card import messages_of
from core.history.withholding import known
from core.stores import SaidMessage
from core.text.catalogue import Plurals, Sentences, counted, text
from core.text.days import dated
from core.text.markdown import quoted, verbatim
from core.text.unicode import fold
from core.times.wording import told
from core.times.zones import zone_key
from core.types import (
    NEAR,
    SURE,
    Basis,
    Localized,
    MemoryItem,
    Message,
    MessageRole,
    Modal,
    room_name,
)

WHY_WORDS = Sentences("why")
WHY_PLURALS = Plurals("why")


def build(shared: Shared) -> Contribution:
    """Contribute /why."""
    command = Command(
        WHY, text("commands.why"), partial(why, shared), in_conversation=True, in_order=True, topics=(ON_ANSWERS,)
    )
    return Contribution(commands=(command,))


async def why(shared: Shared, request: Request, message_id: str) -> None:
    """Tell what the answer to that message rests on, or to the last one."""
    conversation = request.turn.conversation
    if request.incoming.replies_to and not message_id:
        await request.refuse(WHY_WORDS.not_yours)
        return
    if not message_id:
        message_id = next((each.source_id for each in reversed(await questions(conversation))), "")
    turn = await conversation.store.turn(conversation.thread.conversation, message_id)
    answers = [each for each in turn if _is_answer(each)]
    if not answers:
        await request.refuse(WHY_WORDS.no_answer)
    elif not any(each.text for each in answers):
        await request.tell(WHY_WORDS.gone)
    elif not any(each.basis for each in answers):
        why = WHY_WORDS.incognito if request.person.is_incognito else WHY_WORDS.off
        off = [why[request.locale]] if answers[-1].off_record else []
        await request.answer.tell(" ".join([WHY_WORDS.not_kept[request.locale], *off]))
    else:
        await _tell(shared, request, answers)


def _is_answer(message: Message) -> bool:
    return message.role is MessageRole.ASSISTANT and message.modal is Modal.TEXT and not message.error


async def _tell(shared: Shared, request: Request, answers: Sequence[Message]) -> None:
    """Tell what the parts of one answer rest on, and fold the steps of its turn below that."""
    locale, basis = request.locale, _joined([each.basis for each in answers if each.basis is not None])
    teller = _Teller(shared, request, forgotten=sum(not each.text for each in answers))  # parts that told of it
    lines = [await teller.memory(item, basis.memories[item.id], answers[-1]) for item in await teller.audible(basis)]
    lines += [await teller.message(each) for each in await teller.past(basis)]
    lines += [f"• {WHY_WORDS.knows[locale]}"] if basis.knows else []
    lines += [f"• {counted(WHY_PLURALS.forgotten, locale, teller.forgotten)}"] if teller.forgotten else []
    lines += [f"• {counted(WHY_PLURALS.in_private, locale, teller.elsewhere)}"] if teller.elsewhere else []
    nothing = WHY_WORDS.nothing_limited if request.turn.services.models.is_limited else WHY_WORDS.nothing
    said = "\n".join([WHY_WORDS.title[locale], *lines]) if lines else nothing[locale]
    steps = in_figures(basis.steps, request.turn.services.actions, locale)
    await request.answer.tell(said, folded=steps)


def _joined(parts: Sequence[Basis]) -> Basis:
    """Return what all parts of an answer rest on; the steps of the last one are those of all."""
    memories = {key: chance for part in parts for key, chance in part.memories.items()}
    messages = dict.fromkeys(number for part in parts for number in part.messages)
    return Basis(memories, tuple(messages), any(part.knows for part in parts), parts[-1].steps)


@dataclass(slots=True)
class _Teller:
    """Tells facts; counts those that are gone, and those that are not to be spoken of in the room."""

    shared: Shared
    request: Request
    forgotten: int = 0
    elsewhere: int = 0

    async def audible(self, basis: Basis) -> Sequence[MemoryItem]:
        """Return the memories of a basis that may be spoken of here; count the others."""
        memory, ids = self.request.turn.memory, list(basis.memories)
        items, known = await memory.get(ids), await memory.store.get(memory.owner, ids)
        self.forgotten += len(ids) - len(known)
        self.elsewhere += len(known) - len(items)
        return items

    async def past(self, basis: Basis) -> Sequence[SaidMessage]:
        """Return the past messages of a basis that may be spoken of here; count the others."""
        memory, store = self.request.turn.memory, self.request.turn.conversation.store
        accounts = await memory.store.accounts(self.request.incoming.user)
        said = [each for account in accounts for each in await store.said(account, basis.messages)]
        knowledge = await known(store, [each.message for each in said], partial(memory.store.get, memory.owner))
        kept = [each for each in said if each.message.text and not knowledge.is_stale(each.message)]
        here = [each for each in kept if self._is_audible(each.message)]
        self.forgotten += len(basis.messages) - len(kept)
        self.elsewhere += len(kept) - len(here)
        return here

    async def memory(self, item: MemoryItem, chance: float | None, answer: Message) -> str:
        """Tell a memory: its words, who said them and when, and how sure it is that they answer the question."""
        request, locale = self.request, self.request.locale
        said = await messages_of(request, item)
        here = [each for each in said if self._is_audible(each.message)]
        facts = [await self._source(here[-1], item)] if here else [WHY_WORDS.not_here[locale]] if said else []
        facts = facts or [WHY_WORDS.kept[locale].format(when=self._when(item.created_at))]
        facts += [_sureness(chance)[locale]] if chance is not None else []
        facts += [WHY_WORDS.changed[locale]] if answer.at is not None and item.updated_at > answer.at else []
        return f"• {quoted(item.content)}{dated(item, request.person.zone, locale)}\n" + " ".join(facts)

    async def message(self, said: SaidMessage) -> str:
        """Tell what the person said in a talk; of an answer of ours only when that was, as it may tell what is over."""
        words = f"{quoted(said.message.text)}\n" if said.message.role is MessageRole.USER else ""
        return f"• {words}{await self._source(said)}"

    async def _source(self, said: SaidMessage, item: MemoryItem | None = None) -> str:
        """Tell who said something, when, with a link where there is one, and where."""
        message, locale = said.message, self.request.locale
        others = [quote.name for quote in message.quotes if quote.speaker is Speaker.OTHER and quote.name]
        name = next((each for each in others if item is not None and fold(each) in fold(item.content)), "")
        by = (
            WHY_WORDS.by_me
            if message.role is MessageRole.ASSISTANT
            else WHY_WORDS.by_other
            if name
            else WHY_WORDS.by_you
        )
        when = self._when(message.at) if message.at is not None else ""
        if url := self._url(said):
            when = f"[{when}]({url})"
        return by[locale].format(name=verbatim(name), when=f"{when} · {await self._where(said.message)}")

    async def _where(self, message: Message) -> str:
        here, locale = room_name(self.request.incoming.chat), self.request.locale
        if not message.room:
            return WHY_WORDS.was_private[locale]
        if message.room == here:
            return WHY_WORDS.here[locale]
        return WHY_WORDS.room[locale].format(room=verbatim(await self.shared.titles.of(message.room) or message.room))

    def _url(self, said: SaidMessage) -> str:
        channels = self.shared.notifier.platforms.get(said.chat.platform)
        return channels.message_url(said.chat, said.message.source_id) if channels is not None else ""

    def _when(self, at: datetime) -> str:
        now = self.shared.clock.now()
        return told(at, now, zone_key(now.astimezone(self.request.person.zone)), self.request.locale)

    def _is_audible(self, message: Message) -> bool:
        return self.request.incoming.private or message.room == room_name(self.request.incoming.chat)


def _sureness(chance: float) -> Localized:
    """Return how sure it is that a memory answers the question."""
    return WHY_WORDS.likely if SURE > chance >= NEAR else WHY_WORDS.answers if chance >= SURE else WHY_WORDS.unsure
