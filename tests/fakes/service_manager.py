"""A machine whose systemd and launchd are stand-ins that write down what they are told."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.command import Elefante

TOKEN = "TELEGRAM_TOKEN=123456:abcdefghijklmnopqrstuvwxyz012345678\n"
RECORD = """#!/bin/sh
cd "$HOME" || exit 9
echo "${0##*/} $*" >> calls
"""
SYSTEMCTL = """case "$*" in
  "--user show --property=Version") [ ! -e silent ] || { cat silent >&2; exit 1; };;
  "--user is-active elefante.service") [ -e running ];;
  "--user restart elefante.service") [ ! -e broken ] || { cat broken >&2; exit 1; }; touch running;;
  "--user disable --now elefante.service" | "--user stop elefante.service") rm -f running;;
  "--user status "*) echo "Active: $([ -e running ] && echo active || echo failed)";;
esac
"""
LOGINCTL = """case "$*" in
  show-user*) [ -e linger ] && echo yes || echo no;;
  enable-linger) [ ! -e refused ] || { echo "Access denied" >&2; exit 1; }; touch linger;;
esac
"""
JOURNALCTL = "echo 'elefante: On Telegram as @bot'\n"
LAUNCHCTL = """case "$*" in
  "print gui/"*/elefante) [ -e running ] && echo "state = running" || exit 113;;
  bootout*) rm running 2>/dev/null || exit 3;;
  bootstrap*) touch running;;
  print*) [ ! -e silent ] || { cat silent >&2; exit 1; };;
esac
"""


@dataclass(frozen=True)
class Machine:
    """A machine of one user: their home, with what systemd or launchd was told in `calls`."""

    home: Path

    def __post_init__(self) -> None:
        (self.home / "bin").mkdir()
        (self.home / ".env").write_text(TOKEN)
        (self.home / "calls").touch()
        for name, script in {
            "systemctl": SYSTEMCTL, "loginctl": LOGINCTL, "journalctl": JOURNALCTL, "launchctl": LAUNCHCTL,
        }.items():  # fmt: skip
            (self.home / "bin" / name).write_text(RECORD + script)
            (self.home / "bin" / name).chmod(0o755)

    def environment(self, **more: str) -> dict[str, str]:
        path = f"{self.home / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {"PATH": path, "ELEFANTE_ENV": str(self.home / ".env"), **more}

    def __call__(self, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return Elefante(self.home)("service", *arguments, **self.environment(**more))

    def calls(self) -> list[str]:
        """What was called since the last time."""
        calls = (self.home / "calls").read_text().splitlines()
        (self.home / "calls").write_text("")
        return calls

    def file(self) -> Path:
        return self.home / ".config" / "systemd" / "user" / "elefante.service"
