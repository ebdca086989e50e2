"""Write what pages take from the code: `.env.example` and the tables of docs/commands.md. `make fix` runs it."""

from __future__ import annotations

import re
from pathlib import Path

from bot.settings.env_example import render
from core.types import Locale
from tests.fakes.commands import COMMANDS, VERBS

ROOT = Path(__file__).parents[1]
ENV_EXAMPLE = ROOT / ".env.example"
PAGE = ROOT / "docs" / "commands.md"


def with_tables(page: str) -> str:
    """Return the page of commands with its two tables as the commands are."""
    everybodys = [
        _row(f"{each.name}{each.usage}", each.about[Locale.EN], "in private" if each.in_private else "anywhere")
        for each in COMMANDS.values()
    ]
    staffs = [
        _row(f"admin {each.name}{each.usage}", each.about[Locale.EN], "owners" if each.for_owners else "owners, admins")
        for each in VERBS.values()
    ]
    page = _put(page, "command | what it does | where", everybodys)
    return _put(page, "command | what it does | who", staffs)


def _row(name: str, about: str, where: str) -> str:
    usage = name.replace("|", "\\|")
    return f"| `/{usage}` | {about} | {where} |\n"


def _put(page: str, head: str, rows: list[str]) -> str:
    table = f"| {head} |\n| --- | --- | --- |\n" + "".join(rows)
    pattern = rf"^\| {re.escape(head)} \|\n(?:\|.*\n)*"
    found, count = re.subn(pattern, lambda _: table, page, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"docs/commands.md has no table of {head}")
    return found


if __name__ == "__main__":
    ENV_EXAMPLE.write_text(render(), encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
