"""Every button that the bot shows, pressed by whom it is for, by another member and by a stranger; and after a restart.

The buttons are found, not listed: what the commands below show is pressed, and what that shows, too.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from core.answering.outcomes import DEAD_BUTTON, PRIVATE
from core.commands.command import ONLY_OWNER
from core.dialogue import Prompt, StreamEvent
from core.errors import ProviderDown
from core.features.access.storage import Stranger
from core.limited import LimitedMind
from core.stores import ChangeContext
from core.types import Locale, MemoryDraft, MemoryKind
from tests.e2e.stage import ADA, ANA, BIA, EVA, ROOM, Pressable, Stage, limited_mind, opened
from tests.e2e.stage import PRIVATE as ALONE
from tests.profile import long

EN = Locale.EN
SECRETS = {ANA: "xyzzy-4471", BIA: "plugh-9902", ADA: "fnord-1138"}
SAID = "moon landing"
"""Something that Ana said in the room: whoever reads there may know it."""

_DEAD = {DEAD_BUTTON[EN], ONLY_OWNER[EN], ""}
_IDS = re.compile(r"[a-z0-9]{8,}|[A-Z]{4}-?[A-Z]{4}|\d+|\b[A-Z]{4}\b")
_CONFIRMS = re.compile(r"/confirm yes|/admin access open #|/admin forget")
_MOST = 40
"""Of buttons in one walk: each has to be of a kind of its own."""


class Failing(LimitedMind):
    """A model that cannot be reached when it is asked about the weather."""

    @asynccontextmanager
    async def stream(self, prompt: Prompt) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        if "weather" in prompt.context.message:
            raise ProviderDown("nobody there")
        async with super().stream(prompt) as events:
            yield events


async def memories(stage: Stage) -> None:
    """Everybody keeps a secret, and Ana more than a page holds."""
    for who, secret in SECRETS.items():
        await _keep(stage, who, f"the garage code is {secret}", "garage code")
    for number in range(10):
        await _keep(stage, ANA, f"the {number}th thing", f"thing {number}")


async def _keep(stage: Stage, who: str, content: str, found_by: str) -> None:
    user = stage.user(who)
    memory = stage.house.memories.of(user, ChangeContext(f"{who} {content}", "", user))
    draft = MemoryDraft(MemoryKind.TEXT, content, (found_by,))
    await memory.add([draft])


async def linked(stage: Stage) -> None:
    given = await stage.say(ADA, "/link")
    code = re.search(r"[A-Z]{4}-[A-Z]{4}", given)
    assert code is not None, given
    await stage.say(ANA, f"/link {code[0]}")


async def eva_listed(stage: Stage) -> None:
    await stage.say(EVA, "hello, may I?")
    await stage.say(ANA, "/admin users")


def says(*texts: str, who: str = ANA, where: str = ALONE) -> Callable[[Stage], Any]:
    async def act(stage: Stage) -> None:
        for text in texts:
            await stage.say(who, text, where)

    return act


WALKS: dict[str, Callable[[Stage], Any]] = {
    "saved": says("Remember that the cellar code is xyzzy-4471"),
    "memories": says("/memories"),
    "recall": says("/recall garage code"),
    "forget": says("/forget garage"),
    "undo": says("/remember one more thing", "/undo"),
    "choices": says("/news", "/language", "/memory", "/drafts", "/privacy", "/threads"),
    "link": linked,
    "Eva's card": says("hello, may I?", who=EVA),
    "Eva among the users": eva_listed,
    "access": says("/admin access", "/admin access open"),
    "broadcast": says("/admin broadcast The garden is open."),
    "staff": says("/admin users", "/admin model", "/admin status", "/admin changes", "/admin quota"),
    "failed": says("What is the weather like?"),
    "room": says(f"Remember that the {SAID} was in 1969", "What is the weather?", "/undo", "/news", where=ROOM),
}

SHORT = {("telegram", "room"), ("discord", "saved")}


@dataclass
class Walk:
    """Presses whatever there is to press, a level at a time; `said` is what each kind of button answered."""

    stage: Stage
    said: dict[str, str] = field(default_factory=dict)

    async def level(self) -> bool:
        """Press every button of a kind that was not pressed yet; False if there was none."""
        fresh = {kind: one for one in self._visible() if (kind := _kind(one)) not in self.said}
        for kind, button in list(fresh.items())[:_MOST]:
            await self._by_others(button)
            self.said[kind] = _IDS.sub("#", await self.stage.press(ANA, button))
        return bool(fresh)

    def _visible(self) -> list[Pressable]:
        return [button for where in (ANA, ROOM) for button in self.stage.buttons(where)]

    async def _by_others(self, button: Pressable) -> None:
        """What others press changes nothing of Ana's, and nobody's rights; a stranger is told that they are one."""
        stage = self.stage
        before = await _hers(stage)
        for who in (EVA, BIA):
            told = await stage.press(who, button)
            if who == EVA and button.to != ROOM and await stage.house.people.find(stage.user(EVA)) is None:
                assert told in {"", PRIVATE[EN]}, button
            if "/admin" in button.data and who == BIA:
                assert told == ONLY_OWNER[EN], button
        assert await _hers(stage) == before, button


async def _hers(stage: Stage) -> object:
    """What of Ana's, and of everybody's rights, nobody but her may change."""
    house, user = stage.house, stage.user(ANA)
    items = await house.store.count(user)
    roles = [(person.user, person.role) for person in await house.people.all()]
    return items, roles, len(await house.decisions.newest(99))


def _kind(button: Pressable) -> str:
    return _IDS.sub("#", f"{button.data} [{button.label}]")


def leaks(stage: Stage) -> list[str]:
    """Everything private that was ever shown to somebody else, in whatever form it went over the wire."""
    return [
        f"{secret} to {shown.to}: {shown.text}"
        for shown in stage.shown()
        for owner, secret in SECRETS.items()
        if secret in shown.wire and shown.to != owner
    ]


async def walked(name: str, platform: str, *, restarted: bool) -> Walk:
    """Let Ana see buttons, and press them all: in the process that showed them, or in one begun after that."""
    async with opened(platform, limited_mind(Failing)) as stage:
        walk = Walk(stage)
        async with stage.running():
            await memories(stage)
            if EVA not in name:
                eva = Stranger(stage.user(EVA), EVA, stage.clock.now())
                await stage.house.people.note_stranger(eva, timedelta(days=1))
            await WALKS[name](stage)
            while not restarted and await walk.level():
                pass
        while restarted and await _next_life(stage, walk):
            pass
        if name != "link":  # then Ana's and Ada's are one
            assert leaks(stage) == []
        return walk


async def _next_life(stage: Stage, walk: Walk) -> bool:
    async with stage.running():
        return await walk.level()


@pytest.mark.parametrize(
    ("platform", "name"),
    [each if each in SHORT else long(*each) for each in product(("telegram", "discord"), WALKS)],
)
async def test_every_button_answers_whoever_may_and_a_restart_changes_nothing_of_that(
    platform: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    now = await walked(name, platform, restarted=False)
    later = await walked(name, platform, restarted=True)
    assert now.said, "there was something to press"
    assert not {kind: said for kind, said in now.said.items() if said in _DEAD}
    for kind, said in later.said.items():
        if _CONFIRMS.search(kind):  # what cannot be taken back is confirmed within one life of the bot, or asked again
            assert said not in _DEAD
        else:
            assert said == now.said[kind], kind
    assert [record for record in caplog.records if record.levelno >= logging.ERROR and record.name != "asyncio"] == []
