"""`make update` fetches, installs, migrates, and restarts the service: real make and git, and a command that notes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

COMMAND = """\
#!/bin/sh
echo "$*" >> "$NOTES"
case "$*" in
  "service status") exit "$SERVICE" ;;
  migrate) exit "$MIGRATES" ;;
esac
"""


class Clone:
    """A clone of a project with one later commit, and an environment that is installed."""

    def __init__(self, folder: Path) -> None:
        self.origin, self.folder, self.notes = folder / "origin", folder / "clone", folder / "notes"
        self.origin.mkdir()
        for name in ("Makefile", "pyproject.toml", "requirements.txt"):
            shutil.copy(ROOT / name, self.origin / name)
        self.git("init", "-q", "-b", "main", ".", at=self.origin)
        self.commit("first")
        self.git("clone", "-q", str(self.origin), str(self.folder), at=folder)
        self.commit("second")
        programs = self.folder / ".venv" / "bin"
        programs.mkdir(parents=True)
        (programs / "python").write_text("#!/bin/sh\nexit 0\n")
        (programs / "elefante").write_text(COMMAND)
        for program in programs.iterdir():
            program.chmod(0o755)
        (self.folder / ".venv" / ".installed").touch()

    def git(self, *arguments: str, at: Path) -> None:
        author = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *author, *arguments], cwd=at, check=True, capture_output=True)

    def commit(self, word: str) -> None:
        (self.origin / "word").write_text(word)
        self.git("add", "-A", at=self.origin)
        self.git("commit", "-q", "-m", word, at=self.origin)

    def update(self, *, service: int, migrates: int = 0) -> tuple[int, str, list[str]]:
        done = subprocess.run(
            ["make", "update"],
            cwd=self.folder,
            env={
                "PATH": os.environ["PATH"], "HOME": str(self.folder), "NOTES": str(self.notes),
                "SERVICE": str(service), "MIGRATES": str(migrates), "GIT_CONFIG_GLOBAL": os.devnull,
            },
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        return done.returncode, done.stderr, self.notes.read_text().splitlines() if self.notes.exists() else []


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_a_service_that_runs_is_stopped_for_the_migration_and_started(clone: Clone) -> None:
    code, said, did = clone.update(service=0)
    assert code == 0, said
    assert (clone.folder / "word").read_text() == "second"
    assert did == ["service status", "service stop", "migrate", "service restart", "--version"]


def test_without_a_service_the_data_are_migrated(clone: Clone) -> None:
    code, said, did = clone.update(service=1)
    assert code == 0, said
    assert did == ["service status", "migrate", "--version"]


def test_a_migration_that_fails_ends_the_update_and_starts_nothing(clone: Clone) -> None:
    code, _, did = clone.update(service=0, migrates=1)
    assert code != 0
    assert did == ["service status", "service stop", "migrate"]


def test_a_clone_with_commits_of_its_own_is_left_as_it_is(clone: Clone) -> None:
    (clone.folder / "mine").write_text("mine")
    clone.git("add", "mine", at=clone.folder)
    clone.git("commit", "-q", "-m", "mine", at=clone.folder)
    code, _, did = clone.update(service=0)
    assert code != 0
    assert did == []


def test_an_unpacked_archive_is_installed_as_it_is(clone: Clone) -> None:
    shutil.rmtree(clone.folder / ".git")
    code, said, did = clone.update(service=1)
    assert code == 0, said
    assert "unpack the new version over this folder first" in said
    assert did[-2:] == ["migrate", "--version"]
