"""/usage and /admin usage: what was spent, as text and as a picture."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest

from core.dialogue import Task, Usage
from core.errors import ChannelError, ChannelGone
from core.features.access.people import Person
from core.features.ledger.admin_usage import MAX_DAYS
from core.features.ledger.calls import Call
from core.features.ledger.chart import Chart, draw
from core.features.quotas.limits import Defaults, read
from core.features.transfer.files import Spool
from core.outgoing import OutgoingMessage
from core.types import Locale, Role, UserKey
from tests.fakes.channel import RecordingChannel
from tests.fakes.clock import START
from tests.fakes.house import ANA, BIA, House
from tests.fakes.metered import MeteredHouse

CARO = UserKey("test", "caro")
CALL = Call(START, BIA, "chat", "finish", "a:1", "end", 1.0, None, Usage(900, 100), 0.25)
DAY = timedelta(days=1)


class Studio:
    """A bot whose charts are kept as data, and whose owner is Ana."""

    def __init__(self, tmp_path: Path, **defaults: str) -> None:
        limits = Defaults(**{name: read(text) for name, text in defaults.items()})
        self.house = House(trusted=(), defaults=limits, draw=self._draw, spool=Spool(tmp_path))
        self.charts: list[Chart] = []
        self.numbers = iter(range(99))

    async def spend(self, *calls: Call) -> None:
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
    assert picture.file is not None
    assert (picture.file.name, picture.file.media_type) == ("usage-2026-02-13-2026-03-14.png", "image/png")
    assert not picture.file.path.exists(), "it is gone once it was handed over"
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
    assert told.file is None
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


@pytest.mark.parametrize("days", [1, 30, 366])
async def test_a_chart_is_drawn_into_a_picture_with_its_own_light_background(tmp_path: Path, days: int) -> None:
    import matplotlib.image

    from core.features.ledger.admin_usage import Spent, chart
    from tests.reference.ledger import InMemoryLedger

    ledger = InMemoryLedger()
    for back in range(0, days, 3):
        await ledger.record(replace(CALL, at=START - back * DAY, model=f"a:{back % 9}_$x^2$"))
    sums = {by: await ledger.sums(START - 400 * DAY, by) for by in (("day", "model"), ("model",))}
    last = START.date()
    spent = Spent(
        [last - back * DAY for back in reversed(range(days))],
        None,
        sums["day", "model"],
        [],
        sums["model",],
        [],
    )
    assert isinstance(last, date)
    path = tmp_path / "usage.png"
    await draw(chart(spent, Locale.PT), path)
    pixels = matplotlib.image.imread(path)
    assert pixels.shape == (1200, 1080, 4)
    assert tuple(pixels[0, 0]) == (1.0, 1.0, 1.0, 1.0)
    colours = {tuple(round(float(part) * 255) for part in pixel[:3]) for pixel in pixels[::7, ::3].reshape(-1, 4)}
    assert (0, 0x72, 0xB2) in colours, "there are bars"
