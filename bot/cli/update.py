"""`elefante update`: what `make update` does; with --try on a copy of the data, by the new version, beside this one."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.shell import Document, JsonOption, busy, load_settings, show
from bot.program import version_line
from bot.settings.env_file import PROJECT, VARIABLE, env_path
from bot.settings.settings import Settings, without_settings
from core.errors import BotError, StorageError
from core.storage.sqlite_backup import copied, ensure_room
from core.storage.sqlite_upgrade import Table, tables

_COPY: Final = "update-try-"
_LOCK: Final = "requirements.txt"
_MIB: Final = 1 << 20


def update_(
    try_: Annotated[
        bool, typer.Option("--try", help="Do it on a copy of the data only, and tell what it does.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Fetch the newest version, install it, back up and migrate the data, restart the service: `make update`.

    With --try the new version is put beside this one, migrates a copy of the data, which a bot that runs goes on with,
    and looks at the settings; what it does and how long it takes is told, and the copy removed.

    Example: elefante update --try
    """
    if not try_:
        if not (PROJECT / "Makefile").is_file():
            raise BotError("this is no clone of the project: install the new version as you installed this one")
        done = subprocess.run(["make", "update"], cwd=PROJECT, env=os.environ, check=False)  # noqa: S607
        raise typer.Exit(done.returncode)  # it says verbs of ours, whose settings may stand in the environment
    settings = load_settings(writes=False)
    with busy("trying the new version on a copy"):
        report = rehearse(settings, PROJECT)
    show(report, as_json=as_json, plain=render)
    if not report["ok"]:
        raise typer.Exit(1)


def rehearse(settings: Settings, project: Path) -> Document:
    """Have the newest version migrate a copy of the data and check it; return what it did. Nothing else is changed.

    Raises:
        StorageError: there are no data to copy, no room for them, or they are in PostgreSQL.
        BotError: the newest version cannot be fetched or installed.
    """
    if settings.engine == "postgres":
        raise StorageError(
            "the data are in PostgreSQL, whose own programs copy them: with pg_dump and pg_restore make a second "
            "database, and have the new version say `STORAGE_URL=… elefante migrate` there"
        )
    if not settings.database_path.exists():
        raise StorageError(f"there is nothing to migrate yet: no {settings.database_path}")
    size_bytes = settings.database_path.stat().st_size
    files = settings.files_folder
    files_bytes = sum(path.stat().st_size for path in files.rglob("*") if path.is_file())
    # The copy, the backup that its migration makes, files included, and what it writes.
    ensure_room(settings.data_dir, 3 * size_bytes + files_bytes)
    for left in settings.data_dir.glob(f"{_COPY}*"):  # by one that was killed
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_COPY, dir=settings.data_dir) as folder:
        data = Path(folder) / "data"
        data.mkdir(mode=0o700)
        program, commits = _newest(project, Path(folder) / "program")
        python, packages_s = _python(program, project)
        copied(settings.database_path, data / "elefante.db", threading.Event())
        if files.is_dir():  # as further names of the same bytes, which take no room
            shutil.copytree(files, data / files.name, copy_function=os.link)
        environment = _environment(program, data, settings.people_keys)
        before, began_s = tables(data / "elefante.db"), time.monotonic()
        migrated = _say(python, program, environment, "migrate")
        seconds = time.monotonic() - began_s
        checked = {} if "error" in migrated else _say(python, program, environment, "check")
        after = tables(data / "elefante.db")
        version = tomllib.loads((program / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    return {
        "ok": "error" not in migrated and bool(checked.get("ok")),
        "from": version_line(),
        "to": f"elefante {version}",
        "commits": commits,
        "packages_s": packages_s,
        "bytes": size_bytes,
        "before": migrated.get("before"),
        "after": migrated.get("after"),
        "seconds": round(seconds, 1),
        "changes": _changes(before, after),
        "error": migrated.get("error"),
        "findings": checked.get("findings", []),
    }


def render(document: Document) -> str:
    """Return what the rehearsal found as text for a person."""
    count = document["commits"]
    lines = [
        f"{document['from']} → {document['to']}"
        + (f", {count} commit{'s' * (count > 1)} newer" if count else ", nothing newer")
    ]
    if document["packages_s"] is not None:
        lines.append(f"Its packages are others; installing them took {document['packages_s']:.0f} s.")
    if document["error"]:
        return "\n".join(
            [*lines, f"FAIL  {document['error']}", "Nothing of yours was changed: stay with this version."]
        )
    size = f"{document['bytes'] / _MIB:.1f} MB"
    if document["before"] == document["after"]:
        lines.append(f"ok    data: schema {document['after']} stays, nothing is migrated ({size})")
    else:
        became = f"{document['before']} becomes {document['after']} in {document['seconds']:g} s ({size})"
        lines.append(f"ok    data: schema {became}; for so long, and for a stop and a start, the bot is away")
    lines += [f"      {change}" for change in document["changes"]]
    for finding in document["findings"]:
        if not finding["ok"] or finding.get("warning"):
            lines.append(f"{'note' if finding['ok'] else 'FAIL'}  {finding['name']}: {finding['detail']}")
    end = "`make update` does it." if document["ok"] else "Put that right before `make update`."
    return "\n".join([*lines, f"That was a copy: nothing of yours was changed. {end}"])


def _newest(project: Path, folder: Path) -> tuple[Path, int]:
    """Put the newest version into a folder; return it, and how many commits newer it is: none is, without git."""
    if not (project / ".git").exists():
        return project, 0
    _git(project, "fetch", "--quiet")
    commits = int(_git(project, "rev-list", "--count", "HEAD..@{upstream}"))
    if not commits:
        return project, 0
    with tarfile.open(fileobj=io.BytesIO(_git(project, "archive", "--format=tar", "@{upstream}"))) as archive:
        archive.extractall(folder, filter="data")
    return folder, commits


def _git(project: Path, *arguments: str) -> bytes:
    """Run git in the project, and return what it printed.

    Raises:
        BotError: it failed.
    """
    try:
        command, env = ["git", *arguments], without_settings()
        done = subprocess.run(command, cwd=project, env=env, capture_output=True, check=False)  # noqa: S603
    except OSError as error:
        raise BotError(f"git cannot be run: {error.strerror}") from error
    if done.returncode:
        raise BotError(f"the newest version cannot be fetched: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _python(program: Path, project: Path) -> tuple[str, float | None]:
    """Return a Python with the packages that the program is locked to, and how long it took to install them."""
    if program == project or (program / _LOCK).read_bytes() == (project / _LOCK).read_bytes():
        return sys.executable, None
    began_s = time.monotonic()
    command, env = ["make", ".venv/.installed"], without_settings()
    done = subprocess.run(command, cwd=program, env=env, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise BotError(f"its packages cannot be installed: {done.stderr.strip()[-500:]}")
    return str(program / ".venv" / "bin" / "python"), time.monotonic() - began_s


def _environment(program: Path, data: Path, keys: Path) -> dict[str, str]:
    """Return the environment of a program whose settings are ours and whose data are the copy."""
    env = env_path()
    own = {"DATA_DIR": data, "BACKUP_DIR": data / "backups", "LOG_DIR": data, "PYTHONPATH": program}
    own["PEOPLE_KEYS_FILE"] = keys  # by default it is beside the data, and the copy is elsewhere
    return (
        os.environ
        | {name: str(path) for name, path in own.items()}
        | {VARIABLE: str(env if env.exists() else os.devnull)}
    )


def _say(python: str, program: Path, environment: Mapping[str, str], verb: str) -> Document:
    """Have a verb of the new version done on the copy, and return the document that it prints."""
    done = subprocess.run(  # noqa: S603
        [python, "-m", "bot", verb, "--json"], cwd=program, env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    try:
        document: Document = json.loads(done.stdout)
    except ValueError:
        return {"error": done.stderr.strip().rpartition("\n")[2] or f"{verb} ended with {done.returncode}"}
    return document


def _changes(before: Mapping[str, Table], after: Mapping[str, Table]) -> list[str]:
    """Return a line for each table that is new, gone, or has other columns or another number of rows."""
    lines = [f"new table {name}" for name in after.keys() - before.keys()]
    lines += [f"table {name} goes, with {before[name].rows:,} rows" for name in before.keys() - after.keys()]
    for name in before.keys() & after.keys() - {"schema_history"}:
        was, now = before[name], after[name]
        changed = [f"+{column}" for column in sorted(now.columns - was.columns)]
        changed += [f"-{column}" for column in sorted(was.columns - now.columns)]
        changed += [f"{was.rows:,} rows become {now.rows:,}"] * (was.rows != now.rows)
        lines += [f"{name}: {', '.join(changed)}"] if changed else []
    return sorted(lines)
