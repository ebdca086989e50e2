"""Find a time zone by its name, by a city, or by what the clock on the wall shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from core.types import Locale


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone: its name in the tz database, and the place that the person named, with its country code (or "")."""

    name: str
    place: str
    country: str = ""


def find_zones(words: str, now: datetime, locale: Locale) -> Sequence[Zone]:
    """Return the zones that the words can mean, the likeliest first: several, where the person has to be asked.

    The words are a name ("America/Sao_Paulo"), a city or country in the person's language, an offset ("UTC-3"), or a
    sentence with the time of day there ("aqui são 15:40").
    """
    raise NotImplementedError


def guess(tag: str, locale: Locale) -> str:
    """Return the zone where most people with that language tag of a platform ("pt-br") live."""
    raise NotImplementedError
