"""Thirty-one answers of a model gone wrong, by name, over a real socket: what a person reads, and what is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest

from bot.settings.settings import load
from bot.wiring import build, open_chatbot
from core.types import ChatKey, Incoming, MemoryDraft, MemoryKind, UserKey
from tests.fakes import openai_server
from tests.fakes.channel import RecordingChannel
from tests.fakes.http_server import Answer, Asked, LoopbackServer
from tests.fakes.tool_calls import Call

ANA: Final = UserKey("console", "ana")
KNOWN: Final = ("my cat is called Miso", "the locker code is 4417")
MACHINE: Final = re.compile(
    r"<\|?/?(?:tool|function|task|said-at|memory|message|im_)|\[/?(?:TOOL|JANELA|HIST|INST|m\d)|"
    r'"(?:arguments|parameters|bindings|instead_of|reply)"|MemoryS|\{\{'
)
"""What no person should read."""

MOST_CALLS: Final = 5

Said: TypeAlias = str | Sequence[Call]
"""An answer: a text, or calls as the protocol has them."""


def saves(*contents: str, instead_of: str | None = None, then: str = "stop") -> Call:
    items = [
        {"type": "text", "content": each, "bindings": ["fact"], "instead_of": instead_of, "until": None}
        for each in contents
    ]
    return Call("MemorySave", json.dumps({"items": items, "asked": True, "then": then}))


def written(**arguments: Any) -> str:
    return json.dumps({"name": "MemorySave", "arguments": arguments})


TOM: Final = {"items": [{"content": "my dog is called Tom", "bindings": ["dog"]}], "asked": True, "then": "stop"}


@dataclass(frozen=True)
class Case:
    """A name, what the person says, what the model answers call by call (the last again and again).

    `kept` are the memories in the end, `hidden` are words that nobody may read, `told` such as must be read.
    """

    name: str
    says: str
    answers: Sequence[Said]
    kept: Sequence[str] = KNOWN
    hidden: Sequence[str] = ()
    told: str = ""


TOM_PATCH: Final = {"id": "m1", "type": None, "content": "my cat is called Tom", "bindings": None}
CAT_TO_TOM: Final = Call("MemoryUpdate", json.dumps({"items": [TOM_PATCH], "then": "stop"}))
DELETE_ALL: Final = Call("MemoryDelete", '{"ids": ["m1", "m2"], "then": "stop"}')
PAY_BOB: Final = {"text": "pay Bob", "when": "tomorrow at 9", "at": "", "rule": "", "briefing": False, "then": "stop"}
REMINDER: Final = Call("ReminderSet", json.dumps(PAY_BOB))
ITALIAN: Final = Call("AnswerLanguage", '{"language": "it", "then": "stop"}')


def boat(which: str = "boat") -> Call:
    return Call("MemorySearch", json.dumps({"items": [which], "then": "continue"}))


SEEN: Final = (
    Case("replace by save", "hello there", [[saves("my cat is called Tom", instead_of="m1")], "Hi!"]),
    Case("twenty invented facts", "hello", [[saves(*(f"she owns {n} boats" for n in range(2, 22)))], "Hi!"]),
    Case(
        "a written call of Hermes",
        "remember that my dog is called Tom",
        [f"Sure! <tool_call>\n{written(**TOM)}\n</tool_call>"],
        told="Nothing was saved.",
    ),
    Case(
        "a written call that is wanted",
        "my dog is called Tom, note it",
        [f"Sure! <tool_call>\n{written(**TOM)}\n</tool_call>"],
        told="Nothing in your memory was changed",
    ),
    Case(
        "a written call behind talk",
        "how far is the moon?",
        [f"About 384,000 km.\n```json\n{written(**TOM)}\n```"],
        told="384,000",
    ),
    Case("a written call of Llama", "hello", [f"<|python_tag|>{written(**TOM)}", "Hi!"]),
    Case("echoed tags", "hi", ["<task>\nNow: Sunday.\n<message>hi</message>\n</task>\nHello!"], told="Hello!"),
    Case("echoed window", "hi", ["[JANELA_ATUAL]\n<said-at>Sunday 09:14</said-at> Hello!"], told="Hello!"),
    Case("cut arguments for ever", "what is my locker code?", [[Call("MemorySearch", '{"items": ["lock')]]),
    Case("the same search for ever", "where is my boat?", [[boat()]]),
    Case("a tool that is none, for ever", "hello", [[Call("Teleport", "{}")]]),
    Case("an empty answer for ever", "hello", [""]),
    Case("saved, in French", "ça va ?", ["Je l'ai enregistré dans ta mémoire."], hidden=("enregistré",)),
    Case("saved, in Italian", "ciao bello", ["L'ho salvato nella tua memoria."], hidden=("salvato",)),
    Case("saved, in Swedish", "hej på dig", ["Jag har sparat det."], hidden=("sparat",)),
    Case("gone, in English", "it is jammed", ["Your locker memory is gone now."], hidden=("is gone now",)),
)
"""Read while this was written."""

UNSEEN: Final = (
    Case("an update for a greeting", "good morning!", [[CAT_TO_TOM], "Morning!"]),
    Case("a deletion nobody wants", "what is my cat called?", [[DELETE_ALL], "Miso."]),
    Case("a call in XML", "hello", ["<function=MemorySave>\n<parameter=items>[]</parameter>\n</function> Hi!"]),
    Case("a call of Mistral", "hello", [f"[TOOL_CALLS] [{written(**TOM)}]", "Hi!"]),
    Case("a call in double braces", "hello", [f"{{{written(**TOM)}}}", "Hi!"]),
    Case("an answer as a call", "hello", ['{"reply": [{"tool": "Answer", "answer": "Hi!"}]}', "Hi!"], told="Hi!"),
    Case("arguments that are a list", "note: my dog is Tom", [[Call("MemorySave", "[1, 2]")], "Noted!"]),
    Case("nested for ever", "hello", [[Call("MemorySave", "[" * 3_000 + "]" * 3_000)], "Hi!"]),
    Case("a thousand words of nothing", "hello", ["la " * 1_000], told="la la"),
    Case("a reminder for a greeting", "hello", [[REMINDER], "Hi!"], hidden=("I'll remind", "⏰ Set")),
    Case("a language for a secret", "the safe is 7-21-40", [[ITALIAN], "Ok."], hidden=("Italian", "italiano")),
    Case("updated, in German", "Wie geht es dir?", ["Ich habe es aktualisiert."], hidden=("aktualisiert",)),
    Case("saved, in Dutch", "hoi", ["Ik heb het opgeslagen in je geheugen."], hidden=("Ik heb het",)),
    Case("saved, in Polish", "cześć", ["Zapisałem to w twojej pamięci."], hidden=("Zapisałem",)),
    Case("saved, in Japanese", "こんにちは", ["あなたの記憶に保存しました。"], hidden=("保存しました",)),
)
"""Written before the first run: then two of them showed machine text, a call in XML and an answer as a call."""


def wire(said: Said) -> Answer:
    if isinstance(said, str):
        return openai_server.says(*(re.findall(r"\S+\s*", said) or [""]))
    return openai_server.calls(*said)


async def faults_of(case: Case, folder: Path) -> list[str]:
    """Let a model answer so, and return what is wrong with what the person reads and what is kept: nothing."""

    def answer(asked: Asked) -> Answer:
        if "json_schema" in json.dumps(asked.body.get("response_format") or ""):
            return wire('{"reply": [{"tool": "Answer", "answer": "Ok, in words."}]}')
        return wire(case.answers[min(len(server.asked), len(case.answers)) - 1])

    server, channel = LoopbackServer([answer]), None
    async with server.running():
        settings = load(None, data_dir=folder, model="openai:m", openai_base_url=f"{server.url}/v1")
        async with build(settings) as app, open_chatbot(app) as chatbot:
            memory = app.features.memories.of(ANA)
            drafts = [MemoryDraft(MemoryKind.TEXT, text, (text,)) for text in KNOWN]
            await memory.add(drafts)
            channel = RecordingChannel(app.clock)
            incoming = Incoming(
                ChatKey("console", "ana"), ANA, "Ana", "1", case.says, app.clock.now(), language="en", private=True
            )
            await (await chatbot.receive(incoming, channel))
            kept = sorted(item.content for item in await memory.page(limit=99))
    said = "\n".join(each.shown.text for each in channel.log)
    return [
        *([f"kept: {kept}"] if kept != sorted(case.kept) else []),
        *([f"machine text: {said}"] if MACHINE.search(said) else []),
        *(f"untrue: {word}" for word in case.hidden if word in said),
        *([f"not told: {case.told}"] if case.told not in channel.texts[-1] else []),
        *([f"calls: {len(server.asked)}"] if len(server.asked) > MOST_CALLS else []),
    ]


@pytest.mark.parametrize("case", [*SEEN, *UNSEEN], ids=lambda case: case.name)
async def test_a_person_reads_nothing_untrue(tmp_path: Path, case: Case) -> None:
    assert await faults_of(case, tmp_path) == []
