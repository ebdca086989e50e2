"""What a person told in one place is not read in another, whoever asks for it and by whatever way; over the wire."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.e2e.stage import ANA, BIA, OTHER, PRIVATE, ROOM, Stage
from tests.e2e.stage_discord import DiscordStage, discord
from tests.e2e.stage_telegram import telegram

OPENED: dict[str, Callable[[Path], AbstractAsyncContextManager[Stage]]] = {"telegram": telegram, "discord": discord}
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


def heard_by(stage: Stage, since: int) -> set[str]:
    """Who was shown the secret since then: people, in private, and rooms."""
    return {shown.to for shown in stage.shown()[since:] if SECRET in shown.wire}


@pytest.mark.spec("T15")
@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("told", PLACES)
@pytest.mark.parametrize("platform", OPENED)
async def test_what_was_told_in_one_place_is_read_by_nobody_else_and_nowhere_else(
    platform: str, told: str, restarted: bool, tmp_path: Path
) -> None:
    async with OPENED[platform](tmp_path) as stage:
        async with stage.running():
            assert SECRET in await stage.say(ANA, f"Remember that the garage code is {SECRET}", told)
            if not restarted:
                await everybody_asks(stage, told)
        if restarted:
            async with stage.running():
                await everybody_asks(stage, told)


async def everybody_asks(stage: Stage, told: str) -> None:
    """Bia asks everywhere, then Ana does: she is heard where she told it, and in private."""
    since = len(stage.shown())
    for where in PLACES:
        await ask_everything(stage, BIA, where)
    assert heard_by(stage, since) == set()
    for where in PLACES:
        if where not in {told, PRIVATE}:
            await ask_everything(stage, ANA, where)
    assert heard_by(stage, since) == set()
    assert SECRET in await stage.say(ANA, QUESTION, told)
    assert heard_by(stage, since) == {ANA if told == PRIVATE else told}
    since = len(stage.shown())
    assert SECRET in await stage.say(ANA, QUESTION, PRIVATE)
    assert heard_by(stage, since) == {ANA}


@pytest.mark.parametrize("restarted", [False, True])
async def test_what_is_asked_unseen_in_a_room_is_read_by_its_asker_alone_and_recalled_aloud_by_nobody(
    restarted: bool, tmp_path: Path
) -> None:
    async with discord(tmp_path) as stage:
        async with stage.running():
            await stage.say(ANA, f"Remember that the garage code is {SECRET}")
            since = len(stage.shown())
            assert SECRET in await stage.slash(ANA, "ask", ROOM, message=QUESTION, private=True)
            assert SECRET in await stage.slash(ANA, "memories", ROOM)
            assert heard_by(stage, since) == {ANA}
            if not restarted:
                await aloud(stage)
        if restarted:
            async with stage.running():
                await aloud(stage)


async def aloud(stage: DiscordStage) -> None:
    since = len(stage.shown())
    for who in (ANA, BIA):
        await ask_everything(stage, who, ROOM)
        assert SECRET not in await stage.slash(who, "ask", ROOM, message=QUESTION)
        assert SECRET not in await stage.slash(who, "retry", ROOM)
    assert heard_by(stage, since) == set()
