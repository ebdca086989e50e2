"""What a chart shows: amounts a day, by what they are of. Knows no way to draw one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from core.types import Locale


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture of a chart: for each name, an amount for every day. `is_money` says that it is US dollars."""

    title: str
    amounts: Mapping[str, Sequence[float]]
    is_money: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """Pictures below each other over the same days; all words are in the reader's language already."""

    title: str
    days: Sequence[str]
    panels: Sequence[Panel]
    locale: Locale


Draw: TypeAlias = Callable[[Chart, Path], Awaitable[None]]
"""Draws a chart into a PNG file."""
