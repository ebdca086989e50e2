"""What a client of somebody's own making may send: presses that no button of ours makes, commands that are none."""

from __future__ import annotations

import logging
import random

import pytest

from tests.e2e.stage import ANA, BIA, EVA, PRIVATE, ROOM, Pressable, Stage, opened

SECRET = "xyzzy-4471"

COMMANDS = (
    "/admin pause", "/ADMIN pause", "/admin\npause", "/admin\u00a0pause", "/аdmin pause", "／admin pause",
    "/admin@other_bot pause", "/admin allow telegram:9", "/admin allow discord:9", "/admin role telegram:8 owner",
    "/admin undo", "/admin allow here", "/", "//", "/ admin", "/\u202eadmin", "/admin " + "x" * 3000, "/forget all yes",
    "/link AAAA-AAAA yes", "/undo " + "0" * 32, "/memories show 1", "/memories edit 1 x", "/retry " + "f" * 32,
    "/import", "/start wrong-code", "/\x00", "/memories\n-1", "/memories 99999999999999999999", "/stop now",
)  # fmt: skip


def forgeries() -> list[str]:
    """Every command as each platform's buttons hold it, what is nearly that, and noise, always the same."""
    chance = random.Random(4471)  # noqa: S311  (noise, and always the same)
    noise = ["".join(chr(chance.randrange(1, 0x2FFF)) for _ in range(chance.randrange(1, 99))) for _ in range(20)]
    near = ["!", "+", "x", "!forget", "elefante:do:", "elefante:do:p0:", "elefante:do:zz:/help", "elefante:menu:0"]
    begun = [f"{mark}{command}" for command in COMMANDS for mark in ("!", "+", "elefante:do:p0:", "elefante:do:a9:")]
    return [one for one in (*near, *begun, *noise, "!/" + "é" * 500) if not one.startswith("elefante:stop")]


async def rights(stage: Stage) -> object:
    house = stage.house
    people = [(one.user, one.role) for one in await house.people.all()]
    return people, await house.decisions.newest(99), await house.store.count(stage.user(ANA))


@pytest.mark.parametrize("platform", ["telegram", "discord"])
async def test_no_forged_press_or_command_gives_anybody_a_right_a_word_of_anothers_or_an_error(
    platform: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    async with opened(platform) as stage, stage.running():
        await stage.say(ANA, f"/remember the garage code is {SECRET}")
        [undo] = stage.buttons(ANA)
        before, since = await rights(stage), stage.shown()
        for data in (undo.data, *forgeries()[::6]):
            await stage.press(BIA, Pressable(ANA, undo.message, "?", data))
        for data in (undo.data, *forgeries()[::24]):
            await stage.press(EVA, Pressable(ANA, undo.message, "?", data))
        for text in COMMANDS:
            for where in (PRIVATE, ROOM):
                await stage.say(BIA, text, where)
        assert await rights(stage) == before
        assert not [shown for shown in stage.since(since) if SECRET in shown.wire]
        assert SECRET in await stage.say(ANA, "/recall garage code")
    assert [record for record in caplog.records if record.levelno >= logging.ERROR and record.name != "asyncio"] == []
