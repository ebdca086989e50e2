"""The chart of `/admin usage`: its data, and how it is drawn, in a process of its own that ends with the picture.

Pillow and the font, 16 MB, are loaded there and never in the bot. `python -m core.features.ledger.chart FILE` reads a
chart as JSON and draws it.

The picture has its own light background, so that it reads the same in light and dark chats, and is narrow and
large-lettered, for a phone. Colours: Okabe and Ito, which colour-blind people can tell apart.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from core.errors import BotError
from core.features.ledger.wording import money, number
from core.files.child import leave_no_dump
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
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

_COLOURS: Final = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
_PAPER, _INK, _GRID = "#FFFFFF", "#1F2933", "#D9DEE3"
_WIDTH, _HEIGHT = 1080, 1200  # pixels, as all that follows
_MARGIN = 24
_TEXT, _TITLE, _ROW = 28, 34, 42
_SWATCH = 48
_REGULAR, _BOLD = 400, 700
_BAR = 0.8  # of the width that a day has
_HEADROOM = 1.08
_MAX_STEPS = 8
_STEPS = (1, 2, 5, 10)
_MAX_DAYS_NAMED = 5

_log = logging.getLogger(__name__)


async def draw(chart: Chart, path: Path) -> None:
    """Draw a chart into a PNG file, in a process of its own.

    Raises:
        BotError: it could not be drawn; what that process failed of is in the log.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, str(path),
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # and no token or key of ours
        stdin=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        _, said = await process.communicate(json.dumps(asdict(chart)).encode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        kind = said.decode(errors="replace").strip().rpartition("\n")[2].partition(":")[0]
        _log.error("no chart: %s", kind)  # what follows the colon may be anything
        raise BotError("the chart was not drawn")


def read(text: str) -> Chart:
    """Return the chart of a JSON text, as `draw` passes it on."""
    told = json.loads(text)
    panels = [Panel(**panel) for panel in told["panels"]]
    return Chart(told["title"], told["days"], panels, Locale(told["locale"]))


def draw_here(chart: Chart, path: Path) -> None:
    """Draw a chart into a PNG file."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (_WIDTH, _HEIGHT), _PAPER)
    pen, font = ImageDraw.Draw(image), open_sans(_TEXT, _REGULAR)
    pen.text((_WIDTH / 2, _MARGIN), chart.title, _INK, open_sans(_TITLE, _BOLD), anchor="mt")
    bottom = _legend(pen, font, list(chart.panels[0].amounts))
    scales = [scale(panel, chart.locale) for panel in chart.panels]
    left = 2 * _MARGIN + round(max(font.getlength(label) for _, ticks in scales for label in ticks.values()))
    top = _MARGIN + 2 * _TITLE
    height = (bottom - top) // len(chart.panels)
    for at, (panel, (high, ticks)) in enumerate(zip(chart.panels, scales, strict=True)):
        above = top + at * height
        pen.text((left, above), panel.title, _INK, font, anchor="lt")
        box = (left, above + _ROW + _MARGIN, _WIDTH - 2 * _MARGIN, above + height - 2 * _ROW)
        _grid(pen, font, box, {tick / high: label for tick, label in ticks.items()})
        _bars(pen, box, panel, high)
        _days(pen, font, box, chart.days)
    image.save(path, "PNG")


def open_sans(size: int, weight: int) -> FreeTypeFont:
    """Return Open Sans in a size in pixels; the weight is 400 for regular, 700 for bold."""
    from PIL import ImageFont
    from ttf_opensans import opensans

    return ImageFont.truetype(str(opensans(weight).path), size)


def _legend(pen: ImageDraw, font: FreeTypeFont, names: Sequence[str]) -> int:
    """Draw which colour is which name, at the bottom, in two columns if they fit; return where it begins."""
    gap = _SWATCH + _MARGIN
    room = (_WIDTH - 3 * _MARGIN) // 2 - gap
    columns = 2 if len(names) > 1 and all(font.getlength(name) <= room for name in names) else 1
    shown = [_shortened(name, font, _WIDTH - 2 * _MARGIN - gap) for name in names]
    rows = -(-len(names) // columns)
    width = gap + max((font.getlength(name) for name in shown), default=0)
    left = (_WIDTH - columns * width - (columns - 1) * _MARGIN) / 2
    top = _HEIGHT - _MARGIN - rows * _ROW
    for at, name in enumerate(shown):
        x, y = left + at // rows * (width + _MARGIN), top + at % rows * _ROW + _ROW / 2
        pen.rectangle((x, y - 9, x + _SWATCH, y + 9), _COLOURS[at % len(_COLOURS)])
        pen.text((x + gap - _MARGIN / 3, y), name, _INK, font, anchor="lm")
    return top


def _shortened(name: str, font: FreeTypeFont, room: float) -> str:
    """Return as much of the name as fits, with "…" in place of the rest."""
    if font.getlength(name) <= room:
        return name
    length = next(length for length in range(len(name), -1, -1) if font.getlength(f"{name[:length]}…") <= room)
    return f"{name[:length]}…"


def scale(panel: Panel, locale: Locale) -> tuple[float, dict[float, str]]:
    """Return the amount at the top of the panel, and the amounts that have a line, with their labels."""
    least = 0.0001 if panel.is_money else 1.0  # what labels can tell apart
    largest = max((sum(day) for day in zip(*panel.amounts.values(), strict=True)), default=0.0)
    high = max(largest * _HEADROOM, least) if largest else 1.0
    power = 10.0 ** math.floor(math.log10(high / _MAX_STEPS))
    step = max(least, next(step * power for step in _STEPS if high / (step * power) <= _MAX_STEPS))
    ticks = [at * step for at in range(math.floor(high / step) + 1)]
    return high, {tick: _label(tick, panel, locale) for tick in ticks}


_Box: TypeAlias = tuple[int, int, int, int]
"""Left, top, right, bottom."""


def _grid(pen: ImageDraw, font: FreeTypeFont, box: _Box, lines: Mapping[float, str]) -> None:
    """Draw labelled lines, each at its part of the height of the box."""
    left, top, right, bottom = box
    for part, label in lines.items():
        y = round(bottom - part * (bottom - top))
        pen.line((left, y, right, y), _GRID if part else _INK, 2)
        pen.text((left - _MARGIN / 2, y), label, _INK, font, anchor="rm")


def _bars(pen: ImageDraw, box: _Box, panel: Panel, high: float) -> None:
    """Draw one bar for each day, one colour for each name, the first at the bottom."""
    left, top, right, bottom = box
    for day, amounts in enumerate(zip(*panel.amounts.values(), strict=True)):
        slot = (right - left) / len(next(iter(panel.amounts.values())))
        start = round(left + (day + (1 - _BAR) / 2) * slot)
        end = max(start, round(start + _BAR * slot) - 1)
        low = 0.0
        for at, amount in enumerate(amounts):
            floor, low = bottom - low / high * (bottom - top), low + amount
            ceiling = bottom - low / high * (bottom - top)
            if round(ceiling) < round(floor):
                pen.rectangle((start, round(ceiling), end, round(floor) - 1), _COLOURS[at % len(_COLOURS)])


def _days(pen: ImageDraw, font: FreeTypeFont, box: _Box, days: Sequence[str]) -> None:
    """Name days below the box: the last one, and others at even distances before it."""
    left, _, right, bottom = box
    step = -(-len(days) // _MAX_DAYS_NAMED)
    for day in range(len(days) - 1, -1, -step):
        middle = left + (day + 0.5) * (right - left) / len(days)
        x = min(middle, _WIDTH - _MARGIN / 2 - font.getlength(days[day]) / 2)
        pen.text((x, bottom + _MARGIN / 2), days[day], _INK, font, anchor="ma")


def _label(value: float, panel: Panel, locale: Locale) -> str:
    return money(round(value, 4), locale) if panel.is_money else number(round(value, 2), locale)


if __name__ == "__main__":
    leave_no_dump()
    draw_here(read(sys.stdin.read()), Path(sys.argv[1]))
