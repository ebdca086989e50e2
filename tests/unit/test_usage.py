"""`elefante usage`: what models were asked, as a document and as a table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bot.cli import usage as verb
from bot.settings.settings import Settings, load
from core.dialogue import Usage
from core.errors import ConfigError
from core.features.ledger.calls import ModelCall
from core.features.ledger.storage import Ledger
from core.storage.sqlite import open_database
from core.types import UserKey

NOW = datetime.now(UTC)
CALL = ModelCall(NOW, UserKey("telegram", "1"), "chat", "finish", "a:1", "end", 2.0, 0.5, Usage(100, 10, 50, 4), 0.25)


async def written(folder: Path, *calls: ModelCall) -> Settings:
    settings = load(None, data_dir=folder)
    database = await open_database(settings.database_path)
    for call in calls:
        await Ledger(database).record(call)
    await database.close()
    return settings


async def test_calls_are_shown_by_day_and_model_with_their_total(tmp_path: Path) -> None:
    settings = await written(tmp_path, CALL, CALL, replace(CALL, model="b:2", at=NOW - timedelta(days=1)))
    document = await verb.usage(settings)
    today, yesterday = NOW.date().isoformat(), (NOW - timedelta(days=1)).date().isoformat()
    assert [(row["day"], row["model"], row["calls"], row["cost_usd"]) for row in document["rows"]] == [
        (yesterday, "b:2", 1, 0.25),
        (today, "a:1", 2, 0.5),
    ]
    assert document["total"]["input_tokens"] == 300
    lines = verb.render(document).splitlines()
    assert lines[0].split()[:3] == ["day", "model", "calls"]
    assert lines[2].split() == [today, "a:1", "2", "0", "200", "100", "8", "20", "0.5", "2.0", "0.5000"]
    assert lines[3].split() == ["total", "3", "0", "300", "150", "12", "30", "0.5", "2.0", "0.7500"]
    assert document["prices_of"] in lines[-1]


async def test_a_cost_that_is_not_known_is_never_written_as_nothing(tmp_path: Path) -> None:
    unknown = replace(CALL, model="x:y", cost_usd=None)
    settings = await written(tmp_path, CALL, replace(unknown, model="a:1"), unknown)
    document = await verb.usage(settings, by=["model"])
    assert [row["cost_usd"] for row in document["rows"]] == [0.25, None]
    text = verb.render(document)
    mixed, wholly, total = text.splitlines()[1:4]
    assert mixed.endswith("0.2500 +?")
    assert wholly.endswith("unknown")
    assert total.endswith("0.2500 +?")
    assert "2 calls" in text


async def test_calls_before_the_days_asked_for_do_not_count(tmp_path: Path) -> None:
    settings = await written(tmp_path, replace(CALL, at=NOW - timedelta(days=2)))
    assert "No model was asked" in verb.render(await verb.usage(settings, days=1))
    assert len((await verb.usage(settings, days=3))["rows"]) == 1


async def test_everything_may_be_summed_into_one_line(tmp_path: Path) -> None:
    settings = await written(tmp_path, CALL, CALL)
    text = verb.render(await verb.usage(settings, by=()))
    assert text.splitlines()[0].split()[0] == "calls"


async def test_a_day_is_one_of_the_time_zone(tmp_path: Path) -> None:
    ahead = (12 - NOW.hour + 24) % 24 or 12  # a zone in which it is about noon, so that no day changes meanwhile
    zone = ZoneInfo(f"Etc/GMT{-ahead:+d}" if ahead <= 14 else f"Etc/GMT{24 - ahead:+d}")
    today = NOW.astimezone(zone).replace(hour=0, minute=0, second=0, microsecond=0)
    settings = await written(tmp_path, replace(CALL, at=today), replace(CALL, at=today - timedelta(seconds=1)))
    settings = settings.model_copy(update={"timezone": zone.key})
    document = await verb.usage(settings, days=1)
    assert [(row["day"], row["calls"]) for row in document["rows"]] == [(today.date().isoformat(), 1)]
    assert (document["since"], document["timezone"]) == (today.date().isoformat(), zone.key)


async def test_a_grouping_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="day,user,mode,model,outcome,room"):
        await verb.usage(await written(tmp_path), by=["colour"])
