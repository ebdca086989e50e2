"""Zones by name, place, offset and clock, and the guess by a language."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zoneinfo
from datetime import UTC, datetime

import pytest

from core.times import zones
from core.times.zones import find_zones, guess
from core.types import Locale

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES
NOW = datetime(2026, 11, 22, 18, 40, tzinfo=UTC)
SAO_PAULO = "America/Sao_Paulo"


@pytest.mark.parametrize(
    ("words", "locale", "zone"),
    [
        ("America/Sao_Paulo", PT, SAO_PAULO),
        ("america/sao paulo", PT, SAO_PAULO),
        ("sao paulo", PT, SAO_PAULO),
        ("São Paulo", EN, SAO_PAULO),
        ("Lisboa", PT, "Europe/Lisbon"),
        ("lisbon", EN, "Europe/Lisbon"),
        ("Nova York", PT, "America/New_York"),
        ("Nueva York", ES, "America/New_York"),
        ("NYC", EN, "America/New_York"),
        ("Cidade do México", PT, "America/Mexico_City"),
        ("Köln", EN, "Europe/Berlin"),
        ("Colônia", PT, "Europe/Berlin"),
        ("Londres", ES, "Europe/London"),
        ("London", EN, "Europe/London"),
        ("Noronha", PT, "America/Noronha"),
        ("Açores", PT, "Atlantic/Azores"),
        ("Canarias", ES, "Atlantic/Canary"),
        ("Hawaii", EN, "Pacific/Honolulu"),
        ("moro em Curitiba", PT, SAO_PAULO),
        ("I live in Berlin now", EN, "Europe/Berlin"),
        ("me mudei para Paris!", PT, "Europe/Paris"),
        ("voy a Nueva York el lunes", ES, "America/New_York"),
        ("são 18:40 em Lisboa", PT, "Europe/Lisbon"),
        ("horário de Brasília", PT, SAO_PAULO),
        ("Brasilia time", EN, SAO_PAULO),
        ("Eastern Time", EN, "America/New_York"),
        ("PST", EN, "America/Los_Angeles"),
        ("san josé, costa rica", ES, "America/Costa_Rica"),
        ("Córdoba Argentina", ES, "America/Argentina/Cordoba"),
        ("Portugal", PT, "Europe/Lisbon"),
        ("España", ES, "Europe/Madrid"),
        ("Japão", PT, "Asia/Tokyo"),
        ("Inglaterra", PT, "Europe/London"),
        ("UTC", EN, "UTC"),
        ("GMT", EN, "UTC"),
        ("UTC-3", PT, "Etc/GMT+3"),
        ("UTC −03:00", PT, "Etc/GMT+3"),
        ("-3", PT, "Etc/GMT+3"),
        ("GMT+1", EN, "Etc/GMT-1"),
        ("utc+0", EN, "UTC"),
        ("Asia/Calcutta", EN, "Asia/Calcutta"),
    ],
)
def test_what_names_one_zone_finds_it(words: str, locale: Locale, zone: str) -> None:
    assert [found.name for found in find_zones(words, NOW, locale)] == [zone]


@pytest.mark.parametrize(
    ("words", "locale", "first", "others"),
    [
        ("San José", ES, "America/Costa_Rica", {"America/Los_Angeles"}),
        ("San Jose", EN, "America/Los_Angeles", {"America/Costa_Rica"}),
        ("Porto", PT, "Europe/Lisbon", {"America/Belem"}),
        ("Georgetown", EN, "America/Guyana", {"Asia/Kuala_Lumpur"}),
        ("Cordoba", ES, "America/Argentina/Cordoba", {"Europe/Madrid"}),
        ("Birmingham", EN, "Europe/London", {"America/Chicago"}),
        ("USA", EN, "America/New_York", {"America/Chicago", "America/Los_Angeles"}),
        ("Austrália", PT, "Australia/Sydney", {"Australia/Perth"}),
        ("UTC+5:30", EN, "Asia/Kolkata", {"Asia/Colombo"}),
    ],
)
def test_what_means_several_zones_gives_all_the_likeliest_first(
    words: str, locale: Locale, first: str, others: set[str]
) -> None:
    found = [each.name for each in find_zones(words, NOW, locale)]
    assert found[0] == first
    assert others <= set(found[1:])
    assert len(found) <= zones.MAX_OPTIONS


@pytest.mark.parametrize(
    ("words", "locale", "first"),
    [
        ("aqui são 15:40", PT, SAO_PAULO),
        ("15h40", PT, SAO_PAULO),
        ("agora aqui são 3 e 40 da tarde", PT, SAO_PAULO),
        ("são 18:41", PT, "Europe/Lisbon"),
        ("it is 3:40 pm here", EN, SAO_PAULO),
        ("it's 1:38 p.m.", EN, "America/New_York"),
        ("12:40 am", EN, "Asia/Dhaka"),
        ("acá son las 3 y 40 de la tarde", ES, "America/Argentina/Buenos_Aires"),
        ("acá son las 12:40", ES, "America/Mexico_City"),
        ("aqui são 16", PT, "America/Noronha"),
        ("it is 00:10 here", EN, "Asia/Kolkata"),
        ("08:40 here", EN, "Pacific/Honolulu"),
    ],
)
def test_the_time_of_day_finds_the_zones_where_it_is_that_time(words: str, locale: Locale, first: str) -> None:
    found = find_zones(words, NOW.replace(hour=18, minute=40) if "16" not in words else NOW.replace(minute=0), locale)
    assert found[0].name == first
    assert len(found) <= zones.MAX_OPTIONS


def test_an_hour_of_the_half_day_that_is_not_said_may_be_either() -> None:
    offsets = {NOW.astimezone(zoneinfo.ZoneInfo(each.name)).strftime("%I:%M") for each in find_zones("9:40", NOW, EN)}
    assert offsets == {"09:40"}


@pytest.mark.parametrize(
    "words",
    ["", "asdf", "lugar nenhum", "não sei", "o mesmo de antes", "UTC+15", "25:00", "moro na rua 12", "x" * 5000],
)
def test_what_names_no_zone_finds_none(words: str) -> None:
    assert not find_zones(words, NOW, PT)


@pytest.mark.parametrize(
    ("words", "locale", "place", "country"),
    [
        ("sao paulo", PT, "São Paulo", "BR"),
        ("nova york", PT, "Nova York", "US"),
        ("Nueva York", ES, "Nueva York", "US"),
        ("lisboa", ES, "Lisboa", "PT"),
        ("colônia", PT, "Colônia", "DE"),
        ("san josé, costa rica", ES, "San José", "CR"),
        ("horário de Brasília", PT, "São Paulo", "BR"),
        ("EST", EN, "New York", "US"),
        ("Portugal", PT, "Lisboa", "PT"),
        ("UTC-3", PT, "UTC−3", ""),
    ],
)
def test_a_zone_is_shown_by_the_place_that_the_person_named(
    words: str, locale: Locale, place: str, country: str
) -> None:
    [found] = find_zones(words, NOW, locale)
    assert (found.place, found.country) == (place, country)


@pytest.mark.parametrize(
    ("tag", "locale", "zone"),
    [
        ("pt-br", PT, SAO_PAULO),
        ("pt", PT, SAO_PAULO),
        ("pt-pt", PT, "Europe/Lisbon"),
        ("pt_PT.UTF-8", PT, "Europe/Lisbon"),
        ("pt-AO", PT, "Africa/Luanda"),
        ("en", EN, "America/New_York"),
        ("en-GB", EN, "Europe/London"),
        ("es", ES, "Europe/Madrid"),
        ("es-MX", ES, "America/Mexico_City"),
        ("es-AR", ES, "America/Argentina/Buenos_Aires"),
        ("es-419", ES, "America/Mexico_City"),
        ("de", EN, "Europe/Berlin"),
        ("zh-hans", EN, "Asia/Shanghai"),
        ("en-001", EN, "America/New_York"),
        ("", PT, SAO_PAULO),
        ("", EN, "America/New_York"),
        ("", ES, "Europe/Madrid"),
        ("C", ES, "Europe/Madrid"),
        ("nonsense-tag", PT, SAO_PAULO),
    ],
)
def test_a_language_tells_where_most_of_its_people_live(tag: str, locale: Locale, zone: str) -> None:
    assert guess(tag, locale) == zone


def test_every_zone_of_the_table_is_in_the_tz_database_and_its_source_is_named() -> None:
    lines = zones._table().splitlines()
    named = {line.split("\t")[2] for line in lines if not line.startswith("#")}
    assert named <= zoneinfo.available_timezones()
    assert set(zones._tables()["zones"].values()) <= zoneinfo.available_timezones()
    assert re.search(r"GeoNames.*CC BY 4\.0", lines[0])


@pytest.mark.parametrize(("named", "paths"), [("", "()"), ("/usr/share/zoneinfo", "('/usr/share/zoneinfo',)")])
def test_the_program_takes_zones_from_its_package_unless_another_database_is_named(named: str, paths: str) -> None:
    code = (
        "import atexit, sys, zoneinfo\n"
        "from bot.cli.main import main\n"
        "sys.argv = ['elefante', '--help']\n"
        "atexit.register(lambda: print(zoneinfo.TZPATH))\n"
        "main()"
    )
    environment = {**os.environ, "PYTHONTZPATH": named} if named else os.environ
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == paths
