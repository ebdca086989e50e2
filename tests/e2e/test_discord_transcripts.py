"""The transcripts of Discord in docs/transcripts/ are what a person sees today."""

from __future__ import annotations

import pytest

from tests.transcripts import discord, phone
from tests.transcripts.transcript import FOLDER, Scenario

pytestmark = pytest.mark.long


@pytest.mark.parametrize("scenario", discord.SCENARIOS, ids=lambda scenario: scenario.name)
async def test_a_transcript_of_discord_is_what_is_seen(scenario: Scenario) -> None:
    kept = (FOLDER / f"discord-{scenario.name}.md").read_text(encoding="utf-8")
    lines, html = await scenario.lines(), (FOLDER / "discord.html").read_text(encoding="utf-8")
    assert scenario.page(lines) == kept, "run: make transcript"
    assert all(drawn in html for drawn in phone.phones("discord", scenario, lines)), "run: make transcript"


def test_every_transcript_of_discord_belongs_to_a_scenario() -> None:
    kept = {path.stem for path in FOLDER.glob("discord-*.md")}
    assert kept == {f"discord-{scenario.name}" for scenario in discord.SCENARIOS}
