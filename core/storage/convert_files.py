"""Seal the files in a folder, or open them: into a folder beside it, which takes its place when the database is done.

It has its name only when it is whole, and the name says which way the conversion goes: by that and by the mark of the
database, `finish_files` knows whether it counts.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from core.errors import Damaged
from core.sealing.port import PLAIN, Sealing
from core.storage.files import CONTENT, file_content, file_name, names_in
from core.storage.sqlite_backup import ensure_room, erase, settle
from core.types import UserKey

_PART: Final = ".converting"
_WHOLE: Final = {False: ".sealed", True: ".opened"}


def convert_files(folder: Path, owners: Mapping[str, UserKey], sealing: Sealing, *, opens: bool) -> int:
    """Convert the files below a folder into another beside it, for `finish_files`; return how many.

    `owners` are whose they are, by the name of their folder.

    Raises:
        OSError, DiskFull: there is no room, or they cannot be read.
        Unreadable: one does not open.
        Damaged: one is nobody's.
    """
    part, count = _beside(folder, _PART), 0
    _remove(part)
    if not folder.is_dir():
        return 0
    files = [(owner, name) for owner in folder.iterdir() if owner.is_dir() for name in sorted(names_in(owner))]
    ensure_room(folder.parent, sum((owner / name).stat().st_size for owner, name in files))
    part.mkdir(mode=0o700)
    for owner, name in files:
        if (whose := owners.get(owner.name)) is None:
            raise Damaged(f"the folder {owner} is nobody's: `elefante check` says more")
        stored, times = (owner / name).read_bytes(), (owner / name).stat()
        if (converted := converted_file(sealing, whose, name, stored, opens=opens)) is None:
            continue  # its bytes were lost before, and it is not found now either
        there, content = converted
        path = part / owner.name / there
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(content)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        settle(path)
        count += 1
    whole = _beside(folder, _WHOLE[opens])
    _remove(whole)
    part.rename(whole)
    settle(folder.parent)
    return count


def converted_file(
    sealing: Sealing, owner: UserKey, name: str, stored: bytes, *, opens: bool
) -> tuple[str, bytes] | None:
    """Return name and bytes of a file, sealed or opened; None if its bytes are not what they were."""
    content = file_content(sealing if opens else PLAIN, name, stored)
    if content is None:
        return None
    sha256 = hashlib.sha256(content).hexdigest()
    if opens:
        return sha256, content
    there = file_name(sealing, owner, sha256)
    return there, sealing.seal_bytes(owner, CONTENT, there, content)


def finish_files(folder: Path, *, is_sealed: bool) -> None:
    """Put the converted files in place if the database is converted, or remove what was converted in vain.

    What is replaced is overwritten first. Broken off, it goes on where it stopped.
    """
    _remove(_beside(folder, _PART))
    _remove(_beside(folder, _WHOLE[is_sealed]))  # the database did not follow
    if (whole := _beside(folder, _WHOLE[not is_sealed])).is_dir():
        _remove(folder)
        whole.rename(folder)
        settle(folder.parent)


def is_unfinished(folder: Path) -> bool:
    """Return whether there is something for `finish_files` to do."""
    return any(_beside(folder, end).exists() for end in (_PART, *_WHOLE.values()))


def _beside(folder: Path, end: str) -> Path:
    return folder.with_name(f"{folder.name}{end}")


def _remove(folder: Path) -> None:
    """Overwrite the files below a folder, and remove it."""
    if not folder.is_dir():
        return
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            erase(path)
    shutil.rmtree(folder)
