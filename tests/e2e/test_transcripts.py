"""The transcripts in docs/transcripts/ are what a person sees today."""

from __future__ import annotations

import re

import pytest

from tests.transcripts import discord, phone, telegram
from tests.transcripts.__main__ import PLATFORMS, main
from tests.transcripts.transcript import FOLDER, Scenario

SCENARIOS = {"discord": discord.SCENARIOS, "telegram": telegram.SCENARIOS}


@pytest.mark.parametrize(
    ("platform", "scenario"),
    [
        *(pytest.param("telegram", each, id=f"telegram-{each.name}") for each in telegram.SCENARIOS),
        *(
            pytest.param("discord", each, id=f"discord-{each.name}", marks=pytest.mark.long)
            for each in discord.SCENARIOS
        ),
    ],
)
async def test_a_transcript_is_what_is_seen(platform: str, scenario: Scenario) -> None:
    kept = (FOLDER / f"{platform}-{scenario.name}.md").read_text(encoding="utf-8")
    lines, html = await scenario.lines(), (FOLDER / f"{platform}.html").read_text(encoding="utf-8")
    assert scenario.page(lines) == kept, "run: make transcript"
    assert all(drawn in html for drawn in phone.phones(platform, scenario, lines)), "run: make transcript"


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_transcript_belongs_to_a_scenario(platform: str) -> None:
    kept = {path.stem for path in FOLDER.glob(f"{platform}-*.md")}
    assert kept == {f"{platform}-{scenario.name}" for scenario in SCENARIOS[platform]}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_page_of_phones_holds_what_is_drawn_and_no_more(platform: str) -> None:
    html = (FOLDER / f"{platform}.html").read_text(encoding="utf-8")
    drawn = re.findall(r'<section class="phone \w+" id="([\w-]+)">', html)
    assert html.startswith(phone.page(platform, []).partition("\n\n</body>")[0])
    assert {name.rpartition("-")[0] for name in drawn} == set(phone.PICTURED[platform])
    assert {path.stem for path in FOLDER.glob(f"{platform}-*.png")} == {f"{platform}-{name}" for name in drawn}


def test_an_unknown_platform_is_told_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["carrier-pigeon"]) == 2
    told = capsys.readouterr().err
    assert all(name in told for name in PLATFORMS)
