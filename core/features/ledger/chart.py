"""The chart of `/admin usage`: its data, and how it is drawn. Matplotlib is loaded by the first chart.

The picture has its own light background, so that it reads the same in light and dark chats, and is narrow and
large-lettered, for a phone. Colours: Okabe and Ito, which colour-blind people can tell apart.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from core.features.ledger.wording import money, number
from core.types import Locale


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture of a chart: for each name, an amount for every day, in US dollars if `is_money`."""

    title: str
    amounts: Mapping[str, Sequence[float]]
    is_money: bool = False


@dataclass(frozen=True, slots=True)
class Chart:
    """Pictures below each other over the same days, with their words in the reader's language."""

    title: str
    days: Sequence[str]
    panels: Sequence[Panel]
    locale: Locale


Draw: TypeAlias = Callable[[Chart, Path], Awaitable[None]]
"""Draw a chart into a PNG file."""


if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_PAPER, _INK, _GRID = "#FFFFFF", "#1F2933", "#D9DEE3"
_SIZE_INCHES = (7.2, 8.0)
_DPI = 150
_FONT_POINTS = 13
_MAX_DAYS_NAMED = 5


async def draw(chart: Chart, path: Path) -> None:
    """Draw a chart into a PNG file, in a thread: the first takes a second or two, the next ones a fraction of it."""
    await asyncio.to_thread(_draw, chart, path)


def _draw(chart: Chart, path: Path) -> None:
    logging.getLogger("matplotlib").setLevel(logging.WARNING)  # it logs every font that it looks at
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context({"font.size": _FONT_POINTS, "text.color": _INK, "axes.labelcolor": _INK, "text.parse_math": False}):
        figure = Figure(_SIZE_INCHES, dpi=_DPI, facecolor=_PAPER, layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(chart.title, fontsize=_FONT_POINTS + 3, fontweight="bold")
        all_axes = figure.subplots(len(chart.panels), 1, squeeze=False)[:, 0]
        for axes, panel in zip(all_axes, chart.panels, strict=True):
            _panel(axes, panel, chart)
        handles, names = all_axes[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 2), frameon=False)
        figure.savefig(path, format="png")


def _panel(axes: Axes, panel: Panel, chart: Chart) -> None:
    """Draw one bar for each day, one colour for each name, the largest at the bottom."""
    places = range(len(chart.days))
    floor = [0.0] * len(chart.days)
    for at, (name, amounts) in enumerate(panel.amounts.items()):
        axes.bar(places, amounts, bottom=floor, label=name, color=_COLOURS[at % len(_COLOURS)], width=0.8)
        floor = [low + amount for low, amount in zip(floor, amounts, strict=True)]
    axes.set_title(panel.title, loc="left", fontsize=_FONT_POINTS)
    axes.set_facecolor(_PAPER)
    axes.set_ylim(0, max(floor, default=0.0) * 1.08 or 1.0)
    axes.set_xlim(-0.6, len(chart.days) - 0.4)
    axes.yaxis.set_major_formatter(lambda value, _: _label(value, panel, chart.locale))
    axes.grid(axis="y", color=_GRID)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(colors=_INK, length=0)
    named = _named(len(chart.days))
    axes.set_xticks(named, [chart.days[day] for day in named])


def _label(value: float, panel: Panel, locale: Locale) -> str:
    return money(round(value, 4), locale) if panel.is_money else number(round(value, 2), locale)


def _named(days: int) -> list[int]:
    """Return which days are named below the axis: the last one, and others at even distances before it."""
    step = -(-days // _MAX_DAYS_NAMED)
    return sorted(range(days - 1, -1, -step))
