"""The transcripts of Discord in docs/transcripts/ are what a person sees today."""

from __future__ import annotations

import pytest

from tests.transcripts import discord
from tests.transcripts.transcript import FOLDER, Scenario


@pytest.mark.parametrize("scenario", discord.SCENARIOS, ids=lambda scenario: scenario.name)
async def test_a_transcript_of_discord_is_what_is_seen(scenario: Scenario) -> None:
    kept = (FOLDER / f"discord-{scenario.name}.md").read_text(encoding="utf-8")
    assert await scenario.page() == kept, "run: python -m tests.transcripts discord --write"


def test_every_transcript_of_discord_belongs_to_a_scenario() -> None:
    kept = {path.stem for path in FOLDER.glob("discord-*.md")}
    assert kept == {f"discord-{scenario.name}" for scenario in discord.SCENARIOS}
