"""Every verb of the command line, in this process: what it prints, for people and for programs, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterator
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


# --- reminders -------------------------------------------------------------------------------------------------------


def test_reminders_are_set_listed_written_for_a_calendar_and_deleted(elefante: Elefante, tmp_path: Path) -> None:
    assert elefante("reminders", "list").stdout == "console:ana has no reminder.\n"
    plants = elefante("reminders", "add", "water the plants every Friday at 18:00").stdout
    assert re.fullmatch(
        r"\w{10}  \d{4}-\d\d-\d\d 18:00 America/New_York  FREQ=WEEKLY;BYDAY=FR\n  water the plants\n", plants
    )
    [rent] = document(elefante("reminders", "add", "Remind me to pay the rent tomorrow at 09:30", "--json"))[
        "reminders"
    ]
    assert (rent["text"], rent["user"], rent["chat"], rent["state"]) == (
        "pay the rent",
        "console:ana",
        "terminal",
        "waiting",
    )
    assert len(document(elefante("reminders", "list", "--json"))["reminders"]) == 2
    assert elefante("reminders", "list", "--user", "telegram:9").stdout == "telegram:9 has no reminder.\n"
    assert elefante("reminders", "export", "mine.ics").stdout == "mine.ics  (reminders 2)\n"
    assert (tmp_path / "mine.ics").read_bytes().startswith(b"BEGIN:VCALENDAR")
    with pytest.raises(StorageError, match="is there already"):
        elefante("reminders", "export", "mine.ics")
    taken_out = document(elefante("export", "all.json", "--json"))
    assert (taken_out["reminders"], taken_out["calendar"]) == (2, "all.ics")
    assert b"water the plants" in (tmp_path / "all.ics").read_bytes()
    assert elefante("reminders", "delete", rent["id"]).stdout.endswith("  pay the rent\n")
    assert elefante("reminders", "list").stdout == plants
    [briefing] = document(elefante("reminders", "add", "every morning at 7 tell me what I have today", "--json"))[
        "reminders"
    ]
    assert (briefing["kind"], briefing["rule"]) == ("briefing", "FREQ=DAILY")
    with pytest.raises(ConfigError, match="has no reminder"):
        elefante("reminders", "delete", plants.split()[0], "--user", "telegram:9")


def test_no_more_are_set_and_no_oftener_than_the_owner_allows(
    elefante: Elefante, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BotError, match="it may repeat every 5 minutes at most"):
        elefante("reminders", "add", "drink every minute")
    monkeypatch.setenv("MAX_REMINDERS", "0")
    with pytest.raises(BotError, match="as many reminders as MAX_REMINDERS allows: 0"):
        elefante("reminders", "add", "pay the rent tomorrow at 09:30")


# --- memories --------------------------------------------------------------------------------------------------------


def test_memories_are_added_listed_searched_shown_exported_and_deleted(elefante: Elefante) -> None:
    assert elefante("memories", "list").stdout == "console:ana has no memory.\n"
    [memory] = document(elefante("memories", "add", "abc123", "-b", "wifi password", "--json"))["memories"]
    elefante("memories", "add", '{"a": 1}', "-b", "settings")
    listed = elefante("memories", "list", "--limit", "1").stdout
    assert listed.endswith("  found by: settings\n(1 of 2)\n")
    assert " by “wifi password”" in elefante("memories", "search", "wifi password").stdout
    assert elefante("memories", "search", "wifi", "--user", "telegram:9").stdout == "telegram:9 has no such memory.\n"
    assert "abc123" in elefante("memories", "show", memory["id"]).stdout
    exported = [json.loads(line) for line in elefante("memories", "export").stdout.splitlines()]
    assert [each["type"] for each in exported] == ["json", "text"]
    assert "abc123" in elefante("memories", "delete", memory["id"]).stdout
    assert document(elefante("memories", "list", "--json"))["total"] == 1


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("memories", "add", " ", "-b", "x"), "at least one --binding"),
        (("memories", "show", "nothing"), "has no memory 'nothing'"),
        (("memories", "delete", "nothing"), "has none of these"),
        (("memories", "list", "--user", "ana"), "write PLATFORM:ID"),
        (("reminders", "delete", "nothing"), "console:ana has no reminder 'nothing'"),
        (("reminders", "add", "pay the rent"), "no time in it that I understand"),
        (("reminders", "add", "tomorrow at 9:30"), "write what to be reminded of"),
        (("reminders", "add", "pay the rent on 3 January 2020 at 9:00"), "has passed; write a time ahead"),
        (("reminders", "add", "leave an hour before my flight"), "Write the time itself"),
        (("reminders", "add", "pay the rent next Friday at 5"), "write which"),
        (("reminders", "export", "x.ics"), "console:ana has no reminder that is still to come"),
        (("threads", "show", "nothing"), "has no thread 'nothing'"),
        (("threads", "policy", "nothing", "king"), "write usual or one of"),
        (("threads", "import", "nothing.jsonl"), "cannot be read"),
        (("users", "role", "telegram:1", "king"), "there is no role 'king'"),
        (("actions", "disable", "Finish"), "cannot be turned off"),
        (("actions", "disable", "Dance"), "there is no action 'Dance'"),
        (("usage", "--by", "colour"), "there is no 'colour'"),
    ],
)
def test_what_is_wrong_with_a_call_is_told_with_what_to_write(
    elefante: Elefante, arguments: tuple[str, ...], advice: str
) -> None:
    with pytest.raises(ConfigError, match=advice):
        elefante(*arguments)


# --- threads ---------------------------------------------------------------------------------------------------------


def test_a_conversation_is_shown_named_put_away_and_gone_on_with(elefante: Elefante) -> None:
    assert elefante("threads", "list").stdout == "console:ana has no conversation.\n"
    thread = talked("hello there")
    assert "2 messages  console:main" in elefante("threads", "list").stdout
    shown = elefante("threads", "show", thread).stdout
    assert "tokens: " in shown
    assert shown.endswith("    1 user: hello there\n    2 memory: zebra\n")
    elefante("threads", "policy", thread, "summary")
    assert "\nsummary: she greeted\n" in elefante("threads", "show", thread).stdout
    assert elefante("threads", "rename", thread, "Trips").stdout.endswith("  Trips\n")
    for policy, stored in (("summary", "summary"), ("usual", "")):
        [changed] = document(elefante("threads", "policy", thread, policy, "--json"))["threads"]
        assert changed["policy"] == stored
    assert " archived " in elefante("threads", "archive", thread).stdout
    assert " active " in elefante("threads", "switch", thread).stdout


def test_a_conversation_is_taken_out_and_taken_in_elsewhere_and_not_twice(elefante: Elefante, tmp_path: Path) -> None:
    thread = talked("hello there")
    lines = elefante("threads", "export", thread).stdout
    assert document(elefante("threads", "export", thread, "--json")) == [
        json.loads(line) for line in lines.splitlines()
    ]
    file = tmp_path / "thread.jsonl"
    file.write_text(lines, "utf-8")
    with pytest.raises(ConfigError, match="there is a thread"):
        elefante("threads", "import", str(file), "--user", "telegram:1")
    elefante("forget", "--yes")
    assert "2 messages" in elefante("threads", "import", str(file), "--user", "telegram:1").stdout
    file.write_text("no thread", "utf-8")
    with pytest.raises(ConfigError, match="no exported thread"):
        elefante("threads", "import", str(file))


# --- all of a person, all of the data --------------------------------------------------------------------------------


def test_a_person_is_taken_out_into_a_file_named_by_the_time_and_then_forgotten(
    elefante: Elefante, tmp_path: Path
) -> None:
    thread = talked("hello")
    elefante("memories", "add", "abc123", "-b", "wifi", "--user", "telegram:5")
    assert "memories 0, threads 1, messages 2" in elefante("export").stdout
    told = elefante("export", "--user", "telegram:5").stdout
    assert "memories 1, threads 0" in told
    name = told.partition("  ")[0]
    assert json.loads((tmp_path / name).read_text("utf-8"))["format"] == "elefante-export"
    with pytest.raises(StorageError, match="there already"):
        elefante("export", name)
    assert elefante("forget", "--yes").stdout == "Done: everything is forgotten.\n"
    with pytest.raises(ConfigError, match="has no thread"):
        elefante("threads", "show", thread)
    copy = document(elefante("backup", "--json"))["file"]
    told = elefante("forget", "--user", "telegram:5", "--yes").stdout
    assert told.splitlines()[1:] == ["Copies of before may still hold it; delete them:", f"  {copy}"]


def test_a_backup_is_made_listed_and_put_back_and_the_oldest_goes(
    elefante: Elefante, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StorageError, match="nothing to copy"):
        elefante("backup")
    elefante("memories", "add", "abc123", "-b", "wifi")
    assert elefante("backup", "--list").stdout.startswith("There is no backup in ")
    assert elefante("backup", "mine.zip").stdout.startswith("mine.zip  ")
    monkeypatch.setenv("BACKUPS_KEPT", "1")
    old = document(elefante("backup", "--json"))["file"]
    assert elefante("backup").stdout.endswith(f", verified\nremoved {old}\n")
    assert elefante("backup", "--list").stdout.count(" MB  ") == 1
    elefante("forget", "--yes")
    assert "What was there before is kept as " in elefante("restore", "mine.zip", "--yes").stdout
    assert document(elefante("memories", "list", "--json"))["total"] == 1


def test_what_cannot_be_taken_back_is_asked_first_of_whoever_is_there(
    elefante: Elefante, monkeypatch: pytest.MonkeyPatch
) -> None:
    elefante("memories", "add", "abc123", "-b", "wifi")
    monkeypatch.setattr(shell, "sys", Terminal())
    with pytest.raises(BotError, match="nothing was changed"):
        elefante("forget", said="n\n")
    asked = elefante("forget", said="y\n")
    assert "Delete 1 memories, 0 reminders and 0 conversations of console:ana for good? [y/N]" in asked.stderr
    assert document(elefante("memories", "list", "--json"))["total"] == 0


def test_what_was_spent_and_what_was_embedded_is_told(elefante: Elefante) -> None:
    assert elefante("usage", "--days", "1").stdout.startswith("No model was asked since ")
    elefante("memories", "add", "abc123", "-b", "wifi")
    assert elefante("reindex").stdout.startswith("0 phrases of 1 people embedded; all are in ")


# --- people and actions ----------------------------------------------------------------------------------------------


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


def test_actions_are_turned_off_and_on(elefante: Elefante) -> None:
    assert "off  MemorySave" in elefante("actions", "disable", "memorysave").stdout
    assert "off  MemorySave" in elefante("actions", "list").stdout
    assert "on   MemorySave" in elefante("actions", "enable", "MemorySave").stdout


# --- the bot ---------------------------------------------------------------------------------------------------------


def test_a_message_is_thought_through_and_health_is_told(elefante: Elefante) -> None:
    assert document(elefante("think", "hello", "--json"))
    assert document(elefante("check", "--json"))["ok"]
    assert elefante("doctor").exit_code in {0, 1}
    assert elefante("chat", said="").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["memories", "show", "x"], 2, "elefante: memories show: console:ana has no memory 'x'"),
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
        (["memories", "show", "x", "--json"], 2, "memories show: console:ana has no memory 'x'"),
        (["backup", "--json"], 1, "there is nothing to copy yet"),
        (["usage", "--json", "--colour", "red"], 2, "No such option: --colour"),
        (["think", "--json"], 2, "Missing parameter: texts"),
        (["forget", "--json", "--user", "ana"], 2, "--user: 'ana' is not a person"),
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
    monkeypatch.setattr(sys, "argv", ["elefante", "memories", "list", "--json"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code in {0, None}
    assert json.loads(capsys.readouterr().out)["memories"] == []
    sys.excepthook(ZeroDivisionError, ZeroDivisionError("secret"), None)
    assert "ZeroDivisionError" in json.loads(capsys.readouterr().out)["error"]
    monkeypatch.setattr(sys, "argv", ["elefante", "think", "--", "--json"])  # a text, no option
    sys.excepthook(ZeroDivisionError, ZeroDivisionError("secret"), None)
    assert capsys.readouterr().out == ""


def leaves(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in getattr(group, "commands", {}).items():
        yield from leaves(command, (*path, name)) if hasattr(command, "commands") else [((*path, name), command)]


@pytest.mark.parametrize(("path", "command"), list(leaves(typer.main.get_command(app))), ids=str)
def test_every_verb_has_an_example_of_itself(elefante: Elefante, path: tuple[str, ...], command: Any) -> None:
    shown = elefante(*path, "--help")
    assert shown.exit_code == 0
    [example] = re.findall(r"Example: (.*?)\n\n", shown.stdout, re.DOTALL)
    _, _, words = " ".join(example.split()).partition("elefante ")
    given = list(takewhile(lambda word: word != ">", shlex.split(words)))
    assert tuple(given[: len(path)]) == path
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
