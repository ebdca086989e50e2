"""`elefante service`, as real processes that meet stand-ins for the programs of systemd and launchd."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pexpect
import pytest
from typer.testing import CliRunner

from bot.cli.main import app
from bot.cli.service import STOP_WITHIN_S, Plan, Systemd, _manager, status_
from bot.program import restart_command
from bot.run import serving
from bot.settings.settings import load
from core.errors import BotError
from tests.e2e.command import Elefante
from tests.fakes.service_manager import TOKEN, Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_service_from_install_to_uninstall(machine: Machine) -> None:
    done = machine("install", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    text = machine.file().read_text()
    assert f"{machine.file()} would be:\n\n{text}" in done.stdout
    assert "starts with the machine" in done.stdout
    assert [call for call in machine.calls() if "show" not in call and "is-active" not in call] == [
        "systemctl --user daemon-reload",
        "systemctl --user enable elefante.service",
        "systemctl --user restart elefante.service",
        "loginctl enable-linger",
    ]
    assert f'"ELEFANTE_ENV={machine.home / ".env"}" "DATA_DIR={machine.home / "data"}"' in text
    assert f"\nWorkingDirectory={machine.home}\n" in text

    shown = machine("status")
    assert (shown.returncode, shown.stdout) == (0, "Active: active\n")
    assert "On Telegram as @bot" in machine("logs", "-f", "-n", "7").stdout
    assert machine.calls()[-1] == "journalctl --user --unit=elefante.service --lines=7 --follow"
    assert machine("restart").returncode == 0
    assert machine.calls()[-1] == "systemctl --user restart elefante.service"
    assert machine("stop").returncode == 0
    assert machine("status").returncode == 1
    assert "systemctl --user stop elefante.service" in machine.calls()

    assert machine("uninstall", "--yes").returncode == 0
    assert not machine.file().exists()
    assert machine.calls()[-2:] == [
        "systemctl --user disable --now elefante.service",
        "systemctl --user daemon-reload",
    ]
    assert (machine.home / ".env").exists()
    for verb in ("status", "logs", "stop", "restart", "uninstall"):
        missing = machine(verb)
        assert (missing.returncode, "elefante service install" in missing.stderr) == (1, True)


def test_a_second_install_shows_the_difference_and_the_same_one_does_nothing(machine: Machine) -> None:
    machine("install", "--yes")
    machine.calls()
    again = machine("install")
    assert (again.returncode, again.stderr) == (0, "")
    assert "is installed" in again.stdout
    assert not [call for call in machine.calls() if "restart" in call]
    moved = machine("install", "--yes", DATA_DIR=str(machine.home / "elsewhere"))
    changed = [line for line in moved.stdout.splitlines() if line.startswith(("+", "-"))]
    assert [line[:1] for line in changed] == ["-", "+", "-", "+"]  # the diff's head, then the one line
    assert changed[-1].endswith('elsewhere"')
    assert "systemctl --user restart elefante.service" in machine.calls()
    assert "shows the difference" in machine("status").stdout


def test_it_is_shown_and_asked_before_it_is_written(machine: Machine) -> None:
    nobody = machine("install")
    assert (nobody.returncode, "--yes" in nobody.stderr) == (2, True)
    for answer, code in (("n", 1), ("y", 0)):
        child = pexpect.spawn(
            sys.executable, ["-m", "bot", "service", "install"], encoding="utf-8", dimensions=(100, 200), timeout=60,
            cwd=str(machine.home), env=Elefante(machine.home).environment(**machine.environment()),
        )  # fmt: skip
        child.expect_exact("WantedBy=default.target")
        child.expect_exact("Write the file and start the service? [y/N]: ")
        assert not machine.file().exists()
        child.sendline(answer)
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == code
        assert machine.file().exists() == (answer == "y")


def test_where_linger_is_refused_root_is_told_what_to_say(machine: Machine) -> None:
    (machine.home / "refused").touch()
    done = machine("install", "--yes")
    assert done.returncode == 0
    assert "sudo loginctl enable-linger" in done.stdout
    assert "Access denied" in done.stdout


def test_what_systemd_says_is_passed_on(machine: Machine) -> None:
    (machine.home / "broken").write_text("Failed to connect to bus\nSee the log\n")
    done = machine("install", "--yes")
    assert done.returncode == 1
    assert "`systemctl --user restart elefante.service` failed: Failed to connect to bus" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert machine.file().exists()


@pytest.mark.parametrize(
    ("is_booted", "is_container", "said"),
    [
        (True, False, r"does not answer \(Failed to connect to bus\); log in as \w+ directly"),
        (False, False, "neither systemd nor launchd here: have this system start `.*python.* -m bot run` in "),
        (False, True, "this is a container.*outside of it `docker compose up -d` starts it"),
    ],
)
def test_where_systemd_does_not_answer_it_says_what_fits_there(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, is_booted: bool, is_container: bool, said: str
) -> None:
    (machine.home / "silent").write_text("Failed to connect to bus\n")
    monkeypatch.setenv("PATH", machine.environment()["PATH"])
    monkeypatch.setenv("HOME", str(machine.home))
    monkeypatch.setattr("bot.cli.service._BOOTED", machine.home if is_booted else machine.home / "missing")
    monkeypatch.setattr("bot.program._MARKS", (machine.home,) if is_container else ())
    for verb in (Systemd().ask, status_):
        with pytest.raises(BotError, match=said):
            verb()


def test_without_any_manager_a_container_is_told_as_one(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: None)
    monkeypatch.setattr("bot.program._MARKS", ())
    with pytest.raises(BotError, match="have this system start") as bare:
        _manager()
    assert "this is a container" not in str(bare.value)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    with pytest.raises(BotError, match="this is a container"):
        _manager()
    assert restart_command() == "kubectl rollout restart deployment/elefante"


def test_on_windows_it_says_how_systemd_is_turned_on(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (machine.home / "silent").write_text("System has not been booted with systemd as init system\n")
    monkeypatch.setenv("PATH", machine.environment()["PATH"])
    monkeypatch.setenv("HOME", str(machine.home))
    names = list(os.uname())
    names[2] = "5.15.167.4-microsoft-standard-WSL2"
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(names))
    with pytest.raises(BotError, match=r"systemd=true into /etc/wsl\.conf"):
        Systemd().ask()


def test_what_would_not_run_is_not_installed(machine: Machine) -> None:
    env = machine.home / ".env"
    with serving(load(env, data_dir=machine.home / "data"), "elefante run", ["telegram"]):
        twice = machine("install", "--yes")
    assert (twice.returncode, "already answers Telegram" in twice.stderr) == (1, True)
    env.write_text("MAX_STEPS=zero\n")
    assert "MAX_STEPS" in machine("install", "--yes").stderr
    env.write_text("")
    assert "TELEGRAM_TOKEN" in machine("install", "--yes").stderr
    assert not machine.file().exists()
    assert not [call for call in machine.calls() if "restart" in call]


def test_a_setting_of_the_shell_alone_is_named(machine: Machine) -> None:
    done = machine("install", "--yes", MAX_STEPS="5")
    assert "does not see MAX_STEPS" in done.stdout
    assert "does not see DATA_DIR" not in done.stdout


def test_a_wrong_setting_is_named_by_status_and_keeps_restart_from_stopping_the_bot(machine: Machine) -> None:
    machine("install", "--yes")
    machine.calls()
    (machine.home / ".env").write_text(TOKEN + "MAX_STEPS=zero\n")
    shown = machine("status")
    assert (shown.returncode, shown.stdout) == (2, "Active: active\n")
    assert "MAX_STEPS" in shown.stderr
    assert machine("restart").returncode == 2
    assert not [call for call in machine.calls() if "restart" in call]


def test_status_ends_with_1_where_the_service_failed(machine: Machine) -> None:
    machine("install", "--yes")
    (machine.home / "running").unlink()
    shown = machine("status")
    assert (shown.returncode, shown.stdout) == (1, "Active: failed\n")


def test_systemd_finds_nothing_wrong_with_the_unit_of_any_path(tmp_path: Path) -> None:
    if (analyze := shutil.which("systemd-analyze")) is None:
        pytest.skip("systemd-analyze is not here: the unit was not verified")
    folder = tmp_path / '100%h of "my" bot\'s\\data $HOME ü'
    programs = tmp_path / "50%h of $HOME ü"  # an executable that is not found is a fault, and %h means the home
    folder.mkdir()
    programs.mkdir()
    (programs / "python").symlink_to(sys.executable)
    plan = Plan(programs / "python", folder / ".env", folder / "data", Path(os.devnull))
    unit, text = tmp_path / "elefante.service", Systemd().text(plan)
    assert f"\nWorkingDirectory={str(folder).replace('%', '%%')}\n" in text  # this value has neither quotes nor escapes
    assert r"""/100%%h of \"my\" bot's\\data $HOME ü/.env" "DATA_DIR=""" in text
    unit.write_text(text)
    done = subprocess.run(
        [analyze, "--user", "verify", unit], env={"XDG_RUNTIME_DIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_stop_waits_longer_than_platforms_do() -> None:
    settings = load(None, telegram_token="123456:abc", discord_token="abc.def.ghi")
    telegram, discord = settings.telegram(), settings.discord()
    assert telegram is not None
    assert discord is not None
    assert 2 * max(telegram.drain_s, discord.drain_s) < STOP_WITHIN_S


class Mac:
    """The same machine with launchd, whose commands are run in this process."""

    def __init__(self, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.machine = machine
        for name, value in machine.environment(HOME=str(machine.home), DATA_DIR=str(machine.home / "data")).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "platform", "darwin")

    def __call__(self, *arguments: str) -> Any:
        return CliRunner().invoke(app, ["service", *arguments])

    def file(self) -> Path:
        return self.machine.home / "Library" / "LaunchAgents" / "elefante.plist"


def test_launchd_from_install_to_uninstall(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    mac, home, domain = Mac(machine, monkeypatch), machine.home, f"gui/{os.getuid()}"
    done = mac("install", "--yes")
    assert done.exit_code == 0, done.output
    agent = plistlib.loads(mac.file().read_bytes())
    assert agent == {
        "Label": "elefante",
        "ProgramArguments": [sys.executable, "-m", "bot", "run"],
        "WorkingDirectory": str(home),
        "EnvironmentVariables": {"ELEFANTE_ENV": str(home / ".env"), "DATA_DIR": str(home / "data")},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 30,
        "ExitTimeOut": STOP_WITHIN_S,
        "Umask": 0o077,
        "StandardOutPath": str(home / "data" / "service.log"),
        "StandardErrorPath": str(home / "data" / "service.log"),
    }
    assert f"launchctl bootstrap {domain} {mac.file()}" in machine.calls()
    assert mac("status").exit_code == 0
    assert mac("restart").exit_code == 0
    assert [call.split()[1] for call in machine.calls()][-3:] == ["bootout", "print", "bootstrap"]
    assert "shows the difference" not in mac("status").output
    assert mac("stop").exit_code == 0
    assert mac("status").exit_code == 1
    assert mac("uninstall", "--yes").exit_code == 0
    assert not mac.file().exists()
    assert not (home / "running").exists()


def test_the_output_of_launchds_service_is_shown(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    mac = Mac(machine, monkeypatch)
    mac("install", "--yes")
    (machine.home / "data" / "service.log").write_text("one\ntwo\nthree\n")
    assert mac("logs", "-n", "2").exit_code == 0
    assert capfd.readouterr().out == "two\nthree\n"


def test_launchd_is_waited_for_and_a_service_that_does_not_end_is_named(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac = Mac(machine, monkeypatch)
    slept: list[float] = []
    mac("install", "--yes")
    (machine.home / "bin" / "launchctl").write_text("#!/bin/sh\necho state = running\n")
    monkeypatch.setattr("time.monotonic", lambda: float(len(slept)))
    monkeypatch.setattr("time.sleep", slept.append)
    assert f"did not end within {STOP_WITHIN_S} s" in str(mac("restart").exception)
    assert len(slept) == STOP_WITHIN_S + 1


def test_launchd_without_a_session_says_who_must_log_in(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    mac = Mac(machine, monkeypatch)
    (machine.home / "silent").write_text("Could not find domain\n")
    assert "must be logged in (Could not find domain)" in str(mac("install", "--yes").exception)
