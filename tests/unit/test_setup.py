"""`elefante setup`: each answer is proved before it is written, each mistake has its sentence and is asked again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot import platforms
from bot.cli import setup as verb
from bot.cli.setup import Setup
from bot.settings.env_file import write_settings
from bot.settings.settings import Settings, load
from bot.wiring import storage
from core.clock import SystemClock
from core.errors import BotError, ConfigError
from tests.fakes import anthropic_server
from tests.fakes.canaries import filled, found
from tests.fakes.discord_server import TOKEN as DISCORD_TOKEN
from tests.fakes.discord_server import DiscordServer
from tests.fakes.http_server import HEAD, Answer, Asked, LoopbackServer
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.unit.test_doctor import well

KEY = "sk-right"
CLAUDE = "anthropic:claude-haiku-5-5"


@dataclass
class Place:
    """The loopback servers of platforms and models, and the settings file of a newcomer who uses them."""

    env: Path
    telegram: TelegramServer
    discord: DiscordServer
    models: LoopbackServer
    stored: dict[str, str]
    said: list[str] = field(default_factory=list)
    asked: list[tuple[str, bool]] = field(default_factory=list)

    async def run(self, *answers: str) -> str:
        """Answer the questions, and return all that was said."""
        given = iter(answers)

        def ask(question: str, hidden: bool) -> str:
            self.asked.append((question, hidden))
            answer = next(given, None)
            assert answer is not None, "\n".join(self.said)
            return answer

        setup = Setup(self.env, ask, self.said.append)
        await asyncio.to_thread(setup.run)
        assert next(given, None) is None, "every answer was asked for"
        return "\n".join(self.said)

    def written(self) -> dict[str, str]:
        """Return the settings that were not there before."""
        lines = self.env.read_text("utf-8").splitlines() if self.env.exists() else []
        found = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
        return {name: value for name, value in found.items() if self.stored.get(name) != value}


@asynccontextmanager
async def place(folder: Path, *answers: Answer | Callable[[Asked], Answer]) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        telegram = await stack.enter_async_context(TelegramServer(SystemClock()))
        discord = await stack.enter_async_context(DiscordServer(SystemClock()))
        models = LoopbackServer(list(answers) or [well])
        await stack.enter_async_context(models.running())
        stored = {
            "TELEGRAM_API_BASE_URL": telegram.url,
            "DISCORD_API_BASE_URL": discord.api_url,
            "OPENAI_BASE_URL": models.url,
            "ANTHROPIC_BASE_URL": models.url,
            "DATA_DIR": str(folder / "data"),
        }
        env = folder / ".env"
        env.write_text("# mine\n" + "".join(f"{name}={value}\n" for name, value in stored.items()), "utf-8")
        yield Place(env, telegram, discord, models, stored)


@pytest.fixture(autouse=True)
def _keys_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the loopback address of anthropic want a key, as the provider's own does."""
    monkeypatch.setattr(Settings, "is_own_address", lambda _self, provider: provider != "anthropic")


@pytest.fixture(autouse=True)
def _retries_wait_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.0)


def strict(asked: Asked) -> Answer:
    """Answer as a provider with two accounts, one without credit, that knows one model."""
    if (key := asked.headers["authorization"].removeprefix("Bearer ")) not in {KEY, "sk-poor"}:
        return anthropic_server.fails(401)
    if not CLAUDE.endswith(asked.body["model"]):
        return anthropic_server.fails(404)
    return anthropic_server.fails(402) if key == "sk-poor" else well(asked)


async def test_everything_right_is_written_for_the_owner_only_and_ends_with_the_links(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        said = await here.run(TOKEN, DISCORD_TOKEN, CLAUDE, KEY)
        assert here.written() == {
            "TELEGRAM_TOKEN": TOKEN,
            "DISCORD_TOKEN": DISCORD_TOKEN,
            "MODEL": CLAUDE,
            "ANTHROPIC_API_KEY": KEY,
        }
        assert here.env.read_text("utf-8").startswith("# mine\n"), "the other lines stay"
        assert here.env.stat().st_mode & 0o077 == 0
        assert "Telegram: connected as @elefante_bot" in said
        assert f"{CLAUDE} answers: Olá!" in said
        assert re.search(
            r"open https://t\.me/elefante_bot\?start=\S+ to own this bot; .* as soon as the bot runs", said
        )
        assert "Discord: add the bot to a server: https://discord.com/oauth2/authorize?" in said
        assert [hidden for _, hidden in here.asked] == [True, True, False, True], "what is secret is not shown"
        assert not any(secret in said for secret in (TOKEN, DISCORD_TOKEN, KEY))


async def test_what_is_set_is_shown_without_secrets_proved_again_and_kept(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        write_settings(here.env, {"TELEGRAM_TOKEN": TOKEN, "MODEL": "openai:tiny", "TELEGRAM_TOKN": "x"})
        before = here.env.read_bytes()
        said = await here.run("", "", "")
        assert here.env.read_bytes() == before
        assert {"  TELEGRAM_TOKEN: set", "  DISCORD_TOKEN: not set", "  MODEL: openai:tiny"} <= set(here.said)
        assert f"The settings file is {here.env}." in said
        assert f"TELEGRAM_TOKN in {here.env} is not a setting; write TELEGRAM_TOKEN" in said
        assert TOKEN not in said
        assert "Telegram: connected as @elefante_bot" in said
        assert "openai:tiny answers: Olá!" in said
        assert f"Nothing was written; {here.env} is as it was." in said


async def test_the_secret_of_programs_is_asked_for_where_they_may_ask_and_made_if_there_is_none(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        write_settings(here.env, {"HTTP_PORT": "8765", "MODEL": "limited"})
        said = await here.run("", "", "short", "", "")
        made = here.written()["HTTP_TOKEN"]
        assert "16 letters and digits or more" in said
        assert len(made) >= 32
        assert made not in said
        await here.run("", "", "", "")
        assert here.written()["HTTP_TOKEN"] == made
        assert here.asked[-2] == ("HTTP_TOKEN (is not shown; Enter leaves it)", True)


async def test_nothing_answered_writes_nothing(tmp_path: Path) -> None:
    env = tmp_path / "folder" / ".env"
    said: list[str] = []
    await asyncio.to_thread(Setup(env, lambda _question, _hidden: "", said.append).run)
    assert f"The settings file is {env}, which does not exist yet." in said
    assert not env.parent.exists()


async def test_each_wrong_token_has_its_sentence_and_is_asked_again(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        here.discord.application_flags = 0
        said = await here.run("nonsense", "1:wrong", TOKEN, "nonsense", "a.b.c", DISCORD_TOKEN, "")
        assert here.written() == {"TELEGRAM_TOKEN": TOKEN, "DISCORD_TOKEN": DISCORD_TOKEN}
        for sentence in (
            "TELEGRAM_TOKEN: write it as @BotFather gave it",
            "TELEGRAM_TOKEN: Telegram does not know this token",
            "DISCORD_TOKEN: write it as the portal gave it",
            "DISCORD_TOKEN: Discord does not accept it",
            "Discord: the message-content intent is off",
        ):
            assert sentence in said


async def test_a_stored_token_that_is_refused_is_said_and_asked_once_more(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        write_settings(here.env, {"TELEGRAM_TOKEN": "1:old", "MODEL": "clippy"})
        said = await here.run("", "", "", "")
        assert said.count("TELEGRAM_TOKEN: Telegram does not know this token") == 1
        assert "MODEL: write provider:model" in said
        assert here.written() == {"TELEGRAM_TOKEN": "1:old", "MODEL": "clippy"}


@pytest.mark.parametrize(("agrees", "again"), [("y", []), ("n", [""])])
async def test_a_platform_that_cannot_be_reached_can_be_saved_anyway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agrees: str, again: Sequence[str]
) -> None:
    monkeypatch.setattr(platforms, "PATIENCE_S", 0.2)
    async with place(tmp_path) as here:
        write_settings(here.env, {"TELEGRAM_API_BASE_URL": "http://127.0.0.1:9"})  # discard: nobody listens
        here.stored["TELEGRAM_API_BASE_URL"] = "http://127.0.0.1:9"
        said = await here.run(TOKEN, agrees, *again, "", "")
        assert "TELEGRAM_TOKEN: nobody answered within 0.2 s; is this machine connected?" in said
        assert here.written() == ({"TELEGRAM_TOKEN": TOKEN} if agrees == "y" else {})
        assert ("the start prints the link" in said) == (agrees == "y")


async def test_each_mistake_of_a_model_has_its_sentence_and_is_asked_again(tmp_path: Path) -> None:
    async with place(tmp_path, strict) as here:
        said = await here.run(
            *("", "", "clippy:1", "openai"),
            *(CLAUDE, ""),  # without a key the model is asked again
            *("anthropic:claude-9", "sk-wrong", KEY),
            *(CLAUDE, "sk-poor", "n"),
            *(CLAUDE, KEY),
        )
        assert here.written() == {"MODEL": CLAUDE, "ANTHROPIC_API_KEY": KEY}
        for sentence in (
            "MODEL: write provider:model, where provider is one of ",
            "MODEL: name a model of openai",
            "which needs a key; make one at https://platform.claude.com/settings/keys.",
            "anthropic refuses the key; mend ANTHROPIC_API_KEY",
            "anthropic has no model 'claude-9' for you",
            "the key is right, but its account has no credit",
        ):
            assert sentence in said
        assert ("ANTHROPIC_API_KEY (Enter: none)", True) in here.asked
        assert "sk-wrong" not in said


async def test_an_address_that_does_not_answer_is_asked_for_again(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        write_settings(here.env, {"OLLAMA_BASE_URL": "http://127.0.0.1:9"})
        said = await here.run("", "", "ollama:qwen3:8b", here.models.url)
        assert "is the server at http://127.0.0.1:9/v1 running and reachable?" in said
        assert here.written() == {"MODEL": "ollama:qwen3:8b", "OLLAMA_BASE_URL": here.models.url}


async def test_a_model_that_does_not_answer_in_time_can_be_saved_anyway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "MODEL_PATIENCE_S", 0.2)
    async with place(tmp_path, Answer(gates={HEAD: asyncio.Event()})) as here:
        said = await here.run("", "", "openai:slow", "y")
        assert "openai:slow did not answer within 0.2 s: it may still be loading" in said
        assert here.written() == {"MODEL": "openai:slow"}


async def test_both_kinds_of_question_are_asked_of_every_model_of_a_chain(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await here.run("", "", "openai:a, ollama:b,limited", here.models.url)
        assert here.written() == {"MODEL": "openai:a, ollama:b,limited", "OLLAMA_BASE_URL": here.models.url}
        asked = [(body["model"], "response_format" in body) for body in here.models.bodies]
        assert asked[-4:] == [("a", True), ("a", False), ("b", True), ("b", False)]


async def test_a_setting_that_is_not_asked_for_and_wrong_is_named(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    env.write_text("MAX_STEPS=many\n", "utf-8")
    with pytest.raises(ConfigError, match="MAX_STEPS"):
        await asyncio.to_thread(Setup(env, lambda _question, _hidden: "", lambda _: None).run)


def test_a_file_that_cannot_be_replaced_stays_whole_and_nothing_is_left_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = tmp_path / ".env"
    env.write_text("A=1\n", "utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(BotError, match=r"\.env cannot be written: No space left on device"):
        write_settings(env, {"MODEL": "openai:a", "OPENAI_API_KEY": KEY})
    assert [(path.name, path.read_text("utf-8")) for path in tmp_path.iterdir()] == [(".env", "A=1\n")]


@pytest.mark.parametrize("value", ["two words", "line\nbreak", "zero\u200bwidth"])
def test_a_value_that_one_line_cannot_hold_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match="a space or an invisible character"):
        write_settings(tmp_path / ".env", {"OPENAI_API_KEY": value})
    assert not list(tmp_path.iterdir())


def test_a_link_to_the_settings_file_stays_a_link(tmp_path: Path) -> None:
    env, real = tmp_path / ".env", tmp_path / "real"
    env.symlink_to(real)
    write_settings(env, {"MODEL": "openai:a"})
    assert env.is_symlink()
    assert real.read_text("utf-8") == "MODEL=openai:a\n"


# --- the key


@pytest.mark.parametrize("stored", [False, True])
async def test_a_key_is_offered_with_what_it_protects_and_what_is_lost_with_it(tmp_path: Path, stored: bool) -> None:
    async with place(tmp_path) as here:
        settings = load(here.env)
        if stored:
            async with storage(settings) as database:
                await database.write(lambda query: filled(query, 2))
            assert found([tmp_path / "data"])
        answers = iter(["y", str(tmp_path / "data" / "key"), str(tmp_path / "etc" / "key")])
        setup = Setup(here.env, lambda _question, _hidden: next(answers), here.said.append)
        await asyncio.to_thread(setup.offer_key)
        said = "\n".join(here.said)
        assert "reads nothing" in said
        assert "nobody can read it either" in said
        assert "whoever copies" in said, "a key in the data folder is asked for again"
        assert here.written() == {"MEMORY_KEY_FILE": str(tmp_path / "etc" / "key")}
        assert ("Sealed: " in said) is stored
        async with storage(load(here.env)) as database:
            assert database.sealing.is_on
        assert found([tmp_path / "data"]) == []
        here.said.clear()
        await asyncio.to_thread(Setup(here.env, lambda *_: "y", here.said.append).offer_key)
        assert here.said == [], "it has one"


async def test_no_key_is_made_where_none_is_wanted(tmp_path: Path) -> None:
    async with place(tmp_path) as here:
        await asyncio.to_thread(Setup(here.env, lambda *_: "", here.said.append).offer_key)
        assert here.written() == {}
        async with storage(load(here.env)) as database:
            assert not database.sealing.is_on


async def test_what_cannot_be_sealed_now_is_told_with_the_command(tmp_path: Path) -> None:
    async with place(tmp_path) as here, storage(load(here.env)) as database:
        await database.write(lambda query: filled(query, 1))
        answers = iter(["y", str(tmp_path / "key")])
        await asyncio.to_thread(Setup(here.env, lambda *_: next(answers), here.said.append).offer_key)
        assert "stop it first" in here.said[-1]
        assert "elefante key seal" in here.said[-1]
