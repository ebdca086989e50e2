"""Every verb of the command line, in this process: what it prints, for people and for programs, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import metadata
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TextIO

import pytest
import typer.main
from typer.testing import CliRunner, Result

from bot.cli import shell
from bot.cli.main import app, main
from bot.settings.settings import load
from core.errors import BotError, ConfigError, StorageError
from core.storage.history import SqlHistory
from core.storage.sqlite import open_database
from core.threads import Summary
from core.types import ChatKey, ConversationKey, MemoryKind, Message, MessageRole, Modal, UserKey
from tests.fakes.clock import START

Elefante = Callable[..., Result]
ANA = UserKey("console", "ana")


@pytest.fixture
def elefante(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Elefante:
    """Run the command with its data in a folder of its own; an error is raised as it is."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CONSOLE_USER", "ana")
    monkeypatch.setenv("TIMEZONE", "America/New_York")
    monkeypatch.setattr("bot.cli.shell.logs.configure", lambda *_: None)  # it would take the place of pytest's own
    runner = CliRunner()

    def run(*arguments: str, said: str = "") -> Result:
        return runner.invoke(app, arguments, input=said, catch_exceptions=False)

    return run


class Terminal:
    """`sys`, with somebody at the keyboard."""

    stdin = SimpleNamespace(isatty=lambda: True)

    @property
    def stdout(self) -> TextIO:
        return sys.stdout


def document(result: Result) -> Any:
    assert result.exit_code == 0
    return json.loads(result.stdout)


def remembered() -> int:
    """Return how many memories everybody has together."""
    with closing(sqlite3.connect(load(env_file=None).database_path)) as database:
        return int(database.execute("SELECT count(*) FROM memories").fetchone()[0])


def talked(text: str) -> str:
    """Let Ana have talked once, in a conversation with a summary, and return the id of its thread."""

    async def talk() -> str:
        settings = load(env_file=None)
        settings.data_dir.mkdir(exist_ok=True)
        database = await open_database(settings.database_path)
        history = SqlHistory(database)
        thread = await history.open_thread(ConversationKey(ChatKey("console", "main"), ANA), START)
        memory = {"id": "m", "type": MemoryKind.TEXT.value, "content": "zebra"}
        for message in (Message(MessageRole.USER, text, at=START), Message(MessageRole.SYSTEM, memory, Modal.MEMORY)):
            await history.append(thread.id, message)
        await history.fold(thread.id, Summary("she greeted", 1, 0, 3, START, "a:1"))
        await database.close()
        return thread.id

    return asyncio.run(talk())


# --- commands of the chat ---------------------------------------------------------------------------------------------


def test_commands_of_the_chat_are_given_for_a_person(elefante: Elefante, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    saved = document(elefante("as", "me", "/remember the wifi password is abc123", "--json"))
    [answer] = saved["answers"]
    assert (saved["user"], "Saved: “the wifi password is abc123”" in answer["text"]) == ("console:ana", True)
    [undo] = [each["command"] for each in answer["buttons"] if each["command"].startswith("/undo")]
    [answer] = document(elefante("as", "console:ana", "/memories wifi", "--json"))["answers"]
    assert "abc123" in answer["text"]
    [show, *_] = answer["buttons"]
    assert "abc123" in elefante("as", "me", show["command"]).stdout
    assert "abc123" not in elefante("as", "telegram:9", "/memories").stdout
    elefante("as", "me", undo)
    assert remembered() == 0
    assert "water the plants" in elefante("as", "me", "/remind water the plants every Friday at 18:00").stdout
    assert "water the plants" in elefante("as", "me", "/reminders").stdout
    assert "MemorySave" in elefante("as", "me", "/admin actions disable MemorySave").stdout
    assert "off: MemorySave" in elefante("as", "me", "/admin actions").stdout
    assert "MemorySave" not in elefante("as", "telegram:9", "/admin actions").stdout, "they are no owner"
    code = elefante("as", "me", "/forget all").stdout.split("/forget all ")[1].split()[0]
    assert "/forget" not in elefante("as", "me", f"/forget all {code}").stdout
    assert "water the plants" not in elefante("as", "me", "/reminders").stdout


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("as", "ana", "/memories"), "write PLATFORM:ID"),
        (("as", "me", "hello"), "is no command"),
        (("users", "role", "telegram:1", "king"), "there is no role 'king'"),
        (("users", "allow", "ana"), "write PLATFORM:ID"),
        (("usage", "--by", "colour"), "there is no 'colour'"),
    ],
)
def test_what_is_wrong_with_a_call_is_told_with_what_to_write(
    elefante: Elefante, arguments: tuple[str, ...], advice: str
) -> None:
    with pytest.raises(ConfigError, match=advice):
        elefante(*arguments)


# --- all of a person, all of the data --------------------------------------------------------------------------------


def test_a_person_is_taken_out_into_a_file_named_by_the_time_and_then_forgotten(
    elefante: Elefante, tmp_path: Path
) -> None:
    talked("hello")
    elefante("as", "telegram:5", "/remember abc123")
    assert "memories 0, threads 1, messages 2" in elefante("export").stdout
    told = elefante("export", "--user", "telegram:5").stdout
    assert "memories 1, threads 1" in told
    name = told.partition("  ")[0]
    assert json.loads((tmp_path / name).read_text("utf-8"))["format"] == "elefante-export"
    with pytest.raises(StorageError, match="there already"):
        elefante("export", name)
    assert elefante("forget", "--yes").stdout == "Done: everything is forgotten.\n"
    assert "hello" not in elefante("export", "after.json").stdout
    copy = document(elefante("backup", "--json"))["file"]
    told = elefante("forget", "--user", "telegram:5", "--yes").stdout
    assert told.splitlines()[1:] == ["Copies of before may still hold it; delete them:", f"  {copy}"]


def test_a_backup_is_made_listed_and_put_back_and_the_oldest_goes(
    elefante: Elefante, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StorageError, match="nothing to copy"):
        elefante("backup")
    elefante("as", "me", "/remember abc123")
    assert elefante("backup", "--list").stdout.startswith("There is no backup in ")
    assert elefante("backup", "mine.zip").stdout.startswith("mine.zip  ")
    monkeypatch.setenv("BACKUPS_KEPT", "1")
    old = document(elefante("backup", "--json"))["file"]
    assert elefante("backup").stdout.endswith(f", verified\nremoved {old}\n")
    assert elefante("backup", "--list").stdout.count(" MB  ") == 1
    elefante("forget", "--yes")
    assert "What was there before is kept as " in elefante("restore", "mine.zip", "--yes").stdout
    assert remembered() == 1


def test_what_cannot_be_taken_back_is_asked_first_of_whoever_is_there(
    elefante: Elefante, monkeypatch: pytest.MonkeyPatch
) -> None:
    elefante("as", "me", "/remember abc123")
    monkeypatch.setattr(shell, "sys", Terminal())
    with pytest.raises(BotError, match="nothing was changed"):
        elefante("forget", said="n\n")
    asked = elefante("forget", said="y\n")
    assert "Delete 1 memories, 0 reminders and 1 conversations of console:ana for good? [y/N]" in asked.stderr
    assert remembered() == 0


def test_what_was_spent_and_what_was_embedded_is_told(elefante: Elefante) -> None:
    assert elefante("usage", "--days", "1").stdout.startswith("No model was asked since ")
    elefante("as", "me", "/remember abc123")
    assert elefante("reindex").stdout.startswith("0 phrases of 1 people embedded; all are in ")


# --- people -----------------------------------------------------------------------------------------------------------


def test_people_are_let_in_raised_blocked_and_turned_away(elefante: Elefante) -> None:
    assert elefante("users", "list").stdout.startswith("Nobody has a role")
    assert elefante("users", "allow", "telegram:1").stdout == "telegram:1: - → member\n"
    assert elefante("users", "role", "telegram:1", "owner").stdout == "telegram:1: member → owner\n"
    assert elefante("users", "allow", "telegram:1").stdout == "telegram:1: owner → owner\n"
    with pytest.raises(BotError, match="without an owner"):
        elefante("users", "deny", "telegram:1")
    elefante("users", "block", "telegram:2")
    elefante("forget", "--user", "telegram:2", "--yes")
    assert "blocked  telegram:2\n" in elefante("users", "list").stdout, "who is forgotten stays out"
    assert elefante("users", "deny", "telegram:2").stdout == "telegram:2: blocked → -\n"
    listed = document(elefante("users", "list", "--json"))["users"]
    assert [(each["user"], each["role"]) for each in listed] == [("telegram:1", "owner")]
    record = elefante("as", "me", "/admin changes").stdout
    assert "`console:ana`" in record
    assert "`telegram:1`" in record


# --- the bot ---------------------------------------------------------------------------------------------------------


def test_a_message_is_thought_through_and_health_is_told(elefante: Elefante) -> None:
    assert document(elefante("think", "hello", "--json"))
    report = document(elefante("check", "--json"))
    names = ["settings", "storage", "sealing", "files", "embedder", "index", "models", "extras"]
    assert (report["ok"], [finding["name"] for finding in report["findings"]]) == (True, names)
    assert elefante("doctor").exit_code in {0, 1}
    assert elefante("chat", said="").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["as", "me", "x"], 2, "elefante: as: 'x' is no command"),
        (["backup"], 1, "elefante: there is nothing to copy yet"),
    ],
)
@pytest.mark.usefixtures("elefante")
def test_what_went_wrong_is_one_line_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["elefante", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == code
    assert capsys.readouterr().err.splitlines()[-1].startswith(said)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["as", "me", "x", "--json"], 2, "as: 'x' is no command"),
        (["backup", "--json"], 1, "there is nothing to copy yet"),
        (["usage", "--json", "--colour", "red"], 2, "No such option: --colour"),
        (["think", "--json"], 2, "Missing parameter: texts"),
        (["forget", "--json", "--user", "ana"], 2, "--user: 'ana' is not a person"),
        (["frobnicate", "--json"], 2, "No such command 'frobnicate'"),
        (["--json", "stauts"], 2, "No such option: --json"),
        (["users", "frobnicate", "--json"], 2, "No such command 'frobnicate'"),
        (["service", "frobnicate", "--json"], 2, "No such command 'frobnicate'"),
        (["chat", "--json"], 2, "No such option: --json"),
    ],
)
@pytest.mark.usefixtures("elefante")
def test_with_json_an_error_is_one_document_and_keeps_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["elefante", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == code
    printed = capsys.readouterr()
    assert json.loads(printed.out)["error"].startswith(said)
    assert printed.err.splitlines()[-1].startswith(f"elefante: {said}")


@pytest.mark.usefixtures("elefante")
def test_a_bug_is_a_json_document_too_and_a_done_verb_ends_with_0(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setattr(sys, "argv", ["elefante", "as", "me", "/memories", "--json"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code in {0, None}
    assert json.loads(capsys.readouterr().out)["command"] == "/memories"
    sys.excepthook(ZeroDivisionError, ZeroDivisionError("secret"), None)
    assert "ZeroDivisionError" in json.loads(capsys.readouterr().out)["error"]
    monkeypatch.setattr(sys, "argv", ["elefante", "think", "--", "--json"])  # a text, no option
    sys.excepthook(ZeroDivisionError, ZeroDivisionError("secret"), None)
    assert capsys.readouterr().out == ""


def verbs(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in getattr(group, "commands", {}).items():
        yield (*path, name), command
        yield from verbs(command, (*path, name))


@pytest.mark.parametrize(("path", "command"), list(verbs(typer.main.get_command(app))), ids=str)
def test_every_verb_has_an_example_of_itself(elefante: Elefante, path: tuple[str, ...], command: Any) -> None:
    shown = elefante(*path, "--help")
    assert shown.exit_code == 0
    [example] = re.findall(r"Example: (.*?)\n\n", shown.stdout, re.DOTALL)
    _, _, words = " ".join(example.split()).partition("elefante ")
    given = list(takewhile(lambda word: word != ">", shlex.split(words)))
    assert tuple(given[: len(path)]) == path
    while hasattr(command, "commands"):  # the example of `users` is one of a verb of it
        path = (*path, given[len(path)])
        command = command.commands[path[-1]]
    command.make_context(path[-1], given[len(path) :])  # raises what is wrong with the call


def test_the_version_is_told(elefante: Elefante) -> None:
    assert elefante("--version").stdout == f"elefante {metadata.version('elefante')}\n"


def test_interrupted_it_leaves_as_shells_expect(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bot.cli.main.app", interrupted)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 130
