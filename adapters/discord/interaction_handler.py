"""Take interactions: slash commands, buttons, menus, forms. Each is stored, then acknowledged, then answered."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import discord

from adapters.discord.api import DiscordApi
from adapters.discord.button import Forms, Press, asked_about, label_of, press_of, stopped_by
from adapters.discord.channel import InteractionChannel, Ticket
from adapters.discord.config import DiscordConfig
from adapters.discord.listener import FROM_INTERACTION, answer_handle, attached, pointed
from adapters.discord.room import PLATFORM, Readers, Room, audience, groups_of, room_of, title_of
from adapters.discord.update_handler import UpdateHandler
from adapters.running import NOT_YOURS, display_name
from core.commands.menu import CONFIRM, FORM_TEXT, WHY, MenuEntry, is_as_asked
from core.enclosures import Quote
from core.errors import ChannelBusy, ChannelError, StorageDown
from core.outgoing import OutgoingMessage, Suggestion
from core.ports import Clock
from core.text.catalogue import text
from core.text.language import choose
from core.types import ConversationKey, Incoming, Locale, Localized, UserKey

_LOG = logging.getLogger(__name__)

NOT_HERE = text("discord.not_here")
STOPPING = text("discord.stopping")
NO_LONGER_KEPT = text("discord.no_longer_kept")
OLD_MENU = text("discord.old_menu")
FAILED = text("failures.bot_error")

_STOP = "/stop"
_REMEMBER = "/remember"
_COMPLETED_WITHIN_S = 2.0
_NAMED = re.compile(r"<@(\d{1,20})>")


class InteractionHandler:
    """Turns interactions into messages for the bot. Discord waits 3 s for the acknowledgement."""

    def __init__(
        self,
        messages: UpdateHandler,
        api: DiscordApi,
        forms: Forms,
        config: DiscordConfig,
        clock: Clock,
        *,
        menu: Sequence[MenuEntry],
        me: int,
    ) -> None:
        self._messages = messages
        self._commands = {entry.name: entry for entry in menu}
        self._api = api
        self._forms = forms
        self._config = config
        self._clock = clock
        self._me = me
        self._pressed: set[tuple[int, int, str]] = set()  # who pressed what where, and is not answered yet

    async def say(
        self,
        interaction: discord.Interaction[Any],
        text: str,
        *,
        unseen: bool,
        files: Sequence[discord.Attachment] = (),
        quotes: tuple[Quote, ...] = (),
        replies_to: str = "",
    ) -> None:
        """Take what a person said by a menu, with files, or a message or an answer that it is about.

        `unseen` hides the answer from everybody else, and makes it part of a talk aside.
        """
        room = await self._allowed_room(interaction)
        if room is None:
            return
        command = command_of(text, self._commands)
        to = audience(room, interaction.user.id, command, unseen=unseen)
        enclosed = tuple(map(attached, files))
        incoming = _incoming(interaction, text, to)
        overtakes = command is not None and not command.in_order
        incoming = replace(incoming, pressed=overtakes, written=True, attachments=enclosed, quotes=quotes)
        incoming = replace(incoming, replies_to=replies_to)
        stops = text == _STOP and self._messages.is_answering(incoming.conversation)
        channel = await self._pass_on(interaction, incoming, Ticket.of(interaction, hidden=to.hidden))
        if channel is None or not channel.silent:
            return
        if stops:  # the answer that it stopped ends in its own place
            await self._insist(lambda: channel.post(OutgoingMessage(_in_language(STOPPING, interaction))))
        else:
            await self._insist(channel.hush)

    async def remember(self, interaction: discord.Interaction[Any], message: discord.Message) -> None:
        """Save a message that somebody points at; only they see the answer."""
        quotes = (pointed(message, interaction.user.id, self._me),)
        await self.say(interaction, _REMEMBER, unseen=True, quotes=quotes)

    async def ask_about(self, interaction: discord.Interaction[Any], message: discord.Message) -> None:
        """Open a form for a question about a message that somebody points at."""
        quotes = (pointed(message, interaction.user.id, self._me),)
        modal = self._forms.ask_about(str(interaction.user.id), message.id, quotes, _language(interaction))
        await self._insist(lambda: self._api.show_form(interaction, modal))

    async def why(self, interaction: discord.Interaction[Any], message: discord.Message) -> None:
        """Tell what an answer of ours rests on that somebody points at; only they see it."""
        await self.say(interaction, f"/{WHY}", unseen=True, replies_to=answer_handle(message))

    async def misfit(self, interaction: discord.Interaction[Any], *, is_old: bool) -> None:
        """Answer what cannot be run: the client's menu `is_old`, or something went wrong before it was acknowledged."""
        if interaction.response.is_done():
            return
        if interaction.type is discord.InteractionType.autocomplete:
            offer = interaction.response.autocomplete
            await self._insist(lambda: self._api.perform("POST /interactions", lambda: offer([])))
        else:
            await self._only_say(interaction, OLD_MENU if is_old else FAILED)

    async def complete(self, interaction: discord.Interaction[Any], text: str, option: str) -> Sequence[Suggestion]:
        """Return what a field offers while a person fills it in; `text` is the command with what stands there so far.

        Discord waits 3 s for it, and what comes later is of no use.
        """
        room = self._room(interaction)
        if room is None or not room.allowed(self._config.rooms):
            return ()
        to = audience(room, interaction.user.id, command_of(text, self._commands), unseen=False)
        try:
            async with asyncio.timeout(_COMPLETED_WITHIN_S):
                return await self._messages.complete(_incoming(interaction, text, to), option)
        except TimeoutError:
            return ()

    async def press(self, interaction: discord.Interaction[Any]) -> None:
        """Take a press of a button, a choice out of a menu, or a form that was filled in."""
        try:
            await self._press(interaction)
        except StorageDown:  # nobody will answer it
            await self._only_say(interaction, FAILED)

    async def _press(self, interaction: discord.Interaction[Any]) -> None:
        data: Any = interaction.data or {}
        if (conversation := stopped_by(data)) is not None:
            await self._press_stop(interaction, conversation)
            return
        if (asked := asked_about(data)) is not None:
            await self._ask_about(interaction, *asked)
            return
        pressed = press_of(data)
        if pressed.asks:
            label = label_of(interaction.message, pressed.id)
            now = [choice.value for choice in await self.complete(interaction, pressed.command, FORM_TEXT)]
            modal = self._forms.open(str(interaction.user.id), pressed, label, _language(interaction), *now)
            await self._insist(lambda: self._api.show_form(interaction, modal))
        else:
            await self._press_once(interaction, pressed)

    async def _press_once(self, interaction: discord.Interaction[Any], pressed: Press) -> None:
        """Answer a press, unless the same one is being answered."""
        key = (interaction.user.id, interaction.message.id if interaction.message else 0, pressed.id)
        if key in self._pressed and interaction.type is discord.InteractionType.component:
            await self._insist(lambda: self._api.acknowledge(interaction, hidden=True, in_place=True))
            return
        self._pressed.add(key)
        try:
            await self._answer(interaction, pressed)
        finally:
            self._pressed.discard(key)

    async def _answer(self, interaction: discord.Interaction[Any], pressed: Press) -> None:
        room = await self._allowed_room(interaction)
        if room is None:
            return
        message, user_id = interaction.message, interaction.user.id
        only_theirs = message is not None and message.flags.ephemeral
        for_another = message is not None and not only_theirs and _whose(message) not in {None, user_id}
        unseen = pressed.aside or for_another or not pressed.command
        command = command_of(pressed.command, self._commands)
        to = audience(room, user_id, command, unseen=unseen)
        if to.hidden and not unseen and command is not None and command.name == CONFIRM:
            to = replace(to, chat=room.chat)
        # What everybody reads is replaced by what one person pressed only if it was said to that person: by name, or,
        # where the button is about that answer itself, in reply.
        aloud = pressed.in_place and message is not None and not room.private and not only_theirs
        names = aloud and message is not None and _named(message) == user_id
        asked = aloud and message is not None and _whose(message) == user_id and is_as_asked(pressed.command)
        if names or asked:
            to = Readers(room.chat, private=False, hidden=False)
        in_place = pressed.in_place and message is not None and (room.private or only_theirs or names or asked)
        incoming = replace(_incoming(interaction, pressed.command, to), pressed=True)
        ticket = Ticket.of(interaction, hidden=to.hidden, in_place=in_place, names=names)
        channel = await self._pass_on(interaction, incoming, ticket)
        if channel is not None and channel.silent:
            await self._insist(channel.hush)

    async def _ask_about(self, interaction: discord.Interaction[Any], message_id: int, question: str) -> None:
        """Take the question of a form; the answer is for that person alone."""
        quotes = self._forms.quotes_about(str(interaction.user.id), message_id)
        if quotes:
            await self.say(interaction, question, unseen=True, quotes=quotes)
        else:
            await self._only_say(interaction, NO_LONGER_KEPT)

    async def _press_stop(self, interaction: discord.Interaction[Any], conversation: ConversationKey) -> None:
        """Take a press of the Stop button below an answer of that conversation."""
        if str(interaction.user.id) != conversation.user.user:
            await self._only_say(interaction, NOT_YOURS)
            return
        to = Readers(conversation.chat, private=True, hidden=True)
        incoming = _incoming(interaction, _STOP, to)
        channel = await self._pass_on(interaction, incoming, Ticket.of(interaction, hidden=True, beside=True))
        if channel is not None and not channel.silent:  # nothing was running: the button outlived its answer
            await self._insist(channel.take_buttons)

    async def _pass_on(
        self, interaction: discord.Interaction[Any], incoming: Incoming, ticket: Ticket
    ) -> InteractionChannel | None:
        """Pass a message on, which stores it, then acknowledge the interaction, and wait for the answer.

        Return None where Discord took the acknowledgement too late, so that the answer stands elsewhere, and where
        another worker answers in this one's place.
        """
        incoming = replace(incoming, reply_token=ticket.written())
        channel = self._messages.interaction(incoming, ticket)
        answered = await self._messages.receive(incoming, channel)
        hidden, in_place = channel.hidden, channel.in_place  # as it is now that it was judged
        acknowledge = self._api.acknowledge
        in_time = await self._insist(lambda: acknowledge(interaction, hidden=hidden, in_place=in_place))
        channel.acknowledged(in_time=in_time)
        is_here = await answered
        if (
            not is_here and in_time and incoming.text == _STOP and not in_place
        ):  # what it stops ends in its own place, there
            await self._insist(lambda: channel.post(OutgoingMessage(_in_language(STOPPING, interaction))))
        return channel if in_time and is_here else None

    async def _allowed_room(self, interaction: discord.Interaction[Any]) -> Room | None:
        """Return the room, or None after saying that the owner does not let the bot answer here."""
        room = self._room(interaction)
        if room is not None and room.allowed(self._config.rooms):
            return room
        await self._only_say(interaction, NOT_HERE)
        return None

    async def _only_say(self, interaction: discord.Interaction[Any], words: Localized) -> None:
        text, send = _in_language(words, interaction), interaction.response.send_message
        await self._insist(lambda: self._api.perform("POST /interactions", lambda: send(text, ephemeral=True)))

    async def _insist(self, request: Callable[[], Awaitable[object]]) -> bool:
        """Repeat a request until it succeeds; return False if it was refused for good."""
        while True:
            try:
                await request()
            except ChannelBusy as busy:
                await self._clock.sleep(busy.retry_after_s)
            except ChannelError as error:
                _LOG.warning("interaction not answered", extra={"error": type(error).__name__})
                return False
            else:
                return True

    def _room(self, interaction: discord.Interaction[Any]) -> Room | None:
        if interaction.channel is None:
            return None
        room = room_of(interaction.channel, self._me)
        # Where the bot was brought along by somebody who installed it, direct messages are those of two other people.
        return replace(room, private=room.private and not interaction.context.private_channel)


def command_of(text: str, commands: Mapping[str, MenuEntry]) -> MenuEntry | None:
    """Return the command that a text begins with, or None; one that is in no menu has a name only."""
    if text[:1] != "/" or not text[1:2].strip():
        return None
    name = text[1:].split(maxsplit=1)[0].casefold()
    return commands.get(name) or MenuEntry(name, {})


def _incoming(interaction: discord.Interaction[Any], text: str, to: Readers) -> Incoming:
    return Incoming(
        chat=to.chat,
        user=UserKey(PLATFORM, str(interaction.user.id)),
        user_name=display_name(interaction.user.display_name),
        message_id=f"{FROM_INTERACTION}{interaction.id}",
        text=text,
        at=interaction.created_at,
        private=to.private,
        room_title="" if to.private else title_of(interaction.channel),
        language=str(interaction.locale),
        handle=interaction.user.name,
        groups=groups_of(interaction.user),
    )


def _whose(message: discord.Message) -> int | None:
    """Return the id of the person whom a message of ours answers or is said to, or None if it does not say."""
    if message.interaction_metadata is not None:
        return message.interaction_metadata.user.id
    if message.reference is not None:
        replied = message.reference.resolved
        return replied.author.id if isinstance(replied, discord.Message) else None
    return _named(message)


def _named(message: discord.Message) -> int | None:
    """Return the id of the person to whom a message of ours is said that answers none, or None."""
    found = _NAMED.match(message.content)
    answers = message.reference is not None or message.interaction_metadata is not None
    return int(found[1]) if found and not answers else None


def _language(interaction: discord.Interaction[Any]) -> Locale:
    return choose("", str(interaction.locale))


def _in_language(words: Localized, interaction: discord.Interaction[Any]) -> str:
    return words[_language(interaction)]
