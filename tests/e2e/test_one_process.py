"""One process serves a platform of a data folder; verbs of the shell go on working beside it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.run import serving
from bot.settings.settings import Settings
from core.errors import BotError
from tests.e2e.command import Elefante


class Shell:
    """A shell whose commands share one data folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.elefante = Elefante(folder)
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, **settings: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "bot", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=self.elefante.environment(LANG="en_US.UTF-8", **settings),
        )
        self.started.append(process)
        return process

    def call(self, *arguments: str, said: str = "", **settings: str) -> tuple[int, str, str]:
        done = self.elefante(*arguments, said=said, LANG="en_US.UTF-8", **settings)
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path)
    yield made
    for process in made.started:
        process.kill()
        process.communicate()


def ask(process: subprocess.Popen[str], text: str, answered: str) -> str:
    """Say it, and read until something of that form was answered."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()
    heard = ""
    while not re.search(answered, heard):
        line = process.stdout.readline()
        assert line, heard
        heard += line
    return heard


@pytest.mark.long
def test_a_second_chat_is_refused_by_name_and_let_in_when_the_first_was_killed(shell: Shell) -> None:
    first = shell.start("chat")
    ask(first, "Remember that the wifi password is abc123", "abc123")
    code, out, err = shell.call("chat", said="What is the wifi password?\n")
    assert (code, out) == (1, "")
    assert re.fullmatch(
        rf"elefante: `elefante chat` \(process {first.pid}, since \d\d \w+ \d\d:\d\d\) already answers the terminal "
        rf"from this folder \({re.escape(str(shell.data))}\)\. Stop it first, or use another DATA_DIR\.\n",
        err,
    )
    first.send_signal(signal.SIGKILL)
    first.wait()
    code, out, err = shell.call("chat", said="What is the wifi password?\n")
    assert code == 0, err
    assert "abc123" in out


@pytest.mark.long
def test_what_verbs_change_beside_a_bot_is_so_at_the_next_message(shell: Shell) -> None:
    bot = shell.start("chat")
    ask(bot, "Remember that the wifi password is abc123", "abc123")
    assert shell.call("as", "me", "/remember the name of the dog is Rex", "--json")[0] == 0
    assert "Rex" in ask(bot, "What is the name of the dog?", "Rex")
    assert shell.call("as", "me", "/admin actions disable MemorySave")[0] == 0
    assert "off: MemorySave" in ask(bot, "/admin actions", "MemorySave")


def test_run_is_refused_where_another_process_serves_its_platform(shell: Shell) -> None:
    shell.data.mkdir()
    with serving(Settings(data_dir=shell.data), "elefante run", ["telegram"]):
        code, out, err = shell.call("run", TELEGRAM_TOKEN="123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
        assert (code, out) == (1, "")
        assert f"`elefante run` (process {os.getpid()}, since " in err
        assert "already answers Telegram from this folder" in err
        assert not (shell.data / "elefante.db").exists(), "it touched nothing"
        assert shell.call("chat", said="hello\n")[0] == 0, "another platform is another matter"


@pytest.mark.long
def test_workers_over_one_postgresql_may_share_a_folder_and_its_terminal_is_one_process_s(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, storage_url=SecretStr("postgresql://127.0.0.1:1/nowhere"))
    with ExitStack() as held:
        for _ in range(2):
            held.enter_context(serving(settings, "elefante run", ["telegram", "discord"]))
        held.enter_context(serving(settings, "elefante chat", ["console"]))
        with pytest.raises(BotError, match="already answers the terminal"):
            held.enter_context(serving(settings, "elefante chat", ["console"]))
