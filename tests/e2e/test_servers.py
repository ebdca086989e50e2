"""/server on Discord and Telegram: the platform says who manages the place, and what they decide holds there."""

from __future__ import annotations

import discord
import pytest

from adapters.discord.api import DiscordApi
from adapters.discord.gateway import point_rest_at
from adapters.discord.pacer import Pacer
from core.dialogue import Task
from core.errors import ChannelError
from core.features.access.rules import Mode
from core.types import UserKey
from core.workers.port import Worker
from tests.e2e import telegram_kit
from tests.e2e.discord_kit import ANA, BIA, ME, OTHER_ROOM, ROOM, flow, idle, refusing, serving
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.discord_world import EPHEMERAL, GUILD_ID, MANAGER_ROLE_ID, Role
from tests.fakes.house import House
from tests.fakes.telegram_people import Person
from tests.fakes.telegram_server import TelegramServer

ONLY_MANAGERS = "Só quem pode gerenciar este grupo pode fazer isso."
GROUP = -1001


def house(clock: FakeClock) -> House:
    return House({Task.DECIDE: ["Finish"], Task.FINISH: ["Hello"]}, clock=clock, trusted=(), mode=Mode.OPEN)


async def test_who_manages_a_discord_server_says_where_and_to_whom_it_answers(clock: FakeClock) -> None:
    built = house(clock)
    async with DiscordServer(clock) as server:
        here, other = server.room(ROOM), server.room(OTHER_ROOM)
        server.roles_of[ANA.id] = [MANAGER_ROLE_ID]
        async with built.chatbot(built.access()) as bot, serving(server, clock, bot):
            ask = server.interactions.command
            refused = await ask(BIA, "server channels", room=ROOM, where="here")
            await flow(server, clock, lambda: refused.screen)
            assert refused.screen == ["Only people who may manage this server can do that."]
            done = await ask(ANA, "server channels", room=OTHER_ROOM, channel=here)
            await flow(server, clock, lambda: done.screen)
            assert done.screen[0].startswith(f"Feito. canais em que respondo aqui: em todo lugar → {here.name}")
            assert done.notes[0].flags & EPHEMERAL
            for room in (ROOM, OTHER_ROOM):
                await server.says(BIA, f"{ME} hi", room=room)
            await flow(server, clock, lambda: here.screen() and not bot.tasks)
            await idle(server)
            assert (here.screen(), other.screen()) == (["Hello"], [])
            elsewhere = await ask(BIA, "ask", room=OTHER_ROOM, message="hi")
            await flow(server, clock, lambda: elsewhere.screen)
            assert elsewhere.screen == ["Whoever manages this server has me answer elsewhere, or somebody else."]
            picked = await ask(ANA, "server roles", room=ROOM, role=Role(55, "Amigas do bot"))
            await flow(server, clock, lambda: picked.screen)
            assert "todo mundo → Amigas do bot" in picked.screen[0]
            await server.says(BIA, f"{ME} hi again", room=ROOM)
            await idle(server)
            assert here.screen() == ["Hello"]
            undone = [await ask(ANA, "server undo", room=ROOM)]
            await flow(server, clock, lambda: undone[0].screen)
            undone.append(await ask(ANA, "server undo", room=ROOM))
            await flow(server, clock, lambda: undone[1].screen)
            await server.says(BIA, f"{ME} hi", room=OTHER_ROOM)
            await flow(server, clock, other.screen)
    [command] = [one for one in server.commands[0] if one["name"] == "server"]
    assert (command["default_member_permissions"], command["contexts"]) == (1 << 5, [0])
    assert [(each.name, each.by) for each in await built.decisions.newest(9)] == [
        (f"discord:{GUILD_ID}", UserKey("discord", str(ANA.id)))
    ] * 4


async def test_a_worker_that_is_not_connected_asks_discord_for_the_servers_roles_too(clock: FakeClock) -> None:
    async with DiscordServer(clock) as server:
        server.roles_of[ANA.id] = [MANAGER_ROLE_ID]
        server.people |= {ANA.id: ANA, BIA.id: BIA}
        point_rest_at(server.api_url)
        async with discord.Client(intents=discord.Intents.none()) as client:
            await client.login(TOKEN)
            api = DiscordApi(Pacer(clock, Worker()), clock)
            api.use(client)
            assert await api.may_manage(GUILD_ID, ANA.id)
            assert not await api.may_manage(GUILD_ID, BIA.id)
            server.faults.append(refusing(403, 50001))
            with pytest.raises(ChannelError):
                await api.may_manage(GUILD_ID, ANA.id)


async def test_who_administers_a_telegram_group_sets_its_language_and_nobody_else_does(clock: FakeClock) -> None:
    built = house(clock)
    ana, bia = Person(7, "Ana"), Person(8, "Bia")
    async with TelegramServer(clock) as server, built.chatbot(built.access()) as bot:
        group = server.chat(GROUP)
        group.admins.add(ana.id)
        async with telegram_kit.serving(server, clock, bot):
            server.says(bia, "/server language english", chat_id=GROUP)
            await telegram_kit.flow(server, clock, lambda: len(group.screen()) == 1)
            server.says(ana, "/server language english", chat_id=GROUP)
            await telegram_kit.flow(server, clock, lambda: len(group.screen()) == 2)
            server.says(bia, "/stop", chat_id=GROUP)
            await telegram_kit.flow(server, clock, lambda: len(group.screen()) == 3)
            nameless = {"id": GROUP, "type": "supergroup", "title": "Grupo"}  # who speaks as the group
            anonymous = Person(1087968824, "Group", is_bot=True)
            server.says(anonymous, "/server language auto", chat_id=GROUP, sender_chat=nameless)
            await telegram_kit.flow(server, clock, lambda: len(group.screen()) == 4)
    refused, done, answered, taken_back = group.screen()
    assert refused == ONLY_MANAGERS
    assert done.startswith("Feito. língua daqui: a de cada mensagem → ")
    assert answered == "Nothing is running."
    assert taken_back.startswith("Done. language here: English → that of each message")
