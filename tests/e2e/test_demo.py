"""`make demo`: the day is the bot's own, the page moves in a real browser, and the README's picture is made of it."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
import urllib.request
import webbrowser
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pytest
from PIL import Image

from tests import browser
from tests.demo import __main__ as command
from tests.demo import picture
from tests.demo.day import Beat, Servers, play, settings
from tests.demo.page import Player
from tests.fakes.clock import FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.telegram_server import TelegramServer
from tests.transcripts.phone import items

ROOT = Path(__file__).parents[2]
MOST_BYTES = 1_000_000


@pytest.fixture(scope="module")
def beats(tmp_path_factory: pytest.TempPathFactory) -> list[Beat]:
    told: list[Beat] = []
    asyncio.run(play(tmp_path_factory.mktemp("day"), told.append))
    return told


def test_the_picture_and_the_transcript_are_of_this_day(beats: Sequence[Beat]) -> None:
    renew = "run: make demo ARGS=--write"
    assert picture.TRANSCRIPT.read_text(encoding="utf-8") == picture.transcript(beats[-1]), renew
    with Image.open(picture.PICTURE) as drawn:
        assert getattr(drawn, "n_frames", 1) == 1 + len(beats), renew
    assert picture.PICTURE.stat().st_size < MOST_BYTES


@pytest.mark.long
async def test_a_real_browser_shows_every_moment_of_the_day(beats: Sequence[Beat]) -> None:
    if browser.program() is None:
        pytest.skip(f"the demonstration was looked at in no browser: {browser.MISSING}")
    player = Player()
    for beat in beats:
        player.add(beat)
    player.end()
    async with player.served() as address, browser.browsing() as page:
        await page.open(f"{address}?pace=0", picture.WIDTH_PX, picture.HEIGHT_PX)
        await page.evaluate("finished")
        assert await page.evaluate("frames.length") == len(beats)
        for number, beat in enumerate(beats):
            await page.evaluate(f"show(frames[{number}])")
            seen = await page.evaluate(_SEEN)
            assert seen["caption"] == beat.caption
            for platform, lines in (("telegram", beat.telegram), ("discord", beat.discord)):
                if lines:
                    newest = items([line for line in lines if line.chat == lines[-1].chat])[-1]
                    assert seen[platform] == await _text(page, newest.html), "the newest message is in view"
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing is cut off"
        assert await page.evaluate("getComputedStyle(again).visibility") == "visible"
        asked = [told["request"]["url"] for method, told in page.events if method == "Network.requestWillBeSent"]
    assert {url for url in asked if not url.startswith(address)} <= {"about:blank"}, "nothing is asked of the network"
    assert not [told for method, told in page.events if method == "Runtime.exceptionThrown"]


_SEEN = """
(() => {
  const newest = (slot) => {
    const found = [...slot.querySelectorAll(".text")].pop();
    if (!found) return "";
    const [inner, outer] = [found.getBoundingClientRect(), slot.getBoundingClientRect()];
    const text = found.cloneNode(true);
    text.querySelector("time").remove();
    return inner.bottom <= outer.bottom && inner.bottom > outer.top ? text.textContent.trim() : "out of view";
  };
  return {
    caption: document.getElementById("said").textContent, telegram: newest(telegram), discord: newest(discord),
  };
})()
"""


async def _text(page: browser.Page, html: str) -> str:
    """What that HTML says."""
    told = f"(() => {{ const e = document.createElement('div'); e.innerHTML = {json.dumps(html)}; return e; }})()"
    text: str = await page.evaluate(f"{told}.textContent.trim()")
    return text


@pytest.mark.long
def test_the_command_needs_no_more_than_the_bot_and_plays_the_whole_day(beats: Sequence[Beat]) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WITHOUT, *sorted(only_for_developers()), "--no-browser"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            [address] = re.findall(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
            with urllib.request.urlopen(f"{address}day", timeout=300) as day:  # noqa: S310 (loopback)
                told = [line.decode() for line in day]
            assert sum(line.startswith("data: {") for line in told) == len(beats)
            assert "event: end\n" in told
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


_WITHOUT = """
import runpy, sys
missing = set(sys.argv[1:-1])
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
sys.argv[1:] = sys.argv[-1:]
runpy.run_module("tests.demo", run_name="__main__", alter_sys=True)
"""


def only_for_developers() -> set[str]:
    """The modules of packages that are installed for the tests alone."""
    locked = {
        name: set(re.findall(r"^([a-z0-9-]+)==", (ROOT / name).read_text("utf-8"), re.MULTILINE))
        for name in ("requirements.txt", "requirements-dev.txt")
    }
    only = locked["requirements-dev.txt"] - locked["requirements.txt"]
    return {
        module
        for module, names in metadata.packages_distributions().items()
        if {name.lower().replace("_", "-") for name in names} <= only
    }


async def test_no_setting_of_the_owner_reaches_the_demonstration(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clock: FakeClock
) -> None:
    for name, value in (("STORAGE_URL", "postgresql://owner@db/elefante"), ("LANGUAGE", "es"), ("ACCESS", "private")):
        monkeypatch.setenv(name, value)
    async with TelegramServer(clock) as telegram, DiscordServer(clock) as discord:
        used = settings(tmp_path, Servers(telegram, discord))
    assert (used.engine, used.language, used.access, used.data_dir) == ("sqlite", "", "open", tmp_path)


@pytest.mark.parametrize(
    ("variables", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "w"}, "linux", True),
        ({}, "darwin", True),
    ],
)
def test_a_browser_is_opened_only_where_it_has_a_window(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], platform: str, expected: bool
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    assert command.has_screen() is expected


@pytest.mark.parametrize("opens", [True, False])
async def test_the_address_is_printed_and_opened_if_there_is_a_browser(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], opens: bool
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    played = asyncio.Event()

    async def at_once(_folder: Path, _tell: object) -> None:
        played.set()

    monkeypatch.setattr(command, "play", at_once)
    showing = asyncio.create_task(command.show(opens=opens))
    await played.wait()
    showing.cancel()
    [address] = re.findall(r"http://127\.0\.0\.1:\d+/", capsys.readouterr().out)
    assert opened == ([address] if opens else [])


def test_an_unknown_option_is_told_which_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--fast"]) == 2
    assert "--no-browser" in capsys.readouterr().err
