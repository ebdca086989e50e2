"""An answer that its chat refuses: said in private with the reason, and then told to the owners, once."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

import pytest

from core.dialogue import Task
from core.errors import ChannelError, ChannelForbidden, ChannelGone, ChannelUnclear
from core.types import ChatKey, Role, UserKey
from tests.fakes.channel import RecordingChannel
from tests.fakes.house import House
from tests.fakes.lobby import Lobby

OWNER, ANA = UserKey("test", "owner"), UserKey("test", "ana")


GATHERED_S: Final = 60
"""How long the chats of an outage are gathered."""


async def ask(
    lobby: Lobby,
    channel: RecordingChannel,
    *,
    private: bool,
    number: int = 1,
    name: str = "",
    title: str = "Book club",
) -> None:
    incoming = replace(lobby.house.incoming("hello there", user=ANA, message_id=f"{number}"), private=private)
    incoming = replace(incoming, chat=ChatKey("test", name or ("room" if not private else "with ana")))
    incoming = replace(incoming, room_title="" if private else title)
    await (await lobby.bot.receive(incoming, channel))
    await lobby.settle()


def house() -> House:
    return House({Task.DECIDE: ["Finish"] * 9, Task.FINISH: ["Hello"] * 9}, trusted=())


async def opened(lobby: Lobby) -> None:
    await lobby.give(OWNER, Role.OWNER)
    await lobby.give(ANA, Role.MEMBER)


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (ChannelForbidden("50013"), "not allowed to write"), (ChannelGone("kicked"), "can no longer write"),
        (ChannelError("new"), "not accepted"), (TypeError("x"), "not accepted"), (KeyError("x"), "not accepted"),
    ],
)  # fmt: skip
async def test_what_a_room_takes_in_no_form_is_said_in_private_with_the_reason(refusal: Exception, reason: str) -> None:
    async with Lobby(house()) as lobby:
        await opened(lobby)
        room = lobby.house.channel()
        room.faults = [refusal] * 99
        await ask(lobby, room, private=False)
        why, answer = lobby.private[ANA].texts
        assert reason in why
        assert answer == "Hello"
        await lobby.house.clock.advance(GATHERED_S)  # type: ignore[attr-defined]
        await lobby.settle()
        [told] = lobby.private[OWNER].texts  # only the owner can mend what is wrong there
        assert "could not deliver answers in “Book club”" in told
        assert not await lobby.house.inbox.owed("test")


@pytest.mark.parametrize(
    ("refusal", "private"),
    [
        (ChannelForbidden("x"), True), (ChannelError("x"), True), (TypeError("x"), True),
        (ChannelForbidden("x"), False), (ChannelGone("x"), False), (ChannelError("x"), False), (TypeError("x"), False),
    ],
)  # fmt: skip
async def test_what_can_be_said_nowhere_is_told_to_the_owner_once_and_to_the_log(
    refusal: Exception, caplog: pytest.LogCaptureFixture, *, private: bool
) -> None:
    async with Lobby(house()) as lobby:
        await opened(lobby)
        lobby.private[ANA].faults = [refusal] * 99
        for number in (1, 2):
            chat = lobby.house.channel()
            chat.faults = [refusal] * 99
            await ask(lobby, chat, private=private, number=number)
        await lobby.house.clock.advance(GATHERED_S)  # type: ignore[attr-defined]
        await lobby.settle()
        [told] = lobby.private[OWNER].texts
        assert f"could not deliver answers in {'a private chat' if private else '“Book club”'}" in told
        assert "hello" not in told.lower()
        assert sum(record.getMessage() == "an answer was not delivered" for record in caplog.records) == 2
        assert all(record.levelno == logging.WARNING for record in caplog.records if "delivered" in record.getMessage())

        await ask(lobby, lobby.house.channel(), private=private, number=3)  # it can be said again: the trouble is over
        lost = lobby.house.channel()
        lost.faults = [refusal] * 99
        await ask(lobby, lost, private=private, number=4)
        assert len(lobby.private[OWNER].texts) == 1  # not again within the hour, unless it lasts
        await lobby.house.clock.advance(3600)  # type: ignore[attr-defined]
        assert len(lobby.private[OWNER].texts) == 2


async def test_an_answer_that_was_never_confirmed_is_there_and_the_owner_knows() -> None:
    async with Lobby(house()) as lobby:
        await opened(lobby)
        chat = lobby.house.channel()
        chat.faults = [ChannelUnclear("odd", 0.0)] * 8
        incoming = replace(lobby.house.incoming("hello there", user=ANA), chat=ChatKey("test", "with ana"))
        answered = await lobby.bot.receive(incoming, chat)
        await lobby.house.clock.advance(30)  # type: ignore[attr-defined]
        await answered
        await lobby.settle()
        await lobby.house.clock.advance(GATHERED_S)  # type: ignore[attr-defined]
        await lobby.settle()
        [told] = lobby.private[OWNER].texts
        assert "answers in a private chat were not confirmed" in told


async def test_an_outage_is_one_alarm_with_how_many_chats_and_the_names_of_rooms() -> None:
    async with Lobby(house()) as lobby:
        await opened(lobby)
        titles = ["Book club", "Family", "*Work*", "Garden", "Choir"]
        for number, title in enumerate((*titles, "", "", "")):
            chat = lobby.house.channel()
            chat.faults = [ChannelError("busy")] * 99
            lobby.private[ANA].faults = [ChannelError("busy")] * 99
            await ask(lobby, chat, private=not title, number=number, name=f"chat {number}", title=title)
        assert lobby.private[OWNER].texts == []  # there may be more
        await lobby.house.clock.advance(GATHERED_S)  # type: ignore[attr-defined]
        await lobby.settle()
        [told] = lobby.private[OWNER].texts
        assert "“Book club”, “Family”, “`*Work*`”, 2 other rooms, and 3 private chats:" in told
        assert "chat 0" not in told
        for number in range(7):  # in one chat it is still so
            title = "" if number >= len(titles) else titles[number]
            await ask(lobby, lobby.house.channel(), private=not title, number=10 + number, name=f"chat {number}")
        assert "answers in a private chat:" in "".join(await lobby.say("/admin status", OWNER))
        await ask(lobby, lobby.house.channel(), private=True, number=20, name="chat 7")
        assert "deliver" not in "".join(await lobby.say("/admin status", OWNER))


async def test_who_blocked_the_bot_is_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async with Lobby(house()) as lobby:
        await opened(lobby)
        chat = lobby.house.channel()
        chat.faults = [ChannelGone("blocked")] * 99
        await ask(lobby, chat, private=True)
        await lobby.house.clock.advance(2 * GATHERED_S)  # type: ignore[attr-defined]
        assert lobby.private[OWNER].texts == []
        assert "an answer was not delivered" in caplog.messages


async def test_whatever_breaks_behind_one_message_the_next_one_is_answered() -> None:
    async with Lobby(house()) as lobby:
        await opened(lobby)

        async def broken(_: object) -> None:
            raise RuntimeError("nobody foresaw that")

        close, lobby.house.inbox.close = lobby.house.inbox.close, broken  # type: ignore[method-assign,assignment]
        await ask(lobby, lobby.house.channel(), private=True)
        lobby.house.inbox.close = close  # type: ignore[method-assign]
        channel = lobby.house.channel()
        await ask(lobby, channel, private=True, number=2)
        assert channel.texts == ["Hello"]
