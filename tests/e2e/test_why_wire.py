"""/why and /think as people meet them on both platforms: real SDKs, real sockets, the real core."""

from __future__ import annotations

import pytest

from tests.e2e.stage import ANA, BIA, OTHER, PRIVATE, ROOM, DiscordStage, Stage, TelegramStage, opened

CODE = "the garage code is 4471"
QUESTION = "What is the garage code?"
NOT_YOURS = "Only who asked can ask that, for a week after my answer."
PLATFORMS = ("telegram", "discord")


async def asked(stage: Stage, where: str) -> str:
    """Let Ana ask for the code there, and return the id of the answer."""
    assert CODE in await stage.say(ANA, QUESTION, where)
    return stage.shown()[-1].message


async def why(stage: Stage, who: str, where: str, answer: str, text: str = "how do you know that?") -> str:
    """Let somebody ask it in reply to an answer, and return all that everybody read of it."""
    return await stage.after(stage.says(who, text, where, answer), who, where)


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_a_reply_tells_the_facts_with_a_link_to_who_said_them(platform: str) -> None:
    async with opened(platform) as stage, stage.running():
        await stage.say(ANA, f"remember that {CODE}", ROOM)
        [kept] = await stage.house.memories.of(stage.user(ANA)).page(limit=9)
        [source] = [each.message for each in await stage.house.history.said(stage.user(ANA), kept.source_ids)]
        answer = await asked(stage, ROOM)
        await stage.say(ANA, "hello", ROOM)
        told = await why(stage, ANA, ROOM, answer)
        assert f"“{CODE}”" in told
        assert "· here." in told
        link = "https://t.me/c/1/" if isinstance(stage, TelegramStage) else "https://discord.com/channels/"
        assert link in stage.shown()[-1].wire
        assert f"/{source.source_id}" in stage.shown()[-1].wire


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_only_who_asked_is_told_and_a_room_only_what_was_said_there(platform: str) -> None:
    async with opened(platform) as stage, stage.running():
        await stage.say(ANA, f"remember that {CODE}", ROOM)
        answer = await asked(stage, ROOM)
        since = stage.shown()
        assert await why(stage, BIA, ROOM, answer) == NOT_YOURS
        assert "4471" not in await stage.say(BIA, "how do you know that?", ROOM)
        assert not [shown for shown in stage.since(since) if "4471" in shown.wire]
        assert "4471" not in await stage.say(ANA, "how do you know that?", OTHER)


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_in_private_the_command_tells_of_the_answer_that_it_replies_to(platform: str) -> None:
    async with opened(platform) as stage, stage.running():
        await stage.say(ANA, f"remember that {CODE}")
        answer = await asked(stage, PRIVATE)
        await stage.say(ANA, "hello")
        assert CODE in await why(stage, ANA, PRIVATE, answer, "/why")
        assert CODE not in await stage.say(ANA, "/why")


@pytest.mark.parametrize("platform", PLATFORMS)
async def test_steps_are_folded_below_the_answer_in_one_message(platform: str) -> None:
    async with opened(platform) as stage, stage.running():
        await stage.say(ANA, f"remember that {CODE}")
        await stage.say(ANA, "/think on")
        before = stage.shown()
        await stage.say(ANA, QUESTION)
        messages = {shown.message for shown in stage.since(before)}
        assert len(messages) == 1
        wire = stage.shown()[-1].wire
        assert "How I got there: 2 steps" in wire
        assert ("expandable_blockquote" if isinstance(stage, TelegramStage) else "||• Searching memories") in wire


async def test_the_menu_of_an_answer_tells_why_unseen_by_the_room_also_of_what_a_slash_command_asked() -> None:
    async with opened("discord") as stage, stage.running():
        assert isinstance(stage, DiscordStage)
        await stage.say(ANA, f"remember that {CODE}", ROOM)
        answer = await asked(stage, ROOM)
        assert CODE in await stage.slash(ANA, "ask", ROOM, message=QUESTION)
        for message in (answer, stage.shown()[-1].message):
            since = stage.shown()
            note = stage._notes()[int(message)]
            pointing = stage.server.interactions.point_at_message(stage.PEOPLE[ANA], "Why this answer?", note)
            assert f"“{CODE}”" in await stage.after(pointing, ANA)
            pointing = stage.server.interactions.point_at_message(stage.PEOPLE[BIA], "Why this answer?", note)
            assert await stage.after(pointing, BIA) == NOT_YOURS
            assert {shown.to for shown in stage.since(since)} == {ANA, BIA}
