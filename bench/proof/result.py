"""What a part of the proof comes to, as data: the page is made of nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


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
