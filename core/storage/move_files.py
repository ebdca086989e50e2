"""Files as one end of a move: those in a folder, those in a table; and what of them is missing, or has no name."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

from core.errors import StorageError
from core.sealing.port import PLAIN, Sealing
from core.storage.files_folder import file_content, file_names, names_in, owner_name, write_file
from core.storage.move import Source, Target
from core.storage.record import microseconds
from core.types import UserKey

FilesListed: TypeAlias = Mapping[tuple[str, str], int]
"""The files that there are, by the names of owner and file, and when each was last put, in microseconds since 1970."""

_COLUMNS: Final = ("owner", "sha256", "at", "content")
_Row: TypeAlias = tuple[str, str, int, bytes]


@dataclass(frozen=True, slots=True)
class MovedFiles:
    """How many files are at the target, and how many of the source are not, as their bytes are not what they were."""

    files: int
    broken: int


def in_folder(folder: Path) -> FilesListed:
    """Return the files below a folder; none if it is not there."""
    owners = [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    return {
        (owner.name, sha256): int((owner / sha256).stat().st_mtime * 1e6)
        for owner in sorted(owners)
        for sha256 in sorted(names_in(owner))
    }


def in_table(source: Source) -> FilesListed:
    """Return the files in a database."""
    return {(owner, sha256): at for owner, sha256, at in source.stream("SELECT owner, sha256, at FROM files")}


def move_files(source: Source | Path, target: Target | Path, sealing: Sealing = PLAIN) -> MovedFiles:
    """Copy the files that the target lacks, one in RAM at a time, as they are stored, and compare what was written.

    Raises:
        StorageError: a copy is not equal, or one of the two failed.
    """
    here, there = (in_folder(end) if isinstance(end, Path) else in_table(end) for end in (source, target))
    missing, broken = {key: at for key, at in here.items() if key not in there}, list[str]()
    copied: dict[tuple[str, str], str] = {}
    rows = _of_folder(source, missing) if isinstance(source, Path) else _of_table(source, missing)
    rows = _sound(sealing, rows, broken, copied)
    if isinstance(target, Path):
        for owner, name, at, content in rows:
            write_file(target, owner, name, content, at / 1e6, sha256=copied[owner, name])
    elif missing:
        target.put("files", _COLUMNS, rows)
        written = target.stream("SELECT owner, sha256, encode(sha256(content), 'hex') FROM files")
        if copied != {key: digest for owner, name, digest in written if (key := (owner, name)) in copied}:
            raise StorageError("the copy of the files is not equal, and nothing was switched")
    return MovedFiles(len(here) - len(broken), len(broken))


def _sound(
    sealing: Sealing, rows: Generator[_Row], broken: list[str], copied: dict[tuple[str, str], str]
) -> Generator[_Row]:
    """Yield the rows whose bytes are what they were, and note their digests; note the others' names."""
    for row in rows:
        owner, name, _, stored = row
        if file_content(sealing, name, stored) is None:
            broken.append(name)
        else:
            copied[owner, name] = hashlib.sha256(stored).hexdigest()
            yield row


def _of_folder(folder: Path, files: FilesListed) -> Generator[_Row]:
    for (owner, sha256), at in files.items():
        yield owner, sha256, at, (folder / owner / sha256).read_bytes()


def _of_table(source: Source, files: FilesListed) -> Generator[_Row]:
    for (owner, sha256), at in files.items():  # both are hexadecimal digits
        sql = f"SELECT content FROM files WHERE owner = '{owner}' AND sha256 = '{sha256}'"  # noqa: S608
        for (content,) in source.stream(sql):
            yield owner, sha256, at, bytes(content)


def judged(
    named: Mapping[UserKey, Collection[str]], listed: FilesListed, before: datetime, sealing: Sealing = PLAIN
) -> tuple[int, int]:
    """Return how many files are named and not there, and how many are older than that, and named by nothing."""
    wanted = {
        (owner_name(owner), name) for owner, digests in named.items() for name in file_names(sealing, owner, digests)
    }
    old = {key for key, at in listed.items() if at < microseconds(before)}
    return len(wanted - listed.keys()), len(old - wanted)
