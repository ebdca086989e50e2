"""What a running bot tells other processes of itself: in `status.json` in the data folder, or in PostgreSQL."""

from __future__ import annotations

import asyncio
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

from adapters.running import until
from bot.alarms import KeptAlarms
from bot.background import background
from bot.data_folder import DataFolder
from bot.settings.settings import Settings
from bot.wiring import App
from bot.workers import process_name
from core.errors import StorageError
from core.features.admin.platforms import Link, PlatformState
from core.storage.inbox import SqlInbox
from core.storage.kept import SqlKept
from core.types import Locale
from core.workers import ASKS, LEASE_S

Document: TypeAlias = dict[str, Any]

RUN: Final = "elefante run"
"""The command in the locks of a process that serves platforms."""

_FILE: Final = "status.json"
_TO_START: Final = "      start it with `make run`, or keep it running with `elefante service install`"
_NAME: Final = "status"
_EVERY_S: Final = 30.0
_FORGOTTEN: Final = timedelta(days=1)
_log = logging.getLogger(__name__)
_FRESH: Final = timedelta(seconds=90)  # three times that


def _replace(path: Path, document: Document | None) -> None:
    """Replace the file as a whole, or remove it; a failure is logged."""
    aside = path.with_suffix(".new")
    try:
        if document is None:
            path.unlink(missing_ok=True)
            return
        aside.write_text(json.dumps(document), "utf-8")
        aside.replace(path)
    except OSError as error:
        _log.warning("status not written", extra={"error": type(error).__name__})


class StatusReport:
    """Tells how this process does: in a file beside a SQLite file, in PostgreSQL for all its workers together."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._since = app.clock.now()
        self._changed = asyncio.Event()

    def change(self) -> None:
        """Tell it anew, soon."""
        self._changed.set()

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Tell it every 30 s and after each change while the block runs, and take it back afterwards."""

        async def keep() -> None:
            while True:
                self._changed.clear()
                await self._save(self._told())
                await until(self._changed, self._app.clock.sleep(_EVERY_S))

        try:
            async with background(keep()):
                yield
        finally:
            await self._save(None)

    def _told(self) -> Document:
        app = self._app
        return {
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
        }

    async def _save(self, document: Document | None) -> None:
        """Keep the document in place of the one before; None: none."""
        if (folder := self._app.settings.state_dir) is None:
            return
        if self._app.settings.engine != "postgres":
            _replace(folder / _FILE, document)
            return
        oldest = (self._app.clock.now() - _FORGOTTEN).isoformat()

        def change(text: str | None) -> str:
            reports: dict[str, Document] = json.loads(text or "{}")
            reports = {name: told for name, told in reports.items() if told["at"] > oldest and name != process_name()}
            return json.dumps(reports if document is None else {**reports, process_name(): document})

        try:
            await self._app.kept.change(_NAME, change)
        except StorageError as error:
            _log.warning("status not kept", extra={"error": type(error).__name__})


def _document(state: PlatformState) -> Document:
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in asdict(state).items()}


def _last_backup(app: App) -> str | None:
    """Return when the newest backup was made, or None."""
    try:
        made = [path.stat().st_mtime for path in DataFolder(app.settings, app.clock).backups.glob("elefante-*")]
    except OSError:  # one was removed just now
        return None
    return datetime.fromtimestamp(max(made), UTC).isoformat() if made else None


async def workers_status(settings: Settings) -> Document:
    """Return the status of all workers over PostgreSQL, those in a terminal included; nothing is changed.

    `state` is running or stopped. `ok` is whether a worker runs platforms, and all of them are connected.

    Raises:
        ConfigError, StorageError: the database cannot be reached or used.
    """
    from core.storage import postgres_schema  # these load psycopg
    from core.storage.claims import SqlWorkers
    from core.storage.postgres import open_postgres
    from core.storage.postgres_connection import parameters
    from core.storage.postgres_migrations import MIGRATIONS

    url = settings.storage_url.get_secret_value()
    found = await asyncio.to_thread(postgres_schema.inspect, parameters(url), MIGRATIONS)
    stopped = {"ok": False, "state": "stopped", "database": settings.storage_place, "workers": []}
    if found.version < found.known:  # opening it would migrate it
        return stopped
    database = await open_postgres(url, pool=2)
    try:
        workers = await SqlWorkers(database).present(LEASE_S)
        kept = SqlKept(database)
        reports: dict[str, Document] = json.loads(await kept.get(_NAME) or "{}")
        alarms = (await KeptAlarms(kept).read()).items()
        owed = (await SqlInbox(database).backlog()).values()
    finally:
        await database.close()
    told = [
        {
            "process": each.process,
            "version": each.version,
            "since": each.since.isoformat(),
            "chats": each.chats,
            "duties": [duty for duty in each.duties if not duty.startswith(ASKS)],
            "platforms": reports.get(each.process, {}).get("platforms", []),
        }
        for each in workers
    ]
    platforms = [platform for worker in told for platform in worker["platforms"]]
    return (stopped if not told else stopped | {"state": "running", "workers": told}) | {
        "ok": bool(platforms) and all(each["link"] == Link.CONNECTED for each in platforms),
        "server": found.server,
        "owed": sum(each.messages for each in owed),
        "oldest_owed": min(each.oldest for each in owed).isoformat() if owed else None,
        "alarms": [
            {"key": key, "since": alarm.since.isoformat(), "text": alarm.text[Locale.EN]}
            for key, alarm in alarms
            if alarm.since is not None
        ],
    }


def status(settings: Settings, now: datetime) -> Document:
    """Return the status of the process that runs on this data folder, over SQLite.

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
    if "workers" in document:
        return _workers_lines(document)
    if document["state"] == "stopped":
        return f"FAIL  no `{RUN}` runs on {document['data_dir']}\n{_TO_START}"
    if document["state"] == "starting":
        return f"FAIL  process {document['pid']} is starting on {document['data_dir']}"
    is_running = document["state"] == "running"
    about = f"process {document['pid']}, version {document['version']}, since {_local(document['since'])}"
    lines = [f"{_mark(is_running)}  {document['state']}, {about}, data in {document['data_dir']}"]
    if not is_running:
        lines[0] += f"; its last report is of {_local(document['at'])}"
    lines += map(_platform_line, document["platforms"])
    lines += [f"      since {_local(alarm['since'])}: {alarm['text']}" for alarm in document["alarms"]]
    lines.append(f"      last backup: {_local(document['last_backup']) if document['last_backup'] else 'none'}")
    return "\n".join(lines)


def _workers_lines(document: Document) -> str:
    if document["state"] == "stopped":
        return f"FAIL  no `{RUN}` runs over {document['database']}\n{_TO_START}"
    count = len(document["workers"])
    over = f"PostgreSQL {document['server']} at {document['database']}"
    lines = [f"{_mark(document['ok'])}  running, {count} worker{'s' if count > 1 else ''} over {over}"]
    for worker in document["workers"]:
        does = [f"answers in {worker['chats']} chats"] if worker["chats"] else []
        does += [duty.partition(":")[2] for duty in worker["duties"]]  # after its kind
        about = f"{worker['process']}: version {worker['version']}, since {_local(worker['since'])}"
        lines.append(f"      {'; '.join([about, *does])}")
        lines += map(_platform_line, worker["platforms"])
    if document["owed"]:
        lines.append(
            f"      messages owed an answer: {document['owed']}, the oldest of {_local(document['oldest_owed'])}"
        )
    lines += [f"      since {_local(alarm['since'])}: {alarm['text']}" for alarm in document["alarms"]]
    return "\n".join(lines)


def _platform_line(each: Document) -> str:
    line = f"{_mark(each['link'] == Link.CONNECTED)}  {each['name']}: {each['link']} since {_local(each['since'])}"
    if each["reason"]:
        line += f": {each['reason']}"
    return line + (f"; next try {_local(each['next_try'])}" if each["next_try"] else "")


def _mark(ok: bool) -> str:
    return "ok  " if ok else "FAIL"


def _local(at: str) -> str:
    """Return a time in the zone of this machine."""
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S}"
