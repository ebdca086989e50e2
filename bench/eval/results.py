"""Results of a run, in a file of one JSON document a line, so that a run that was cut goes on where it stopped."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any

from bench.eval.observed import Observed
from bench.eval.score import Verdict
from bench.table import show

HEAD = (
    "",
    "turns",
    "first",
    "data",
    "said",
    "all",
    "false claims",
    "language",
    "calls",
    "tokens in",
    "cached",
    "tokens out",
    "s",
)


@dataclass(frozen=True, slots=True)
class Results:
    """The file of one run."""

    path: Path

    def verdicts(self) -> list[Verdict]:
        """Return what was judged so far; the last verdict on a turn counts."""
        if not self.path.exists():
            return []
        rows = [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]
        return list({row["verdict"]["id"]: Verdict(**row["verdict"]) for row in rows}.values())

    def add(self, verdict: Verdict, seen: Observed | None) -> None:
        """Add a verdict, and what was seen if anybody may look at it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        row = {"verdict": asdict(verdict), **({} if seen is None else {"seen": seen.to_json()})}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def summary(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """Return the figures of some verdicts: shares of turns 0..1, means a turn, the median of seconds."""
    told = [verdict.in_language for verdict in verdicts if verdict.in_language is not None]
    return {
        "turns": len(verdicts),
        "first": mean(verdict.first_ok for verdict in verdicts),
        "data": mean(verdict.data_ok for verdict in verdicts),
        "said": mean(verdict.said_ok for verdict in verdicts),
        "all": mean(verdict.is_right for verdict in verdicts),
        "false_claims": sum(bool(verdict.false_claims) for verdict in verdicts),
        "language": mean(told) if told else None,
        "calls": mean(verdict.calls for verdict in verdicts),
        "input_tokens": mean(verdict.input_tokens for verdict in verdicts),
        "cached_tokens": mean(verdict.cached_tokens for verdict in verdicts),
        "output_tokens": mean(verdict.output_tokens for verdict in verdicts),
        "duration_s": median(verdict.duration_s for verdict in verdicts),
    }


def summaries(verdicts: Sequence[Verdict]) -> dict[str, Mapping[str, dict[str, Any]]]:
    """Return the figures of all, by category, and by language (those with few turns together)."""
    return {
        "all": _by(verdicts, lambda _: "all"),
        "category": _by(verdicts, lambda verdict: verdict.category),
        "language": _by(verdicts, lambda verdict: verdict.lang if verdict.lang in {"pt", "en", "es"} else "others"),
    }


def print_tables(title: str, verdicts: Sequence[Verdict]) -> None:
    """Print the figures as one table."""
    groups = [item for group in summaries(verdicts).values() for item in group.items()]
    show(title, HEAD, [_row(name, figures) for name, figures in groups])


def _by(verdicts: Sequence[Verdict], key: Callable[[Verdict], str]) -> Mapping[str, dict[str, Any]]:
    groups: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[key(verdict)].append(verdict)
    return {name: summary(group) for name, group in sorted(groups.items())}


def _row(name: str, figures: Mapping[str, Any]) -> list[str]:
    shares = [f"{figures[share]:.0%}" for share in ("first", "data", "said", "all")]
    language = "" if figures["language"] is None else f"{figures['language']:.0%}"
    tokens = [f"{figures[count]:.0f}" for count in ("input_tokens", "cached_tokens", "output_tokens")]
    return [
        name,
        f"{figures['turns']}",
        *shares,
        f"{figures['false_claims']}",
        language,
        f"{figures['calls']:.1f}",
        *tokens,
        f"{figures['duration_s']:.1f}",
    ]
