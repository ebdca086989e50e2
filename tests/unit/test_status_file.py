"""`elefante status`, the health check: well, or each thing that is not, with what to do."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.run import serving
from bot.settings.settings import load
from bot.status_file import RUN, StatusReport, render, status
from bot.wiring import build
from core.clock import SystemClock
from core.types import Locale

NOW = SystemClock().now()
PLATFORM = {
    "name": "telegram", "link": "connected", "since": NOW.isoformat(), "reason": "", "setting": "", "next_try": None
}  # fmt: skip
ALARM = {"key": "key-refused:openai", "since": NOW.isoformat(), "text": "Make a new key.", "stops_answers": True}


@pytest.mark.parametrize(
    ("change", "ok", "said"),
    [
        ({}, True, "ok    running"),
        ({"alarms": [ALARM]}, False, "FAIL  key-refused:openai: since"),
        ({"alarms": [ALARM]}, False, "-> Make a new key."),
        ({"alarms": [ALARM | {"stops_answers": False}]}, True, "      since"),
        ({"at": (NOW - timedelta(seconds=61)).isoformat()}, False, "FAIL  silent"),
        ({"at": (NOW - timedelta(seconds=61)).isoformat()}, False, "-> it hangs, or cannot write its status"),
        ({"at": (NOW - timedelta(seconds=59)).isoformat()}, True, "ok    running"),
        ({"platforms": [PLATFORM | {"link": "connecting"}]}, False, "-> it is tried again by itself"),
        (
            {"platforms": [PLATFORM | {"link": "connecting", "reason": "another program polls"}]},
            False,
            "another program",
        ),
        ({"pid": 1}, False, "is starting on"),
    ],
)
def test_what_is_not_well_is_named_with_what_to_do(tmp_path: Path, change: dict[str, Any], ok: bool, said: str) -> None:
    settings = load(None, data_dir=tmp_path)
    told = {"pid": os.getpid(), "version": "1", "since": NOW.isoformat(), "platforms": [PLATFORM], "alarms": []}
    told |= {"last_backup": None, "at": NOW.isoformat()} | change
    with serving(settings, RUN, ["telegram"]):
        (tmp_path / "status.json").write_text(json.dumps(told))
        found = status(settings, NOW)
        assert (found["ok"], not found["problems"]) == (ok, ok)
        assert said in render(found)
        late = SystemClock().now() + timedelta(seconds=90)
        (tmp_path / "status.json").unlink()  # it could not be written
        assert "is the disk full?" in render(status(settings, late))
    stopped = status(settings, NOW)
    assert (stopped["ok"], stopped["state"]) == (False, "stopped")
    assert "-> start it with `make run`" in render(stopped)


async def test_only_the_owner_of_the_files_reads_what_a_bot_tells_of_itself(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        settings = load(None, data_dir=tmp_path / "data")
        with serving(settings, RUN, ["telegram"]):
            async with build(settings) as app:
                app.features.alerts.tell("backup", dict.fromkeys(Locale, "x"))
                async with StatusReport(app).kept():
                    while not (told := tmp_path / "data" / "status.json").exists():
                        await app.clock.sleep(0)
                    assert not json.loads(told.read_text())["alarms"][0]["stops_answers"]
                    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (tmp_path / "data").iterdir()}
        assert set(modes.values()) == {"0o600"}, modes
    finally:
        os.umask(mask)
