"""`elefante usage`: show which models were asked, how often, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import typer

from bot.cli.shell import Document, JsonOption, load_settings, run, show
from bot.models.metering import prices_of
from bot.settings.settings import Settings
from bot.wiring import storage
from core.clock import SystemClock
from core.errors import ConfigError
from core.features.ledger.calls import GROUPINGS, Sum, days_back
from core.features.ledger.storage import Ledger


def usage_(
    days: Annotated[int, typer.Option(min=1, help="How many days back, today included.")] = 30,
    by: Annotated[
        str, typer.Option(help="What to sum by, separated by commas: day, user, mode, model, outcome, room.")
    ] = "day,model",
    as_json: JsonOption = False,
) -> None:
    """Show what models were asked, and what it cost.

    Example: elefante usage --days 7 --by user,model
    """
    parts = [part.strip() for part in by.split(",") if part.strip()]
    show(run(usage(load_settings(), days=days, by=parts)), as_json=as_json, plain=render)


_HEADS: Final = {
    "calls": "calls",
    "failed": "failed",
    "input_tokens": "in",
    "cached_tokens": "cached",
    "reasoning_tokens": "thought",
    "output_tokens": "out",
    "first_s": "first s",
    "mean_s": "whole s",
    "cost_usd": "US$",
}


async def usage(settings: Settings, *, days: int = 30, by: Sequence[str] = ("day", "model")) -> Document:
    """Return the calls of the last `days` days of TIMEZONE, summed by some of GROUPINGS, and their total.

    Raises:
        ConfigError: there is no such grouping.
        StorageError: the database cannot be used.
    """
    if unknown := [name for name in by if name not in GROUPINGS]:
        raise ConfigError("--by", f"there is no {unknown[0]!r}; write some of {','.join(GROUPINGS)}")
    zone = settings.zone()
    since = days_back(SystemClock().now(), zone, days)
    async with storage(settings) as database:
        ledger = Ledger(database, zone)
        sums, total = await ledger.sums(since, by), await ledger.sums(since, ())
    return {
        "since": since.astimezone(zone).date().isoformat(),
        "timezone": zone.key,
        "by": list(by),
        "prices_of": prices_of(settings).date,
        "rows": [dict(zip(by, entry.keys, strict=True)) | _figures(entry) for entry in sums],
        "total": _figures(total[0]) if total else {},
    }


def render(document: Document) -> str:
    """Return the sums as a table for a person, with notes on prices."""
    rows, by, total = document["rows"], document["by"], document["total"]
    if not rows:
        return f"No model was asked since {document['since']}."
    sums = [*rows, total | ({by[0]: "total"} if by else {})]
    lines = [[*by, *_HEADS.values()], *(_cells(row, by) for row in sums)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    text = [
        "  ".join(
            cell.ljust(width) if column < len(by) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    notes = [f"Costs are estimates by the prices of {document['prices_of']}."]
    if total["unpriced"]:
        notes.append(f"+?: and what {total['unpriced']} calls cost that have no known price (MODEL_PRICES names one).")
    return "\n".join([*text, "", *notes])


def _figures(entry: Sum) -> Document:
    return {
        "calls": entry.calls,
        "failed": entry.failed,
        "unpriced": entry.unpriced,
        "input_tokens": entry.tokens.input_tokens,
        "cached_tokens": entry.tokens.cached_tokens,
        "reasoning_tokens": entry.tokens.reasoning_tokens,
        "output_tokens": entry.tokens.output_tokens,
        "first_s": None if entry.mean_first_s is None else round(entry.mean_first_s, 2),
        "mean_s": round(entry.mean_s, 2),
        "cost_usd": None if entry.unpriced == entry.calls else round(entry.cost_usd, 6),
    }


def _cells(row: Document, by: Sequence[str]) -> list[str]:
    cells = [str(row.get(name, "")) for name in by]
    for name in _HEADS:
        value = row[name]
        if name == "cost_usd":
            cells.append(_cost(value, row["unpriced"]))
        else:
            cells.append("-" if value is None else str(value))
    return cells


def _cost(cost: float | None, unpriced: int) -> str:
    if cost is None:
        return "unknown"
    return f"{cost:.4f}" + (" +?" if unpriced else "")
