"""The night on which the disk broke: a start that notices it, lines to type that work, and a restore from another disk.

Every line that is printed for an owner to type is typed here.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.command import Elefante, document
from tests.profile import long

REX, WIFI = "Remember that my dog is called Rex\n", "Remember that the wifi password is abc123\n"


@pytest.fixture
def elefante(tmp_path: Path) -> Elefante:
    return Elefante(tmp_path)


@pytest.fixture
def other_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder of another file system, to which nothing can be renamed."""
    here = tmp_path.stat().st_dev
    candidates = [Path(name) for name in ("/dev/shm", "/var/tmp", "/tmp")]  # noqa: S108
    found = [path for path in candidates if os.access(path, os.W_OK) and path.stat().st_dev != here]
    if not found:
        pytest.skip("there is no other file system to write to")
    with tempfile.TemporaryDirectory(dir=found[0]) as folder:
        yield Path(folder)


def typed(elefante: Elefante, said: str, **settings: str) -> None:
    """Type the line that was printed, and the answer to its question."""
    [line] = re.findall(r"^    elefante (restore .*)$", said, re.MULTILINE)
    done = elefante(*shlex.split(line), "--yes", **settings)
    assert done.returncode == 0, done.stderr


def remembered(elefante: Elefante, data: str = "data") -> int:
    return len(elefante.memories(data))


def held_by(backup: str, folder: Path, query: str = "SELECT count(*) FROM memories") -> int:
    """Ask the database in a backup."""
    with zipfile.ZipFile(backup) as archive, closing(sqlite3.connect(archive.extract("elefante.db", folder))) as held:
        [found] = held.execute(query).fetchone()
    return int(found)


def emptied(database: Path) -> None:
    database.write_bytes(b"")


def removed(database: Path) -> None:
    database.unlink()


def only_zeros(database: Path) -> None:
    database.write_bytes(bytes(database.stat().st_size))


def garbage(database: Path) -> None:
    database.write_bytes(os.urandom(100_000))


@pytest.mark.parametrize("lose", [removed, garbage, *map(long, (emptied, only_zeros))])
def test_a_lost_database_is_no_new_bot_and_the_line_that_is_printed_brings_it_back(
    elefante: Elefante, tmp_path: Path, other_disk: Path, lose: Callable[[Path], None]
) -> None:
    backups = {"BACKUP_DIR": str(other_disk)}
    database = tmp_path / "data" / "elefante.db"
    elefante("chat", said=REX, **backups)
    made = document(elefante("backup", "--json", **backups))["file"]
    (other_disk / "elefante-99991231-000000.zip").write_bytes(Path(made).read_bytes()[:-500])  # newer, and cut
    lose(database)
    lost = {path.name: path.read_bytes() for path in database.parent.glob("elefante.db*")}
    for verb in (("chat",), ("as", "me", "/memories"), ("check",)):
        refused = elefante(*verb, said="hello\n", **backups)
        assert refused.returncode == 1
        assert made in refused.stdout + refused.stderr
        assert "Traceback" not in refused.stderr
    typed(elefante, elefante("chat", **backups).stderr, **backups)
    assert remembered(elefante) == 1
    if any(lost.values()):
        [aside] = other_disk.glob("before-restore-*.db")
        assert aside.read_bytes() == lost["elefante.db"], "what was damaged is kept as it was"


@pytest.mark.long
def test_a_log_that_was_cut_is_noticed_and_what_it_held_comes_back(elefante: Elefante, tmp_path: Path) -> None:
    database, log = (tmp_path / "data" / name for name in ("elefante.db", "elefante.db-wal"))
    with subprocess.Popen(
        [sys.executable, "-m", "bot", "chat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=elefante.environment(),
        cwd=tmp_path,
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for said in (REX, *(f"Remember that the code of door {number} is {number}77\n" for number in range(8))):
            running.stdin.write(said.encode())
            running.stdin.flush()
            assert running.stdout.readline()
        made = document(elefante("backup", "--json"))["file"]
        running.kill()
    assert document(elefante("check", "--json"))["ok"]
    os.truncate(log, log.stat().st_size * 2 // 3)
    refused = elefante("chat", said="hello\n")
    assert "lacks what a backup holds" in refused.stderr, refused.stderr
    shutil.copytree(database.parent, tmp_path / "other")
    typed(elefante, refused.stderr)
    assert (held := remembered(elefante)) == held_by(made, tmp_path)
    other = {"DATA_DIR": str(tmp_path / "other")}  # the same night, and an owner who goes on without what is lost
    assert elefante("chat", "--anyway", said="hello\n", **other).returncode == 0
    assert elefante("chat", said=WIFI, **other).returncode == 0
    assert 1 < remembered(elefante, "other") <= held + 1


@pytest.mark.long
def test_who_deleted_all_restored_an_older_backup_or_began_anew_is_not_asked_again(
    elefante: Elefante, tmp_path: Path
) -> None:
    elefante("chat", said=REX)
    document(elefante("backup", "old.zip", "--json"))
    elefante("chat", said=WIFI)
    newest = document(elefante("backup", "--json"))["file"]
    document(elefante("forget", "--yes", "--json"))
    assert remembered(elefante) == 0
    document(elefante("restore", "old.zip", "--yes", "--json"))
    assert remembered(elefante) == 1, "an older backup was meant"
    elefante("chat", said=WIFI)
    database = tmp_path / "data" / "elefante.db"
    with closing(sqlite3.connect(database)) as now:
        [last] = now.execute("SELECT max(id) FROM messages").fetchone()
    assert last > held_by(newest, tmp_path, "SELECT max(id) FROM messages"), "no number is given twice"
    database.unlink()
    assert elefante("chat", said="hello\n").returncode == 1
    assert elefante("chat", "--anyway", said="hello\n").returncode == 0
    assert elefante("chat", said="hello\n").returncode == 0
    assert elefante("chat", said="hello\n", DATA_DIR=str(tmp_path / "elsewhere")).returncode == 0


@pytest.mark.long
def test_what_is_no_backup_is_named_as_what_it_is(elefante: Elefante, tmp_path: Path) -> None:
    elefante("chat", said=REX)
    whole = Path(document(elefante("backup", "--json"))["file"]).read_bytes()
    middle = len(whole) // 2
    with zipfile.ZipFile(tmp_path / "foreign.zip", "w") as archive:
        archive.writestr("letter.txt", "hello")
    encrypted = bytearray((tmp_path / "foreign.zip").read_bytes())
    for header, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        encrypted[encrypted.index(header) + flags] |= 1
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE letters (text TEXT)")
    files = {
        "cut.zip": (whole[:middle], "not copied whole"),
        "broken.zip": (whole[:middle] + bytes(300) + whole[middle + 300 :], "a part of it is broken"),
        "text.txt": (b"hello\n" * 9, "neither a ZIP archive nor a database"),
        "empty.zip": (b"", "is empty"),
        "encrypted.zip": (bytes(encrypted), "is encrypted"),
        "server.dump": (b"PGDMP" + bytes(99), "a dump of PostgreSQL"),
        "cut.db": ((tmp_path / "data" / "elefante.db").read_bytes()[:50_000], "cannot be put back"),
        "foreign.zip": (None, "no backup of this program"),
        "other.db": (None, "another program's database"),
        "nowhere.zip": (None, "there is no file"),
    }
    for name, (content, reason) in files.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        refused = elefante("restore", name, "--yes")
        assert refused.returncode == 1
        assert refused.stderr.startswith("elefante: ")
        assert name in refused.stderr
        assert reason in refused.stderr
        assert "cannot be read" not in refused.stderr or name == "cut.db"
        for line in re.findall(r"`elefante ([^`]*)`", refused.stderr):
            assert elefante(*shlex.split(line)).returncode == 0, line
    assert remembered(elefante) == 1
