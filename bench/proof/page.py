"""The page of a proof, as Markdown and as HTML with plots: both are made of the same data, and of nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from typing import Final


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a head. A cell that begins with ✓ is good, one with ✗ is bad: the page colours them."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Bars:
    """Numbers to compare by length, each with its name; all of one `unit`."""

    title: str
    unit: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Proven:
    """Tables and plots, one sentence that sums them up, and what of it is not as it should be.

    `figures` are what README says of it, by name. `not_run` says why a part was not run, and how to get what it needs.
    """

    says: str
    tables: Sequence[Table] = ()
    bars: Sequence[Bars] = ()
    wrong: Sequence[str] = ()
    figures: Mapping[str, str] = field(default_factory=dict)
    not_run: Sequence[str] = ()


MOST_WRONG: Final = 40
_GITHUB: Final = "https://github.com"
_LOST: Final = (
    f"open issues on what a restart loses: [OpenClaw]({_GITHUB}/openclaw/openclaw/issues/141959), "
    f"[chatgpt-telegram-bot]({_GITHUB}/n3d1117/chatgpt-telegram-bot/issues/70)"
)
_README: Final = (
    ("**kept**: {told} things that strangers told, without a model", "{kept} kept, {kept_wrong} wrongly", "", "kept"),
    (
        "**found**: {life_questions} questions among {life_size} memories of a life, the right one first",
        "{life_Elefante}",
        "vectors alone {life_vectors}, BM25 of stems {life_BM25}{life_more}",
        "recall",
    ),
    (
        "**found**: {locomo_questions} questions to LoCoMo's talks, the evidence among ten",
        "{locomo_Elefante}",
        "vectors alone {locomo_vectors}, BM25 of stems {locomo_BM25}{locomo_more}",
        "recall --locomo PATH",
    ),
    (
        "**killed**: {kills} kills (SIGKILL) on Telegram and Discord, most at a write; {killed_answers} answers",
        "{lost} lost, {unmarked} doubled without a mark",
        _LOST,
        "kills",
    ),
    (
        "**isolated**: {people} people tell the same 20 things; {operations} operations",
        "{own} find their own, {foreign} bytes of others",
        "open issue on one memory for all: [Hermes](https://github.com/NousResearch/hermes-agent/issues/21574)",
        "isolation",
    ),
    (
        "**private**: {secrets} secrets, asked for {room_questions} times in rooms",
        "{room_leaks} told there",
        "",
        "rooms",
    ),
    (
        "**honest**: {hostile} answers of models gone wrong",
        "{hostile_wrong} untrue, or with machine text",
        "",
        "hostile",
    ),
    (
        "**broken**: {cells} pairs of a fault of the provider and one of the platform",
        "{cells_right} as stated before",
        "",
        "faults",
    ),
    (
        "**sealed**: {sealed_words} words of people, with a key; {sealed_kills} kills while they were sealed",
        "{sealed_left} left to be read on the disk",
        "",
        "sealing",
    ),
    ("**idle**: {idle_days} days on which nobody writes", "{idle_calls} calls of the model", "", "idle"),
)
"""Rows of README: what, the bot's figure, what is beside it, and the part that it comes from."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part that was run: its name, title, what was done, what came of it, how long it took, and of which commit."""

    name: str
    title: str
    about: str
    proven: Proven
    took_s: float
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Proof:
    """All that is told: where and when it was run, as pairs of a name and a text, and its parts."""

    facts: Sequence[tuple[str, str]]
    parts: Sequence[Part]
    is_quick: bool = False

    @property
    def figures(self) -> Mapping[str, str]:
        """All figures for README, by name."""
        return {name: text for part in self.parts for name, text in part.proven.figures.items()}

    def readme(self) -> Table:
        """Return README's table; a row whose part was not run is left out."""
        rows = []
        for what, ours, beside, part in _README:
            with suppress(KeyError):
                cells = [each.format_map(self.figures) for each in (what, ours, beside)]
                quoted = f'"{part}"' if " " in part else part
                rows.append((*cells, f"`make proof ARGS={quoted}`"))
        return Table(("", "Elefante", "beside it", "command"), rows)


_LEGEND: Final = (
    "Each cell says where what is to be told stood in the end: ✓ as the head of its column expects it, or ✗."
)


def took(seconds: float) -> str:
    """Return a duration as minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


# --- Markdown ---


def markdown(proof: Proof, html_name: str) -> str:
    """Return the page; `html_name` is the file with the plots beside it."""
    return "\n".join(_lines(proof, html_name)) + "\n"


def _lines(proof: Proof, html_name: str) -> Iterator[str]:
    yield "# Proven here\n"
    yield f"`make proof` ran all of this on one machine; run it on yours. With plots: [{html_name}]({html_name}).\n"
    if proof.is_quick:
        yield "**A quick run: a tenth of everything, which shows that it runs, and proves little.**\n"
    yield from _table(Table(("", ""), list(proof.facts)))
    yield "## In short\n"
    yield from _table(proof.readme())
    for part in proof.parts:
        yield f"## {part.title} (`{part.name}`)\n"
        yield f"{part.about} It took {took(part.took_s)} min.\n"
        yield f"**{part.proven.says}**\n"
        for table in part.proven.tables:
            if table.title:
                yield f"{table.title}:\n"
            yield from _table(table)
        if any("✓" in cell for table in part.proven.tables for row in table.rows for cell in row):
            yield f"{_LEGEND}\n"
        for reason in part.proven.not_run:
            yield f"Not run: {reason}.\n"
        if part.proven.wrong:
            yield "Not as it should be:\n"
            yield from (f"- {each}" for each in part.proven.wrong[:MOST_WRONG])
            yield ""


def _table(table: Table) -> Iterator[str]:
    yield f"| {' | '.join(table.head)} |"
    yield f"| {' | '.join('---' for _ in table.head)} |"
    yield from (f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in table.rows)
    yield ""


# --- HTML ---

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .85rem; }
th, td { border: 1px solid #ccc; padding: .3rem .5rem; text-align: left; vertical-align: top; }
th { background: #f2f2f2; } .good { background: #e3f4e3; } .bad { background: #f8d7d7; }
svg text { font: 13px system-ui, sans-serif; } .says { font-weight: 600; } .not-run { color: #8a5a00; }
"""
_BAR_PX, _LABEL_PX, _ROW_PX = 420, 170, 24
_COLOURS: Final = ("#3b6ea5", "#b0bec9")


def html(proof: Proof) -> str:
    """Return one page that needs nothing else: no script, no font, no network."""
    body = "\n".join(_blocks(proof))
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Proven here</title>\n'
        f"<style>{_STYLE}</style>\n{body}\n</html>\n"
    )


def _blocks(proof: Proof) -> Iterator[str]:
    yield "<h1>Proven here</h1>"
    yield "<p>All of this was run by <code>make proof</code> on one machine; run it on yours.</p>"
    if proof.is_quick:
        yield "<p><b>A quick run: a tenth of everything, which shows that it runs, and proves little.</b></p>"
    yield _html_table(Table(("", ""), list(proof.facts)))
    for part in proof.parts:
        yield f"<h2>{escape(part.title)}</h2>\n<p>{escape(part.about)} It took {took(part.took_s)} min.</p>"
        yield f'<p class="says">{escape(part.proven.says)}</p>'
        yield from map(_svg, part.proven.bars)
        for table in part.proven.tables:
            yield f"<h3>{escape(table.title)}</h3>" * bool(table.title) + _html_table(table)
        yield from (f'<p class="not-run">Not run: {escape(reason)}.</p>' for reason in part.proven.not_run)
        if part.proven.wrong:
            items = "".join(f"<li>{escape(each)}</li>" for each in part.proven.wrong[:MOST_WRONG])
            yield f"<p>Not as it should be:</p><ul>{items}</ul>"
    yield "<h2>Time of each part</h2>"
    yield _svg(Bars("Seconds", "s", {part.name: part.took_s for part in proof.parts}))


def _html_table(table: Table) -> str:
    def cell(text: str) -> str:
        mark = ' class="good"' if text.startswith("✓") else ' class="bad"' if text.startswith("✗") else ""
        return f"<td{mark}>{escape(text)}</td>"

    head = "".join(f"<th>{escape(each)}</th>" for each in table.head)
    rows = "\n".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in table.rows)
    return f"<table>\n<tr>{head}</tr>\n{rows}\n</table>"


def _svg(bars: Bars) -> str:
    longest = max(bars.values.values(), default=0.0) or 1.0
    rows = []
    for number, (name, value) in enumerate(bars.values.items()):
        y, width = number * _ROW_PX, max(value / longest * _BAR_PX, 1.0)
        colour = _COLOURS[0 if name == "Elefante" or "Elefante" not in bars.values else 1]
        rows.append(
            f'<text x="{_LABEL_PX - 8}" y="{y + 16}" text-anchor="end">{escape(name)}</text>'
            f'<rect x="{_LABEL_PX}" y="{y + 3}" width="{width:.1f}" height="{_ROW_PX - 7}" fill="{colour}"/>'
            f'<text x="{_LABEL_PX + width + 6:.1f}" y="{y + 16}">{value:,.4g} {escape(bars.unit)}</text>'
        )
    size = f'width="{_LABEL_PX + _BAR_PX + 110}" height="{len(rows) * _ROW_PX + 4}"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size}>{"".join(rows)}</svg>'
    return f"<h3>{escape(bars.title)}</h3>\n{svg}"
