"""What was only said is found again, quoted with its day, and kept by a button; on platforms and in the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.stage import ANA, BIA, PRIVATE, ROOM, opened
from tests.e2e.test_console_pipe import chat

SAID = "ai que raiva, encanador caro demais pra uma torneira"
ASKED = "o que eu disse do encanador?"


def test_in_the_terminal_it_is_quoted_and_kept(tmp_path: Path) -> None:
    done = chat(f"{SAID}\n/reset\n{ASKED}\n/a\n/reset\n{ASKED}\n", tmp_path)
    told, asked, kept = done.stdout.split("Esta é uma conversa nova.")
    assert "Guardei:" not in told
    assert f": “{SAID}”\n" in asked
    assert asked.count("Você disse em ") == 1
    assert "→ /a 🧠 Guardar isto?\n" in asked
    assert f"Guardei: “{SAID}”\n" in asked
    assert f"“{SAID}” (" in kept
    assert "Guardar isto?" not in kept
    assert done.stderr == ""


@pytest.mark.spec("T15")
@pytest.mark.parametrize("platform", ["telegram", "discord"])
async def test_what_was_said_in_private_is_quoted_there_and_in_no_room(platform: str) -> None:
    async with opened(platform) as stage, stage.running():
        await stage.say(ANA, SAID, PRIVATE)
        for who, where in ((ANA, PRIVATE), (ANA, ROOM), (BIA, PRIVATE), (BIA, ROOM)):
            await stage.say(who, "/reset", where)
            before = stage.shown()
            await stage.say(who, ASKED, where)
            heard = any("torneira" in shown.wire for shown in stage.since(before))
            assert heard == ((who, where) == (ANA, PRIVATE)), (who, where)
        [button] = [each for each in stage.buttons(ANA) if "🧠" in each.label]
        assert f"“{SAID}”" in await stage.press(ANA, button)
