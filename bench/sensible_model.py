"""A model that answers sensibly what it knows from a script, whichever way it is asked: step by step, or with tools."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a request: its text, and the names of the tools that it calls."""

    text: str
    calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """What a model is asked, on any wire. `tools` maps the names of tools to the schemas of their arguments."""

    entries: Sequence[Entry]
    tools: Mapping[str, Mapping[str, Any]]
    schema: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Said:
    """What it answers: a text, or a call of a tool with its arguments as JSON."""

    text: str = ""
    tool: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a person says, and how a sensible model goes about it.

    `data` are the arguments of the actions that the message asks for, by name, in order; "@id" stands for the id of
    the memory that holds the words `about`, which must be in view first. `answer` is what is said in the end; `asks`:
    it says something that our own confirmation does not. `useful` are the words that the person waits for, if not any.
    """

    name: str
    says: str
    answer: str
    data: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    about: str = ""
    queries: tuple[str, ...] = ()
    asks: bool = False
    useful: str = ""


def memory(content: str, *bindings: str) -> dict[str, Any]:
    """Return a memory to save, as a model answers it."""
    return {"type": "text", "content": content, "bindings": list(bindings)}


HELLO: Final = Scenario("hello", "Good morning!", "Good morning! What can I do for you today?")
TOLD: Final = Scenario(
    "told",
    "my password of the wifi: tulip88",
    "Noted.",
    {"MemorySave": {"items": [memory("The wifi password is tulip88", "wifi password")]}},
)

LONG: Final = Scenario(
    "long answer",
    "Tell me everything about bread",
    " ".join(
        f"Point {number} about bread: it rewards patience, and it looks different each time one comes back to it after "
        "a while away."
        for number in range(1, 41)
    ),
)
"""Its answer is two messages on Telegram and three on Discord."""

LOCKER = memory("The locker code is 4417", "locker code")
SCENARIOS: Final = (
    Scenario(
        "talk",
        "Hi! I slept badly, and it rains. Cheer me up a little?",
        "Oh no, a grey morning after a short night is a rude combination! Put the kettle on, wrap yourself in the "
        "softest thing you own, and let the rain do its concert for you alone. The day owes you one now.",
    ),
    Scenario(
        "save",
        "Remember that my locker code is 4417",
        "Your locker code is noted: 4417.",
        {"MemorySave": {"items": [LOCKER]}},
        useful="4417",
    ),
    Scenario(
        "save of three",
        "Remember: the car stands at B12, the dentist is on 3 December at 10:00, and Júlia wears size 38",
        "All three are noted: the car at B12, the dentist on 3 December and Júlia's size.",
        {
            "MemorySave": {
                "items": [
                    memory("The car stands at B12", "where the car is parked"),
                    memory("The dentist is on 3 December at 10:00", "dentist appointment"),
                    memory("Júlia wears size 38", "Júlia's size"),
                ]
            }
        },
        useful="B12",
    ),
    Scenario(
        "recall",
        "What is my wifi password?",
        "Your wifi password is tulip88.",
        about="tulip88",
        queries=("wifi password",),
        asks=True,
        useful="tulip88",
    ),
    Scenario(
        "recall that needs a search",
        "What could I give my sister for her birthday?",
        "A ukulele: Marta has wanted one since the summer.",
        about="ukulele",
        queries=("what Marta wants", "Marta's wishes"),
        asks=True,
        useful="ukulele",
    ),
    Scenario(
        "update",
        "My wifi password changed, it is tulip99 now",
        "Your wifi password is tulip99 from now on.",
        {
            "MemoryUpdate": {
                "items": [{"id": "@id", "type": "text", "content": "The wifi password is tulip99", "bindings": None}]
            }
        },
        about="tulip88",
        queries=("wifi password",),
        useful="tulip99",
    ),
    Scenario(
        "delete",
        "Forget my wifi password",
        "Shall I delete your wifi password, tulip88?",
        {"MemoryDelete": {"ids": ["@id"]}},
        about="tulip88",
        queries=("wifi password",),
        useful="tulip88",
    ),
    Scenario(
        "save and ask",
        "Note that my locker code is 4417. And what is my wifi password?",
        "4417 is noted, and your wifi password is tulip88.",
        {"MemorySave": {"items": [LOCKER]}},
        about="tulip88",
        queries=("wifi password",),
        asks=True,
        useful="4417",
    ),
)

_TOPICS: Final = (
    "bread", "chess", "rivers", "jazz", "maps", "bees", "clouds", "paper", "glaciers", "tea", "bicycles", "whales",
    "ceramics", "comets", "deserts", "violins", "moss", "lighthouses", "cinnamon", "volcanoes", "origami", "trams",
    "owls", "salt", "tides", "photography", "gardens", "bridges", "mushrooms", "clocks", "dialects", "cheese",
    "mirrors", "kites", "libraries", "horses", "lenses", "markets", "octopuses", "perfume", "radio", "silk",
    "theatre", "umbrellas", "vineyards", "windmills", "yoga", "zeppelins", "ferries", "puppets",
)  # fmt: skip


def talk(sentences: int) -> tuple[Scenario, ...]:
    """Return a talk of fifty turns, with answers of that many sentences of some 24 tokens."""
    return tuple(
        Scenario(
            "turn",
            f"I was reading about {topic} yesterday evening. What is it about {topic} that people like so much?",
            " ".join(
                f"Point {number} about {topic}: it rewards patience, and it looks different each time one comes back "
                "to it after a while away."
                for number in range(1, sentences + 1)
            ),
        )
        for topic in _TOPICS
    )


_ACTION = re.compile(r"^\d+\. (\w+): ", re.MULTILINE)
_MEMORY = re.compile(r"<memory(?P<mark>[^>]*)>(?P<body>.*?)</memory>", re.DOTALL)
_ID = re.compile(r'"id":\s*"([^"]+)"')


def answer(request: Request, scenarios: Sequence[Scenario]) -> Said:
    """Return the answer to the latest message of a person that stands in one of the scenarios."""
    whole = "\n".join(entry.text for entry in request.entries)
    scenario = max(scenarios, key=lambda each: whole.rfind(each.says))
    found = [each for each in _MEMORY.finditer(whole) if scenario.about and scenario.about in each["body"]]
    if request.tools:
        return _single(request, scenario, found)
    last = request.entries[-1].text
    return Said(_stepwise(json.dumps(request.schema or ""), last, scenario, found))


def _single(request: Request, scenario: Scenario, found: Sequence[re.Match[str]]) -> Said:
    """Return a call, or the text that ends the turn."""
    asked = max(at for at, entry in enumerate(request.entries) if scenario.says in entry.text)
    done = [name for entry in request.entries[asked:] for name in entry.calls]
    action = _next(scenario, done, found)
    if action not in request.tools:
        return Said(f"{scenario.answer} [{_mark(found)}]" if found else scenario.answer)
    stops = [*scenario.data][-1:] == [action] and not scenario.asks
    data = json.loads(_data(scenario, action, found)) | {"asked": True, "then": "stop" if stops else "continue"}
    shape = request.tools[action]["properties"]
    return Said(tool=action, arguments=json.dumps({key: data[key] for key in shape if key in data}))


def _stepwise(schema: str, last: str, scenario: Scenario, found: Sequence[re.Match[str]]) -> str:
    """Return a decision, arguments, or a text, as the schema asks."""
    if '"action"' in schema:
        return json.dumps({"action": _next(scenario, _ACTION.findall(last), found)})
    for sign, action in (
        ('"ids"', "MemoryDelete"),
        ('"id"', "MemoryUpdate"),
        ('"bindings"', "MemorySave"),
        ('"items"', "MemorySearch"),
    ):
        if sign in schema:
            return _data(scenario, action, found)
    return scenario.answer


def _next(scenario: Scenario, done: Sequence[str], found: Sequence[re.Match[str]]) -> str:
    """Return the action that comes next: look for what is not in view, do what is asked, then say it."""
    if scenario.about and not found and "MemorySearch" not in done:
        return "MemorySearch"
    return next((name for name in scenario.data if name not in done), "Finish")


def _data(scenario: Scenario, action: str, found: Sequence[re.Match[str]]) -> str:
    """Return the arguments of an action as JSON."""
    if action == "MemorySearch":
        return json.dumps({"items": scenario.queries, "then": "continue" if scenario.data else "stop"})
    known = _ID.search(found[-1]["body"]) if found else None
    return json.dumps(scenario.data[action]).replace("@id", known[1] if known else _mark(found))


def _mark(found: Sequence[re.Match[str]]) -> str:
    """Return the mark of the latest memory that was found, "" if it has none."""
    return "".join(found[-1]["mark"].split()[:1]) if found else ""
