"""Open the turn of a message, or go on with one that a restart broke off."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from zoneinfo import ZoneInfo

from core.answering import outcomes
from core.answering.asker import Asker
from core.answering.confirmations import Arrival
from core.answering.enclosed import Enclosed
from core.answering.log import Log
from core.answering.outcomes import AGAIN
from core.answering.parts import ChatBotParts
from core.answering.questions import act_of
from core.answering.search import RoomExchanges, Search
from core.answering.shown import Shown
from core.answering.trail import trail
from core.answering.turn import AnswerMessage, PromptBudget, Services, Turn
from core.commands.command import CONTINUE_PLEASE, asked_before, is_about_answer, is_continue, is_retry
from core.commands.menu import WHY
from core.delivery.view import View
from core.dialogue import Outcome, Step
from core.enclosures import MAX_NAME_CHARS, QuoteKind, cleaned_attachments, cleaned_quotes
from core.errors import EmptyInput, InputTooLong
from core.history.conversation import Conversation, Conversations
from core.memory.memories import Memories
from core.memory.user_memory import UserMemory
from core.outgoing import Button
from core.stores import ChangeContext
from core.text.markdown import quoted
from core.text.replies import means_why
from core.text.unicode import clean, one_line
from core.types import ChangeKind, Incoming, Message, MessageRole, Modal, Preferences, room_name


def new_turn(
    asked: Message, person: Asker, conversation: Conversation, *, memory: UserMemory, services: Services, view: View
) -> Turn:
    """Return a turn in which nothing has happened yet."""
    shown = Shown(asked)
    spoken = person.language or person.tag or person.locale.value
    log = Log(asked, person, conversation, shown, memory.context.room, view.chat.note)
    turn = Turn(
        person,
        conversation,
        memory,
        services,
        shown,
        log,
        AnswerMessage(view, log, services.models.is_limited),
        Search(memory, log, services.clock, services.times),
        PromptBudget(conversation.conversations),
        Enclosed(asked, view.chat.fetch, services.files, memory.embed, spoken),
    )
    if person.shows_steps:
        turn.answer.trail = partial(trail, turn)
    return turn


class Opening:
    """Opens turns."""

    def __init__(self, parts: ChatBotParts) -> None:
        self._parts = parts

    async def turn(self, incoming: Incoming, view: View, arrival: Arrival) -> Turn:
        """Open the turn of that message, in the thread that is active there."""
        written = incoming.text
        if means_why(written) and (incoming.replies_to or not incoming.quotes):  # else about others' words
            incoming = replace(incoming, text=f"/{WHY}")
        if incoming.replies_to and is_about_answer(incoming.text):
            incoming = await self._about_answer(incoming)
        chosen = await self._parts.hooks.preferences(incoming.user)
        conversations, memories = await self._kept_in(incoming, chosen)
        conversation = await conversations.open(incoming.conversation, incoming.thread_id)
        incoming = await self._meant(incoming, conversation, arrival)
        in_words = replace(incoming, text=written) if is_about_answer(incoming.text) else incoming
        person = await self._person(in_words, chosen)
        is_command = incoming.text.startswith("/")
        id_ = act_of(incoming.chat, incoming.message_id) if is_command else uuid.uuid4().hex
        room = "" if incoming.private else room_name(incoming.chat)
        context = ChangeContext(id_, room, incoming.user, incoming.key, is_again=arrival.again and is_command)
        memories = self._parts.memories if is_command else memories  # a command is about what is kept
        person.accounts = tuple(await memories.accounts(incoming.user))
        memory = memories.of(person.accounts[0], context)
        asked = replace(message_of(incoming, id_), off_record=not person.remembers)
        turn = new_turn(asked, person, conversation, memory=memory, services=self._services(person), view=view)
        if not incoming.private:
            history, inbox = self._parts.conversations.store, self._parts.inbox
            turn.beside = RoomExchanges(
                incoming.conversation, self._parts.memories, history, inbox, incoming.replies_to
            )
        return turn

    async def _kept_in(self, incoming: Incoming, chosen: Preferences) -> tuple[Conversations, Memories]:
        """Return where the turn is kept: in RAM, with nothing that is known, if the message was sent in incognito."""
        if chosen.incognito_until is not None and chosen.is_incognito(incoming.at):
            return await self._parts.incognito.of(incoming.user, chosen.incognito_until)
        self._parts.incognito.end(incoming.user)
        return self._parts.conversations, self._parts.memories

    async def _about_answer(self, incoming: Incoming) -> Incoming:
        """Return a command about an answer in the conversation of that one, with its question's id, if they asked it.

        The platform tells only which message it is.
        """
        chat, message_id = incoming.chat, ""
        answered = await self._parts.inbox.question(chat.platform, chat.chat, incoming.replies_to)
        if answered is not None and answered[0].user == incoming.user:
            chat, message_id = answered[0].chat, answered[1]
        return replace(incoming, chat=chat, text=f"{incoming.text.split(maxsplit=1)[0]} {message_id}".rstrip())

    async def _meant(self, incoming: Incoming, conversation: Conversation, arrival: Arrival) -> Incoming:
        """Return the message for which this one stands: a reply that is a command, or a question asked again."""
        incoming = replace(incoming, text=await self._parts.hooks.replies.read(incoming, arrival, conversation))
        if is_retry(incoming.text) and (asked := await asked_before(conversation, incoming.text)):
            return replace(incoming, text=asked.text, attachments=asked.attachments, quotes=asked.quotes)
        if is_continue(incoming.text) and await asked_before(conversation, ""):
            return replace(incoming, text=CONTINUE_PLEASE[await self._parts.reach.locales.of(incoming)])
        return incoming

    async def _person(self, incoming: Incoming, chosen: Preferences) -> Asker:
        settings, is_incognito = self._parts.settings, chosen.is_incognito(incoming.at)
        return Asker(
            locale=await self._parts.reach.locales.of(incoming, chosen.language),
            language=chosen.language or settings.language or await self._parts.reach.locales.of_place(incoming),
            tag=incoming.language,
            own_zone=ZoneInfo(chosen.zone) if chosen.zone else None,
            usual_zone=self._parts.conversations.zone,
            name=one_line(incoming.user_name, MAX_NAME_CHARS),
            remembers=chosen.remembers and not is_incognito,
            is_incognito=is_incognito,
            was_incognito=not (is_incognito or chosen.incognito_told),
            shows_steps=chosen.shows_steps,
            learn=(chosen.learn or settings.learn).within(settings.learn),
            is_private=incoming.private,
        )

    def _services(self, person: Asker) -> Services:
        """Return the services with the models and actions of this moment; in incognito without what features know."""
        services = self._parts.services
        actions = self._parts.registry.infos(incognito=person.is_incognito)
        services = replace(services, models=services.models.now(), actions=actions)
        return replace(services, profiles=None, additions=()) if person.is_incognito else services


async def resume(turn: Turn, undo: Sequence[Button] = ()) -> bool:
    """Show what the turn had recalled and said; return whether it was complete.

    Messages that are still on the screen are taken over. If it is unknown whether they reached the person, what was
    said is repeated with a mark. `undo` are the buttons for what the turn had written, beside those of what it asked.
    """
    answer = turn.answer
    answer.add_buttons(undo)
    context = await turn.conversation.context("")
    mine = [m for m in context.messages if m.turn == turn.asked.turn and not m.error]  # without apologies
    said = [m for m in mine if m.role is MessageRole.ASSISTANT and m.modal is Modal.TEXT]
    is_complete = not all(m.in_history for m in said)  # only a final answer is kept out of its turn's calls
    if said and not answer.view.resumes:
        answer.write(AGAIN[turn.person.locale])
    recalled = await turn.memory.get([m.memory_id for m in mine if m.modal is Modal.MEMORY])
    answer.put_below(recalled)
    turn.shown.memories += tuple(recalled)
    for message in said:
        answer.write(message.text)
    if is_complete:
        here = turn.conversation.thread.conversation
        answer.add_buttons(await turn.services.confirmations.choices(here, turn.asked.at))
    return is_complete


async def recover(turn: Turn) -> None:
    """Add what the turn had written to its steps, and tell what was not told of it."""
    memory, person = turn.memory, turn.person
    context = await turn.conversation.context("")
    said = "\n".join(m.text for m in context.messages if m.turn == turn.asked.turn and m.role is MessageRole.ASSISTANT)
    changes = await memory.store.changes(memory.owner, act=turn.asked.turn, not_undone=True)
    for kind in ChangeKind:
        items = tuple(item for each in changes if each.kind is kind and (item := each.after or each.before))
        items = tuple(item for item in items if not item.current)  # earlier versions were told as what they were
        if items:
            step = turn.log.add(
                Step("before an interruption", Outcome.DONE, items=items, detail=kind.value, writes=kind)
            )
            if untold := [item for item in items if quoted(item.content) not in said]:
                await turn.answer.report(step, outcomes.written(kind, untold, person.locale, person.zone))


def cleaned(incoming: Incoming, max_chars: int) -> Incoming:
    """Return the message with clean text; a text longer than `max_chars` is cut to one character more."""
    return replace(
        incoming,
        text=clean(incoming.text, max_chars + 1),
        attachments=cleaned_attachments(incoming.attachments),
        quotes=cleaned_quotes(incoming.quotes),
    )


def message_of(incoming: Incoming, turn: str) -> Message:
    """Return the person's message of that turn."""
    return Message(
        MessageRole.USER,
        incoming.text,
        at=incoming.at,
        turn=turn,
        source_id=incoming.message_id,
        attachments=incoming.attachments,
        quotes=incoming.quotes,
        room="" if incoming.private else room_name(incoming.chat),
        speaker="" if incoming.private else one_line(incoming.user_name, MAX_NAME_CHARS),
    )


def check(asked: Message, *, min_chars: int, max_chars: int) -> None:
    """Check the length of a message; one that forwards words or brings something needs none of its own.

    Raises:
        EmptyInput: it has fewer than `min_chars` characters.
        InputTooLong: it has more than `max_chars`.
    """
    forwarded = any(quote.kind is QuoteKind.FORWARD and quote.text for quote in asked.quotes)
    if len(asked.text) < max(min_chars, 1) and not forwarded and not has_media(asked):
        raise EmptyInput("nothing to read")
    if len(asked.text) > max_chars:
        raise InputTooLong(max_chars)


def has_media(said: Incoming | Message) -> bool:
    """Whether something other than words comes with a message, its sender's own or forwarded."""
    return bool(said.attachments) or any(each.kind is QuoteKind.FORWARD and each.attachments for each in said.quotes)
