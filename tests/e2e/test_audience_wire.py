"""What a person told in one place is not read in another, whoever asks for it and by whatever way; over the wire."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.e2e.stage import ANA, BIA, OTHER, PRIVATE, ROOM, DiscordStage, Shown, Stage, opened
from tests.profile import long

PLACES = (PRIVATE, ROOM, OTHER)
SECRET = "xyzzy-4471"
QUESTION = "What is the garage code?"
WAYS = (QUESTION, "forget the garage code", "/memories show 1", "/recall garage code", "/forget garage", "/retry")


async def ask_everything(stage: Stage, who: str, where: str) -> None:
    """Ask for it in every way, and press whatever that shows."""
    for text in WAYS:
        await stage.say(who, text, where)
        for button in stage.buttons(where if where != PRIVATE else who)[-3:]:
            if where != PRIVATE:
                await stage.press(who, button)


def heard_by(stage: Stage, since: Sequence[Shown]) -> set[str]:
    """Who was shown the secret since then: people, in private, and rooms."""
    return {shown.to for shown in stage.since(since) if SECRET in shown.wire}


@pytest.mark.spec("T15")
@pytest.mark.parametrize("restarted", [False, long(True)])
@pytest.mark.parametrize("told", PLACES)
@pytest.mark.parametrize("platform", ["telegram", long("discord")])
async def test_what_was_told_in_one_place_is_read_by_nobody_else_and_nowhere_else(
    platform: str, told: str, restarted: bool
) -> None:
    async with opened(platform) as stage:
        async with stage.running():
            assert SECRET in await stage.say(ANA, f"Remember that the garage code is {SECRET}", told)
            if not restarted:
                await everybody_asks(stage, told)
        if restarted:
            async with stage.running():
                await everybody_asks(stage, told)


async def everybody_asks(stage: Stage, told: str) -> None:
    """Bia asks everywhere, then Ana does: she is heard where she told it, and in private."""
    since = stage.shown()
    for where in PLACES:
        await ask_everything(stage, BIA, where)
    assert heard_by(stage, since) == set()
    for where in PLACES:
        if where not in {told, PRIVATE}:
            await ask_everything(stage, ANA, where)
    assert heard_by(stage, since) == set()
    assert SECRET in await stage.say(ANA, QUESTION, told)
    assert heard_by(stage, since) == {ANA if told == PRIVATE else told}
    since = stage.shown()
    assert SECRET in await stage.say(ANA, QUESTION, PRIVATE)
    assert heard_by(stage, since) == {ANA}


@pytest.mark.parametrize("restarted", [False, long(True)])
async def test_what_is_asked_unseen_in_a_room_is_read_by_its_asker_alone_and_recalled_aloud_by_nobody(
    restarted: bool,
) -> None:
    async with opened("discord") as stage:
        assert isinstance(stage, DiscordStage)
        async with stage.running():
            await stage.say(ANA, f"Remember that the garage code is {SECRET}")
            since = stage.shown()
            assert SECRET in await stage.slash(ANA, "ask", ROOM, message=QUESTION, private=True)
            assert SECRET in await stage.slash(ANA, "memories", ROOM)
            assert heard_by(stage, since) == {ANA}
            if not restarted:
                await aloud(stage)
        if restarted:
            async with stage.running():
                await aloud(stage)


async def aloud(stage: DiscordStage) -> None:
    since = stage.shown()
    for who in (ANA, BIA):
        await ask_everything(stage, who, ROOM)
        assert SECRET not in await stage.slash(who, "ask", ROOM, message=QUESTION)
        assert SECRET not in await stage.slash(who, "retry", ROOM)
    assert heard_by(stage, since) == set()
