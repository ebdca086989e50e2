"""Print what a person would have seen, scenario by scenario: `python -m tests.transcripts [telegram] [--write]`.

With `--write` the transcripts in docs/transcripts/ are made anew, some of them also as a page of phones; a test holds
them to what is printed. Where there is Chromium, the phones become pictures, too.
"""

from __future__ import annotations

import asyncio
import sys
from importlib import import_module

from tests.browser import MISSING
from tests.transcripts import phone
from tests.transcripts.transcript import FOLDER, Scenario

PLATFORMS = ("discord", "telegram")
"""Each is a module of this package with a tuple `SCENARIOS`."""


def main(arguments: list[str]) -> int:
    names = [argument for argument in arguments if not argument.startswith("-")] or PLATFORMS
    if not set(names) <= set(PLATFORMS):
        sys.stderr.write(f"usage: python -m tests.transcripts [{'|'.join(PLATFORMS)}] [--write]\n")
        return 2
    for name in names:
        show(name, write="--write" in arguments)
    return 0


def show(platform: str, *, write: bool) -> None:
    scenarios: tuple[Scenario, ...] = import_module(f"tests.transcripts.{platform}").SCENARIOS
    drawn = []
    for scenario in scenarios:
        lines = asyncio.run(scenario.lines())
        page = scenario.page(lines)
        drawn += phone.phones(platform, scenario, lines)
        sys.stdout.write(page + "\n")
        if write:
            (FOLDER / f"{platform}-{scenario.name}.md").write_text(page, encoding="utf-8")
    if write:
        (FOLDER / f"{platform}.html").write_text(phone.page(platform, drawn), encoding="utf-8")
        pictures = asyncio.run(phone.screenshots(platform))
        sys.stderr.write("".join(f"{path}\n" for path in pictures) or f"no pictures: {MISSING}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
