"""Print what a person would have seen, scenario by scenario: `python -m tests.transcripts telegram [--write]`.

With `--write` the transcripts in docs/transcripts/ are made anew; a test holds them to what is printed.
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module

from tests.transcripts.transcript import FOLDER, Scenario

PLATFORMS = ("discord", "telegram")
"""Each is a module of this package with a tuple `SCENARIOS`."""


def main(arguments: list[str]) -> int:
    names = [argument for argument in arguments if not argument.startswith("-")]
    if len(names) != 1 or names[0] not in PLATFORMS:
        sys.stderr.write(f"usage: python -m tests.transcripts {{{'|'.join(PLATFORMS)}}} [--write]\n")
        return 2
    scenarios: tuple[Scenario, ...] = import_module(f"tests.transcripts.{names[0]}").SCENARIOS
    for scenario in scenarios:
        page = asyncio.run(scenario.page())
        sys.stdout.write(page + "\n")
        if "--write" in arguments:
            FOLDER.mkdir(exist_ok=True)
            (FOLDER / f"{names[0]}-{scenario.name}.md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
