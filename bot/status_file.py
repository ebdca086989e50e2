"""What a running bot tells other processes of itself: `status.json` in the data folder, written by `elefante run`."""

from __future__ import annotations

import fcntl
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any, Final, TypeAlias

from bot.background import background
from bot.data_folder import DataFolder
from bot.settings.settings import Settings
from bot.wiring import App
from core.features.admin.platforms import Link, PlatformState
from core.types import Locale

Document: TypeAlias = dict[str, Any]

RUN: Final = "elefante run"
"""The command in the locks of a process that serves platforms."""

_FILE: Final = "status.json"
_TO_START: Final = "      start it with `make run`, or keep it running with `elefante service install`"
_EVERY_S: Final = 30.0
_log = logging.getLogger(__name__)
_FRESH: Final = timedelta(seconds=90)  # three times that


def _replace(path: Path, document: Document) -> None:
    """Replace the file as a whole; a failure is logged."""
    aside = path.with_suffix(".new")
    try:
        aside.write_text(json.dumps(document), "utf-8")
        aside.replace(path)
    except OSError as error:
        _log.warning("status not written", extra={"error": type(error).__name__})


class StatusFile:
    """Writes the status of a bot; nothing, if the bot keeps nothing on the disk."""

    def __init__(self, app: App) -> None:
        folder = app.settings.state_dir
        self._app = app
        self._since = app.clock.now()
        self._path = None if folder is None else folder / _FILE

    def write(self) -> None:
        """Replace the file."""
        if self._path is None:
            return
        app = self._app
        _replace(
            self._path,
            {
                "pid": os.getpid(),
                "version": metadata.version("elefante"),
                "since": self._since.isoformat(),
                "platforms": [_document(state) for state in app.features.platforms.all.values()],
                "alarms": [
                    {"key": alarm.key, "since": alarm.since.isoformat(), "text": alarm.text[Locale.EN]}
                    for alarm in app.features.alerts.open_now()
                ],
                "last_backup": _last_backup(app),
                "at": app.clock.now().isoformat(),
            },
        )

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Write the file every 30 s while the block runs, and remove it afterwards."""

        async def keep() -> None:
            while True:
                self.write()
                await self._app.clock.sleep(_EVERY_S)

        try:
            async with background(keep()):
                yield
        finally:
            if self._path is not None:
                self._path.unlink(missing_ok=True)


def _document(state: PlatformState) -> Document:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(state).items()}


def _last_backup(app: App) -> str | None:
    """Return when the newest backup was made, or None."""
    try:
        made = [path.stat().st_mtime for path in DataFolder(app.settings, app.clock).backups.glob("elefante-*")]
    except OSError:  # one was removed just now
        return None
    return datetime.fromtimestamp(max(made), UTC).isoformat() if made else None


def status(settings: Settings, now: datetime) -> Document:
    """Return the status of the process that runs on this data folder.

    `state` is running, starting, silent (it runs, but has reported nothing for 90 s) or stopped. `ok` is whether it
    runs and every platform is connected.
    """
    folder = settings.data_dir
    if (pid := _running(folder)) is None:
        return {"ok": False, "state": "stopped", "data_dir": str(folder), "platforms": []}
    try:
        told = json.loads((folder / _FILE).read_text("utf-8"))
        age = now - datetime.fromisoformat(told["at"])
    except (OSError, ValueError, KeyError, TypeError):
        told, age = {}, timedelta()
    if told.get("pid") != pid:  # there is none yet; or it is one that a killed process left behind
        return {"ok": False, "state": "starting", "pid": pid, "data_dir": str(folder), "platforms": []}
    state = "running" if age <= _FRESH else "silent"
    ok = state == "running" and all(each["link"] == Link.CONNECTED for each in told["platforms"])
    return {"ok": ok, "state": state, "data_dir": str(folder), **told}


def _running(folder: Path) -> int | None:
    """Return the process that holds a lock of `elefante run` on the folder, or None."""
    for path in folder.glob("serving-*.lock"):
        try:
            with path.open("rb") as file:
                holder = json.loads(file.read())
                if holder["command"] != RUN:
                    continue
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # released at once, with the file
                except BlockingIOError:
                    return int(holder["pid"])
        except (OSError, ValueError, KeyError, TypeError):  # it took the lock a moment ago and has not written yet
            continue
    return None


def render(document: Document) -> str:
    """Return the status in lines for a person."""
    if document["state"] == "stopped":
        return f"FAIL  no `{RUN}` runs on {document['data_dir']}\n{_TO_START}"
    if document["state"] == "starting":
        return f"FAIL  process {document['pid']} is starting on {document['data_dir']}"
    is_running = document["state"] == "running"
    about = f"process {document['pid']}, version {document['version']}, since {_local(document['since'])}"
    lines = [f"{_mark(is_running)}  {document['state']}, {about}, data in {document['data_dir']}"]
    if not is_running:
        lines[0] += f"; its last report is of {_local(document['at'])}"
    for each in document["platforms"]:
        line = f"{_mark(each['link'] == Link.CONNECTED)}  {each['name']}: {each['link']} since {_local(each['since'])}"
        if each["reason"]:
            line += f": {each['reason']}"
        if each["next_try"]:
            line += f"; next try {_local(each['next_try'])}"
        lines.append(line)
    lines += [f"      since {_local(alarm['since'])}: {alarm['text']}" for alarm in document["alarms"]]
    lines.append(f"      last backup: {_local(document['last_backup']) if document['last_backup'] else 'none'}")
    return "\n".join(lines)


def _mark(ok: bool) -> str:
    return "ok  " if ok else "FAIL"


def _local(at: str) -> str:
    """Return a time in the zone of this machine."""
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S}"
