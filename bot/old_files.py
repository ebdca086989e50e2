"""Files of older versions whose content is kept in the database now: read once, and removed."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from core.features.access.rules import CODE
from core.stores import KeptStore

CLAIM: Final = "claim.json"
PLATFORMS: Final = ("telegram", "discord")
"""Of which `NAME.json` holds where they left off."""


async def move_in(folder: Path, store: KeptStore) -> None:
    """Keep in the database what the files of a folder hold, and remove them. A damaged one holds nothing.

    Raises:
        StorageError: the database cannot be written; the files stay.
    """
    await _move_codes(folder, store)
    for platform in PLATFORMS:
        path = folder / f"{platform}.json"
        with suppress(OSError):
            text = path.read_text("utf-8", errors="replace")
            await store.change(platform, partial(_known_or, text))  # the platform itself reads it
            path.unlink()


def _known_or(text: str, known: str | None) -> str:
    return known or text


async def _move_codes(folder: Path, store: KeptStore) -> None:
    path = folder / CLAIM
    try:
        codes = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return
    except (OSError, ValueError):
        codes = {}
    for platform, code in codes.items() if isinstance(codes, dict) else ():
        await store.put(CODE.format(platform), str(code))
    with suppress(OSError):
        path.unlink()
