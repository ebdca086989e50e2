"""Backups, exports, people and actions from the shell, as real processes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.command import Elefante, document
from tests.fakes.canaries import content
from tests.fakes.export_file import ExportFile

IMPORTS = Path(__file__).parents[1] / "data" / "imports"
SAID = "Lembre que a senha do cofre é zebra77\n"


@pytest.fixture
def elefante(tmp_path: Path) -> Elefante:
    return Elefante(tmp_path)


def holds(folder: Path, needle: str) -> list[str]:
    """The files in which the words stand, packed or not."""
    return [path.name for path in folder.rglob("*") if path.is_file() and needle.encode() in content(path)]


@pytest.mark.long
def test_a_backup_is_made_while_the_bot_runs_and_put_back_only_when_it_does_not(
    elefante: Elefante, tmp_path: Path
) -> None:
    elefante("chat", said=SAID)
    with subprocess.Popen(
        [sys.executable, "-m", "bot", "chat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=elefante.environment(),
        cwd=tmp_path,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(b"/memories\n")
        running.stdin.flush()
        assert running.stdout.readline()
        assert "elefante.db is sound; people with memories: 1" in elefante("check").stdout
        made = document(elefante("backup", "--json"))
        named = document(elefante("backup", "mine.zip", "--json"))
        refused = elefante("restore", made["file"], "--yes")
        running.stdin.close()
        running.stdout.read()
    assert refused.returncode == 1
    assert f"`elefante chat` (process {running.pid}) has the database open: stop it first" in refused.stderr
    assert Path(made["file"]).parent == tmp_path / "data" / "backups"
    assert named["file"] == "mine.zip"
    assert [each["file"] for each in document(elefante("backup", "--list", "--json"))["backups"]] == [made["file"]]
    document(elefante("forget", "--yes", "--json"))
    assert len(elefante.memories()) == 0
    restored = document(elefante("restore", "mine.zip", "--yes", "--json"))
    assert [Path(each).suffix for each in restored["aside"] if Path(each).exists()] == [".db"]
    assert len(elefante.memories()) == 1


@pytest.mark.long
def test_a_person_is_taken_out_and_taken_in_again_by_somebody_else(elefante: Elefante, tmp_path: Path) -> None:
    elefante("chat", said=SAID)
    told = document(elefante("export", "ana.json", "--json"))
    assert (told["user"], told["memories"], told["threads"]) == ("console:ana", 1, 1)
    file = ExportFile.model_validate_json((tmp_path / "ana.json").read_text("utf-8"))
    assert "zebra77" in file.memories[0].content
    assert (tmp_path / "ana.json").stat().st_mode & 0o777 == 0o600
    assert elefante("export", "ana.json").returncode == 1
    elsewhere = {"DATA_DIR": str(tmp_path / "elsewhere")}
    shown = elefante("chat", said="/import ana.json\n/a\n/a\n", LANG="en_US.UTF-8", **elsewhere).stdout
    assert "The file holds 1 memory." in shown
    assert "Saved 1 new memory." in shown
    assert len(elefante.memories("elsewhere")) == 1
    handed = elefante("chat", said="/export\n", **elsewhere).stdout
    [name] = re.findall(r"📄 ~/elsewhere/exports/(\S+)", handed)
    assert ExportFile.model_validate_json((tmp_path / "elsewhere" / "exports" / name).read_text("utf-8")).memories


@pytest.mark.long
def test_a_list_that_is_sent_in_the_terminal_waits_for_a_yes_through_a_restart_and_is_taken_back_whole(
    elefante: Elefante, tmp_path: Path
) -> None:
    (tmp_path / "notes.md").write_bytes((IMPORTS / "notes.md").read_bytes())
    english = {"LANG": "en_US.UTF-8"}
    shown = elefante("chat", said="/import notes.md\n", **english).stdout
    assert "The file holds 7 memories." in shown
    assert "My brother's birthday is 3 May" in shown
    [code] = re.findall(r"/import ([A-Z]{4})", shown)
    assert len(elefante.memories()) == 0
    assert "Saved 7 new memories." in elefante("chat", said=f"/import {code}\n", **english).stdout
    assert len(elefante.memories()) == 7
    elefante("chat", said="/undo\n", **english)
    assert len(elefante.memories()) == 0
    assert "✖ Cancel" in elefante("chat", said="/import notes.md\n/b\n", **english).stdout
    assert len(elefante.memories()) == 0


@pytest.mark.long
def test_the_shell_takes_in_a_list_after_a_yes_and_takes_it_back(elefante: Elefante, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("[2025-01-01]. User is allergic to prawns.\n", "utf-8")
    asked = elefante("import", "list.txt")
    assert asked.returncode == 2
    assert "allergic to prawns.\nSave 1 memories, 0 of them known already, for console:ana" in asked.stderr
    done = document(elefante("import", "list.txt", "--yes", "--json"))
    assert (done["saved"], done["known"]) == (1, 0)
    assert elefante.memories() == ["[2025-01-01]. User is allergic to prawns."]
    assert "2025-01-01" in elefante("as", "me", "/memories").stdout
    assert document(elefante("import", "list.txt", "--yes", "--json"))["known"] == 1
    assert elefante("import", "--undo", done["act"]).stdout == "Taken back: 1 memories.\n"
    assert len(elefante.memories()) == 0
    again = elefante("import", "--undo", done["act"])
    assert (again.returncode, "taken back before" in again.stderr) == (2, True)
    assert elefante("import").returncode == 2
    (tmp_path / "bad.json").write_bytes(b"[1,")
    refused = elefante("import", "bad.json", "--yes")
    assert (refused.returncode, "neither a text nor JSON" in refused.stderr) == (1, True)
    assert elefante("import", "nowhere.txt", "--yes").returncode == 1


@pytest.mark.long
@pytest.mark.spec("T12", "T15")
def test_no_byte_of_a_person_who_was_forgotten_from_the_shell_is_left_but_in_copies_that_are_named(
    elefante: Elefante, tmp_path: Path
) -> None:
    elefante("chat", said=SAID)
    elefante("as", "telegram:7770123", "/remember zebra78")
    assert holds(tmp_path / "data", "zebra77")
    copy = document(elefante("backup", "--json"))["file"]
    unasked = elefante("forget")
    assert unasked.returncode == 2
    assert "Delete 1 memories, 0 reminders and 1 conversations of console:ana" in unasked.stderr
    assert holds(tmp_path / "data", "zebra77") != [Path(copy).name]
    done = elefante("forget", "--yes")
    assert copy in done.stdout
    assert holds(tmp_path / "data", "zebra77") == [Path(copy).name]
    assert elefante("forget", "--user", "telegram:7770123", "--yes").returncode == 0
    assert holds(tmp_path / "data", "zebra78") == holds(tmp_path / "data", "7770123") == [Path(copy).name]
