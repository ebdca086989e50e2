"""The commands of docs/operating.md, as a reader would type them: in a home of their own, from the project's folder."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from bot.cli.main import app
from bot.cli.service import app as service_app
from tests.architecture.tree import ROOT
from tests.e2e.command import Elefante
from tests.fakes.service_manager import Machine

PAGE = (ROOT / "docs" / "operating.md").read_text("utf-8")
BLOCKS = re.findall(r"^```sh run\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.long
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: " ".join(block.split()[:3]))
def test_the_commands_do_what_they_say(block: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    command = machine.home / "bin" / "elefante"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m bot "$@"\n')
    command.chmod(0o755)
    done = subprocess.run(
        ["sh", "-ex"], input=block, cwd=machine.home, env=Elefante(machine.home).environment(**machine.environment()),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_every_verb_that_the_page_names_exists() -> None:
    command, service = typer.main.get_group(app), typer.main.get_group(service_app)
    verbs = {name for name in re.findall(r"\belefante ([a-z]+)(?=[ `])", PAGE) if name != "elefante"}
    assert verbs
    assert verbs <= set(command.commands)
    assert set(re.findall(r"\belefante service ([a-z]+)", PAGE)) <= set(service.commands)
