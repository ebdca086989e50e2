"""`elefante update --try`: a real clone, a newer version with another schema, and data that stay as they are."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bot.cli.update import rehearse, render
from bot.settings.settings import load
from core.errors import DiskFull, StorageError
from core.storage.sqlite_migrations import MIGRATIONS
from tests.architecture.tree import ROOT
from tests.e2e.command import Elefante

NEWER = """
MIGRATIONS += ((
    "ALTER TABLE threads ADD COLUMN colour TEXT NOT NULL DEFAULT ''", "CREATE TABLE colours (name TEXT)",
    "DELETE FROM reminders",
),)
"""


def fill(folder: Path) -> None:
    """Have something remembered, a file kept, and a reminder, in the data of that folder."""
    (folder / "plan.txt").write_text("The garden gate is behind the shed.")
    said = f"/attach {folder / 'plan.txt'} remember this plan\n"
    done = Elefante(folder)("chat", said=said, ELEFANTE_ENV=str(folder / ".env"), LANG="en_US.UTF-8")
    assert "📎 plan.txt" in done.stdout, done.stderr
    for command in ("/remember the gate code is 4417", "/remind tomorrow at 9 call home"):
        done = Elefante(folder)("as", "me", command, ELEFANTE_ENV=str(folder / ".env"), LANG="en_US.UTF-8")
        assert done.returncode == 0, done.stderr


class Clone:
    """A clone of this project with data, and the repository that it came from."""

    def __init__(self, folder: Path) -> None:
        self.origin, self.folder = folder / "origin", folder / "clone"
        self.folder.mkdir()
        for name in ("bot", "core", "adapters"):  # with what Python compiled of them
            shutil.copytree(ROOT / name, self.folder / name)
        for name in ("Makefile", "pyproject.toml", "requirements.txt"):
            shutil.copy(ROOT / name, self.folder / name)
        (self.folder / ".gitignore").write_text("__pycache__\n.env\ndata\n")
        self.git("init", "-q", "-b", "main", ".", at=self.folder)
        self.commit(self.folder)
        self.git("clone", "-q", str(self.folder), str(self.origin), at=folder)
        self.git("remote", "add", "origin", str(self.origin), at=self.folder)
        self.git("fetch", "-q", "origin", at=self.folder)
        self.git("branch", "-q", "--set-upstream-to=origin/main", at=self.folder)
        (self.folder / ".env").write_text("DATA_DIR=data\nLANGUAGE=en\nMAX_STEPZ=3\nCONSOLE_USER=ana\n")
        fill(self.folder)

    def git(self, *arguments: str, at: Path) -> None:
        author = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *author, *arguments], cwd=at, check=True, capture_output=True)

    def commit(self, folder: Path) -> None:
        self.git("add", "-A", at=folder)
        self.git("commit", "-q", "-m", "newer", at=folder)

    def newer(self, file: str, text: str) -> None:
        """Have the repository hold a newer version: that text at the end of a file."""
        with (self.origin / file).open("a", encoding="utf-8") as opened:
            opened.write(text)
        self.commit(self.origin)

    def __call__(self, *arguments: str) -> tuple[int, str]:
        env = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "PYTHONPATH": str(self.folder)}
        done = subprocess.run(
            [sys.executable, "-m", "bot", *arguments],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def files(self) -> dict[str, bytes]:
        """All that is not git's, and no log."""
        found = [path for path in self.folder.rglob("*") if path.is_file() and ".git/" not in str(path)]
        return {
            str(path.relative_to(self.folder)): path.read_bytes()
            for path in found
            if path.suffix not in {".log", ".pyc"} and not path.name.endswith(("-wal", "-shm"))
        }


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


@pytest.mark.long
def test_a_newer_schema_is_tried_on_a_copy_and_told_with_its_time_while_nothing_changes(clone: Clone) -> None:
    clone.newer("core/storage/sqlite_migrations.py", NEWER)
    before = clone.files()
    code, said = clone("update", "--try")
    assert code == 0, said
    assert ", 1 commit newer" in said
    [data] = [line for line in said.splitlines() if line.startswith("ok    data: schema ")]
    assert " becomes " in data
    assert " s (" in data
    assert "      new table colours\n" in said
    assert "      reminders: 1 rows become 0\n" in said
    assert "      threads: +colour\n" in said
    assert "note  settings: MAX_STEPZ in" in said
    assert said.endswith("That was a copy: nothing of yours was changed. `make update` does it.\n")
    assert clone.files() == before


@pytest.mark.long
def test_a_version_whose_migration_fails_is_found_out_before_it_is_installed(clone: Clone) -> None:
    clone.newer("core/storage/sqlite_migrations.py", '\nMIGRATIONS += (("ALTER TABLE nowhere ADD COLUMN x TEXT",),)\n')
    before = clone.files()
    code, said = clone("update", "--try")
    assert code == 1
    assert "FAIL  schema " in said
    assert "Nothing of yours was changed: stay with this version." in said
    told = json.loads(clone("update", "--try", "--json")[1])
    assert (told["ok"], told["commits"]) == (False, 1)
    assert clone.files() == before


@pytest.mark.long
def test_without_git_the_program_that_was_unpacked_here_is_tried(tmp_path: Path) -> None:
    for name in ("bot", "core", "adapters", "pyproject.toml"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".env").write_text("LANGUAGE=en\n")
    fill(tmp_path)
    before = {path.name for path in (tmp_path / "data").iterdir()}
    (tmp_path / "data" / "update-try-killed" / "data").mkdir(parents=True)
    report = rehearse(load(tmp_path / ".env", data_dir=tmp_path / "data"), tmp_path)
    assert report["ok"], report
    assert (report["before"], report["after"]) == (len(MIGRATIONS), len(MIGRATIONS))
    assert "nothing newer" in render(report)
    assert f"schema {len(MIGRATIONS)} stays, nothing is migrated" in render(report)
    assert {path.name for path in (tmp_path / "data").iterdir()} == before


def test_what_cannot_be_tried_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(StorageError, match="nothing to migrate yet"):
        rehearse(load(None, data_dir=tmp_path), ROOT)
    with pytest.raises(StorageError, match="pg_dump and pg_restore"):
        rehearse(load(None, data_dir=tmp_path, storage_url="postgresql://a@b/c"), ROOT)
    (tmp_path / "elefante.db").write_bytes(b"x")
    monkeypatch.setattr("bot.cli.update.ensure_room", _full)
    with pytest.raises(DiskFull):
        rehearse(load(None, data_dir=tmp_path), ROOT)


def _full(*_: object) -> None:
    raise DiskFull("no room")
