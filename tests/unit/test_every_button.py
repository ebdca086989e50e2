"""Every button that the bot shows is pressed: after a restart, by who was shown it and by somebody else."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest

from core.commands.table import UNKNOWN
from core.errors import BotError
from core.outgoing import Button
from core.texts import DEAD_BUTTON, FAILURES
from core.types import Locale
from tests.fakes.house import BIA
from tests.fakes.talk import Talk, talking

SECRET = "xyzzy"
ASKED = ["/remember the bike is xyzzy green", "/memories", "/recall bike", "/forget bike", "/admin access open"]
MAX_PRESSED = 60
"""Kinds of button; each page of a list has its own, so the walk has an end."""


def kind(choice: Button) -> str:
    """What a button does, whatever it does it to."""
    return " ".join(word for word in choice.command.split() if word.isalpha() and word.islower())


@pytest.mark.parametrize("asked", ASKED)
async def test_each_works_after_a_restart_and_gives_nobody_what_is_anothers(tmp_path: Path, asked: str) -> None:
    wrong = {text[locale].split("{")[0] for text in (UNKNOWN, DEAD_BUTTON, FAILURES[BotError]) for locale in Locale}
    async with talking(tmp_path) as talk:
        await talk.keep("the bike is xyzzy blue", "the cat is xyzzy grey")
        await talk.say(asked)
        waiting, pressed = deque(choices(talk)), set[str]()
        while waiting and len(pressed) < MAX_PRESSED:
            choice = waiting.popleft()
            if kind(choice) in pressed:
                continue
            pressed.add(kind(choice))
            kept = await talk.house.memories.of(BIA).count()
            await talk.restart()
            strangers = await talk.say(choice.command, BIA, pressed=True)
            assert SECRET not in strangers, choice
            assert await talk.house.memories.of(BIA).count() == kept
            await talk.restart()
            told = await talk.say(choice.command, pressed=True)
            assert told, choice
            assert not any(told.startswith(start) for start in wrong), (choice, told)
            waiting.extend(choices(talk))
        assert pressed


def choices(talk: Talk) -> list[Button]:
    """The buttons on the screen."""
    return [*talk.shown.choices, *talk.shown.menu]
