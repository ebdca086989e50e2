"""`elefante service`: run the bot as a service of this system user, by systemd on Linux and by launchd on macOS."""

from __future__ import annotations

import difflib
import getpass
import os
import plistlib
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from bot.cli.shell import YesOption, confirm, load_settings
from bot.platforms import PLATFORMS
from bot.program import in_container
from bot.settings.env_file import VARIABLE, env_path
from bot.settings.settings import Settings, without_settings
from core.errors import BotError, ConfigError

STOP_WITHIN_S: Final = 60
"""How long a stop may take: platforms finish what is being answered within 20 s, then the database is closed."""

_RETRY_S: Final = 30
_UNIT: Final = "elefante.service"
_LABEL: Final = "elefante"
_UNIT_FILE: Final = """\
# Written by `elefante service install`, which also replaces it; `elefante service uninstall` removes it.
[Unit]
Description=Elefante, a chat bot that remembers
# A unit of a user cannot wait for the network: the bot tries until there is one. So does this, after any failure ...
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={python} -m bot run
WorkingDirectory={folder}
Environment={variables}
Restart=on-failure
RestartSec={retry_s}
# ... but a wrong setting, which a person has to mend.
RestartPreventExitStatus=2
# A stop is SIGTERM; answers under way are finished first.
TimeoutStopSec={stop_s}
UMask=0077

# What the manager of a user can hold a service to on every machine; the options for files need privileges.
NoNewPrivileges=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service

[Install]
WantedBy=default.target
"""
_WSL: Final = (
    "systemd is not on in this WSL: write the two lines [boot] and systemd=true into /etc/wsl.conf, "
    "say `wsl --shutdown` in PowerShell, open WSL again, and install once more"
)
_ELSEWHERE: Final = (
    "there is neither systemd nor launchd here: have this system start `{command}` in {folder}, and again when it "
    "ends; or run the bot in a container (docs/operating.md)"
)
_CONTAINER: Final = (
    "this is a container, whose engine starts the bot, and again when it ends (`restart: unless-stopped` in "
    "compose.yaml): outside of it `docker compose up -d` starts it, `docker compose logs -f` shows what it says"
)
_BOOTED: Final = Path("/run/systemd/system")
"""There only where systemd started the machine: sd_booted(3)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What the service runs: the Python, its settings file and data folder (absolute paths), the file of its output."""

    python: Path
    env: Path
    data: Path
    output: Path

    @classmethod
    def of(cls, settings: Settings) -> Plan:
        """Return the plan of a bot with those settings, run by this very Python."""
        log = settings.log_folder
        output = Path(os.devnull) if log is None else log.absolute() / "service.log"
        return cls(Path(sys.executable), env_path(), settings.data_dir.absolute(), output)

    @property
    def variables(self) -> dict[str, str]:
        """What the environment of the service holds."""
        return {VARIABLE: str(self.env), "DATA_DIR": str(self.data)}

    @property
    def command(self) -> list[str]:
        """What is run."""
        return [str(self.python), "-m", "bot", "run"]


# --- what starts the bot with the machine and after a failure


class Systemd:
    """systemd's manager of this user; `file` describes the service to it."""

    def __init__(self) -> None:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        self.file = folder / "systemd" / "user" / _UNIT

    def text(self, plan: Plan) -> str:
        """Return the unit."""
        variables = " ".join(_quoted(f"{name}={value}") for name, value in plan.variables.items())
        return _UNIT_FILE.format(
            python=_quoted(str(plan.python)),
            folder=str(plan.env.parent).replace("%", "%%"),  # this value has no quotes and no escapes
            variables=variables,
            retry_s=_RETRY_S,
            stop_s=STOP_WITHIN_S,
        )

    def ask(self) -> None:
        """Return if systemd's manager of this user answers.

        Raises:
            BotError: it does not, and what to do.
        """
        asked = _run("systemctl", "--user", "show", "--property=Version")
        if asked.returncode == 0:
            return
        if "microsoft" in os.uname().release.lower():
            raise BotError(_WSL)
        if not _BOOTED.is_dir():
            raise BotError(_elsewhere())
        name = getpass.getuser()
        raise BotError(
            f"systemd's manager of {name} does not answer ({_reason(asked)}); log in as {name} directly, not by su or "
            f"sudo, or have root say: loginctl enable-linger {name}"
        )

    def active(self) -> bool:
        """Return whether the service runs."""
        return _run("systemctl", "--user", "is-active", _UNIT).returncode == 0

    def start(self) -> None:
        """Read the unit and start it; one that runs is stopped first."""
        for verb in (["daemon-reload"], ["enable", _UNIT], ["restart", _UNIT]):
            _must("systemctl", "--user", *verb)

    def stay(self) -> str:
        """Have systemd start this user's services at boot, and leave them at logout: linger."""
        name = getpass.getuser()
        if (
            _run("loginctl", "show-user", name, "--property=Linger", "--value").stdout.strip() != "yes"
            and (asked := _run("loginctl", "enable-linger")).returncode
        ):
            return (
                "It ends when you log out, and does not start with the machine, until you say: "
                f"sudo loginctl enable-linger {name} ({_reason(asked)})"
            )
        return "It starts with the machine and stays when you log out (loginctl enable-linger)."

    def stop(self) -> None:
        """Stop the unit; answers under way are finished first."""
        _must("systemctl", "--user", "stop", _UNIT)

    def remove(self) -> None:
        """Stop and disable the unit, and remove it."""
        _must("systemctl", "--user", "disable", "--now", _UNIT)
        self.file.unlink()
        _must("systemctl", "--user", "daemon-reload")

    def show(self) -> None:
        """Print what systemd knows of the unit."""
        _run("systemctl", "--user", "status", "--no-pager", "--lines=3", _UNIT, shown=True)

    def show_output(self, lines: int, *, follow: bool) -> None:
        """Print what the journal has of the unit."""
        more = ["--follow"] if follow else ["--no-pager"]
        _run("journalctl", "--user", f"--unit={_UNIT}", f"--lines={lines}", *more, shown=True)


class Launchd:
    """launchd, which runs the agents of this user while they are logged in; `file` describes the service to it."""

    def __init__(self) -> None:
        self.file = Path.home() / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
        self._domain = f"gui/{os.getuid()}"
        self._target = f"{self._domain}/{_LABEL}"

    def text(self, plan: Plan) -> str:
        """Return the property list."""
        return plistlib.dumps(
            {
                "Label": _LABEL,
                "ProgramArguments": plan.command,
                "WorkingDirectory": str(plan.env.parent),
                "EnvironmentVariables": plan.variables,
                "RunAtLoad": True,
                "KeepAlive": {"SuccessfulExit": False},
                "ThrottleInterval": _RETRY_S,
                "ExitTimeOut": STOP_WITHIN_S,
                "Umask": 0o077,
                "StandardOutPath": str(plan.output),
                "StandardErrorPath": str(plan.output),
            },
            sort_keys=False,
        ).decode()

    def ask(self) -> None:
        """Return if launchd answers for this user.

        Raises:
            BotError: it does not.
        """
        if (asked := _run("launchctl", "print", self._domain)).returncode:
            raise BotError(f"launchd has no session of {getpass.getuser()}, who must be logged in ({_reason(asked)})")

    def active(self) -> bool:
        """Return whether the service runs."""
        return "state = running" in _run("launchctl", "print", self._target).stdout

    def start(self) -> None:
        """Stop the service if it runs, and have launchd read its file and start it."""
        self.stop()
        _must("launchctl", "bootstrap", self._domain, str(self.file))

    def stay(self) -> str:
        """Return what is so: launchd starts its agents at login."""
        return "It starts when you log in."

    def stop(self) -> None:
        """Stop the service if launchd knows it."""
        _run("launchctl", "bootout", self._target)
        until = time.monotonic() + STOP_WITHIN_S
        while _run("launchctl", "print", self._target).returncode == 0:  # bootout does not wait
            if time.monotonic() > until:
                raise BotError(f"the service did not end within {STOP_WITHIN_S} s")
            time.sleep(1)

    def remove(self) -> None:
        """Stop the service and remove its file."""
        self.stop()
        self.file.unlink()

    def show(self) -> None:
        """Print what launchd knows of the service."""
        _run("launchctl", "print", self._target, shown=True)

    def show_output(self, lines: int, *, follow: bool) -> None:
        """Print the end of the file of the service's output."""
        output = plistlib.loads(self.file.read_bytes())["StandardOutPath"]
        _run("tail", "-n", str(lines), *(["-F"] if follow else []), output, shown=True)


Manager: TypeAlias = Systemd | Launchd

app = typer.Typer(
    no_args_is_help=True,
    help="""Run the bot as a service: started with the machine, and again after a failure.

    Example: elefante service install""",
)


@app.command("install")
def install_(yes: YesOption = False) -> None:
    """Show the file that makes the bot a service, write it, and start the service.

    Example: elefante service install
    """
    settings = load_settings(stored=False)
    if not _platforms(settings):
        raise ConfigError(
            "TELEGRAM_TOKEN", "no platform is on, so there is nothing to run; `elefante setup` asks for one"
        )
    plan = Plan.of(settings)
    if not plan.env.exists():
        raise ConfigError(
            VARIABLE, f"there is no {plan.env}, and a service sees no other settings; `elefante setup` writes it"
        )
    manager = _manager()
    manager.ask()
    install(manager, plan, settings, yes=yes)


def install(manager: Manager, plan: Plan, settings: Settings, *, yes: bool) -> None:
    """Write the service's file, after it or its changes were shown, and start the service.

    Raises:
        BotError: nobody agreed, another process serves the bot, or the manager refused.
        ConfigError: there is no terminal to ask in.
    """
    from bot.run import serving

    text, before = manager.text(plan), _content(manager.file)
    if text != before:
        typer.echo(f"{manager.file} {'would become' if before else 'would be'}:\n\n{_shown(before, text)}")
    settable = {name.upper() for name in Settings.model_fields} - plan.variables.keys()
    for name in sorted(settable & os.environ.keys()):
        typer.echo(f"The service does not see {name}, which is set in this shell; what counts is {plan.env}.")
    running = manager.active()
    if text == before and running:
        typer.echo(f"It is installed ({manager.file}) and runs. {manager.stay()}")
        return
    if not running:
        with serving(settings, "elefante service install", _platforms(settings)):
            pass
    confirm("Write the file and start the service?" if text != before else "Start the service?", yes=yes)
    if text != before:
        try:
            manager.file.parent.mkdir(parents=True, exist_ok=True)
            manager.file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise BotError(f"{manager.file} cannot be written: {error.strerror}") from error
    manager.start()
    typer.echo(
        f"Started. {manager.stay()}\n"
        "`elefante service logs -f` shows what it says, such as the link that makes you its owner; "
        "`elefante status`, which platforms are connected."
    )


@app.command("status")
def status_() -> None:
    """Show whether the service is installed and runs; exit 1 if not. For its platforms: `elefante status`.

    Example: elefante service status
    """
    manager = _installed()
    manager.show()
    plan = Plan.of(load_settings(stored=False))  # after what it shows: a wrong setting may be why the bot ended
    if manager.text(plan) != _content(manager.file):
        typer.echo(f"{manager.file} is not what would be written now; `elefante service install` shows the difference.")
    if not manager.active():
        raise typer.Exit(1)


@app.command("logs")
def logs_(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many lines.")] = 50,
) -> None:
    """Show what the service printed. Errors in detail are in elefante.log in the data folder.

    Example: elefante service logs -n 20
    """
    _installed().show_output(lines, follow=follow)


@app.command("stop")
def stop_() -> None:
    """Stop the service, which finishes the answers under way, until `restart` or the next start of the machine.

    Example: elefante service stop
    """
    _installed().stop()
    typer.echo("Stopped. `elefante service restart` starts it again.")


@app.command("restart")
def restart_() -> None:
    """Stop the service if it runs, as `stop` does, and start it. Refused while a setting is wrong.

    Example: elefante service restart
    """
    manager = _installed()
    load_settings(stored=False)
    manager.start()
    typer.echo("Restarted.")


@app.command("uninstall")
def uninstall_(yes: YesOption = False) -> None:
    """Stop the service and remove its file. The bot's data and settings stay.

    Example: elefante service uninstall
    """
    manager = _installed()
    confirm(f"Stop the service and remove {manager.file}?", yes=yes)
    manager.remove()
    typer.echo("Removed. The bot's data and settings stay where they are.")


def _platforms(settings: Settings) -> list[str]:
    return [name for name, platform in PLATFORMS.items() if platform.enabled(settings)]


def _installed() -> Manager:
    manager = _manager()
    manager.ask()  # where nothing runs services, none is to be installed
    if not manager.file.exists():
        raise BotError("the service is not installed: `elefante service install`")
    return manager


def _manager() -> Manager:
    """Return the service manager of this system.

    Raises:
        BotError: there is none.
    """
    if sys.platform == "darwin":
        return Launchd()
    if shutil.which("systemctl") is None:
        raise BotError(_elsewhere())
    return Systemd()


def _elsewhere() -> str:
    """Return what starts the bot where nothing runs services of a user."""
    if in_container():
        return _CONTAINER
    return _ELSEWHERE.format(command=f"{sys.executable} -m bot run", folder=env_path().parent)


def _content(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _shown(before: str, text: str) -> str:
    """Return a new file as it is, and a changed one as its differences."""
    if not before:
        return text
    return "".join(difflib.unified_diff(before.splitlines(True), text.splitlines(True), "now", "then", n=1))


def _quoted(value: str) -> str:
    """Return a value as systemd reads it back from a unit: in quotes, `%`, backslashes and quotes escaped."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"'


def _run(*command: str, shown: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a command of the service manager to its end and return it; `shown` leaves its output to the terminal."""
    environment = {"XDG_RUNTIME_DIR": f"/run/user/{os.getuid()}"} | without_settings()  # after su it is not set
    sys.stdout.flush()
    try:
        return subprocess.run(command, env=environment, capture_output=not shown, text=True, check=False)  # noqa: S603
    except OSError as error:
        raise BotError(f"{command[0]} cannot be run: {error.strerror}") from error


def _must(*command: str) -> None:
    """Run a command of the service manager.

    Raises:
        BotError: it refused.
    """
    if (done := _run(*command)).returncode:
        raise BotError(f"`{shlex.join(command)}` failed: {_reason(done)}")


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """Return the first line of what a command complained of."""
    return (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").partition("\n")[0]
