"""What a process leaves behind: no core dump, no secret in a child's environment, no file that others can read."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import re
import resource
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bot.cli import service, update
from bot.settings.settings import Settings, without_settings
from core.clock import SystemClock
from core.features.ledger.chart import Chart, Panel, draw
from core.files import child
from core.types import Locale
from tests.architecture.tree import ROOT, modules
from tests.e2e.run_kit import ANA, own
from tests.e2e.terminal import ENTER, Terminal, environment
from tests.fakes.telegram_server import TOKEN, TelegramServer

SECRETS = {
    name.upper(): f"qqtoken-of-{name}"
    for name, field in Settings.model_fields.items()
    if "SecretStr" in str(field.annotation)
}
STARTS = re.compile(
    r"subprocess\.\w+|asyncio\.create_subprocess_\w+|\w*Popen|os\.(?:system|popen|exec\w+|spawn\w+|posix_spawnp?)"
)
CHART = Chart("Usage", ["20"], [Panel("Cost", {"a": [1.0]})], Locale.EN)
GET_DUMPABLE = 3
TOLD = f"""
import ctypes, os, resource, runpy, sys
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
how, name, *sys.argv[1:] = sys.argv[1:]
sys.argv[0] = name
try:
    getattr(runpy, how)(name, run_name="__main__")
except SystemExit:
    pass
dumpable = ctypes.CDLL(None).prctl({GET_DUMPABLE}, 0, 0, 0, 0)
sys.stderr.write(f"\\n{{dumpable}} {{resource.getrlimit(resource.RLIMIT_CORE)}} {{os.umask(0):o}}\\n")
"""


@pytest.mark.parametrize(
    ("program", "said", "umask"),
    [
        (("run_module", "bot", "check"), "", "77"),
        (("run_module", "core.features.ledger.chart", "chart.png"), json.dumps(asdict(CHART)), "0"),
        (("run_path", child.__file__, str(child.MAX_MEMORY_BYTES)), "", "0"),
    ],
    ids=["elefante", "chart", "reader"],
)
@pytest.mark.skipif(sys.platform != "linux", reason="prctl(2) is Linux's")
@pytest.mark.long
def test_a_process_of_ours_leaves_no_core_dump_and_shows_its_memory_to_nobody(
    program: tuple[str, ...], said: str, umask: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TOLD, *program], input=said, cwd=tmp_path, capture_output=True, text=True, check=True,
        umask=0, env={"PYTHONPATH": str(ROOT), "DATA_DIR": str(tmp_path / "data"), "ELEFANTE_ENV": os.devnull},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, 1 << 20)),
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == f"0 (0, 0) {umask}"


@pytest.mark.long
def test_each_program_that_is_started_is_given_an_environment() -> None:
    """None inherits ours, in which tokens and keys may stand."""
    started = [
        (path.name, node)
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and STARTS.fullmatch(ast.unparse(node.func))
    ]
    assert {name for name, _ in started} == {"chart.py", "reading.py", "service.py", "update.py"}
    assert [name for name, call in started if "env" not in {given.arg for given in call.keywords}] == []


def test_what_is_left_of_the_environment_has_none_of_our_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("telegram_token", "qqtoken-in-small-letters")
    left = without_settings()
    assert left["PATH"] == os.environ["PATH"]
    assert "qqtoken" not in str(left)
    assert {"TELEGRAM_TOKEN", "DISCORD_TOKEN", "OPENAI_API_KEY", "STORAGE_URL", "ALERT_URL"} <= set(SECRETS)


def environment_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


async def test_the_process_that_draws_has_no_secret_in_its_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    seen: list[bytes] = []
    begin = asyncio.create_subprocess_exec

    async def begun(*command: Any, **more: Any) -> asyncio.subprocess.Process:
        process = await begin(*command, **more)
        seen.append(environment_of(process.pid))
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", begun)
    await draw(CHART, tmp_path / "chart.png")
    assert (tmp_path / "chart.png").stat().st_size
    [found] = seen
    assert found
    assert b"qqtoken" not in found


def _service(_: Path) -> None:
    service._run("systemctl", "--user", "status")


def _update(folder: Path) -> None:
    update._git(folder, "fetch")


@pytest.mark.parametrize(("name", "deed"), [("systemctl", _service), ("git", _update)], ids=["service", "update"])
def test_another_program_has_no_secret_in_its_environment(
    name: str, deed: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / name
    program.write_text(f"#!/bin/sh\ncat /proc/$$/environ > {tmp_path}/seen\n")
    program.chmod(0o755)
    for variable, value in {"PATH": f"{tmp_path}:{os.environ['PATH']}", **SECRETS}.items():
        monkeypatch.setenv(variable, value)
    deed(tmp_path)
    found = (tmp_path / "seen").read_bytes()
    assert b"PATH=" in found
    assert b"qqtoken" not in found


CRASH = """
import sys, threading
from bot.__main__ import main
from bot.cli.main import app

class Left:
    def __del__(self):
        raise LookupError("qqword")

def fail():
    raise KeyError("qqword")

@app.command()
def crash():
    thread = threading.Thread(target=fail, name="qqword")
    thread.start()
    thread.join()
    del [Left()][0]
    raise RuntimeError("qqword")

sys.argv = ["elefante", "crash"]
main()
"""


def test_what_a_crash_says_is_printed_nowhere(tmp_path: Path) -> None:
    """Neither what ended the process, nor what ended a thread, nor what nobody could catch."""
    done = subprocess.run(
        [sys.executable, "-c", CRASH], cwd=tmp_path, env=settings(tmp_path), capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    *logged, said = done.stderr.splitlines()
    assert said == "elefante: something went wrong that should not (RuntimeError); the log says where"
    assert [json.loads(line)["error"] for line in logged] == ["KeyError", "LookupError", "RuntimeError"]
    assert "qqword" not in done.stderr + done.stdout


def loose(folder: Path) -> list[str]:
    """Return what in a folder others than its owner may look at, with its mode."""
    modes = {path: path.lstat().st_mode & 0o777 for path in folder.rglob("*") if not path.is_symlink()}
    return [f"{path.relative_to(folder)} {mode:o}" for path, mode in modes.items() if mode & 0o077]


def elefante(folder: Path, *arguments: str, said: str = "") -> str:
    """Run the command in a shell whose umask forbids nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "bot", *arguments], input=said, cwd=folder, env=settings(folder), umask=0,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def settings(folder: Path) -> Mapping[str, str]:
    return {
        "PYTHONPATH": str(ROOT), "HOME": str(folder), "DATA_DIR": str(folder / "data"), "CONSOLE_USER": "ana",
        "ELEFANTE_ENV": os.devnull, "LOG_LEVEL": "DEBUG", "PATH": os.environ["PATH"],
    }  # fmt: skip


@pytest.mark.long
def test_whatever_the_umask_is_no_file_and_no_folder_is_anybodys_but_the_owners(tmp_path: Path) -> None:
    (tmp_path / "rent.txt").write_text("The rent is 900 a month.")
    (tmp_path / "rent.txt").chmod(0o600)
    said = ["Remember that the wifi password is abc123", "/attach rent.txt remember this contract", "/export"]
    said += ["/remind tomorrow at 9 call Ana", "/admin usage", "/admin backup"]
    elefante(tmp_path, "chat", said="".join(f"{line}\n" for line in said))
    elefante(tmp_path, "backup")
    elefante(tmp_path, "export", "own.json")
    elefante(tmp_path, "backup", "copy.zip")
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    for expected in (
        "data/elefante.db", "data/elefante.log", "data/files/", "data/exports/", "data/backups/", "own.", "copy.zip"
    ):  # fmt: skip
        assert [name for name in names if name.startswith(expected)], expected
    assert loose(tmp_path) == []


@pytest.mark.long
def test_what_was_typed_in_a_terminal_is_its_owners_alone_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        terminal = Terminal(["chat"], environment(DATA_DIR=str(tmp_path / "data"), PYTHONPATH=str(ROOT)))
        terminal.wait(lambda: terminal.rows[-1:] == ["›"])
        terminal.type(f"Lembre que a senha do cofre é 123456{ENTER}")
        terminal.wait(lambda: terminal.rows[-1:] == ["›"] and "Guardei" in terminal.text)
        database = {path.name for path in (tmp_path / "data").iterdir()}
        assert {"console-history", "elefante.db", "elefante.db-wal", "elefante.db-shm"} <= database
        assert loose(tmp_path) == []
        terminal.type(f"/quit{ENTER}")
        assert terminal.wait_end() == 0
    finally:
        os.umask(before)


@pytest.mark.long
async def test_what_a_running_bot_writes_is_its_owners_alone_whatever_the_umask_is(tmp_path: Path) -> None:
    async with TelegramServer(SystemClock(), patience_s=60.0) as server:
        more = {"TELEGRAM_TOKEN": TOKEN, "TELEGRAM_API_BASE_URL": server.url}
        running = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "run"), env={**settings(tmp_path), **more}, cwd=tmp_path, umask=0,
            stdout=PIPE, stderr=PIPE,
        )  # fmt: skip
        try:
            await own(server, running)
            server.says(ANA, "Lembre que a senha do cofre é 123456")
            await server.until(lambda: "123456" in server.chats[ANA.id].screen()[-1])
            server.says(ANA, "/admin backup")
            await server.until(lambda: [*(tmp_path / "data" / "backups").glob("*.zip")])
            assert (tmp_path / "data" / "status.json").exists()
            assert loose(tmp_path) == []
        finally:
            running.terminate()
            await running.communicate()
    assert {"serving-telegram.lock", "elefante.log"} <= {path.name for path in (tmp_path / "data").iterdir()}
    assert loose(tmp_path) == []
