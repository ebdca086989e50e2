"""Find a time zone by its name, by a city, or by what the clock on the wall shows.

Cities are those of `cities.tsv.gz` (GeoNames, CC BY 4.0; `tests/cities.py` writes it), countries those of CLDR, zones
those of the tz database.
"""

from __future__ import annotations

import gzip
import re
import tomllib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from functools import cache
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo, available_timezones

from core.text.catalogue import cldr
from core.text.unicode import fold, one_line
from core.text.words import FUNCTION_WORDS, folded_words
from core.types import Locale

MAX_OPTIONS: Final = 5
_MAX_CHARS: Final = 120
_MAX_WORDS: Final = 14
_MAX_NAME_WORDS: Final = 5
_SHORTEST_WORD: Final = 4
"""Shorter ones are names only if nothing else is said: "NYC", but not the "las" of a sentence."""

_SHORTEST_ABBREVIATION: Final = 3
_LARGER: Final = 10
"""How many times as large as the next a place has to be to be the one that was meant."""

_HERE: Final = Path(__file__).parent
_QUARTER: Final = timedelta(minutes=15)
_LEAST: Final = timedelta(hours=-12)
_MOST: Final = timedelta(hours=14)
_NOON: Final = 12
_SHORTEST_BEGUN: Final = 2
_DAY: Final = timedelta(days=1)
_MONTHS: Final = tuple(timedelta(days=30 * month) for month in range(13))

ABBREVIATIONS: Final = {
    "est": "America/New_York", "edt": "America/New_York", "et": "America/New_York", "cst": "America/Chicago",
    "cdt": "America/Chicago", "mst": "America/Denver", "mdt": "America/Denver", "pst": "America/Los_Angeles",
    "pdt": "America/Los_Angeles", "cet": "Europe/Berlin", "cest": "Europe/Berlin", "bst": "Europe/London",
    "ist": "Asia/Kolkata", "jst": "Asia/Tokyo", "brt": "America/Sao_Paulo", "wet": "Europe/Lisbon",
    "west": "Europe/Lisbon", "eet": "Europe/Athens", "msk": "Europe/Moscow", "aest": "Australia/Sydney",
    "aedt": "Australia/Sydney",
}  # fmt: skip
"""What people write behind an hour, in winter and in summer, and where the clock is that they mean."""

_OFFSET = re.compile(r"(?:\b(?:utc|gmt)\s*|^)([+-])\s*(\d{1,2})(?::?(\d{2}))?\s*h?$")
_CLOCK = re.compile(
    r"(?<![\d:.])(?P<hour>\d{1,2})"
    r"(?:\s?(?:[:.]|h(?:rs?|oras)?\b|h(?=\d))\s?(?P<minute>\d{2})?(?!\d)|\s(?:e|y)\s(?P<more>\d{1,2})\b)?"
)


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone: its name in the tz database, and the place that the person named, with its country code (or "")."""

    name: str
    place: str
    country: str = ""


@dataclass(frozen=True, slots=True)
class _City:
    name: str
    country: str
    zone: str
    population: int


def find_zones(words: str, now: datetime, locale: Locale) -> Sequence[Zone]:
    """Return the zones that the words can mean, the likeliest first: several, where the person has to be asked.

    The words are a name ("America/Sao_Paulo"), a city or country in the person's language, an offset ("UTC-3"), or a
    sentence with the time of day there ("aqui são 15:40").
    """
    said = one_line(words, _MAX_CHARS)
    if name := _zone_names().get(said.casefold().replace(" ", "_")):
        return [Zone(name, exemplar(name, locale), _homes().get(name, ""))]
    plain = fold(said).replace("−", "-").replace("–", "-")
    if offset := _OFFSET.search(plain):
        away = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return _at_offset(-away if offset[1] == "-" else away, now, locale)
    return (_by_place(said, now, locale) or _by_clock(plain, now, locale))[:MAX_OPTIONS]


def begun(typed: str, now: datetime, locale: Locale) -> Sequence[Zone]:
    """Return the zones that a place can mean which is being typed ("lisb", "sao p"), the largest cities first."""
    if found := find_zones(typed, now, locale):
        return found
    name, table, end = _key(one_line(typed, _MAX_CHARS)), _table(), 0
    kept: dict[tuple[str, str], _City] = {}
    while len(name) >= _SHORTEST_BEGUN and len(kept) < MAX_OPTIONS and (at := table.find(f"|{name}", end)) >= 0:
        start, end = table.rfind("\n", 0, at) + 1, table.find("\n", at)
        city = _city(table[start:end])
        kept.setdefault((city.name, city.zone), city)
    return [Zone(city.zone, city.name, city.country) for city in kept.values()]


def of_place(place: str, now: datetime, locale: Locale, *, whole: str = "") -> Sequence[Zone]:
    """Return the zones of a place by its name, and nothing but that; or of what they are called as a `whole`.

    Places whose names are mostly other words are not meant: "reading time", "hora da reunião".
    """
    name = _key(place)
    if name in FUNCTION_WORDS or len(name) < _SHORTEST_WORD or name in _tables()["other_words"].split():
        return ()
    if zone := _zones_called().get(_key(whole)):
        return [Zone(zone, exemplar(zone, locale), _homes().get(zone, ""))]
    if country := _countries().get(name):
        return _of_country({country}, now, locale)[:MAX_OPTIONS]
    cities = _cities(name)
    return _of_cities(cities, name, place, now, locale)[:MAX_OPTIONS] if cities else ()


def spoken() -> Mapping[str, str]:
    """Return the patterns, over flat text, of what stands before and after a place that names a time zone."""
    return {name: str(pattern) for name, pattern in _tables()["spoken"].items()}


def heard() -> Mapping[str, Sequence[str]]:
    """Return the patterns, over flat text, of what people say of where they are."""
    return {name: list(patterns) for name, patterns in _tables()["heard"].items()}


def zone_key(at: datetime) -> str:
    """Return the name of the zone of an instant in the tz database."""
    return at.tzinfo.key if isinstance(at.tzinfo, ZoneInfo) else "UTC"


def likely_zone(now: datetime, usual: tzinfo, tag: str, locale: Locale) -> ZoneInfo:
    """Return the zone of a person who has not told theirs: the owner's `usual` one, if that is not UTC.

    Else it is that where most people live who have their language's `tag` on the platform.
    """
    if isinstance(usual, ZoneInfo) and now.astimezone(usual).tzname() != "UTC":
        return usual
    return ZoneInfo(guess(tag, locale))


def guess(tag: str, locale: Locale) -> str:
    """Return the zone where most people with that language tag of a platform ("pt-br") live."""
    from babel.core import get_global

    likely = get_global("likely_subtags")
    language, *subtags = re.split(r"[-_]", tag.strip().lower().partition(".")[0])
    if language not in likely:
        language, *subtags = locale.value.lower().split("-")
    if not any(map(str.isdecimal, subtags)) and language == locale.code:
        subtags += locale.value.split("-")[1:]
    if "419" in subtags:  # Latin America
        return _by_speakers(_peopled(), language)[0].name
    regions = (part.upper() for part in (*subtags, likely[language].rpartition("_")[2]))
    zones = next(_peopled()[region] for region in regions if region in _peopled())
    return max(zones, key=zones.__getitem__)


def exemplar(zone: str, locale: Locale) -> str:
    """Return the place by which a zone is named, in the language: "Nova York"; of a fixed one its offset."""
    if away := re.fullmatch(r"Etc/GMT([+-])(\d+)", zone):  # there, west is positive
        return f"UTC{'−' if away[1] == '+' else '+'}{away[2]}"
    name = _exemplar(zone, locale)
    return next(
        (city.name for city in _in_table(_key(name)) if _key(city.name) == _key(name)), name
    )  # with its accents


def country_name(country: str, locale: Locale) -> str:
    """Return the name of a country by its code; "" for none."""
    return str(cldr(locale.value).territories.get(country, country))


def _exemplar(zone: str, locale: Locale) -> str:
    from babel.dates import get_timezone_location

    return str(get_timezone_location(zone, locale=cldr(locale.value), return_city=True)).rpartition("/")[2]


# --- by place --------------------------------------------------------------------------------------------------------


def _by_place(said: str, now: datetime, locale: Locale) -> Sequence[Zone]:
    """Return the zones of the places in a text: of the longest name of a city, and in the country that is named."""
    words = folded_words(said)[:_MAX_WORDS]
    cities: Sequence[_City] = ()
    countries: set[str] = set()
    named, taken = "", set[int]()
    skip = FUNCTION_WORDS | _words()
    for span in _spans(len(words)):
        part = words[span.start : span.stop]
        if taken.intersection(span) or (len(words) > 1 and len(part) == 1 and _is_too_short(part[0], skip)):
            continue
        name = " ".join(part)
        if country := _countries().get(name):
            countries.add(country)
        elif found := not cities and _cities(name):
            cities, named = found, name
        else:
            continue
        taken.update(span)
    within = [city for city in cities if city.country in countries]
    if within or (cities and not countries):
        return _of_cities(within or cities, named, said, now, locale)
    return _of_country(countries, now, locale) if len(countries) == 1 else ()


def _spans(count: int) -> Iterator[range]:
    """Yield every run of up to five of `count` words, the longest first."""
    for length in range(min(count, _MAX_NAME_WORDS), 0, -1):
        for start in range(count - length + 1):
            yield range(start, start + length)


def _is_too_short(word: str, skip: Collection[str]) -> bool:
    return len(word) < _SHORTEST_WORD or word in skip or word.isdecimal()


def _of_cities(cities: Sequence[_City], named: str, said: str, now: datetime, locale: Locale) -> Sequence[Zone]:
    """Return the zones of cities of one name: that of one which is much larger, else all, the likeliest first."""
    kept: dict[tuple[str, object], _City] = {}
    for city in cities:  # the largest first
        kept.setdefault((city.country, _course(city.zone, now)), city)
    first, *others = kept.values()
    if not others or first.population >= _LARGER * others[0].population:
        return [Zone(first.zone, _as_said(first, named, said, locale), first.country)]
    likely = sorted(
        kept.values(), key=lambda city: -city.population * (_LARGER if _speaks(city.country, locale.code) else 1)
    )
    return [Zone(city.zone, _as_said(city, named, said, locale), city.country) for city in likely]


def _as_said(city: _City, named: str, said: str, locale: Locale) -> str:
    """Return the name of a city that the person used, as it is usually written."""
    if city.zone == city.name:
        return exemplar(city.zone, locale)
    whole = said.strip(" .,;:!?")
    names = (city.name, exemplar(city.zone, locale), whole.title() if whole.islower() else whole)
    return next((name for name in names if _key(name) == named), city.name)


def _of_country(countries: Collection[str], now: datetime, locale: Locale) -> Sequence[Zone]:
    """Return the zones of a country that differ, the one where most people live first, or that alone if it is most."""
    [country] = countries
    people = _merged(_peopled()[country], now)
    first, *others = people
    if others and people[first] >= _LARGER * people[others[0]]:
        others = []
    return [Zone(zone, exemplar(zone, locale), country) for zone in (first, *others)]


def _course(zone: str, now: datetime) -> tuple[timedelta | None, ...]:
    """Return what tells zones apart from now on: the offset in each of the coming months."""
    local = ZoneInfo(zone)
    return tuple((now + month).astimezone(local).utcoffset() for month in _MONTHS)


# --- by the clock ----------------------------------------------------------------------------------------------------


def _by_clock(plain: str, now: datetime, locale: Locale) -> Sequence[Zone]:
    """Return the zones where the clock shows the time of day that a text tells, the likeliest first."""
    found, part = _CLOCK.search(plain), _part_of_day(plain)
    if found is None or not (part or not found[0].isdecimal() or _words().intersection(folded_words(plain))):
        return ()
    hour, minute = int(found["hour"]), int(found["minute"] or found["more"] or 0)
    if hour > 23 or minute > 59:  # noqa: PLR2004
        return ()
    hours = [hour]
    if 0 < hour <= _NOON and not found["hour"].startswith("0"):
        hours = [hour % _NOON, hour % _NOON + _NOON]
        hours = hours[:1] if part == "am" else hours[1:] if part == "pm" else hours
    midnight = now.astimezone(ZoneInfo("UTC")).replace(hour=0, minute=0, second=0, microsecond=0)
    aways = set()
    for each in hours:
        passed = midnight + timedelta(hours=each, minutes=minute) - now
        rounded = round(passed / _QUARTER) * _QUARTER
        aways |= {away for away in (rounded - _DAY, rounded, rounded + _DAY) if _LEAST <= away <= _MOST}
    return _likely(aways, now, locale)


def _part_of_day(plain: str) -> str:
    tables = _tables()
    return "pm" if re.search(tables["after_noon"], plain) else "am" if re.search(tables["before_noon"], plain) else ""


def _at_offset(away: timedelta, now: datetime, locale: Locale) -> Sequence[Zone]:
    """Return the zone that always has that offset; of a part of an hour, those that have it now."""
    if not _LEAST <= away <= _MOST:
        return ()
    hours, rest = divmod(away, timedelta(hours=1))
    if rest:
        return _likely({away}, now, locale)[:MAX_OPTIONS]
    name = f"Etc/GMT{-hours:+d}" if hours else "UTC"
    return [Zone(name, exemplar(name, locale))]


def _likely(aways: Collection[timedelta], now: datetime, locale: Locale) -> Sequence[Zone]:
    """Return the zones that have one of the offsets now: those where most people speak the language first.

    Of those in one country that do not differ from now on there is one, which counts for all.
    """
    having: dict[str, dict[str, int]] = {}
    for country, zones in _peopled().items():
        here = {zone: people for zone, people in zones.items() if now.astimezone(ZoneInfo(zone)).utcoffset() in aways}
        having[country] = _merged(here, now)
    return [Zone(each.name, exemplar(each.name, locale), each.country) for each in _by_speakers(having, locale.code)]


def _merged(zones: Mapping[str, int], now: datetime) -> dict[str, int]:
    """Return the zones that differ from now on, the largest of those that do not, with the people of all of them."""
    people: dict[tuple[timedelta | None, ...], int] = defaultdict(int)
    for zone, number in zones.items():
        people[_course(zone, now)] += number
    largest = {_course(zone, now): zone for zone in sorted(zones, key=lambda zone: zones[zone])}
    return {largest[course]: people[course] for course in sorted(people, key=lambda course: -people[course])}


def _by_speakers(peopled: Mapping[str, Mapping[str, int]], language: str) -> Sequence[Zone]:
    """Return zones by how many people speak the language there; where nobody does, by how many live there."""
    weights = {
        Zone(zone, zone, country): (people * _speakers(country, language), people)
        for country, zones in peopled.items()
        for zone, people in zones.items()
    }
    return sorted(weights, key=lambda zone: weights[zone], reverse=True)


# --- tables ----------------------------------------------------------------------------------------------------------


@cache
def _table() -> str:
    return gzip.decompress((_HERE / "cities.tsv.gz").read_bytes()).decode()


@cache
def _tables() -> Mapping[str, Any]:
    return tomllib.loads((_HERE / "zones.toml").read_text(encoding="utf-8"))


@cache
def _words() -> frozenset[str]:
    return frozenset(_tables()["skip"].split())


def _cities(name: str) -> Sequence[_City]:
    """Return the cities of that name, the largest first; if there are none, the zone that is called so, as a city."""
    if found := list(_in_table(name)):
        return found
    zone = _zones_called().get(name)
    return [_City(zone, _homes().get(zone, ""), zone, 0)] if zone else []


def _in_table(name: str) -> Iterator[_City]:
    """Yield the cities of that name, the largest first."""
    table, end = _table(), 0
    while (at := table.find(f"|{name}|", end)) >= 0:
        start, end = table.rfind("\n", 0, at) + 1, table.find("\n", at)
        yield _city(table[start:end])


def _city(line: str) -> _City:
    name, country, zone, population, _ = line.split("\t")
    return _City(name, country, zone, int(population))


@cache
def _peopled() -> Mapping[str, Mapping[str, int]]:
    """Map each country to its zones, and each of these to the people in its cities."""
    peopled: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for line in _table().splitlines():
        if not line.startswith("#"):
            _, country, zone, people, _ = line.split("\t")  # 6,000 rows: a record for each takes three times as long
            peopled[country][zone] += int(people)
    return peopled


@cache
def _homes() -> Mapping[str, str]:
    """Map each zone of zone.tab to its country."""
    lines = (resources.files("tzdata") / "zoneinfo" / "zone.tab").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {zone: country for country, _, zone, *_ in rows}


@cache
def _zone_names() -> Mapping[str, str]:
    """Map each name of the tz database in small letters to itself, but for those that are names of other things."""
    return {name.casefold(): name for name in available_timezones() if "/" in name} | {"utc": "UTC", "gmt": "UTC"}


@cache
def _zones_called() -> Mapping[str, str]:
    """Map what zones are called in our languages to them: places in their names, "Eastern Time", "EST"."""
    from babel.core import get_global

    people = {zone: number for zones in _peopled().values() for zone, number in zones.items()}
    aliases, called = get_global("zone_aliases"), dict[str, str]()
    groups = [(group, aliases.get(zone, zone)) for zone, group in get_global("meta_zones").items()]
    largest = dict(sorted(groups, key=lambda each: people.get(each[1], 0)))
    for locale in Locale:
        called |= {_key(name): zone for zone in _homes() for name in (zone.rpartition("/")[2], _exemplar(zone, locale))}
        for group, names in cldr(locale.value).meta_zones.items():
            if group in largest:
                told = chain(names.get("long", {}).values(), names.get("short", {}).values())
                called |= {_key(name): largest[group] for name in told if len(name) >= _SHORTEST_ABBREVIATION}
    return {**called, **_tables()["zones"]}


@cache
def _countries() -> Mapping[str, str]:
    """Map the names of countries in our languages to their codes."""
    names = chain.from_iterable(cldr(locale.value).territories.items() for locale in Locale)
    return {**{_key(name): code for code, name in names if code in _peopled()}, **_tables()["countries"]}


def _key(name: str) -> str:
    return " ".join(folded_words(name))


def _speakers(country: str, language: str) -> float:
    """Return the share of people who speak a language there."""
    from babel.core import get_global

    told = get_global("territory_languages").get(country, {}).get(language, {})
    return float(told.get("population_percent", 0)) / 100


def _speaks(country: str, language: str) -> bool:
    return _speakers(country, language) > 1 / 2
