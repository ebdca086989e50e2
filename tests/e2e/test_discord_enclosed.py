"""What comes along with a message in Discord: attachments, replies, forwards. Real sockets, real discord.py."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind, Speaker
from core.types import Incoming
from tests.e2e.discord_kit import ANA, BIA, ME, ROOM, flow, running
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer


def attached(name: str, content_type: str, **more: Any) -> dict[str, Any]:
    url = f"http://x/{name}?hm=1"
    return {"id": "1", "filename": name, "size": 1, "url": url, "proxy_url": url, "content_type": content_type} | more


def snapshot(content: str, **more: Any) -> dict[str, Any]:
    said = {
        "type": 0, "content": content, "embeds": [], "attachments": [], "timestamp": "2026-01-01T00:00:00+00:00",
        "edited_timestamp": None, "flags": 0, "mentions": [], "mention_roles": [], "components": [],
    }  # fmt: skip
    return {"message": said | more}


async def received(text: str, **more: Any) -> Incoming:
    clock = FakeClock()
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        await bot.answers(server.says(ANA, text, **more))
        [incoming] = bot.handler.received
        return incoming


@pytest.mark.parametrize(
    ("file", "attachment"),
    [
        (
            attached("a_b.png", "image/png", width=2, height=1, title="a ção"),
            Attachment(AttachmentKind.PHOTO, "a ção.png", "image/png", 1, width=2, height=1),
        ),
        (attached("a.svg", "image/svg+xml"), Attachment(AttachmentKind.FILE, "a.svg", "image/svg+xml", 1)),
        (attached("a.mp4", "video/mp4"), Attachment(AttachmentKind.VIDEO, "a.mp4", "video/mp4", 1)),
        (attached("a.mp3", "audio/mpeg"), Attachment(AttachmentKind.AUDIO, "a.mp3", "audio/mpeg", 1)),
        (
            attached("message.txt", "text/plain; charset=utf-8"),
            Attachment(AttachmentKind.FILE, "message.txt", "text/plain; charset=utf-8", 1),
        ),
        (
            attached("voice.ogg", "audio/ogg", duration_secs=2.0, waveform="AAAA"),
            Attachment(AttachmentKind.VOICE, "", "audio/ogg", 1, duration_s=2.0),
        ),
    ],
)
async def test_what_is_attached_is_told_with_its_kind_and_name(file: dict[str, Any], attachment: Attachment) -> None:
    incoming = await received("o que é isto?", attachments=[file])
    [found] = incoming.attachments
    assert (incoming.text, replace(found, handle=""), incoming.quotes) == ("o que é isto?", attachment, ())
    where = f"{incoming.chat.chat}/{incoming.message_id}"
    assert found.handle == f"discord:{file['url']}#{where}"


async def test_stickers_and_polls_are_told_with_what_is_on_them() -> None:
    sticker = {"id": "5", "name": "tromba", "format_type": 1}
    answers = [{"answer_id": 1, "poll_media": {"text": "aqui"}}, {"answer_id": 2, "poll_media": {"text": "lá"}}]
    poll = {
        "question": {"text": "Onde?"}, "answers": answers, "expiry": "2026-04-01T00:00:00+00:00",
        "allow_multiselect": False, "layout_type": 1,
    }  # fmt: skip
    incoming = await received("olha", sticker_items=[sticker], poll=poll)
    drawn, asked = incoming.attachments
    assert (drawn.kind, drawn.name, drawn.media_type) == (AttachmentKind.STICKER, "tromba", "image/png")
    assert drawn.handle == "discord:https://cdn.discordapp.com/stickers/5.png"
    assert asked == Attachment(AttachmentKind.POLL, "Onde?", detail="aqui\nlá")


async def test_what_is_replied_to_comes_along_with_who_said_it(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server, running(server, clock) as bot:
        bias = await server.says(BIA, f"a festa da <@{ANA.id}> é na sexta", room=ROOM)
        mine = await server.says(ANA, "eu vou", room=ROOM)
        await server.says(ANA, f"{ME} que festa?", room=ROOM, reply_to=bias.id)
        await server.says(ANA, f"{ME} e eu?", room=ROOM, reply_to=mine.id)
        await flow(server, clock, lambda: bot.handler.answered == 2)
        ours = list(server.room(ROOM).notes.values())[-1]
        await bot.answers(server.says(ANA, "e isso?", room=ROOM, reply_to=ours.id))
        found = [[(one.text, one.speaker, one.name) for one in each.quotes] for each in bot.handler.received]
    assert found[0] == [("a festa da @Ana é na sexta", Speaker.OTHER, "Bia")]
    assert found[1] == [("eu vou", Speaker.SELF, "")]
    assert found[2] == [(ours.text, Speaker.BOT, "")]


async def test_a_reply_to_what_was_deleted_says_that_it_is_a_reply() -> None:
    incoming = await received("e isso?", reply_to=4242, type=19)
    assert incoming.quotes == (Quote(QuoteKind.REPLY),)


async def test_what_is_forwarded_is_not_said_by_who_forwards_it() -> None:
    reference = {"type": 1, "message_id": "77", "channel_id": "88"}
    forwarded = snapshot("/forget all", attachments=[attached("a.png", "image/png")])
    incoming = await received("", message_reference=reference, message_snapshots=[forwarded])
    assert (incoming.text, incoming.attachments) == ("", ())
    [quote] = incoming.quotes
    [photo] = quote.attachments
    assert (quote.kind, quote.text, photo.kind, photo.name) == (
        QuoteKind.FORWARD, "/forget all", AttachmentKind.PHOTO, "a.png",
    )  # fmt: skip
    assert photo.handle.endswith(f"a.png?hm=1#{incoming.chat.chat}/{incoming.message_id}")


async def test_embeds_and_text_in_components_are_read_where_they_are_forwarded() -> None:
    embed = {"type": "rich", "title": "Almoço", "description": "no Zé", "fields": [{"name": "quando", "value": "13h"}]}
    shown = [{"type": 17, "id": 1, "components": [{"type": 10, "id": 2, "content": "trazer pão"}]}]
    reference = {"type": 1, "message_id": "77", "channel_id": "88"}
    one = snapshot("oi", embeds=[embed], components=shown)
    incoming = await received("", message_reference=reference, message_snapshots=[one])
    assert incoming.quotes == (Quote(QuoteKind.FORWARD, "oi\nAlmoço\nno Zé\nquando: 13h\ntrazer pão"),)


async def test_a_chain_of_replies_is_followed_for_four_hops_and_no_further_than_it_can_be_read() -> None:
    clock = FakeClock()
    async with DiscordServer(clock) as server:
        async with running(server, clock) as bot:
            last: int | None = None
            for number in range(6):
                last = (await server.says(BIA, f"{number}", room=ROOM, reply_to=last)).id
            await server.says(ANA, f"{ME} resume", room=ROOM, reply_to=last)
            await flow(server, clock, lambda: bot.handler.answered)
            asked = len(server.done("GET", "/messages/"))
            gone = await server.says(BIA, "some", room=ROOM)
            above = await server.says(BIA, "fica", room=ROOM, reply_to=gone.id)
            del server.room(ROOM).notes[gone.id]
            await server.says(ANA, f"{ME} resume", room=ROOM, reply_to=above.id)
            await flow(server, clock, lambda: bot.handler.answered == 2)
        first, second = bot.handler.received
        assert [(quote.kind, quote.text) for quote in first.quotes] == [
            (QuoteKind.REPLY, "5"),
            (QuoteKind.EARLIER, "4"),
            (QuoteKind.EARLIER, "3"),
            (QuoteKind.EARLIER, "2"),
        ]
        assert asked == 2  # each answer tells of two hops
        assert [quote.text for quote in second.quotes] == ["fica"]
