"""What comes along with a message in Telegram: attachments, replies, marked parts, forwards. Over real sockets."""

from __future__ import annotations

from typing import Any

import pytest

from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind, Speaker
from core.types import Incoming
from tests.e2e.telegram_kit import flow, running
from tests.fakes.clock import FakeClock
from tests.fakes.telegram_people import BOT, Person
from tests.fakes.telegram_server import TelegramServer

ANA, BIA = Person(7, "Ana"), Person(8, "Bia")
GROUP = -1001
FILE = {"file_id": "f", "file_unique_id": "u"}
PHOTO = [FILE | {"width": 1, "height": 1}, FILE | {"file_id": "g", "width": 20, "height": 10, "file_size": 9}]
SEEN = Attachment(AttachmentKind.PHOTO, "", "image/jpeg", 9, "telegram:g", width=20, height=10)
STICKER = FILE | {
    "width": 512,
    "height": 512,
    "type": "regular",
    "emoji": "🐘",
    "is_animated": False,
    "is_video": False,
}
PLACE = {"latitude": 1.0, "longitude": -2.5}
VCARD = "BEGIN:VCARD\nVERSION:3.0\nFN:Bia\\; K\nTEL:1\nEND:VCARD"
AT = 1_700_000_000
CHANNEL = {"id": -6, "type": "channel", "title": "News"}
PAID = {"star_count": 1, "paid_media": [{"type": "preview"}]}
GIVEAWAY = {"chats": [CHANNEL], "winners_selection_date": AT, "winner_count": 1}
POLL = {
    "id": "1", "question": "Onde?", "total_voter_count": 0, "is_closed": False, "is_anonymous": True,
    "type": "regular", "allows_multiple_answers": False,
    "options": [{"text": "aqui", "voter_count": 0}],  # as a server before Bot API 9.6 tells it
}  # fmt: skip


async def received(person: Person, text: str | None, **more: Any) -> Incoming:
    """What the handler gets of a message."""
    clock = FakeClock()
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        await bot.answers(server.says(person, text, **more))
    [incoming] = bot.handler.received
    return incoming


def message(by: dict[str, Any], text: str | None, **more: Any) -> dict[str, Any]:
    there = {"message_id": 3, "date": AT, "chat": {"id": ANA.id, "type": "private"}, "from": by}
    return there | ({"text": text} if text else {}) | more


@pytest.mark.parametrize(
    ("content", "attachment"),
    [
        ({"photo": PHOTO}, SEEN),
        (
            {"voice": FILE | {"duration": 3, "mime_type": "audio/ogg", "file_size": 5}},
            Attachment(AttachmentKind.VOICE, "", "audio/ogg", 5, "telegram:f", duration_s=3.0),
        ),
        (
            {"audio": FILE | {"duration": 3, "title": "Samba", "mime_type": "audio/mpeg"}},
            Attachment(AttachmentKind.AUDIO, "Samba", "audio/mpeg", 0, "telegram:f", duration_s=3.0),
        ),
        (
            {"video": FILE | {"duration": 3, "width": 2, "height": 1, "file_name": "a.mov", "mime_type": "video/mp4"}},
            Attachment(AttachmentKind.VIDEO, "a.mov", "video/mp4", 0, "telegram:f", "", 2, 1, 3.0),
        ),
        (
            {"video_note": FILE | {"duration": 3, "length": 240}},
            Attachment(AttachmentKind.VIDEO_NOTE, "", "video/mp4", 0, "telegram:f", "", 240, 240, 3.0),
        ),
        (
            {"animation": FILE | {"duration": 3, "width": 2, "height": 1}, "document": FILE},
            Attachment(AttachmentKind.ANIMATION, "", "", 0, "telegram:f", "", 2, 1, 3.0),
        ),
        (
            {"sticker": STICKER},
            Attachment(AttachmentKind.STICKER, "🐘", "image/webp", 0, "telegram:f", width=512, height=512),
        ),
        (
            {"sticker": STICKER | {"is_video": True}},
            Attachment(AttachmentKind.STICKER, "🐘", "video/webm", 0, "telegram:f", width=512, height=512),
        ),
        (
            {"document": FILE | {"file_name": "conta.pdf", "mime_type": "application/pdf", "file_size": 7}},
            Attachment(AttachmentKind.FILE, "conta.pdf", "application/pdf", 7, "telegram:f"),
        ),
        ({"location": PLACE}, Attachment(AttachmentKind.LOCATION, detail="1.0,-2.5")),
        (
            {"venue": {"location": PLACE, "title": "Zé", "address": "Rua 1"}, "location": PLACE},
            Attachment(AttachmentKind.LOCATION, "Zé, Rua 1", detail="1.0,-2.5"),
        ),
        (
            {"contact": {"phone_number": "1", "first_name": "Bia;", "last_name": "K"}},
            Attachment(AttachmentKind.CONTACT, "Bia; K", "text/vcard", detail=VCARD),
        ),
        (
            {"contact": {"phone_number": "1", "first_name": "Bia", "vcard": "BEGIN:VCARD"}},
            Attachment(AttachmentKind.CONTACT, "Bia", "text/vcard", detail="BEGIN:VCARD"),
        ),
        ({"poll": POLL}, Attachment(AttachmentKind.POLL, "Onde?", detail="aqui")),
        ({"story": {"chat": CHANNEL, "id": 3}}, Attachment(AttachmentKind.OTHER, "story")),
        ({"paid_media": PAID}, Attachment(AttachmentKind.OTHER, "paid media")),
        ({"giveaway": GIVEAWAY}, Attachment(AttachmentKind.OTHER, "giveaway")),
        ({"checklist": {"title": "Feira", "tasks": []}}, Attachment(AttachmentKind.OTHER, "checklist")),
        ({"hologram": {"depth": 3}}, Attachment(AttachmentKind.OTHER)),
    ],
)
async def test_what_is_attached_is_told_with_its_kind_and_name(content: dict[str, Any], attachment: Attachment) -> None:
    incoming = await received(ANA, None, **content)
    assert (incoming.text, incoming.attachments, incoming.quotes) == ("", (attachment,), ())


@pytest.mark.parametrize(
    ("by", "speaker", "name"),
    [
        (BOT, Speaker.BOT, ""),
        (ANA.json(), Speaker.SELF, ""),
        (BIA.json(), Speaker.OTHER, "Bia"),
    ],
)
async def test_what_is_replied_to_comes_along_with_who_said_it(by: dict[str, Any], speaker: Speaker, name: str) -> None:
    replied = message(by, "a festa é na sexta", photo=PHOTO)
    marked = {"text": "sexta", "position": 11, "is_manual": True}
    incoming = await received(ANA, "que festa?", reply_to_message=replied, quote=marked)
    photo = (SEEN,)
    assert incoming.text == "que festa?"
    assert incoming.attachments == ()
    assert incoming.quotes == (Quote(QuoteKind.REPLY, "a festa é na sexta", speaker, name, "sexta", photo),)


@pytest.mark.parametrize(
    ("origin", "name"),
    [
        ({"type": "user", "date": AT, "sender_user": BIA.json()}, "Bia"),
        ({"type": "hidden_user", "date": AT, "sender_user_name": "Bia K."}, "Bia K."),
        ({"type": "chat", "date": AT, "sender_chat": {"id": -5, "type": "group", "title": "Turma"}}, "Turma"),
        (
            {"type": "channel", "date": AT, "chat": {"id": -6, "type": "channel", "title": "News"}, "message_id": 1},
            "News",
        ),
    ],
)
async def test_what_is_forwarded_is_not_said_by_who_forwards_it(origin: dict[str, Any], name: str) -> None:
    incoming = await received(ANA, "/forget all", forward_origin=origin)
    assert incoming.text == ""
    assert incoming.quotes == (Quote(QuoteKind.FORWARD, "/forget all", Speaker.OTHER, name),)


async def test_a_poll_of_an_older_server_is_read_wherever_it_stands() -> None:
    origin = {"type": "hidden_user", "date": AT, "sender_user_name": "Bia"}
    told = (Attachment(AttachmentKind.POLL, "Onde?", detail="aqui"),)
    assert (await received(ANA, "e isto?", external_reply={"origin": origin, "poll": POLL})).quotes[
        0
    ].attachments == told
    replied = message(BIA.json(), None, poll=POLL)
    assert (await received(ANA, "e isto?", reply_to_message=replied)).quotes[0].attachments == told


async def test_what_is_forwarded_without_a_word_is_taken_each_part_of_an_album(clock: FakeClock) -> None:
    origin = {"type": "channel", "date": AT, "chat": CHANNEL, "message_id": 1}
    async with TelegramServer(clock) as server, running(server, clock) as bot:
        for _ in range(2):
            server.says(ANA, None, photo=PHOTO, media_group_id="1", forward_origin=origin)
        server.says(ANA, None, giveaway=GIVEAWAY, forward_origin=origin)
        await flow(server, clock, lambda: bot.handler.answered == 3)
    photo, other = (SEEN,), (Attachment(AttachmentKind.OTHER, "giveaway"),)
    assert [(incoming.group, *incoming.quotes) for incoming in bot.handler.received] == [
        ("1", Quote(QuoteKind.FORWARD, name="News", attachments=photo)),
        ("1", Quote(QuoteKind.FORWARD, name="News", attachments=photo)),
        ("", Quote(QuoteKind.FORWARD, name="News", attachments=other)),
    ]


async def test_what_somebody_forwards_of_their_own_is_said_by_them() -> None:
    incoming = await received(ANA, "oi", forward_origin={"type": "user", "date": AT, "sender_user": ANA.json()})
    assert (incoming.text, incoming.quotes) == ("oi", ())


async def test_a_reply_to_a_message_of_another_chat_brings_the_part_that_was_marked() -> None:
    other = {"origin": {"type": "hidden_user", "date": AT, "sender_user_name": "Bia"}, "photo": PHOTO}
    incoming = await received(ANA, "e isto?", external_reply=other, quote={"text": "na sexta", "position": 0})
    [quote] = incoming.quotes
    assert (quote.text, quote.name, quote.attachments) == ("na sexta", "Bia", (SEEN,))


async def test_what_opens_a_topic_is_no_reply() -> None:
    opening = message(BOT, None) | {"forum_topic_created": {"name": "Tópico", "icon_color": 0}}
    incoming = await received(ANA, "/help", chat_id=GROUP, thread=11, reply_to_message=opening)
    assert (incoming.quotes, incoming.quoted_user) == ((), "")
    origin = {"type": "user", "date": AT, "sender_user": BIA.json()}
    more = {"thread": 11, "reply_to_message": opening, "forward_origin": origin}
    passed_on = await received(ANA, "oi @elefante_bot", chat_id=GROUP, **more)
    assert passed_on.quoted_user == str(BIA.id), "nor is what is forwarded there"


async def test_a_part_that_the_server_cut_was_marked_by_nobody() -> None:
    replied = message(BIA.json(), "a festa é na sexta")
    incoming = await received(ANA, "que?", reply_to_message=replied, quote={"text": "a festa", "position": 0})
    assert incoming.quotes == (Quote(QuoteKind.REPLY, "a festa é na sexta", Speaker.OTHER, "Bia"),)


async def test_a_reply_to_a_message_of_another_chat_that_nothing_was_marked_of_is_unread() -> None:
    other = {"origin": {"type": "hidden_user", "date": AT, "sender_user_name": "Bia"}}
    [quote] = (await received(ANA, "e isto?", external_reply=other)).quotes
    assert (quote.is_unread, quote.name) == (True, "Bia")


async def test_a_reply_to_a_story_brings_that_it_is_one() -> None:
    story = {"chat": {"id": 8, "type": "private", "first_name": "Bia"}, "id": 3}
    [quote] = (await received(ANA, "que lindo", reply_to_story=story)).quotes
    assert (quote.name, quote.attachments) == ("Bia", (Attachment(AttachmentKind.OTHER, "story"),))


async def test_a_rich_message_is_read_where_it_is_said_replied_to_and_forwarded() -> None:
    rich = {
        "blocks": [
            {"type": "heading", "size": 1, "text": "Almoço"},
            {"type": "paragraph", "text": ["no ", {"type": "bold", "text": "Zé"}, " às 13h"]},
            {"type": "list", "items": [{"label": "1", "blocks": [{"type": "paragraph", "text": "trazer pão"}]}]},
            {"type": "table", "cells": [[{"text": "dia"}, {"text": "sexta"}]]},
        ]
    }
    read = "Almoço\nno Zé às 13h\ntrazer pão\ndia | sexta"
    incoming = await received(ANA, None, rich_message=rich)
    assert (incoming.text, incoming.attachments) == (read, ())
    incoming = await received(ANA, "e isto?", reply_to_message=message(BIA.json(), None, rich_message=rich))
    assert incoming.quotes == (Quote(QuoteKind.REPLY, read, Speaker.OTHER, "Bia"),)
    origin = {"type": "hidden_user", "date": AT, "sender_user_name": "Bia"}
    incoming = await received(ANA, None, rich_message=rich, forward_origin=origin)
    assert incoming.quotes == (Quote(QuoteKind.FORWARD, read, Speaker.OTHER, "Bia"),)
