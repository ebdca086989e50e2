"""Update -> Incoming: what people do in Telegram, as messages for the bot, with attachments and quoted words."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from telegram import (
    CallbackQuery,
    Chat,
    ChatMember,
    ChatMemberUpdated,
    ExternalReplyInfo,
    Message,
    MessageEntity,
    MessageOrigin,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
    MessageReactionUpdated,
    ReactionTypeEmoji,
    Update,
    User,
)
from telegram.constants import ReactionEmoji

from adapters.running import AGAIN, display_name, without_mention
from adapters.telegram.api import ephemeral_id
from adapters.telegram.attachments import CUT_UNITS, PLATFORM, attached
from adapters.telegram.markup import Pressed
from adapters.telegram.state import HeardMessage
from core.commands.menu import DISLIKED
from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind, Speaker
from core.outgoing import Mention
from core.text.catalogue import text
from core.types import ChatKey, Incoming, Invitation, Locale, UserKey

_LOG = logging.getLogger(__name__)
_IN_CHAT = {ChatMember.MEMBER, ChatMember.ADMINISTRATOR, ChatMember.RESTRICTED, ChatMember.OWNER}

_COMMAND = re.compile(r"/(?P<name>[A-Za-z0-9_]{1,32})(?:@(?P<at>\w+))?(?=\s|$)")
_SOMEBODY = "?"
_BLOCKS = ("blocks", "items", "cells")
_IN_PLACE, _ANEW, _NAMING, _MOVED, _EPHEMERAL = "!", "+", "@", "s", "e"  # in ids of messages


def incoming_of(message: Message, me: User, commands: Collection[str], *, edit: int | None = None) -> Incoming | None:
    """Return what a person said, or None where no person speaks (bots, channels, the service itself).

    `commands` are the names that address the bot in a group; `edit` is the id of the update that brought a changed
    text. The text is empty where there is none to read, and where somebody else
    said it: then it is a quote.
    """
    if message.from_user is None or message.is_automatic_forward:
        return None
    # Who writes in the name of a group or channel is nobody's account: it is known by that name only.
    speaker = message.sender_chat
    if speaker is None and message.from_user.is_bot:
        return None
    private = message.chat.type == message.chat.PRIVATE
    passed_on, replied = forwarded(message, me), replied_to(message, me)
    text = "" if passed_on is not None else _without_me(text_of(message), message, me)
    name = message.from_user.full_name if speaker is None else speaker.title or ""
    handle = message.from_user.username if speaker is None else speaker.username
    return Incoming(
        chat=ChatKey(PLATFORM, str(message.chat.id), _topic(message)),
        user=UserKey(PLATFORM, str(message.from_user.id if speaker is None else speaker.id)),
        user_name=display_name(name),
        message_id=str(message.message_id) if edit is None else f"{message.message_id}.{edit}",
        text=text,
        at=message.date if edit is None else message.edit_date or message.date,
        edits="" if edit is None else str(message.message_id),
        addressed=private or _addressed(message, me, commands),
        private=private,
        room_title=_title(message.chat),
        language=message.from_user.language_code or "",
        attachments=attachments_of(message) if passed_on is None else (),
        quotes=tuple(quote for quote in (passed_on, replied) if quote is not None),
        quoted_user=_quoted_user(message),
        replies_to=_reply_to_us(message, me),
        handle=handle or "",
        group=message.media_group_id or "",
        is_cut=len(text.encode("utf-16-le")) // 2 >= CUT_UNITS,
    )


def press_of(query: CallbackQuery, button: Pressed, at: datetime) -> Incoming | None:
    """Return the command that somebody sends by pressing a button, or None for one that is below no message.

    Its answer takes the message's place only for the person whom the message answers or names. `message_id` names what
    the answer hangs on, whether it takes that one's place and goes on naming the person, and the press.
    """
    message, person = query.message, query.from_user
    if message is None:
        return None
    private = message.chat.type == message.chat.PRIVATE
    known = message if isinstance(message, Message) else None  # else it is old, and little more than its id is told
    asked = known.reply_to_message if known is not None else None
    named = not private and known is not None and asked is None and _named(known) == person
    theirs = private or named or (asked is not None and asked.from_user == person)
    in_place = button.in_place and theirs
    hangs_on = message.message_id if in_place or button.stops or asked is None or not theirs else asked.message_id
    ephemeral = None if known is None else ephemeral_id(known)
    place = f"{hangs_on}" if ephemeral is None else f"{_EPHEMERAL}{ephemeral}"
    return Incoming(
        chat=ChatKey(PLATFORM, str(message.chat.id), "" if known is None else _topic(known)),
        user=UserKey(PLATFORM, str(person.id)),
        user_name=display_name(person.full_name),
        message_id=f"{place}.{_IN_PLACE if in_place else _ANEW}{_NAMING * (in_place and named)}{query.id}",
        text=button.command,
        at=at,
        private=private,
        room_title=_title(message.chat),
        language=person.language_code or "",
        pressed=True,
        handle=person.username or "",
        reply_token=query.id,
    )


def stop_of(update: Update, at: datetime) -> Incoming | None:
    """Return `/stop` for a touch of the stop button that the server draws under a draft (Bot API 10.3)."""
    stopped = update.api_kwargs.get("stopped_message_generation")
    if not isinstance(stopped, dict):
        return None
    chat = stopped.get("chat")
    if not isinstance(chat, dict) or "id" not in chat:
        return None
    person = str(chat["id"])  # drafts are for private chats, and such a chat has the id of its person
    return Incoming(
        chat=ChatKey(PLATFORM, person, str(stopped.get("message_thread_id") or "")),
        user=UserKey(PLATFORM, person),
        user_name=display_name(str(chat.get("first_name", ""))),
        message_id=f"stop.{update.update_id}",
        text="/stop",
        at=at,
        pressed=True,
    )


def dislike_of(reaction: MessageReactionUpdated, at: datetime) -> Incoming | None:
    """Return the command of who put a thumbs-down below a message, or None for any other change of reactions.

    It counts once a message, however often it is taken away and put again.
    """
    person, chat = reaction.user, reaction.chat
    put = {each.emoji for each in reaction.new_reaction if isinstance(each, ReactionTypeEmoji)}
    if person is None or person.is_bot or ReactionEmoji.THUMBS_DOWN not in put:
        return None
    return Incoming(
        chat=ChatKey(PLATFORM, str(chat.id)),
        user=UserKey(PLATFORM, str(person.id)),
        user_name=display_name(person.full_name),
        message_id=f"{reaction.message_id}.{_ANEW}{DISLIKED}{person.id}",
        text=f"/{DISLIKED}",
        replies_to=str(reaction.message_id),
        at=at,
        private=chat.type == chat.PRIVATE,
        room_title=_title(chat),
        language=person.language_code or "",
        pressed=True,
        handle=person.username or "",
    )


def _title(chat: Chat) -> str:
    return display_name(chat.title or "")


def invitation_of(change: ChatMemberUpdated, me: User) -> Invitation | None:
    """Return that the bot was brought into a group; None for any other change of its membership, which is logged."""
    was, now = change.old_chat_member.status in _IN_CHAT, change.new_chat_member.status in _IN_CHAT
    _LOG.info("membership", extra={"chat": change.chat.id, "member": now})
    person, chat = change.from_user, change.chat
    if was or not now or chat.type not in {chat.GROUP, chat.SUPERGROUP}:
        return None
    reads_all = me.can_read_all_group_messages or change.new_chat_member.status == ChatMember.ADMINISTRATOR
    hidden = {} if reads_all else PRIVACY_MODE
    how = {each: "\n\n".join(filter(None, (JOINED[each], hidden.get(each)))) for each in Locale}
    return Invitation(
        ChatKey(PLATFORM, str(chat.id)),
        _title(chat),
        UserKey(PLATFORM, str(person.id)),
        display_name(person.full_name),
        {each: said.format(name=me.username) for each, said in how.items()},
        person.username or "",
        person.language_code or "",
    )


def unseen(incoming: Incoming, ephemeral: int, update_id: int) -> Incoming:
    """Return a message that its sender and the bot alone see, whose id may be given to another one later."""
    return replace(incoming, message_id=f"{_EPHEMERAL}{ephemeral}.{update_id}")


def unseen_in(incoming: Incoming) -> int | None:
    """Return the id of the ephemeral message itself, or of that with the button; None for what everybody sees."""
    head = incoming.message_id.partition(".")[0]
    return int(head[1:]) if head[:1] == _EPHEMERAL and head[1:].isdecimal() else None


def unseen_replaced(incoming: Incoming) -> int | None:
    """Return the id of the ephemeral message whose place the answer takes: below one, every button replaces it."""
    return unseen_in(incoming) if incoming.pressed else None


def rehoused(incoming: Incoming, home: int) -> Incoming:
    """Return a message of a supergroup as one of the group that it was, whose messages have ids of their own."""
    mark = _MOVED if "." in incoming.message_id else f".{_MOVED}"
    edits = f"{incoming.edits}.{_MOVED}" if incoming.edits else ""
    there = replace(incoming.chat, chat=str(home))
    return replace(incoming, chat=there, message_id=f"{incoming.message_id}{mark}", edits=edits)


def is_rehoused(incoming: Incoming) -> bool:
    """Whether the message was said when the group was a supergroup already."""
    return incoming.original_id.endswith(_MOVED)


def replaced_by(incoming: Incoming) -> int | None:
    """Return the id of the message whose place the answer takes, if it does."""
    head, _, press = incoming.message_id.partition(".")
    return int(head) if press.startswith(_IN_PLACE) and head.isdecimal() else None


def stopped_by(incoming: Incoming) -> int | None:
    """Return the id of the message whose Stop button was pressed; None for any other message or press."""
    return asked_in(incoming) if incoming.reply_token and incoming.text == "/stop" else None


def named_by(incoming: Incoming) -> Mention | None:
    """Return the person who pressed, if the message whose place the answer takes begins with their name."""
    named = incoming.message_id.partition(".")[2].startswith(f"{_IN_PLACE}{_NAMING}")
    return Mention(incoming.user.user, incoming.user_name) if named else None


def asked_in(incoming: Incoming) -> int | None:
    """Return the id of the message itself, edited or not; None for presses without a message."""
    head = incoming.message_id.split(".", maxsplit=1)[0]
    return int(head) if head.isdecimal() else None


def command_of(text: str) -> str:
    """Return the name of the command that the text is, in lower case, or ""."""
    found = _COMMAND.match(text)
    return found["name"].lower() if found else ""


def _named(message: Message) -> User | None:
    """Return the person with whose name a message of ours begins, be it after the mark of what is there twice."""
    first = message.entities[0] if message.entities else None
    named = first is not None and first.type == MessageEntity.TEXT_MENTION and first.offset <= len(f"{AGAIN} ")
    return first.user if first is not None and named else None


def _topic(message: Message) -> str:
    # A reply in a group without topics has a thread id too, which is none.
    return str(message.message_thread_id) if message.is_topic_message and message.message_thread_id else ""


def _addressed(message: Message, me: User, commands: Collection[str]) -> bool:
    """Whether a message in a group is for the bot: a command of ours, a reply to us, or our name in it."""
    text = message.text or message.caption or ""
    if (written := _written(message.api_kwargs.get("rich_message"))) and f"@{_handle(me)}" in written.lower():
        return True  # it has no entities of its own
    if command := _COMMAND.match(text):
        if command["name"].lower() == "start" and text[command.end() :].strip():
            return (
                False  # said by the link that brought the bot here (t.me/…?startgroup=…), which was greeted as it came
            )
        at = command["at"]
        return at.lower() == _handle(me) if at else command["name"].lower() in commands
    replied = answers(message)
    if replied is not None and replied.from_user == me:
        return True
    return any(_names(entity, word, me) for entity, word in _entities(message).items())


def _entities(message: Message) -> dict[MessageEntity, str]:
    kinds: list[str | None] = [MessageEntity.MENTION, MessageEntity.TEXT_MENTION]
    return message.parse_entities(kinds) if message.text else message.parse_caption_entities(kinds)


def _names(entity: MessageEntity, word: str, me: User) -> bool:
    if entity.type == MessageEntity.TEXT_MENTION:
        return entity.user == me
    return word.removeprefix("@").lower() == _handle(me)


def _handle(me: User) -> str:
    return (me.username or "").lower()


def _without_me(text: str, message: Message, me: User) -> str:
    """Return the text without our own name where it only calls us: after a command, at the start, at the end."""
    if (command := _COMMAND.match(text)) and command["at"] and command["at"].lower() == _handle(me):
        return f"/{command['name']}{text[command.end() :]}"
    for entity, word in _entities(message).items():
        if _names(entity, word, me):
            text = without_mention(text, word)
    return text if message.text or message.caption else without_mention(text, f"@{me.username}")


# --- what comes along with a message ---


def attachments_of(message: Message | ExternalReplyInfo) -> tuple[Attachment, ...]:
    """Return the attachment of a message, also one of a kind that the library does not know yet."""
    if (known := attached(message)) is not None:
        return (known,)
    unknown = isinstance(message, Message) and (
        message.effective_attachment is not None or bool(message.api_kwargs and not text_of(message))
    )
    return (Attachment(AttachmentKind.OTHER),) if unknown else ()


def forwarded(message: Message, me: User) -> Quote | None:
    """Return what a message forwards; None if it forwards nothing, or a message of its own sender."""
    if message.forward_origin is None:
        return None
    speaker, name = _origin(message.forward_origin, message.from_user, me)
    if speaker is Speaker.SELF:
        return None
    return Quote(QuoteKind.FORWARD, text_of(message), speaker, name, "", attachments_of(message))


def replied_to(message: Message, me: User) -> Quote | None:
    """Return what a message replies to, or None."""
    excerpt = message.quote.text if message.quote is not None else ""
    if message.reply_to_story is not None:
        name, story = message.reply_to_story.chat.effective_name or "", Attachment(AttachmentKind.OTHER, "story")
        return Quote(QuoteKind.REPLY, name=name, attachments=(story,))
    if (other := message.external_reply) is not None:  # in another chat, of which only the marked part is told
        speaker, name = _origin(other.origin, message.from_user, me)
        return Quote(QuoteKind.REPLY, excerpt, speaker, name, "", attachments_of(other))
    replied = answers(message)
    if replied is None:
        return None
    if message.quote is not None and not message.quote.is_manual:  # the server cut it, the person marked nothing
        excerpt = ""
    if (passed_on := forwarded(replied, me)) is not None:
        speaker, name = passed_on.speaker, passed_on.name
    else:
        speaker, name = _speaker(replied.sender_chat or replied.from_user, message.from_user, me)
    text = text_of(replied) or excerpt
    return Quote(QuoteKind.REPLY, text, speaker, name, excerpt, attachments_of(replied))


def answers(message: Message) -> Message | None:
    """Return the message of the same chat that a message replies to, or None.

    In a topic, whatever replies to nothing "replies" to the message that opened it.
    """
    replied = message.reply_to_message
    return None if replied is None or replied.forum_topic_created is not None else replied


def _reply_to_us(message: Message, me: User) -> str:
    """Return the handle of the message of ours that a message replies to; "" for none."""
    replied = answers(message)
    return str(replied.message_id) if replied is not None and replied.from_user == me else ""


def heard_of(message: Message, me: User) -> HeardMessage:
    """Return what is said in a message of a group; what is forwarded was said by whom it names."""
    replied, passed_on = answers(message), forwarded(message, me)
    who = message.sender_chat or message.from_user
    if passed_on is not None:
        by, name = "" if passed_on.speaker is Speaker.BOT else _SOMEBODY, passed_on.name
    else:
        by, name = ("" if who is not None and who.id == me.id else str(who.id) if who else _SOMEBODY), _called(who)
    return HeardMessage(
        by, name, text_of(message), attachments_of(message), None if replied is None else replied.message_id
    )


def text_of(message: Message) -> str:
    """Return the text of a message, its caption, or what is written in a rich message (Bot API 10.1)."""
    return message.text or message.caption or _written(message.api_kwargs.get("rich_message"))


def _written(part: object) -> str:
    """Return the words in a tree of blocks, of which each is on a line; what is not of that form holds none.

    Source: core.telegram.org/bots/api#richmessage: `text` is a string, a list of texts, or an object with a `text`.
    """
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return "".join(map(_written, part))
    if not isinstance(part, dict):
        return ""
    inside = [line for name in _BLOCKS if isinstance(held := part.get(name), list) for line in map(_row, held)]
    return "\n".join(line for line in (_written(part.get("text")), *inside) if line)


def _row(part: object) -> str:
    """Return the words of a block, or of a row of a table."""
    return " | ".join(map(_written, part)) if isinstance(part, list) else _written(part)


def _quoted_user(message: Message) -> str:
    """Return the id of the person whose words a message forwards or replies to, "" if there is none or it is hidden.

    Whoever speaks as a chat or a channel is no person, nor is another bot.
    """
    replied = answers(message) if message.external_reply is None else None
    origin = message.forward_origin
    if origin is None and message.external_reply is not None:
        origin = message.external_reply.origin
    if origin is None and replied is not None:
        origin = replied.forward_origin
    if origin is not None:
        who = origin.sender_user if isinstance(origin, MessageOriginUser) else None
    else:
        who = replied.from_user if replied is not None and replied.sender_chat is None else None
    return "" if who is None or who.is_bot else str(who.id)


def _origin(origin: MessageOrigin, sender: User | None, me: User) -> tuple[Speaker, str]:
    match origin:
        case MessageOriginUser(sender_user=user):
            return _speaker(user, sender, me)
        case MessageOriginHiddenUser(sender_user_name=name):
            return Speaker.OTHER, name
        case MessageOriginChat(sender_chat=chat) | MessageOriginChannel(chat=chat):
            return _speaker(chat, sender, me)
        case _:
            return Speaker.OTHER, ""


def _speaker(who: User | Chat | None, sender: User | None, me: User) -> tuple[Speaker, str]:
    if who is None:
        return Speaker.OTHER, ""
    if who.id == me.id:
        return Speaker.BOT, ""
    if sender is not None and who.id == sender.id:
        return Speaker.SELF, ""
    return Speaker.OTHER, _called(who)


def _called(who: User | Chat | None) -> str:
    if who is None:
        return ""
    return (who.full_name if isinstance(who, User) else who.title) or ""


JOINED = text("telegram.joined")
PRIVACY_MODE = text("telegram.privacy_mode")
