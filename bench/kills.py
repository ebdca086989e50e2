"""What people see of answers amid which the bot was killed, each aimed at a write: `python -m bench kills [KILLS]`.

How it is done is told in tests/crash/at_writes.py. A platform's name after the number does one alone, SEED=7 kills
otherwise, KILLS_FULL=1 prints each kill, and each chat that is not as it should be.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import fields
from typing import Final

from bench.table import show
from tests.crash.at_writes import Tally, When, killed

KILLS: Final = 200
COUNTED: Final = [each.name for each in fields(Tally) if each.type == "int"]


def main(names: Sequence[str] = ()) -> None:
    """Kill on each platform that often, and print what is left."""
    kills, rows = int(names[0]) if names else KILLS, []
    for platform in names[1:] or ("Telegram", "Discord"):
        found, hits = asyncio.run(killed(platform, kills, int(os.environ.get("SEED", "1"))))
        if "KILLS_FULL" in os.environ:
            print(*found.kills, *found.wrong, sep="\n", file=sys.stderr)
        aimed = f"{hits.total()} ({', '.join(str(hits[when]) for when in When)})"
        counts = (getattr(found, name) for name in COUNTED)
        rows.append([platform, str(kills), aimed, *map(str, counts)])
    aims = ", ".join(When)
    show(f"Kills, and of them at a write ({aims})", ("platform", "kills", "at a write", *COUNTED), rows)
