"""What /language and /timezone offer while somebody types: soon, the likely first, and never on the event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from core.commands.command import CompletionRequest, offered
from core.features.preferences import commands
from core.outgoing import Suggestion
from core.text import language
from core.times import zones
from core.types import Locale, Role
from tests.fakes.house import House

NOW = datetime(2026, 11, 27, tzinfo=UTC)


async def typed(name: str, text: str) -> list[str]:
    """What a command's field offers for a text."""
    house = House()
    incoming = house.incoming(f"/{name} {text}")
    table = house.parts(house.features()).commands
    field = {"language": "language", "timezone": "place"}[name]
    request = CompletionRequest(incoming, Locale.EN, Role.MEMBER, field, text)
    return [choice.value for choice in await table.complete(request)]


@pytest.mark.parametrize(
    ("text", "first"),
    [("ger", "de"), ("fre", "fr"), ("chi", "zh"), ("deut", "de"), ("日本", "ja"), ("portu", "pt"), ("nor", "no")],
)
async def test_the_language_that_most_would_mean_comes_first(text: str, first: str) -> None:
    assert (await typed("language", text))[0] == first


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("lisb", "Europe/Lisbon"),
        ("new y", "America/New_York"),
        ("sao p", "America/Sao_Paulo"),
        ("manau", "America/Manaus"),
        ("Lisbon", "Europe/Lisbon"),
    ],
)
async def test_a_city_is_found_by_its_beginning(text: str, zone: str) -> None:
    assert (await typed("timezone", text))[0] == zone


def test_one_letter_of_a_city_is_no_place() -> None:
    assert zones.begun("l", NOW, Locale.EN) == []


async def test_names_are_made_and_looked_through_outside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, set[threading.Thread]] = {"names": set(), "offered": set(), "zones": set()}
    here = threading.current_thread()

    def noting(what: str, work: Callable[..., object]) -> Callable[..., object]:
        def done(*arguments: object) -> object:
            seen[what].add(threading.current_thread())
            return work(*arguments)

        return done

    monkeypatch.setattr(commands, "names_in", noting("names", language.names_in))
    monkeypatch.setattr(commands, "offered", noting("offered", offered))
    monkeypatch.setattr(zones, "begun", noting("zones", zones.begun))
    await typed("language", "ger")
    await typed("timezone", "lisb")
    assert all(threads and here not in threads for threads in seen.values())


def test_names_are_made_once() -> None:
    assert language.names_in(Locale.EN) is language.names_in(Locale.EN)


def test_words_that_begin_with_what_is_typed_come_before_those_that_hold_it() -> None:
    choices = [Suggestion("Algerian", "a"), Suggestion("Old German", "b"), Suggestion("Nigeria", "c")]
    assert [each.value for each in offered("ger", choices)] == ["b", "a", "c"]
