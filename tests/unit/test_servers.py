"""/server: who manages a server or group steers the bot there, within what the owner allows, on record."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from core.dialogue import Task
from core.errors import ChannelDown, ChannelError
from core.features.access.rules import Mode
from core.features.access.storage import Person
from core.features.admin.storage import DecisionKind
from core.types import ChatKey, Role, UserKey
from tests.fakes.clock import FakeClock
from tests.fakes.house import ANA, BIA, House

CARO = UserKey("test", "caro")
THINK = {Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}


class Town:
    """A bot that Ana owns, on the server "7" with the channels "c" and "d"; Bia manages that server."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.house = House(dict(THINK), clock=self.clock, trusted=(), mode=Mode.OPEN)
        self._numbers = count()

    async def open(self) -> Town:
        await self.house.people.put(Person(ANA, Role.OWNER, "Ana", self.house.clock.now()))
        return self

    async def say(
        self,
        text: str,
        user: UserKey = BIA,
        *,
        chat: str = "11",
        server: str = "7",
        groups: tuple[str, ...] = (),
        thread: str = "",
        manages: bool | ChannelError | None = None,
    ) -> str:
        """Say something in a channel, and return what is answered there."""
        house, channel = self.house, self.house.channel()
        channel.manages = user == BIA if manages is None else manages
        incoming = replace(
            house.incoming(text, user=user, message_id=f"{next(self._numbers)}"),
            chat=ChatKey("test", chat, thread, server),
            private=bool(thread),
            groups=groups,
        )
        async with house.chatbot() as bot:
            await (await bot.receive(incoming, channel))
        return "\n".join(channel.texts)


@pytest.fixture
async def town() -> Town:
    return await Town().open()


async def test_who_may_not_manage_the_server_changes_nothing_and_reads_why(town: Town) -> None:
    only = "Only people who may manage this server can do that."
    for verb in ("", " channels here", " persona Be rude.", " undo"):
        assert await town.say(f"/server{verb}", CARO) == only
    told = await town.say("/server channels here", CARO, manages=ChannelDown(3.0))
    assert told.startswith("I could not find out whether")
    assert await town.say("/server", server="", chat="dm", thread="") != only
    assert list(await town.house.decisions.newest(9)) == []


async def test_in_private_it_says_where_it_is_said(town: Town) -> None:
    house, channel = town.house, town.house.channel()
    async with house.chatbot() as bot:
        await (await bot.receive(house.incoming("/server", user=BIA), channel))
    assert channel.texts == ["Say that in the server or group that it is about."]


async def test_it_shows_what_holds_also_unseen_by_the_room(town: Town) -> None:
    for thread in ("", "@bia"):
        told = (await town.say("/server", thread=thread)).splitlines()
        assert told[:3] == [
            "How I am set up here:",
            "- channels I answer in here: everywhere — /server channels",
            "- roles I answer here: everybody — /server roles",
        ]


async def test_it_answers_in_the_channels_that_were_named_alone_but_for_that_command(town: Town) -> None:
    assert await town.say("/server channels here") == (
        "Done. channels I answer in here: everywhere → `11`\nTo undo it: /server undo"
    )
    assert [await town.say("hi", CARO, chat=chat) for chat in ("11", "22")] == ["Hello", ""]
    assert await town.say("hi", ANA, chat="22") == "Hello"  # the owner is answered everywhere
    assert "`11`, Lounge" in await town.say("/server channels 88=Lounge", chat="22")
    assert await town.say("hi", CARO, chat="88") == "Hello"
    assert await town.say("hi", CARO, chat="22", server="8") == "Hello"  # another server
    assert "→ everywhere" in await town.say("/server channels everywhere", chat="22")
    assert await town.say("hi", CARO, chat="22") == "Hello"


async def test_it_answers_the_roles_that_were_named_alone(town: Town) -> None:
    assert "everybody → Mods" in await town.say("/server roles 55=Mods")
    assert await town.say("hi", CARO) == ""
    assert await town.say("hi", CARO, groups=("1", "55")) == "Hello"
    assert "Pick it in the menu" in await town.say("/server roles the mods")
    assert "Mods → everybody" in await town.say("/server roles everybody")
    assert await town.say("hi", CARO) == "Hello"


async def test_limits_of_the_server_hold_beside_those_of_the_owner_whichever_are_stricter(town: Town) -> None:
    assert (await town.say("/server limits cost_day=1")).startswith("Money is the owner's")
    assert (await town.say("/server limits much")).startswith("That is no limit.")
    assert "messages_minute=2" in await town.say("/server limits messages_minute=2")
    assert (await town.say("/server limits messages_minute=0")).startswith("That is no limit.")
    assert [await town.say("hi", CARO) == "Hello" for _ in range(2)] == [True, False]  # Bia's command was the first
    assert await town.say("hi", CARO, chat="22") == "Hello"  # each channel has its own
    await town.clock.advance(61.0)
    await town.say("/admin quota here messages_minute=1", ANA)
    assert [await town.say("hi", CARO) == "Hello" for _ in range(2)] == [True, False]
    await town.clock.advance(61.0)
    assert "→ as the settings say" in await town.say("/server limits default")


async def test_a_persona_holds_on_the_server_unless_the_owner_gave_that_room_one(town: Town) -> None:
    settings, here = town.house.decisions.place_settings, ChatKey("test", "11", "", "7")
    await town.say("/admin prompt here Be the owner's.", ANA, chat="22")
    assert "unset" not in await town.say("/server persona Be a pirate.")
    assert (await settings(here)).persona == "Be a pirate."
    assert (await settings(replace(here, chat="22"))).persona == "Be the owner's."
    assert (await settings(replace(here, server="8"))).persona == ""
    await town.say("/server persona off")
    assert (await settings(here)).persona == ""


async def test_a_language_holds_for_all_who_chose_none_where_others_read_along(town: Town) -> None:
    assert "that of each message → português" in await town.say("/server language portuguese")
    assert (await town.say("/server language xyzzy")).startswith("Não conheço a língua “xyzzy”.")
    assert (await town.say("/wonder", CARO)).startswith("Não conheço o comando")
    assert (await town.say("/wonder", CARO, thread="@caro")).startswith("I do not know")
    await town.say("/language english", CARO)
    assert (await town.say("/wonder", CARO)).startswith("I do not know")


async def test_context_is_of_the_room_and_told_there_and_the_owners_off_holds(town: Town) -> None:
    here = ChatKey("test", "11", "", "7")
    assert "→ 20" in await town.say("/server context 20")
    assert (await town.house.decisions.place_settings(here)).room_messages == 20
    assert (await town.house.decisions.place_settings(replace(here, chat="22"))).room_messages == 0
    await town.say("/admin room context off", ANA)
    assert (await town.house.decisions.place_settings(here)).room_messages == 0
    await town.say("/server context 10")
    assert (await town.house.decisions.place_settings(here)).room_messages == 0


async def test_its_decisions_are_undone_there_and_those_of_the_owner_are_not(town: Town) -> None:
    await town.say("/server language german", server="8", chat="e")
    await town.say("/server persona Be a pirate.")
    await town.say("/admin policy here summary", ANA)
    assert "Be a pirate." in await town.say("/server undo")
    assert await town.say("/server undo") == "There is nothing to undo."
    changes = (await town.say("/server changes")).splitlines()
    assert [line.split(" · ")[1] for line in changes[1:]] == ["`test:bia`"] * 2
    values = town.house.decisions.values
    assert dict(await values(DecisionKind.SERVER_LANGUAGE)) == {"test:8": "de"}
    assert dict(await values(DecisionKind.POLICY)) == {"test:11": "summary"}


async def test_the_owner_takes_back_what_was_decided_on_a_server_and_sees_which(town: Town) -> None:
    await town.say("/server persona Be a pirate.")
    house, channel = town.house, town.house.channel()
    async with house.chatbot() as bot:
        await (await bot.receive(house.incoming("/admin undo", user=ANA, message_id="u"), channel))
    assert "persona here `test:7`: Be a pirate." in channel.texts[0]
    assert dict(await house.decisions.values(DecisionKind.SERVER_PERSONA)) == {}


async def test_help_shows_it_to_nobody_but_the_staff_and_only_where_it_can_be_run(town: Town) -> None:
    assert "/server" not in await town.say("/help all", BIA)
    assert "/server" in await town.say("/help all", ANA)
    channel = town.house.channel()
    async with town.house.chatbot() as bot:
        await (await bot.receive(town.house.incoming("/help all", user=ANA, message_id="h"), channel))
    assert "/server" not in channel.texts[0]


async def test_a_group_is_called_a_group_and_a_server_a_server(town: Town) -> None:
    assert await town.say("/server", CARO) == "Only people who may manage this server can do that."
    assert await town.say("/server", CARO, server="") == "Only people who may manage this group can do that."
