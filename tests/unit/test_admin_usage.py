"""/usage and /admin usage: what was spent, as text and as a picture."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from PIL.Image import Image
from PIL.Image import open as open_image

from core.dialogue import Task, Usage
from core.errors import BotError, ChannelError, ChannelGone
from core.features.access.storage import Person
from core.features.ledger.admin_usage import CHART, COST_A_DAY, MAX_DAYS, OTHERS, TOKENS_A_DAY
from core.features.ledger.calls import ModelCall
from core.features.ledger.chart import Chart, Panel, draw, draw_here, open_sans, scale
from core.features.ledger.wording import day_text, number
from core.features.quotas.limits import Defaults, read
from core.features.transfer.files import Spool
from core.outgoing import OutgoingMessage
from core.text.catalogue import counted
from core.types import Locale, Role, UserKey
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import START
from tests.fakes.house import ANA, BIA, House
from tests.fakes.metered import MeteredHouse

CARO = UserKey("test", "caro")
CALL = ModelCall(START, BIA, "chat", "finish", "a:1", "end", 1.0, None, Usage(900, 100), 0.25)
DAY = timedelta(days=1)
BLUE, ORANGE = (0x00, 0x72, 0xB2), (0xE6, 0x9F, 0x00)


class Studio:
    """A bot whose charts are kept as data, and whose owner is Ana."""

    def __init__(self, tmp_path: Path, **defaults: str) -> None:
        limits = Defaults(**{name: read(text) for name, text in defaults.items()})
        self.house = House(trusted=(), defaults=limits, draw=self._draw, spool=Spool(tmp_path))
        self.charts: list[Chart] = []
        self.numbers = iter(range(99))

    async def spend(self, *calls: ModelCall) -> None:
        for call in calls:
            await self.house.quotas.record(call)

    async def _draw(self, chart: Chart, path: Path) -> None:
        self.charts.append(chart)
        await asyncio.to_thread(path.write_bytes, b"\x89PNG")

    async def say(
        self, text: str, *, language: str = "en", channel: RecordingChannel | None = None
    ) -> list[OutgoingMessage]:
        house = self.house
        for user, role in ((ANA, Role.OWNER), (BIA, Role.MEMBER)):
            await house.people.put(Person(user, role, f"{user.user}*", house.clock.now()))
        channel = channel or house.channel()
        async with house.chatbot() as bot:
            incoming = replace(house.incoming(text, message_id=str(next(self.numbers))), language=language)
            await (await bot.receive(incoming, channel))
        return channel.screen


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_usage_tells_what_one_spent_what_is_left_and_when_it_begins_anew() -> None:
    house = House(
        {Task.DECIDE: ["Finish"]},
        defaults=Defaults(person=read("messages_minute=5 tokens_day=120 cost_month=100")),
        trusted=(),
    )
    await house.people.put(Person(CARO, Role.MEMBER, "caro", START))
    bot = MeteredHouse(house)
    async with bot.open() as handler:
        await bot.say(handler, "ok", CARO)  # which tells no language
        assert (await bot.say(handler, "/usage", CARO)).splitlines() == [
            "**Today:** 1 message, 30 tokens, US$ 30.00",
            "**This month:** 1 message, 30 tokens, US$ 30.00",
            "",
            "Your limits:",
            "- 40 % of 5 messages a minute; 3 messages left",
            "- 25 % of 120 tokens a day; 90 tokens left, starts again at Mar 15, 00:00 (UTC)",
            "- 30 % of US$ 100.00 a month; US$ 70.00 left, starts again at Apr 1, 00:00 (UTC)",
        ]
        portuguese = await bot.say(handler, "/usage", CARO, language="pt-BR")
    assert "**Hoje:** 1 mensagem, 30 tokens, US$ 30,00" in portuguese
    assert "- 25 % de 120 tokens por dia; restam 90 tokens, recomeça em 15 de mar., 00:00 (UTC)" in portuguese


async def test_owners_see_all_that_was_spent_by_day_model_and_person(tmp_path: Path) -> None:
    studio = Studio(tmp_path)
    await studio.spend(
        CALL,
        replace(CALL, model="b:*", user=CARO, cost_usd=1.0, at=START - DAY),
        replace(CALL, model="c:3", user=None, cost_usd=None, outcome="ProviderBusy", usage=None),
        replace(CALL, at=START - 40 * DAY),
    )
    told, picture = await studio.say("/admin usage")
    assert told.text.splitlines() == [
        "**Usage of the last 30 days** (UTC)",
        "3 calls, 2,000 tokens, US$ 1.25 · 1 failed",
        "",
        "By day:",
        "- Mar 13: 1 call, 1,000 tokens, US$ 1.00",
        "- Mar 14: 2 calls, 1,000 tokens, US$ 0.25",
        "",
        "By model:",
        "- `b:*`: 1 call, 1,000 tokens, US$ 1.00",
        "- a:1: 1 call, 1,000 tokens, US$ 0.25",
        "- c:3: 1 call, 0 tokens, US$ 0.00",
        "",
        "Who used most:",
        "- `test:caro`: 1 call, 1,000 tokens, US$ 1.00",
        "- `test:bia` `bia*`: 1 call, 1,000 tokens, US$ 0.25",
        "Costs are estimates.",
    ]
    [file] = picture.files
    assert (file.name, file.media_type) == ("usage-2026-02-13-2026-03-14.png", "image/png")
    assert file.path is not None
    assert not file.path.exists(), "it is gone once it was handed over"
    assert left(tmp_path) == []


async def test_the_picture_has_tokens_and_cost_of_every_day_by_model_in_the_readers_words(tmp_path: Path) -> None:
    studio = Studio(tmp_path)
    await studio.spend(CALL, replace(CALL, model="b:2", cost_usd=1.0, at=START - 2 * DAY))
    await studio.say("/admin usage 3", language="es")
    (chart,) = studio.charts
    assert (chart.title, chart.locale, chart.days) == (
        "Uso de los últimos 3 días",
        Locale.ES,
        ["12 mar", "13 mar", "14 mar"],
    )
    tokens, cost = chart.panels
    assert (tokens.title, dict(tokens.amounts)) == ("Tokens al día", {"b:2": [1000, 0, 0], "a:1": [0, 0, 1000]})
    assert (cost.is_money, dict(cost.amounts)) == (True, {"b:2": [1.0, 0, 0], "a:1": [0, 0, 0.25]})


async def test_of_many_models_the_largest_are_drawn_by_name_and_the_others_together(tmp_path: Path) -> None:
    studio = Studio(tmp_path)
    await studio.spend(*(replace(CALL, model=f"m:{number}", cost_usd=float(number)) for number in range(8)))
    await studio.say("/admin usage 1")
    assert {name: amounts[0] for name, amounts in studio.charts[0].panels[1].amounts.items()} == {
        **{f"m:{number}": float(number) for number in (7, 6, 5, 4, 3)},
        "others": 3.0,
    }
    assert studio.charts[0].title == "Usage of today"


async def test_where_no_picture_can_be_seen_the_text_suffices(tmp_path: Path) -> None:
    studio = Studio(tmp_path)
    await studio.spend(CALL)
    channel = studio.house.channel()
    channel.limits = replace(channel.limits, shows_pictures=False)
    (told,) = await studio.say("/admin usage", channel=channel)
    assert told.files == ()
    assert studio.charts == []


@pytest.mark.parametrize("fault", [ChannelError("not allowed"), ChannelGone("left")])
async def test_a_picture_that_cannot_be_handed_over_leaves_the_text_and_no_file(
    tmp_path: Path, fault: ChannelError
) -> None:
    studio = Studio(tmp_path)
    await studio.spend(CALL)
    channel = studio.house.channel()
    channel.faults = [None, fault]
    told = await studio.say("/admin usage", channel=channel)
    assert [shown.text.splitlines()[0] for shown in told] == ["**Usage of the last 30 days** (UTC)"]
    assert left(tmp_path) == []


@pytest.mark.parametrize("days", ["0", str(MAX_DAYS + 1), "-3", "many", "3 4", "²"])
async def test_days_that_are_none_are_asked_for(tmp_path: Path, days: str) -> None:
    (told,) = await Studio(tmp_path).say(f"/admin usage {days}")
    assert told.text == "Say how many days, from 1 to 366. For example: /admin usage 7"


async def test_that_nothing_was_spent_is_said(tmp_path: Path) -> None:
    (told,) = await Studio(tmp_path).say("/admin usage 1", language="pt")
    assert told.text == "Nenhum modelo foi consultado no último dia."


NAMES = ("a:1", "b:2")


async def drawn(path: Path, *days: tuple[float, float], names: Sequence[str] = NAMES) -> Image:
    """Return the picture of a chart with one panel: for each day, the amounts of the names."""
    amounts = {name: [day[at % 2] for day in days] for at, name in enumerate(names)}
    labels = [f"{number} de mar." for number in range(len(days))]
    told = Chart("Uso dos últimos dias", labels, [Panel("Tokens por dia", amounts)], Locale.PT)
    await asyncio.to_thread(draw_here, told, path / "usage.png")
    return await asyncio.to_thread(opened, path / "usage.png")


BARE = """
import asyncio, sys
from pathlib import Path
from core.features.ledger.chart import Chart, Panel, draw
from core.types import Locale
panel = Panel("Cost", {"openai:gpt-5": [0.5, 1.0]}, is_money=True)
asyncio.run(draw(Chart("Usage", ["20", "21"], [panel], Locale.EN), Path(sys.argv[1])))
print([name for name in ("PIL", "ttf_opensans") if name in sys.modules])
"""


async def test_one_chart_leaves_nothing_in_the_bot_that_drew_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BARE, str(tmp_path / "one.png")]
    done = await asyncio.to_thread(partial(subprocess.run, command, capture_output=True, text=True, check=True))
    assert done.stdout == "[]\n"
    panel = Panel("Cost", {"openai:gpt-5": [0.5, 1.0]}, is_money=True)
    await asyncio.to_thread(draw_here, Chart("Usage", ["20", "21"], [panel], Locale.EN), tmp_path / "two.png")
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


async def test_a_chart_that_cannot_be_drawn_is_an_error_of_ours(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(BotError, match="was not drawn"):
        await draw(Chart("Usage", ["20"], [Panel("Cost", {"a": [1.0]})], Locale.EN), tmp_path / "missing" / "usage.png")
    assert "no chart: FileNotFoundError" in caplog.text
    assert "missing" not in caplog.text


def opened(path: Path) -> Image:
    with open_image(path) as image:
        assert image.format == "PNG"
        return image.convert("RGB")


def bars(image: Image, colour: tuple[int, int, int]) -> list[int]:
    """Return, for each bar from left to right, how many pixels of the colour it is high; the legend is no bar."""
    pixels = np.asarray(image)[:-150]
    columns = (pixels == colour).all(axis=2).sum(axis=0).tolist()
    return [height for height, _ in groupby(columns) if height]


@pytest.mark.parametrize("days", [1, 7, 30, 90, 366])
async def test_a_chart_has_a_bar_for_every_day_as_high_as_its_amount(tmp_path: Path, days: int) -> None:
    amounts = [(100.0 * (1 + day % 2), 50.0) for day in range(days)]
    image = await drawn(tmp_path, *amounts)
    assert image.size == (1080, 1200)
    assert image.getpixel((0, 0)) == (255, 255, 255), "its own light background"
    low, high = bars(image, BLUE)[:2] if days > 1 else (*bars(image, BLUE), 0)
    assert len(bars(image, BLUE)) == days
    assert len(bars(image, ORANGE)) in {days, 1}, "the second name stands on the first"
    if days > 1:
        assert high == pytest.approx(2 * low, abs=2)
    assert bars(image, ORANGE)[0] == pytest.approx(low / 2, abs=2)


async def test_a_name_that_is_too_long_is_shortened_and_the_picture_keeps_its_margins(tmp_path: Path) -> None:
    image = await drawn(tmp_path, *[(1.0, 2.0)] * 30, names=["provider:" + "very-long-name-" * 9, *NAMES])
    edges = [image.crop((left, 0, left + 8, image.height)) for left in (0, image.width - 8)]
    assert [edge.getcolors() for edge in edges] == [[(8 * image.height, (255, 255, 255))]] * 2


@pytest.mark.parametrize("amount", [0.0, 0.00001, 0.3, 7.0, 2.5e9])
@pytest.mark.parametrize("is_money", [True, False])
def test_lines_have_labels_that_tell_them_apart(amount: float, is_money: bool) -> None:
    high, ticks = scale(Panel("", {"a:1": [amount]}, is_money=is_money), Locale.PT)
    assert amount < high
    assert min(ticks) == 0
    assert max(ticks) <= high
    assert len(set(ticks.values())) == len(ticks) <= 10


def test_the_font_has_every_letter_of_the_charts_words() -> None:
    words = [*(text for by in (TOKENS_A_DAY, COST_A_DAY, OTHERS) for text in by.values())]
    words += [counted(CHART, locale, count) for locale in Locale for count in (1, 30)]
    words += [day_text(date(2026, month, 1), locale) for locale in Locale for month in range(1, 13)]
    words += [number(1_234_567.5, locale) for locale in Locale]
    shapes = open_sans(28, 400)
    missing = bytes(shapes.getmask("\ue000"))
    assert {letter for letter in "".join(words) + "…" if bytes(shapes.getmask(letter)) == missing} == set()
