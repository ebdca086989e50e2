"""Discord with the whole core behind it: real cycle, real commands, real access, a model that answers by script."""

from __future__ import annotations

import pytest

from core.answering.outcomes import AWAY, PRIVATE
from core.answering.parts import TurnLimits
from core.dialogue import Task
from core.features.memories.commands import NO_MEMORIES
from core.models import Cycle
from core.types import Locale, UserKey
from tests.e2e.discord_kit import ANA, BIA, ROOM, flow, idle, serving
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import EPHEMERAL
from tests.fakes.house import House

SAVED = "Guardei: “abc123”"


def house(clock: FakeClock) -> House:
    return House(
        {
            Task.DECIDE: ["MemorySave", "Finish", "MemorySearch", "Finish"],
            Task.SAVE_DRAFTS: ['{"items": [{"type": "text", "content": "abc123", "bindings": ["senha do wi-fi"]}]}'],
            Task.SEARCH_QUERIES: ['{"items": ["senha do wi-fi"]}'],
            Task.FINISH: ["-", "Aqui está a senha do wi-fi."],
        },
        clock=clock,
        limits=TurnLimits(Cycle.STEPWISE, status_after_s=0.0),
    )


@pytest.mark.spec("T4", "T5", "T9", "T10")
async def test_a_memory_is_saved_in_private_and_found_again_with_every_status_in_place(clock: FakeClock) -> None:
    built = house(clock)
    access = built.access()
    async with DiscordServer(clock) as server, built.chatbot(access) as handler, serving(server, clock, handler):
        await access.own(UserKey("discord", str(ANA.id)), "Ana")
        screen = server.direct(ANA).screen
        await server.says(ANA, "lembre que a senha do wi-fi é abc123")
        await flow(server, clock, lambda: screen()[-1:] == [SAVED])
        await server.says(ANA, "qual é a senha do wi-fi?")
        found = "Aqui está a senha do wi-fi.\n🧠 **senha do wi-fi** ||abc123|| · 14 mar. 2026"
        await flow(server, clock, lambda: screen()[-1:] == [found])
        assert screen() == [SAVED, found]
        seen = [write.text for write in server.writes]
        assert "IA está pensando..." in seen
        assert not any("stop" in one for note in server.direct(ANA).notes.values() for one in note.buttons)


async def test_the_cores_commands_answer_in_the_persons_language_to_that_person_alone(clock: FakeClock) -> None:
    built = house(clock)
    access = built.access()
    async with DiscordServer(clock) as server, built.chatbot(access) as handler, serving(server, clock, handler):
        await access.own(UserKey("discord", str(BIA.id)), "Bia")
        used = await server.interactions.command(BIA, "memories", room=ROOM)
        await flow(server, clock, lambda: used.screen)
        assert used.screen == [NO_MEMORIES[Locale.EN]]
        assert used.notes[0].flags & EPHEMERAL
        assert server.room(ROOM).screen() == []


async def test_who_is_known_is_told_what_came_too_late_or_wordless_and_a_stranger_only_that_it_is_private() -> None:
    clock = FakeClock()
    built = house(clock)
    access = built.access()
    picture = [{"id": "1", "filename": "a.png", "size": 1, "url": "http://x/a.png", "proxy_url": "http://x/a.png"}]
    async with DiscordServer(clock) as server, built.chatbot(access) as handler, serving(server, clock, handler):
        await access.own(UserKey("discord", str(ANA.id)), "Ana")
        for person in (ANA, BIA):
            await server.says(person, "isso foi ontem", age_s=86_400)
            await server.says(person, "e isso também", age_s=86_000)
            await server.says(person, "", attachments=picture)
        await flow(server, clock, lambda: len([t for t in server.direct(ANA).screen() if "Bia" not in t]) > 1)
        await flow(server, clock, lambda: server.direct(BIA).screen())
        await idle(server)
        told = [text for text in server.direct(ANA).screen() if "Bia" not in text]
        assert told[0] == AWAY[Locale.PT]
        assert len(told) == 2
        assert server.direct(BIA).screen() == [PRIVATE[Locale.PT]]
        assert {prompt.context.attachments[0].name for prompt in built.model.prompts} == {"a.png"}
