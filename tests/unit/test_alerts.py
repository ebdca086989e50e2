"""Owners are told of a trouble once, wherever they can be reached, and again only after it was over."""

from __future__ import annotations

from core.types import Locale, Role, UserKey
from tests.fakes.channel import RecordingChannel
from tests.fakes.channels import OneChannel
from tests.fakes.house import ANA, BIA
from tests.fakes.lobby import Lobby

TROUBLE = {Locale.PT: "Disco cheio.", Locale.EN: "The disk is full.", Locale.ES: "Disco lleno."}
OVER = {Locale.PT: "Há espaço de novo.", Locale.EN: "There is room again.", Locale.ES: "Hay espacio otra vez."}
AWAY = UserKey("later", "ana")


def texts(lobby: Lobby, user: UserKey) -> list[str]:
    return [shown.text for shown in lobby.seen(user)]


async def test_every_owner_is_told_once_and_nobody_else() -> None:
    async with Lobby() as lobby:
        await lobby.give(ANA, Role.OWNER)
        await lobby.give(BIA, Role.ADMIN)
        alerts = lobby.bot._parts.alerts
        await alerts.tell("disk", TROUBLE)
        await alerts.tell("disk", TROUBLE)
        assert texts(lobby, ANA) == [TROUBLE[Locale.PT]]
        assert texts(lobby, BIA) == []
        assert [each.key for each in alerts.open_now()] == ["disk"]


async def test_the_end_is_told_to_who_was_told_of_the_beginning_and_then_it_may_begin_again() -> None:
    async with Lobby() as lobby:
        await lobby.give(ANA, Role.OWNER)
        alerts = lobby.bot._parts.alerts
        await alerts.over("disk", OVER)
        await alerts.tell("disk", TROUBLE)
        await alerts.over("disk", OVER)
        await alerts.tell("disk", TROUBLE)
        assert texts(lobby, ANA) == [TROUBLE[Locale.PT], OVER[Locale.PT], TROUBLE[Locale.PT]]


async def test_an_owner_who_cannot_be_reached_yet_is_told_when_their_platform_is_connected() -> None:
    async with Lobby() as lobby:
        await lobby.give(AWAY, Role.OWNER)
        await lobby.bot._parts.alerts.tell("disk", TROUBLE)
        channel = RecordingChannel(lobby.house.clock)
        lobby.bot._parts.notifier.connect("later", OneChannel(channel))
        await lobby.settle()
        assert channel.texts == [TROUBLE[Locale.PT]]
        lobby.bot._parts.notifier.connect("later", OneChannel(channel))
        await lobby.settle()
        assert channel.texts == [TROUBLE[Locale.PT]]
