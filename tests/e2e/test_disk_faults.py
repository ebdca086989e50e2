"""A disk that takes no more, and a file that may not be written: a real process says so in a sentence."""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.command import ROOT, execute

AS = ("as", "telegram:1")
LIMIT_BYTES = 40_000  # what SQLite shares between processes fits, a log of several pages does not
_PR_CAPBSET_DROP = 24


def call(folder: Path, *arguments: str, said: str = "", before: Callable[[], None] | None = None) -> tuple[int, str]:
    """Run a verb and return its exit code and all that it printed."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "DATA_DIR": str(folder / "data"),
        "PYTHONPATH": str(ROOT), "LANG": "en_US.UTF-8", "ELEFANTE_ENV": os.devnull,
    }  # fmt: skip
    done = execute(arguments, folder, environment, said, before=before, anew=before is be_nobody_special)
    return done.returncode, done.stdout + done.stderr


def let_files_grow_no_further() -> None:
    """Refuse to write past so many bytes of any file, as a full disk would."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT_BYTES, LIMIT_BYTES))


def be_nobody_special() -> None:
    """Let the modes of files count for root, too, from the next exec on."""
    libc = ctypes.CDLL(None)
    for capability in range(41):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


def test_a_disk_that_is_full_while_something_is_saved_is_a_sentence_and_nothing_is_half_written(tmp_path: Path) -> None:
    code, said = call(tmp_path, *AS, "/remember My dog is called Rex")
    assert code == 0, said
    code, said = call(tmp_path, *AS, f"/remember {'x' * 30_000}", before=let_files_grow_no_further)
    assert code == 1
    assert "Traceback" not in said
    assert "disk" in said
    assert "room" in said
    assert len(said.strip().splitlines()) == 1
    code, said = call(tmp_path, "as", "telegram:1", "/memories")
    assert code == 0
    assert "Rex" in said
    assert "xxx" not in said


@pytest.mark.parametrize("verb", [("chat",), ("as", "telegram:1", "/memories")])
def test_a_disk_that_is_full_at_the_first_start_is_a_sentence(tmp_path: Path, verb: tuple[str, ...]) -> None:
    code, said = call(tmp_path, *verb, said="hello\n", before=let_files_grow_no_further)
    assert code == 1
    assert "Traceback" not in said
    assert "disk" in said


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
@pytest.mark.parametrize("verb", [("chat",), ("as", "telegram:1", "/memories")])
def test_a_file_that_is_somebody_elses_is_a_sentence(tmp_path: Path, verb: tuple[str, ...]) -> None:
    assert call(tmp_path, *AS, "/remember My dog is called Rex")[0] == 0
    file = tmp_path / "data" / "elefante.db"
    file.chmod(0o444)
    os.chown(file, 12345, 12345)
    code, said = call(tmp_path, *verb, said="hello\n", before=be_nobody_special)
    assert code == 1
    assert "Traceback" not in said
    assert "cannot be written" in said
