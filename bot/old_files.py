"""Files of older versions whose content is kept in the database now: read once, and removed."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from core.features.access.rules import CODE
from core.stores import KeptStore

CLAIM: Final = "claim.json"


async def move_in(folder: Path, store: KeptStore) -> None:
    """Keep in the database the claim codes that the file of a folder holds, and remove it. A damaged one has none.

    Raises:
        StorageError: the database cannot be written; the file stays.
    """
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
