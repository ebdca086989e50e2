"""The transcripts in docs/transcripts/ are what a person sees today."""

from __future__ import annotations

import pytest

from tests.transcripts import telegram
from tests.transcripts.__main__ import PLATFORMS, main
from tests.transcripts.transcript import FOLDER, Scenario


@pytest.mark.parametrize("scenario", telegram.SCENARIOS, ids=lambda scenario: scenario.name)
async def test_a_transcript_of_telegram_is_what_is_seen(scenario: Scenario) -> None:
    kept = (FOLDER / f"telegram-{scenario.name}.md").read_text(encoding="utf-8")
    assert await scenario.page() == kept, "run: python -m tests.transcripts telegram --write"


def test_every_transcript_belongs_to_a_scenario() -> None:
    kept = {path.stem for path in FOLDER.glob("telegram-*.md")}
    assert kept == {f"telegram-{scenario.name}" for scenario in telegram.SCENARIOS}


def test_an_unknown_platform_is_told_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["carrier-pigeon"]) == 2
    told = capsys.readouterr().err
    assert all(name in told for name in PLATFORMS)
