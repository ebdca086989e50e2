"""What a running bot tells other processes of itself: in `status.json` in the data folder, or in PostgreSQL."""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, Final, TypeAlias

from adapters.running import until
from bot.data_folder import DataFolder
from bot.sealing import sealing_of
from bot.settings.settings import Settings
from bot.wiring import App
from bot.workers import process_name
from core.delivery.alerts import KEPT_AS, Alarms, open_alarms, read_alarms
from core.errors import StorageError
from core.features.admin.machine import Link
from core.storage.inbox import SqlInbox
from core.storage.kept import SqlKept
from core.tasks import background
from core.types import Locale

Document: TypeAlias = dict[str, Any]

RUN: Final = "elefante run"
"""The command in the locks of a process that serves platforms."""

_FILE: Final = "status.json"
_TO_START: Final = "start it with `make run`, or keep it running with `elefante service install`"
_SILENT: Final = "it hangs, or cannot write its status: is the disk full, may it write there? `elefante.log` says more"
_STARTING: Final = "the end of `elefante.log` says what it does; is the disk full?"
_OFFLINE: Final = "it is tried again by itself; is this machine connected to the network?"
_NAME: Final = "status"
_EVERY_S: Final = 30.0
_FORGOTTEN: Final = timedelta(days=1)
_log = logging.getLogger(__name__)
_FRESH: Final = timedelta(seconds=60)  # twice that


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
            "since": self._since,
            "platforms": [asdict(state) for state in app.features.platforms.all.values()],
            "alarms": _alarms(app.features.alerts.open_now()),
            "last_backup": DataFolder(app.settings, app.clock).newest(),
            "at": app.clock.now(),
        }

    async def _save(self, told: Document | None) -> None:
        """Keep what is told in place of what was before; None: nothing."""
        if (folder := self._app.settings.state_dir) is None:
            return
        document = None if told is None else json.loads(json.dumps(told, default=datetime.isoformat))
        try:
            if self._app.settings.engine == "postgres":
                await self._app.kept.change(_NAME, partial(self._with_others, document))
            elif document is None:
                (folder / _FILE).unlink(missing_ok=True)
            else:
                _replace(folder / _FILE, json.dumps(document))
        except (OSError, StorageError) as error:
            _log.warning("status not kept", extra={"error": type(error).__name__})

    def _with_others(self, document: Document | None, kept: str | None) -> str:
        """Return the reports of all workers, but those of which nothing was heard for a day."""
        oldest = (self._app.clock.now() - _FORGOTTEN).isoformat()
        reports: dict[str, Document] = json.loads(kept or "{}")
        reports = {name: told for name, told in reports.items() if told["at"] > oldest and name != process_name()}
        return json.dumps(reports if document is None else {**reports, process_name(): document})


def _replace(path: Path, text: str) -> None:
    """Replace a file as a whole, readable by its owner only."""
    aside = path.with_suffix(".new")
    with os.fdopen(os.open(aside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    aside.replace(path)


def _alarms(alarms: Alarms) -> list[Document]:
    return [
        {
            "key": key,
            "since": alarm.since.isoformat(),
            "text": alarm.said()[Locale.EN],
            "stops_answers": alarm.stops_answers,
        }
        for key, alarm in alarms.items()
    ]


async def status_of(settings: Settings, now: datetime) -> Document:
    """Return the status of the bot that runs with these settings, in one process or many.

    Raises:
        ConfigError, StorageError: the database server cannot be reached or used.
    """
    return await workers_status(settings, now) if settings.engine == "postgres" else status(settings, now)


async def workers_status(settings: Settings, now: datetime) -> Document:
    """Return the status of all workers over PostgreSQL, those in a terminal included; nothing is changed.

    `state` is running or stopped. `ok`: a worker runs platforms, and there are no `problems`, as of one process.

    Raises:
        ConfigError, StorageError: the database cannot be reached or used.
    """
    from core.storage import postgres_schema  # these load psycopg
    from core.storage.postgres import open_postgres
    from core.storage.postgres_connection import parameters
    from core.storage.postgres_schema import MIGRATIONS
    from core.workers.cluster import LEASE_S
    from core.workers.store import SqlWorkers

    url = settings.storage_url.get_secret_value()
    found = await asyncio.to_thread(postgres_schema.inspect, parameters(url), MIGRATIONS)
    nobody = _problem("", f"no `{RUN}` runs over {settings.storage_place}", _TO_START)
    stopped = {"ok": False, "state": "stopped", "database": settings.storage_place, "workers": [], "problems": [nobody]}
    if found.version < found.known:  # opening it would migrate it
        return stopped
    with sealing_of(settings) as sealing:
        database = await open_postgres(url, pool=2, sealing=sealing)
        try:
            workers = await SqlWorkers(database).present(LEASE_S)
            kept = SqlKept(database)
            reports: dict[str, Document] = json.loads(await kept.get(_NAME) or "{}")
            alarms = _alarms(open_alarms(read_alarms(await kept.get(KEPT_AS)), now))
            owed = (await SqlInbox(database).backlog()).values()
        finally:
            await database.close()
    told = [
        {
            "process": each.process,
            "version": each.version,
            "since": each.since.isoformat(),
            "chats": each.chats,
            "duties": each.duties,
            "platforms": reports.get(each.process, {}).get("platforms", []),
        }
        for each in workers
    ]
    platforms = [platform for worker in told for platform in worker["platforms"]]
    problems = _problems(platforms, alarms) + [
        _problem(each.process, f"its last report is of {_local(reports[each.process]['at'])}", _SILENT)
        for each in workers
        if each.process in reports and not _is_fresh(reports[each.process]["at"], now)
    ]
    return (stopped if not told else stopped | {"state": "running", "workers": told, "problems": problems}) | {
        "ok": bool(platforms) and not problems,
        "server": found.server,
        "owed": sum(each.messages for each in owed),
        "oldest_owed": min(each.oldest for each in owed).isoformat() if owed else None,
        "alarms": alarms,
    }


def status(settings: Settings, now: datetime) -> Document:
    """Return the status of the process that runs on this data folder, over SQLite.

    `state` is running, starting, silent (it runs, but has reported nothing for a minute) or stopped. `ok` is whether it
    runs and there are no `problems`: platforms that are not connected, alarms that stop answers.
    """
    folder = settings.data_dir
    about = {"ok": False, "data_dir": str(folder), "platforms": []}
    if (holder := _running(folder)) is None:
        stopped = _problem("", f"no `{RUN}` runs on {folder}", _TO_START)
        return about | {"state": "stopped", "problems": [stopped]}
    pid, since = holder
    try:
        told = json.loads((folder / _FILE).read_text("utf-8"))
        is_fresh = _is_fresh(told["at"], now)
    except (OSError, ValueError, KeyError, TypeError):
        told, is_fresh = {}, False
    if told.get("pid") != pid:  # there is none yet; or it is one that a killed process left behind
        said = f"process {pid} is starting on {folder}, since {_local(since.isoformat())}"
        starting = _problem("", said, "" if abs(now - since) <= _FRESH else _STARTING)
        return about | {"state": "starting", "pid": pid, "problems": [starting]}
    problems = _problems(told["platforms"], told["alarms"])
    if not is_fresh:
        said = f"silent, {_process(told)}, data in {folder}; its last report is of {_local(told['at'])}"
        problems.insert(0, _problem("", said, _SILENT))
    return about | {"ok": not problems, "state": "running" if is_fresh else "silent", **told, "problems": problems}


def _is_fresh(at: str, now: datetime) -> bool:
    return abs(now - datetime.fromisoformat(at)) <= _FRESH


def _problem(about: str, said: str, advice: str) -> Document:
    """Return why a bot is not well: a platform, an alarm, a worker, or "" for the whole; what is so, and what to do."""
    return {"about": about, "said": said, "advice": advice}


def _problems(platforms: Sequence[Document], alarms: Sequence[Document]) -> list[Document]:
    away = [each for each in platforms if each["link"] != Link.CONNECTED]
    stopping = [each for each in alarms if each["stops_answers"]]
    return [
        *(_problem(each["name"], _link(each), "" if each["reason"] else _OFFLINE) for each in away),
        *(_problem(each["key"], f"since {_local(each['since'])}", each["text"]) for each in stopping),
    ]


def _running(folder: Path) -> tuple[int, datetime] | None:
    """Return the process that holds a lock of `elefante run` on the folder, and since when; None if there is none."""
    for path in folder.glob("serving-*.lock"):
        try:
            with path.open("rb") as file:
                holder = json.loads(file.read())
                if holder["command"] != RUN:
                    continue
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # released at once, with the file
                except BlockingIOError:
                    return int(holder["pid"]), datetime.fromtimestamp(path.stat().st_mtime, UTC)
        except (OSError, ValueError, KeyError, TypeError):  # it took the lock a moment ago and has not written yet
            continue
    return None


def render(document: Document) -> str:
    """Return the status in lines for a person: each problem is a line that begins with FAIL, and what to do."""
    lines = [] if document["state"] in {"stopped", "starting"} else _head(document)
    for each in document["problems"]:
        lines.append(f"FAIL  {each['about']}{': ' * bool(each['about'])}{each['said']}")
        lines += [f"      -> {each['advice']}"] * bool(each["advice"])
    if document.get("owed"):
        oldest = _local(document["oldest_owed"])
        lines.append(f"      messages owed an answer: {document['owed']}, the oldest of {oldest}")
    alarms = [each for each in document.get("alarms", ()) if not each["stops_answers"]]
    lines += [f"      since {_local(each['since'])}: {each['text']}" for each in alarms]
    if "last_backup" in document:
        lines.append(f"      last backup: {_local(document['last_backup']) if document['last_backup'] else 'none'}")
    return "\n".join(lines)


def _head(document: Document) -> list[str]:
    """Return the lines about the process or the workers, and the platforms that are connected."""
    mark = "ok  " if document["ok"] else "FAIL"
    if "workers" not in document:
        is_silent = document["state"] == "silent"  # a problem, which says the same
        lines = [] if is_silent else [f"{mark}  running, {_process(document)}, data in {document['data_dir']}"]
        return lines + _connected(document["platforms"])
    count = len(document["workers"])
    over = f"PostgreSQL {document['server']} at {document['database']}"
    lines = [f"{mark}  running, {count} worker{'s' if count > 1 else ''} over {over}"]
    for worker in document["workers"]:
        does = [f"answers in {worker['chats']} chats"] if worker["chats"] else []
        does += [duty.partition(":")[2] for duty in worker["duties"]]  # after its kind
        about = f"{worker['process']}: version {worker['version']}, since {_local(worker['since'])}"
        lines += [f"      {'; '.join([about, *does])}", *_connected(worker["platforms"])]
    return lines


def _process(document: Document) -> str:
    return f"process {document['pid']}, version {document['version']}, since {_local(document['since'])}"


def _connected(platforms: Sequence[Document]) -> list[str]:
    return [f"ok    {each['name']}: {_link(each)}" for each in platforms if each["link"] == Link.CONNECTED]


def _link(each: Document) -> str:
    line = f"{each['link']} since {_local(each['since'])}" + (f": {each['reason']}" if each["reason"] else "")
    return line + (f"; next try {_local(each['next_try'])}" if each["next_try"] else "")


def _local(at: str) -> str:
    """Return a time in the zone of this machine."""
    return f"{datetime.fromisoformat(at).astimezone():%Y-%m-%d %H:%M:%S}"
