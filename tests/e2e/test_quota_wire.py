"""A limit as people meet it: a kind refusal at its edge, the owner told once, and anew after the owner's midnight."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from core.dialogue import Task
from core.features.quotas.limits import Defaults, read
from tests.e2e.stage import ADA, ANA, BIA, opened
from tests.fakes.metered import TURN_TOKENS
from tests.fakes.model import ScriptedModel


@pytest.mark.parametrize("platform", ["telegram", "discord"])
async def test_at_the_limit_one_is_refused_the_owner_told_once_and_after_local_midnight_answered(
    platform: str,
) -> None:
    mind = ScriptedModel({Task.DECIDE: lambda _: "Finish", Task.FINISH: lambda _: "Hello"})
    limits = Defaults(person=read(f"tokens_day={TURN_TOKENS}"))
    zone = ZoneInfo("America/Sao_Paulo")
    async with opened(platform, mind, defaults=limits, zone=zone) as stage:
        refused = "Sorry, that is all for now: your limit of 30 tokens a day is used up."
        async with stage.running():
            await stage.say(ANA, "/help")  # nobody is written to who never wrote
            assert (await stage.say(BIA, "hi")).startswith("Hello")
            assert (await stage.say(BIA, "hi again")).startswith(refused)
            assert (await stage.say(ADA, "hi")).startswith("Hello"), "it is each one's own"
            assert not (await stage.say(BIA, "/usage")).startswith(refused), "commands go on working"
        async with stage.running():
            assert (await stage.say(BIA, "and after a restart?")).startswith(refused)
            await stage.clock.advance(11 * 3600.0)  # 23:09 there, and a new day in UTC
            assert (await stage.say(BIA, "late")).startswith(refused)
            await stage.clock.advance(3600.0)
            assert (await stage.say(BIA, "early")).startswith("Hello")
            assert (await stage.say(BIA, "and again")).startswith("Sorry, that is all for now")
        told = [shown.text.replace("`", "") for shown in stage.shown() if shown.to == ANA]
        about_bia = [text for text in told if text.endswith(f"/admin quota {stage.user(BIA)}")]
        assert len(about_bia) == 2, told  # once on each of two days
