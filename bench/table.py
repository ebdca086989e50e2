"""Print one table of figures."""

from __future__ import annotations

from collections.abc import Sequence


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table, its columns aligned: it reads on a terminal and can be pasted into a page."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    print(f"## {title}\n")
    for row in (head, ["-" * width for width in widths], *rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
    print()
