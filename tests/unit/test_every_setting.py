"""Settings as an owner writes them, and what people, or a model's server, meet then and do not meet without them."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from bot.cli.think import CollectingChannel
from bot.models.presets import PROVIDERS, Mode, Wire
from bot.settings.settings import Settings, load
from bot.wiring import App, build, open_chatbot
from core.answering.parts import TurnLimits
from core.dialogue import Picture
from core.features.access.storage import Person
from core.models import Cycle, complete
from core.ports import MessageHandler
from core.types import ChatKey, Incoming, Role, UserKey
from tests.architecture.tree import ROOT
from tests.fakes import anthropic_server, openai_server
from tests.fakes.http_server import LoopbackServer
from tests.fakes.wires import prompt
from tests.pages import env_example

MODES = tuple(Mode)
ROOM = ChatKey("telegram", "-100")


@dataclass
class Talk:
    """A bot that runs by the lines of a settings file, and people who write to it."""

    app: App
    bot: MessageHandler
    known: set[UserKey] = field(default_factory=set)

    async def say(self, text: str, who: str = "ana", *, in_room: bool = False) -> str:
        """Say it as a member (Eve is a stranger), and return all that stands there then."""
        user = UserKey("telegram", who)
        if who != "eve" and user not in self.known:
            await self.app.features.access.people.put(Person(user, Role.MEMBER, who, self.app.clock.now()))
            self.known.add(user)
        chat, channel = ROOM if in_room else ChatKey("telegram", who), CollectingChannel()
        now = self.app.clock.now()
        said = Incoming(chat, user, who, uuid.uuid4().hex, text, now, private=not in_room, language="en")
        await (await self.bot.receive(said, channel))
        return "\n".join(shown.text for shown in channel.stays)


@asynccontextmanager
async def talk(folder: Path, lines: Mapping[str, str]) -> AsyncIterator[Talk]:
    usual = {"STORAGE_URL": "memory:", "DATA_DIR": "data"}
    async with build(written(folder, {**usual, **lines})) as app, open_chatbot(app) as bot:
        yield Talk(app, bot)


def written(folder: Path, lines: Mapping[str, str]) -> Settings:
    """Return the settings of a file with those lines."""
    env = folder / ".env"
    env.write_text("".join(f"{name}={value}\n" for name, value in lines.items()), "utf-8")
    return load(env)


HELLO = "Hi! Tell me what to keep"


@pytest.mark.parametrize(
    ("line", "said", "met"),
    [
        ("MAX_MESSAGE_CHARS=100", ["x" * 101], "the limit is 100 characters"),
        ("MIN_MESSAGE_CHARS=5", ["hey"], "too short"),
        ("MEMORY_UNDO_S=0", ["Remember that my code is 12", "/undo"], "Undo is turned off here"),
        ("QUOTA_PERSON=messages_minute=1", ["hello", "hello"], "1 message a minute"),
        ("QUOTA_ROOM=messages_minute=1", ["room: hello", "room bia: hello"], "1 message a minute"),
        ("QUOTA_BOT=messages_minute=1", ["hello", "bia: hello"], "1 message a minute"),
        ("QUOTA_GUEST=messages_minute=0\nACCESS=open", ["eve: hello"], "0 messages a minute"),
        ("ACCESS=open", ["eve: hello"], HELLO),
        ("LANGUAGE=es", ["hello"], "¡Hola!"),
        ("ACTIONS_OFF=MemorySave", ["Remember that my code is 12"], "turned off"),
        ("MAX_REMINDERS=0", ["Remind me to call home tomorrow at 9"], "turned off"),
        ("REMINDER_MIN_INTERVAL_S=86400", ["Remind me to drink water every hour"], "1 day"),
        ("TIMEZONE=Asia/Tokyo", ["Remind me to call home tomorrow at 9"], "Tokyo time"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
async def test_what_is_written_is_met_in_the_chat_and_not_without_it(
    tmp_path: Path, line: str, said: list[str], met: str
) -> None:
    lines = dict(one.split("=", 1) for one in line.splitlines())
    for given in (lines, {}):
        answer = ""
        async with talk(tmp_path, given) as there:
            for each in said:
                who, _, text = each.rpartition(": ")
                answer = await there.say(text, who.removeprefix("room").strip() or "ana", in_room="room" in who)
        assert (met in answer) is bool(given), answer


def test_the_limits_of_a_turn_are_those_that_are_written(tmp_path: Path) -> None:
    lines = {
        "MAX_STEPS": "3", "TURN_TIMEOUT_S": "7", "MIN_MESSAGE_CHARS": "2", "MAX_MESSAGE_CHARS": "1000",
        "ANSWERS_AT_ONCE": "5", "STATUS_AFTER_S": "9", "NOTIFY_AFTER_S": "11", "CYCLE": "stepwise",
    }  # fmt: skip
    assert written(tmp_path, lines).turn_limits() == TurnLimits(
        Cycle.STEPWISE, max_steps=3, timeout_s=7, min_message_chars=2, max_message_chars=1000, answers_at_once=5,
        status_after_s=9, notify_after_s=11,
    )  # fmt: skip


# --- what a model is sent


@asynccontextmanager
async def asked(folder: Path, **lines: str) -> AsyncIterator[tuple[LoopbackServer, Talk]]:
    """Run a bot whose models are behind a server that writes down what it is asked."""
    server = LoopbackServer([openai_server.says("Purple.")])
    async with server.running():
        own = {"MODEL": "openai:m", "OPENAI_BASE_URL": server.url, "QUOTA_PERSON": "none"}
        async with talk(folder, own | lines) as there:
            yield server, there


async def bodies(server: LoopbackServer, there: Talk) -> dict[Mode, dict[str, Any]]:
    """Ask the model of each mode, and return what was sent."""
    sent = {}
    for mode in MODES:
        model = getattr(there.app.parts.services.models, mode.name.lower())
        await complete(model, prompt())
        sent[mode] = server.bodies[-1]
    return sent


@pytest.mark.spec("J7")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("knob", "value", "key", "met"),
    [
        ("EFFORT", "high", "reasoning_effort", "high"),
        ("VERBOSITY", "low", "verbosity", "low"),
        ("MAX_TOKENS", "77", "max_tokens", 77),
        ("", "openai:other", "model", "other"),
    ],
)
async def test_a_modes_own_parameter_is_sent_for_that_mode_alone(
    tmp_path: Path, *, mode: Mode, knob: str, value: str, key: str, met: Any
) -> None:
    name = "_".join(filter(None, ["MODEL", mode.upper(), knob]))
    async with asked(tmp_path, **{name: value}) as (server, there):
        sent = await bodies(server, there)
    assert [each for each in MODES if sent[each].get(key) == met] == [mode]


async def test_the_temperature_is_sent_to_all(tmp_path: Path) -> None:
    async with asked(tmp_path, MODEL_TEMPERATURE="0.3") as (server, there):
        sent = await bodies(server, there)
    assert [sent[mode].get("temperature") for mode in MODES] == [0.3] * len(MODES)


@pytest.mark.parametrize(("lines", "sees"), [({}, True), ({"MODEL_PICTURES": "false"}, False)])
async def test_a_picture_is_sent_unless_it_is_to_stay_here(
    tmp_path: Path, *, lines: dict[str, str], sees: bool
) -> None:
    [turn] = prompt().turns
    looked_at = replace(prompt(), turns=(replace(turn, pictures=(Picture("image/png", b"\x89PNG", 10),)),))
    async with asked(tmp_path, **lines) as (server, there):
        await complete(there.app.parts.services.models.chat, looked_at)
        assert ("image_url" in str(server.bodies[-1]["messages"])) is sees


@pytest.mark.parametrize("provider", [name for name, preset in PROVIDERS.items() if preset.url_setting])
async def test_a_provider_is_asked_at_the_address_and_with_the_key_that_are_written(
    tmp_path: Path, provider: str
) -> None:
    preset = PROVIDERS[provider]
    is_claude = preset.wire is Wire.ANTHROPIC
    server = LoopbackServer([(anthropic_server if is_claude else openai_server).says("Purple.")])
    async with server.running():
        lines = {"MODEL": f"{provider}:m", preset.url_setting: server.url}
        lines |= {preset.key_setting: "sk-of-ours"} if preset.key_setting else {}
        async with talk(tmp_path, lines) as there:
            await complete(there.app.parts.services.models.chat, prompt())
    [told] = server.asked
    assert told.path == ("/v1/messages" if is_claude else "/v1/chat/completions")
    key = told.headers.get("x-api-key") or told.headers.get("authorization", "").removeprefix("Bearer ")
    assert (key == "sk-of-ours") is bool(preset.key_setting)


def test_every_key_and_address_of_the_example_is_a_providers() -> None:
    own = {setting for preset in PROVIDERS.values() for setting in (preset.key_setting, preset.url_setting)}
    named = {name.upper() for name in Settings.model_fields}
    assert {name for name in own if name} <= named
    assert {name for name in named if name.endswith(("_API_KEY", "_BASE_URL"))} - own == {
        "TELEGRAM_API_BASE_URL", "DISCORD_API_BASE_URL",
    }  # fmt: skip


def shown(server: LoopbackServer) -> list[str]:
    """Return the numbers of the questions that stood in the last prompt, before this one."""
    told = [message["content"] for message in server.bodies[-1]["messages"] if message["role"] == "user"]
    numbers = ["".join(filter(str.isdigit, text.partition("number ")[2][:2])) for text in told[:-1]]
    return [number for number in numbers if number]


@pytest.mark.parametrize(
    ("lines", "least", "most"),
    [
        ({}, 19, 19),
        ({"HISTORY_POLICY": "last-messages", "HISTORY_MAX_MESSAGES": "10"}, 4, 5),
        ({"HISTORY_POLICY": "last-tokens", "HISTORY_MAX_TOKENS": "150"}, 1, 6),
        ({"HISTORY_POLICY": "last-messages"}, 19, 19),
        ({"HISTORY_POLICY": "last-tokens"}, 19, 19),
    ],
    ids=lambda each: " ".join(each.values()) if isinstance(each, dict) else "",
)
async def test_a_model_is_shown_of_the_conversation_what_is_written(
    tmp_path: Path, lines: dict[str, str], least: int, most: int
) -> None:
    async with asked(tmp_path, **lines) as (server, there):
        for number in range(20):
            await there.say(f"number {number} please")
        found = shown(server)
        assert least <= len(found) <= most
        assert found == [str(number) for number in range(19 - len(found), 19)]


async def test_steady_prompts_begin_alike(tmp_path: Path) -> None:
    first: dict[str, list[str]] = {}
    for steady in ("true", "false"):
        few = {"HISTORY_POLICY": "last-messages", "HISTORY_MAX_MESSAGES": "20", "HISTORY_STEADY": steady}
        async with asked(tmp_path, **few) as (server, there):
            for number in range(24):
                await there.say(f"number {number} please")
                first[steady] = [*first.get(steady, ()), (shown(server) or [""])[0]]
    assert len(set(first["true"][12:])) < len(set(first["false"][12:]))


async def test_a_turn_is_one_call_or_one_for_each_step(tmp_path: Path) -> None:
    calls = {}
    for cycle in ("single", "stepwise"):
        async with asked(tmp_path, CYCLE=cycle) as (server, there):
            await there.say("What colour is it?")
            calls[cycle] = len(server.asked)
    assert calls["single"] == 1
    assert calls["stepwise"] > 1


# --- all of them


def test_every_line_of_the_example_is_written_by_a_test() -> None:
    """A test sets a setting by its name in capitals, or as a keyword; families of the models' are in tables here."""
    families = {
        f"MODEL_{mode.upper()}{knob}" for mode in MODES for knob in ("", "_EFFORT", "_VERBOSITY", "_MAX_TOKENS")
    }
    families |= {name for preset in PROVIDERS.values() for name in (preset.key_setting, preset.url_setting)}
    text = "\n".join(path.read_text("utf-8") for path in sorted((ROOT / "tests").rglob("*.py")))
    lines = [line.partition("=")[0] for line in env_example().splitlines() if line and not line.startswith("#")]
    assert len(lines) == len(Settings.model_fields)
    unset = [name for name in lines if name not in families and not any(f"{form}" in text for form in _forms(name))]
    assert unset == [], "write a test that sets it and looks at what people meet, or remove it"


def _forms(name: str) -> tuple[str, ...]:
    return f'"{name}"', f"{name}=", f'"{name.lower()}"', f"{name.lower()}="
