"""What is said on being invited into a group. Knows how to be talked to there. Does not know who is answered."""

from __future__ import annotations

import logging

from telegram import ChatMember, ChatMemberUpdated, User

from adapters.telegram.channel import TelegramChannel
from adapters.telegram.texts import JOINED, PRIVACY_MODE
from core.delivery.view import View
from core.errors import ChannelError
from core.outgoing import OutgoingMessage
from core.ports import Clock
from core.text.language import choose

_LOG = logging.getLogger(__name__)

_IN_CHAT = {ChatMember.MEMBER, ChatMember.ADMINISTRATOR, ChatMember.RESTRICTED, ChatMember.OWNER}


async def welcome(change: ChatMemberUpdated, me: User, channel: TelegramChannel, clock: Clock) -> None:
    """Say how to talk to the bot, and what privacy mode hides, where it was just let in; else only note it."""
    was, now = change.old_chat_member.status in _IN_CHAT, change.new_chat_member.status in _IN_CHAT
    _LOG.info("membership", extra={"chat": change.chat.id, "member": now})
    if was or not now or change.chat.type == change.chat.PRIVATE:
        return
    locale = choose("", change.from_user.language_code or "")
    lines = [JOINED[locale].format(name=me.username)]
    if not me.can_read_all_group_messages and change.new_chat_member.status != ChatMember.ADMINISTRATOR:
        lines.append(PRIVACY_MODE[locale])
    view = View(channel, clock)
    try:
        await view.show(OutgoingMessage("\n\n".join(lines)))
        await view.close()
    except ChannelError as error:
        _LOG.info("courtesy not delivered", extra={"error": type(error).__name__})
