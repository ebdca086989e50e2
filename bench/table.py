"""Print one table of figures."""

from __future__ import annotations

import json
from collections.abc import Sequence

as_json = False
"""Whether tables are printed for programs."""


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table, its columns aligned: it reads on a terminal and in a page. Or, `as_json`, a JSON line."""
    if as_json:
        print(json.dumps({"table": title, "rows": [dict(zip(head, row, strict=True)) for row in rows]}))
        return
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    print(f"## {title}\n")
    for row in (head, ["-" * width for width in widths], *rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
    print()
