"""Open the turn of a message: what the person means by it, who they are, and what the turn works with."""

from __future__ import annotations

import uuid
from dataclasses import replace
from zoneinfo import ZoneInfo

from core.answering.answer import Answer
from core.answering.budget import PromptBudget
from core.answering.log import Log
from core.answering.parts import ChatBotParts
from core.answering.person import Person
from core.answering.search import Search
from core.answering.shown import Shown
from core.answering.turn import Services, Turn
from core.commands.builtin import CONTINUE_PLEASE, asked_before, is_continue, is_disliked, is_retry
from core.commands.menu import DISLIKED
from core.confirmations import Arrival
from core.delivery.view import View
from core.edits import act_of
from core.enclosures import MAX_NAME_CHARS
from core.history.conversation import Conversation
from core.inbox import message_of
from core.memory.user_memory import UserMemory
from core.stores import ChangeContext
from core.text.unicode import one_line
from core.types import Incoming, Message, room_name


def new_turn(
    asked: Message, person: Person, conversation: Conversation, *, memory: UserMemory, services: Services, view: View
) -> Turn:
    """Return a turn in which nothing has happened yet."""
    shown = Shown(asked)
    log = Log(asked, person, conversation, shown, memory.context.room)
    return Turn(
        person,
        conversation,
        memory,
        services,
        shown,
        log,
        Answer(view, log, services.models.is_limited),
        Search(memory, log, services.clock, services.times),
        PromptBudget(conversation.conversations),
    )


class Opening:
    """Opens turns."""

    def __init__(self, parts: ChatBotParts) -> None:
        self._parts = parts

    async def turn(self, incoming: Incoming, view: View, arrival: Arrival) -> Turn:
        """Open the turn of that message, in the thread that is active there."""
        if is_disliked(incoming.text):
            incoming = await self._disliked(incoming)
        conversation = await self._parts.conversations.open(incoming.conversation, incoming.thread_id)
        incoming = await self._meant(incoming, conversation, arrival)
        person = await self._person(incoming)
        is_command = incoming.text.startswith("/")
        id_ = act_of(incoming.chat, incoming.message_id) if is_command else uuid.uuid4().hex
        context = ChangeContext(id_, "" if incoming.private else room_name(incoming.chat), incoming.user)
        memory = self._parts.memories.of(await self._parts.memories.owner(incoming.user), context)
        asked = replace(message_of(incoming, id_), off_record=not person.remembers)
        return new_turn(asked, person, conversation, memory=memory, services=self._services(), view=view)

    async def _disliked(self, incoming: Incoming) -> Incoming:
        """Return a thumbs-down in the conversation of its answer: the platform tells only which message has it."""
        handle = incoming.text.partition(" ")[2].strip()
        asked_at = await self._parts.inbox.question(incoming.user, incoming.chat.chat, handle)
        chat, message_id = asked_at or (incoming.chat, "")
        return replace(incoming, chat=chat, text=f"/{DISLIKED} {message_id}")

    async def _meant(self, incoming: Incoming, conversation: Conversation, arrival: Arrival) -> Incoming:
        """Return the message for which this one stands: a reply that is a command, or a question asked again."""
        incoming = replace(incoming, text=await self._parts.hooks.replies.read(incoming, arrival))
        if is_retry(incoming.text) and (asked := await asked_before(conversation, incoming.text)):
            return replace(incoming, text=asked.text, attachments=asked.attachments, quotes=asked.quotes)
        if is_continue(incoming.text) and await asked_before(conversation, ""):
            return replace(incoming, text=CONTINUE_PLEASE[await self._parts.reach.locales.of(incoming)])
        return incoming

    async def _person(self, incoming: Incoming) -> Person:
        settings, chosen = self._parts.settings, await self._parts.hooks.preferences(incoming.user)
        return Person(
            locale=await self._parts.reach.locales.of(incoming, chosen.language),
            language=chosen.language or settings.language,
            tag=incoming.language,
            own_zone=ZoneInfo(chosen.zone) if chosen.zone else None,
            usual_zone=self._parts.conversations.zone,
            name=one_line(incoming.user_name, MAX_NAME_CHARS),
            remembers=chosen.remembers,
            learn=(chosen.learn or settings.learn).within(settings.learn),
            is_private=incoming.private,
        )

    def _services(self) -> Services:
        """Return the services with the models and actions of this moment."""
        services = self._parts.services
        actions = tuple(action.info for action in self._parts.registry.enabled)
        return replace(services, models=services.models.now(), actions=actions)
