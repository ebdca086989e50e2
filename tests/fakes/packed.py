"""What a file holds, packed or not."""

from __future__ import annotations

import zipfile
from pathlib import Path


def content(path: Path) -> bytes:
    """Return the bytes of a file, of a ZIP archive those of all its entries."""
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())
