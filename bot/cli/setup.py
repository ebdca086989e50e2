"""`elefante setup`: ask for tokens and a model, prove each by a real question, and write it into the settings file."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import dotenv
import typer
from pydantic import SecretStr

from bot import logs
from bot.cli.service import install_
from bot.doctor import ask_models
from bot.models.presets import PROVIDERS, SUGGESTED, Mode, example
from bot.platforms import PLATFORMS, NobodyAnswered, Platform, about, claim_link
from bot.sealing import KEY, PROTECTS, convert, key_path, make_key, refuse_copied, required_keys
from bot.settings.env_file import env_path, write_settings
from bot.settings.models import model_name
from bot.settings.settings import Settings, load, unknown_settings
from core.errors import BotError, ConfigError, KeyRejected, ModelUnknown, ProviderDown
from core.storage.sqlite_backup import is_lost

Answer = TypeVar("Answer")

MODEL_PATIENCE_S: Final = 60.0
"""How long the questions to a model may take together; the first may load it."""

_INTERRUPTED = 130  # the exit code of a program that SIGINT ended
_WHERE: Final[Mapping[str, str]] = {
    "telegram": "Telegram: talk to @BotFather, /newbot, and copy the token it gives you.",
    "discord": "Discord: https://discord.com/developers/applications, New Application, Bot, Reset Token.",
}
_MODEL: Final = (
    f"Language model, such as {', '.join(map(example, SUGGESTED[:-1]))} or {example(SUGGESTED[-1])}. "
    "Without one the bot keeps and finds what it is told."
)
_KEY_FILE: Final = "~/.config/elefante/memory-key"
_KEYS: Final = frozenset(preset.key_setting for preset in PROVIDERS.values() if preset.key_setting)
_URLS: Final = frozenset(preset.url_setting for preset in PROVIDERS.values())
_ASKED: Final = frozenset({*(PLATFORMS[name].setting for name in _WHERE), "MODEL"})


def setup_() -> None:
    """Ask for tokens and a model, prove each, and write them into the settings file.

    Example: elefante setup
    """
    if not sys.stdin.isatty():
        advice = f"there is no terminal to ask in; write the settings into {env_path()} yourself: see .env.example"
        raise ConfigError("setup", advice)
    logs.configure(None, "ERROR")
    setup = Setup(env_path(), _asked, typer.echo)
    try:
        setup.run()
        setup.offer_key()
        _start(setup)
    except (typer.Abort, KeyboardInterrupt):
        typer.echo(f"\nLeft. {setup.kept}")
        sys.stdout.flush()
        os._exit(_INTERRUPTED)  # an exit would wait for a thread that still looks up the name of a server


def _asked(question: str, hidden: bool) -> str:
    return str(typer.prompt(question, default="", show_default=False, hide_input=hidden)).strip()


def _start(setup: Setup) -> None:
    """Offer to run the bot as a service, or say how it is started."""
    command = sys.argv[0] if Path(sys.argv[0]).name == "elefante" else "elefante"
    if not setup.has_platform:
        typer.echo(f"No platform has a token; `{command} chat` talks to the bot in this terminal.")
        return
    if setup.agrees("\nRun it as a service now, from the start of the machine on?"):
        try:
            install_()
        except BotError as error:
            typer.echo(f"{error}.")
        else:
            return
    typer.echo(f"`{command} run` starts it; `{command} service install` makes it a service.")


class AskAtTerminal(Protocol):
    """Ask the person at the terminal."""

    def __call__(self, question: str, hidden: bool) -> str:
        """Return the answer, "" for none; what is `hidden` is not shown while it is typed."""
        ...


class Setup:
    """One run of the questions. An empty answer keeps what is set; what is refused is asked again."""

    def __init__(self, env: Path, ask: AskAtTerminal, say: Callable[[str], object]) -> None:
        self._env = env
        self._ask = ask
        self._say = say
        self._written: list[str] = []
        self._wrong: dict[str, str] = {}
        self._links: list[str] = []
        self._reached: set[str] = set()
        self.has_platform = False

    @property
    def kept(self) -> str:
        """What was written until now."""
        if not self._written:
            return f"Nothing was written; {self._env} is as it was."
        return f"Written to {self._env}: {', '.join(dict.fromkeys(self._written))}. Nothing else was changed."

    def run(self) -> None:
        """Ask everything.

        Raises:
            ConfigError: a setting that is not asked for here is wrong, or the file cannot be read.
            BotError: the file cannot be written.
        """
        self._show_what_is_set()
        for name, where in _WHERE.items():
            self._say(f"\n{where}")
            self._ask_token(PLATFORMS[name])
        self._ask_http_token()
        self._say(f"\n{_MODEL}")
        self._ask_model()
        self._say(f"\n{self.kept}")
        self._show_links()

    # --- what is set ---

    def _load(self, **given: str) -> Settings:
        """Return the settings with those in place of what is stored. What is stored wrong counts as not set."""
        while True:
            try:
                return load(self._env, **{name.lower(): value for name, value in {**self._wrong, **given}.items()})
            except ConfigError as error:
                at_fault = "MODEL" if error.setting in _KEYS else error.setting
                if at_fault in given or at_fault in self._wrong or at_fault not in _ASKED | _URLS:
                    raise
                self._say(str(error))
                self._wrong[at_fault] = ""

    def _stored(self, name: str) -> str:
        """Return what a setting is in this shell, or else in the file, right or wrong."""
        values = dotenv.dotenv_values(self._env, interpolate=False) if self._env.exists() else {}
        return (os.environ.get(name) or values.get(name) or "").strip()

    def _show_what_is_set(self) -> None:
        settings = self._load()
        self._say(f"The settings file is {self._env}{'' if self._env.exists() else ', which does not exist yet'}.")
        for field, value in settings:
            name = field.upper()
            if (stored := self._stored(name)) or name in _ASKED:
                shown = "set" if isinstance(value, SecretStr) else stored
                here = " (in this shell, which counts more than the file)" if os.environ.get(name) else ""
                self._say(f"  {name}: {shown if stored else 'not set'}{here}")
        for sentence in unknown_settings(self._env):
            self._say(f"  {sentence}")
        self._say(f"Data: {'nowhere but in RAM' if settings.in_memory else settings.data_dir}")
        self._say("Enter leaves a setting as it is. Ctrl-C leaves set-up; what was proved until then stays written.")

    # --- platforms ---

    def _ask_token(self, platform: Platform) -> None:
        setting, told = platform.setting, False
        while True:
            answer = self._ask(f"{setting} (is not shown; Enter to leave it)", True)
            if not answer and (told or not self._stored(setting)):
                return
            told = not answer
            self._say(f"Asking {setting.split('_')[0].title()} ...")
            try:
                lines = self._proved(about(platform, self._load(**{setting: answer or self._stored(setting)})))
            except NobodyAnswered as error:
                self._say(str(error))
                if answer and not self.agrees("Save it anyway?"):
                    continue
            except ConfigError as error:
                self._say(str(error))
                continue
            else:
                self._say(lines[0])
                self._links += lines[1:]
                self._reached.add(setting)
            self.has_platform = True
            if answer:
                self._write({setting: answer})
            return

    def _ask_http_token(self) -> None:
        """Where programs may ask over HTTP, ask for the secret that they send; make one if there is none."""
        if self._stored("HTTP_PORT") in {"", "0"}:
            return
        is_set = bool(self._stored("HTTP_TOKEN"))
        self._say("\nHTTP_PORT is on: programs of this machine ask with a secret, HTTP_TOKEN.")
        while True:
            otherwise = "leaves it" if is_set else "makes one"
            answer = self._ask(f"HTTP_TOKEN (is not shown; Enter {otherwise})", True)
            given = answer or ("" if is_set else secrets.token_urlsafe(24))
            try:
                self._load(**({"HTTP_TOKEN": given} if given else {})).http_secret()
            except ConfigError as error:
                self._say(str(error))
                is_set = False
                continue
            if given:
                self._write({"HTTP_TOKEN": given})
            return

    # --- the model ---

    def _ask_model(self) -> None:
        while True:
            answer = self._ask("MODEL (Enter to leave it)", False)
            model = answer or self._stored("MODEL")
            try:
                if not model or self._settle(model, is_new=bool(answer)):
                    return
            except ConfigError as error:
                self._say(str(error))
            if not answer:
                return

    def _settle(self, model: str, *, is_new: bool) -> bool:
        """Ask for what the model needs until it answers, then write it; return False to have the model asked again."""
        given = {"MODEL": model}
        while True:
            try:
                settings = self._load(**given)
            except ConfigError as error:
                if error.setting not in _KEYS:
                    raise
                self._say(f"{error.advice}.")
                if not (key := self._ask(f"{error.setting} (is not shown)", True)):
                    return False
                given[error.setting] = key
                continue
            if (failed := self._failure(settings, model)) is None:
                break
            self._say(f"{failed['model']} {failed['detail']}: {failed['advice']}.")
            if failed["error"] == ModelUnknown.__name__:
                return False
            if (more := _needed(failed, settings)) and (answer := self._ask(f"{more} (Enter: none)", more in _KEYS)):
                given[more] = answer
            elif not is_new or self.agrees("Save it anyway?"):
                break
            else:
                return False
        if is_new or len(given) > 1:
            self._write(given)
        return True

    def _failure(self, settings: Settings, model: str) -> dict[str, Any] | None:
        """Return the finding of the first of the models that does not answer, or None."""
        names = [model_name(part, "MODEL") for part in model.split(",") if part.strip()]
        self._say(f"Asking {', '.join(map(str, names))} ...")
        # It will decide, for which it is asked to choose, and speak, for which it is asked in words.
        asked = [(mode, name) for name in names for mode in (Mode.HEAVY, Mode.CHAT)]
        try:
            findings = self._proved(_within(MODEL_PATIENCE_S, ask_models(settings, asked)))
        except TimeoutError:
            advice = "it may still be loading, or think for long"
            said = f"did not answer within {MODEL_PATIENCE_S:g} s"
            return {"model": ", ".join(map(str, names)), "error": "TimeoutError", "detail": said, "advice": advice}
        for finding in findings:
            if not finding["ok"]:
                return finding
        for finding in findings[1::2]:
            self._say(f"{finding['model']} answers: {finding['detail']}")
        return None

    # --- the key ---

    def offer_key(self) -> None:
        """Where nothing is sealed, say what a key protects and what is lost with it, and make one if that is wanted."""
        settings = self._load()
        if settings.in_memory or key_path(settings) is not None:
            return
        self._say(f"\n{PROTECTS}")
        if not self.agrees("Make a key now, and seal all that is stored?"):
            return
        while True:
            answer = self._ask(f"File of the key, outside of the data folder (Enter: {_KEY_FILE})", False)
            path = Path(answer or _KEY_FILE).expanduser().absolute()
            try:
                refuse_copied(settings, KEY, path)
                make_key(path)
                break
            except BotError as error:
                self._say(f"{error}.")
        self._write({KEY: str(path)})
        self._say(f"{path} holds the key; the people's keys will be in {settings.people_keys}. Copy both elsewhere.")
        self._seal()

    def _seal(self) -> None:
        """Seal what is stored already; where that cannot be done now, say how."""
        settings = self._load()
        if settings.engine == "sqlite" and is_lost(settings.database_path):
            return
        self._say(f"Sealing what is stored ({KEY} is set from now on) ...")
        try:
            with required_keys(settings, make=True) as sealed:
                done = convert(settings, sealed, lambda *_: None, opens=False)
        except BotError as error:
            self._say(f"{error}. `elefante key seal` does it; until then the bot does not start.")
        else:
            self._say(f"Sealed: {done.rows:,} rows, {done.seconds:.1f} s. `elefante key check` names older copies.")

    # --- the end ---

    def _show_links(self) -> None:
        """Show the link that makes whoever opens it the owner, how to invite the bot, and what the platforms note."""
        later = "Telegram: the start prints the link that makes you its owner, if it has none."
        try:
            settings = self._load()
            if PLATFORMS["telegram"].setting in self._reached and not settings.in_memory:
                link = self._proved(claim_link(settings))
                self._say(f"{link}, as soon as the bot runs." if link else "Telegram: the bot has an owner.")
            elif PLATFORMS["telegram"].enabled(settings):
                self._say(later)
        except BotError as error:
            self._say(f"{error}. {later}")
        for line in self._links:
            self._say(line)

    # --- the terminal, the file, the loop ---

    def agrees(self, question: str) -> bool:
        """Ask a yes-or-no question and return whether the answer is yes."""
        return self._ask(f"{question} (y/N)", False).lower() in {"y", "yes"}

    def _write(self, values: Mapping[str, str]) -> None:
        write_settings(self._env, values)
        self._written += values
        for name in values:
            self._wrong.pop(name, None)
            if os.environ.get(name):
                self._say(f"{name} is also set in this shell, which counts more than the file.")

    def _proved(self, work: Coroutine[Any, Any, Answer]) -> Answer:
        """Run a proof in an event loop of a thread, so that Ctrl-C leaves here at once, whatever it waits for."""
        done: Future[Answer] = Future()

        def prove() -> None:
            try:
                done.set_result(asyncio.run(work))
            except BaseException as error:  # noqa: BLE001 (raised again where it is waited for)
                done.set_exception(error)

        threading.Thread(target=prove, daemon=True).start()
        return done.result()


def _needed(failed: Mapping[str, Any], settings: Settings) -> str:
    """Return the setting that may mend what failed, or ""."""
    provider = failed["model"].partition(":")[0]
    preset = PROVIDERS[provider]
    if failed["error"] == KeyRejected.__name__:
        return preset.key_setting
    is_own = settings.is_local(provider) or settings.is_own_address(provider)
    return preset.url_setting if failed["error"] == ProviderDown.__name__ and is_own else ""


async def _within(patience_s: float, work: Coroutine[Any, Any, Answer]) -> Answer:
    async with asyncio.timeout(patience_s):
        return await work
