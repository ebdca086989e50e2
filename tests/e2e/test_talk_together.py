"""People of one room who continue one conversation with the bot, on both wires: real libraries over real sockets."""

from __future__ import annotations

import re

from core.dialogue import Prompt
from core.features.access.storage import Person
from core.types import Role
from tests.e2e.discord_kit import ROOM
from tests.e2e.test_pointing import PLATFORMS, OnDiscord, Place, opened, says
from tests.fakes.discord_world import Person as Member

THREAD = 777_000_000_000_000_001
TOGETHER = "<room: one conversation of all who speak here with you>"


def counted(prompt: Prompt) -> str:
    """Number the answers by what the prompt shows of the room."""
    shown = prompt.turns[-1].whole_text
    numbers = [int(found) for found in re.findall(r"n=(\d+)", shown)]
    return f"n={max(numbers, default=0) + 1}"


def room_of(place: Place) -> list[str]:
    """Return who said what in the room, of the last prompt."""
    inside = place.prompt().partition("<room")[2].partition("\n</room>")[0].splitlines()[1:]
    return [re.sub(r" at \S+ \S+:", ":", line) for line in inside]


async def talk_together(place: Place) -> list[str]:
    """Ana, who owns the bot, lets the room talk together; return what stands there then."""
    await place.house.people.put(Person(place.user("Ana"), Role.OWNER, "Ana", place.clock.now()))
    await place.says(
        "Ana", f"{'' if place.room.startswith('telegram') else place.called} /admin room talk together".strip()
    )
    await place.flow(lambda: len(place.screen()) == 2 and place.rests())
    return place.screen()


@PLATFORMS
async def test_turns_of_a_room_continue_one_conversation_each_named_and_memories_stay_ones_own(platform: str) -> None:
    async with opened(platform, counted) as place:
        told, room = await talk_together(place)
        assert "juntos" in told
        assert room.startswith("A partir de agora, aqui é uma conversa só")
        assert await place.asks("Ana", "conta") == "n=1"
        assert await place.asks("Bob", "mais um") == "n=2"
        assert TOGETHER in place.prompt()
        assert room_of(place) == ["somebody else (Ana): conta", "you: n=1"]
        assert await place.asks("Carla", "e mais um") == "n=3"
        assert room_of(place)[-2:] == ["somebody else (Bob): mais um", "you: n=2"]
        assert all("<memory" not in turn.whole_text for turn in place.house.model.prompts[-1].turns)


@PLATFORMS
async def test_a_reply_to_the_answer_of_somebody_else_goes_on_from_that_exchange(platform: str) -> None:
    async with opened(platform, says("Foi em 1889.")) as place:
        await place.asks("Ana", "quando foi a proclamação?")
        answer = place.last()
        await place.asks("Bob", "que dia?", reply_to=answer)
        assert room_of(place) == ["somebody else (Ana): quando foi a proclamação?", "you: Foi em 1889."]
        await place.asks("Carla", "oi")
        assert "<room" not in place.prompt()


async def test_a_discord_thread_is_one_conversation_and_its_channel_is_not() -> None:
    async with opened("discord", counted) as place:
        assert isinstance(place, OnDiscord)
        place.server.thread(THREAD, ROOM, owner=place.ids["Ana"])
        await place.server.gateway.tell("THREAD_CREATE", place.server.channels[THREAD].json())
        seen = place.server.channels[THREAD].screen
        for number, who in enumerate(place.ids, 1):
            await place.server.says(Member(place.ids[who], who), f"{place.called} conta", room=THREAD)
            await place.flow(lambda: len(seen()) == number and place.rests())  # noqa: B023 (waited for at once)
            assert seen()[-1] == f"n={number}"
        assert await place.asks("Bob", "conta") == "n=1"
        assert "<room" not in place.prompt()
