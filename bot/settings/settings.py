"""All settings of a bot, read from the environment and `.env`; wrong ones are named before anything starts."""

from __future__ import annotations

import getpass
import os
from pathlib import Path
from types import EllipsisType
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, parse_qs, urlsplit

from platformdirs import user_data_path
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from bot.settings.env_file import env_path, existing_env_path, misspelled
from bot.settings.limits import HistorySettings, QuotaSettings
from bot.settings.models import ModelSettings
from bot.settings.platforms import DiscordSettings, TelegramSettings
from bot.settings.reminders import ReminderSettings
from bot.settings.storage import StorageSettings
from core.answering.parts import TurnLimits
from core.errors import ConfigError
from core.memory.memories import UNDO_WITHIN
from core.models import Cycle
from core.text.language import find_language, from_tag
from core.threads import THREAD_ID_RULE, is_thread_id
from core.types import Learn, Locale, UserKey

_MIN_TOKEN_CHARS = 16


class Settings(
    StorageSettings,
    ModelSettings,
    HistorySettings,
    TelegramSettings,
    DiscordSettings,
    QuotaSettings,
    ReminderSettings,
):
    """The settings of one bot. The name of each in the environment is its own in capitals."""

    model_config = SettingsConfigDict(env_file_encoding="utf-8", extra="ignore", env_ignore_empty=True)

    data_dir: Path = Field(
        default_factory=lambda: user_data_path("elefante", appauthor=False),
        description="Folder of the database and the logs. Default: the user-data folder of the system.",
    )
    log_dir: Path | None = Field(
        default=None,
        description="Folder of the log. Default: DATA_DIR; with STORAGE_URL=memory: there is no log without it.",
    )
    default_thread: str = Field(
        default="",
        description="Id of the conversation that `elefante chat` goes on with where none is named, such as work. "
        "Default: the one that was talked in last.",
    )
    http_port: int = Field(
        default=0,
        ge=0,
        le=65_535,
        description="Port on 127.0.0.1 for programs of this machine that ask by POST /api/chat/process: "
        "docs/history.md. 0: there is none.",
    )
    http_token: SecretStr = Field(
        default=SecretStr(""),
        description="Secret of those programs, 16 characters or more, which they send as Authorization: Bearer. A port "
        "needs it: any user of this machine could speak as anybody. `elefante setup` makes one.",
    )
    metrics: str = Field(
        default="",
        description="Where `elefante run` is watched: HOST:PORT, or a port of 127.0.0.1, such as 9464. It serves "
        "/metrics for Prometheus, /healthz and /readyz: docs/operating.md. Default: nowhere.",
    )
    on_platform_end: Literal["retry", "exit"] = Field(
        default="retry",
        description="What happens when a platform ends, such as when its token is refused: it is tried again while the "
        "others go on (retry), or the whole process ends with exit code 1 (exit), for a supervisor that starts it.",
    )
    backup_dir: Path | None = Field(
        default=None,
        description="Folder of the backups, and of nothing else; best on another disk. Default: backups in DATA_DIR.",
    )
    backups_kept: int = Field(
        default=7,
        ge=0,
        description="How many backups stay in BACKUP_DIR. One is made each day while the bot runs, and the oldest "
        "goes. 0: none is made by itself, and none goes.",
    )
    memory_undo_s: float = Field(
        default=UNDO_WITHIN.total_seconds(),
        ge=0,
        le=2_592_000,
        description="How long a change of memory can be undone, in seconds, and so the words of what was deleted are "
        "kept. 0: not at all, what is deleted is gone at once.",
    )
    max_files_mb: int = Field(
        default=500,
        ge=0,
        le=1_000_000,
        description="How many megabytes of photos, recordings and documents each person may have kept, beside words. "
        "They lie in the folder files of DATA_DIR, or in PostgreSQL. 0: none is kept.",
    )
    access: Literal["private", "members", "open"] = Field(
        default="private",
        description="Who is answered besides those who were let in: people in rooms that were let in (private), nobody "
        "(members), everybody, within the guests' quotas (open). Default: private; /admin access changes it at once.",
    )
    language: str = Field(
        default="",
        description="Answer everybody in this language, named by its tag (de, pt-BR) or name (German); the bot's own "
        f"sentences are in it where it is one of {', '.join(Locale)}. Default: each person's own.",
    )
    learn: Learn = Field(
        default=Learn.OFFERED,
        description="What becomes of facts that people tell about themselves in passing, at most: only what they ask "
        "for is saved (asked), a button below the answer offers to save it (offered), it is saved (auto). Each person "
        "can choose less by /memory. Without a language model what people tell is taken for something to keep.",
    )
    actions_off: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Actions that are off, by words, command, button and model, separated by commas, such as "
        "MemorySave. People can always see, change and delete by hand what is kept of them (/memories, /forget).",
    )
    cycle: Literal["auto", "stepwise", "single"] = Field(
        default="auto",
        description="How an answer is made: one call to the chat model, which has the actions as tools (single), or a "
        "call for each step (stepwise). Default: single where one model decides, extracts and speaks (auto).",
    )
    max_steps: int = Field(default=8, ge=2, le=50, description="Most actions in one turn.")
    turn_timeout_s: float = Field(default=300.0, ge=5, description="Longest time that one answer may take, in seconds.")
    min_message_chars: int = Field(default=1, ge=1, description="Shortest message that is answered, in characters.")
    max_message_chars: int = Field(
        default=32_000, ge=100, le=1_000_000, description="Longest message that is answered, in characters."
    )
    answers_at_once: int = Field(
        default=8,
        ge=1,
        le=100,
        description="How many people are answered side by side in one room; whoever is not waits their turn, with "
        "WAITING_REACTION on the message.",
    )
    broadcast_interval_s: float = Field(
        default=1.0, ge=0.05, le=60, description="Seconds between two people that /admin broadcast tells."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="Least level that is logged: DEBUG, INFO, WARNING, ERROR."
    )
    log_to: Literal["file", "stderr"] = Field(
        default="file",
        description="Where `elefante run` writes its log, one JSON object a line: into elefante.log in LOG_DIR (file), "
        "or to standard error, as for a container without a disk (stderr).",
    )
    alert_url: SecretStr | None = Field(
        default=None,
        description="Where alarms go besides the owners' chats: https://… (each is posted there as JSON, in `text`, as "
        "Slack, Mattermost and many others take it) or e-mail, smtps://user:password@host:465/?to=ana@example.com "
        "(smtp://…:587: with STARTTLS). docs/operating.md.",
    )
    disk_alert_mb: int = Field(
        default=500,
        ge=0,
        description="Owners are told when fewer megabytes are free on the disk of DATA_DIR. 0: they are not.",
    )
    log_content: bool = Field(
        default=False, description="Write the text of people's messages into the log: true or false."
    )
    console_user: str = Field(
        default="", description="Who talks in the terminal. Default: the name of the system user."
    )

    @field_validator("actions_off", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("language")
    @classmethod
    def _is_spoken(cls, value: str) -> str:
        if value and not (tag := find_language(value)):
            raise ConfigError("LANGUAGE", "write a language's tag or name, such as de, pt-BR or German, or nothing")
        return tag if value else ""

    @field_validator("alert_url")
    @classmethod
    def _check_alert_url(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and (advice := _problem_of_address(value.get_secret_value())):
            raise ConfigError("ALERT_URL", advice)
        return value

    @field_validator("metrics")
    @classmethod
    def _check_metrics(cls, value: str) -> str:
        if value and _address(value) is None:
            raise ConfigError("METRICS", "write HOST:PORT, or a port of this machine, such as 9464")
        return value

    @field_validator("default_thread")
    @classmethod
    def _check_thread(cls, value: str) -> str:
        if value and not is_thread_id(value):
            raise ConfigError("DEFAULT_THREAD", THREAD_ID_RULE)
        return value

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        """Host and port of METRICS; None if it is not set."""
        return _address(self.metrics)

    @property
    def state_dir(self) -> Path | None:
        """The data folder; None if nothing is written to the disk."""
        return None if self.in_memory else self.data_dir

    @property
    def log_folder(self) -> Path | None:
        """The folder of the log; None if there is no log."""
        return self.log_dir or self.state_dir

    @property
    def database_path(self) -> Path:
        """The database file."""
        return self.data_dir / "elefante.db"

    @property
    def files_folder(self) -> Path:
        """The folder of the files that people have kept, where storage is SQLite."""
        return self.data_dir / "files"

    @property
    def backups_folder(self) -> Path:
        """The folder of the backups."""
        return self.backup_dir or self.data_dir / "backups"

    @property
    def people_keys(self) -> Path:
        """The file of the people's keys: beside the data folder, for what lies in it is copied with it."""
        return self.people_keys_file or self.data_dir.with_name(f"{self.data_dir.name}.keys") / "keys.db"

    @property
    def console_owner(self) -> UserKey:
        """Who talks in the terminal: CONSOLE_USER, or the name of the system user."""
        if self.console_user.strip():
            return UserKey("console", self.console_user.strip())
        try:
            return UserKey("console", getpass.getuser())
        except (OSError, KeyError):  # a container without a user table
            return UserKey("console", "me")

    def turn_limits(self) -> TurnLimits:
        """Return the limits of one turn."""
        return TurnLimits(
            max_steps=self.max_steps,
            timeout_s=self.turn_timeout_s,
            min_message_chars=self.min_message_chars,
            max_message_chars=self.max_message_chars,
            answers_at_once=self.answers_at_once,
            status_after_s=self.status_after_s,
            notify_after_s=self.notify_after_s,
            cycle=Cycle(self.cycle),
        )

    def http_secret(self) -> str:
        """Return the secret of programs that ask over HTTP.

        Raises:
            ConfigError: there is none, or one that can be guessed.
        """
        token = self.http_token.get_secret_value().strip()
        if len(token) < _MIN_TOKEN_CHARS or not (token.isascii() and token.isprintable()) or " " in token:
            advice = (
                "with HTTP_PORT any user of this machine could speak as anybody; write HTTP_TOKEN=... into "
                f"{env_path()}, 16 letters and digits or more, which programs send as `Authorization: Bearer`; "
                "`elefante setup` makes one"
            )
            raise ConfigError("HTTP_TOKEN", advice)
        return token

    def secrets(self) -> list[str]:
        """Return every secret that is set, for the log to strike out."""
        values = (getattr(self, name) for name in type(self).model_fields if name != "storage_url")
        return [*self.storage_secrets(), *(each.get_secret_value() for each in values if isinstance(each, SecretStr))]

    @property
    def locale(self) -> Locale | None:
        """The language of the bot's own sentences that is set for everybody, or None."""
        return from_tag(self.language)


def _address(written: str) -> tuple[str, int] | None:
    """Read HOST:PORT, :PORT or PORT, the last two on 127.0.0.1; return None for anything else."""
    parts = urlsplit(f"//{written if ':' in written else f':{written}'}")
    try:
        host, port = parts.hostname, parts.port
    except ValueError:  # no number, or none of a port
        return None
    return (host or "127.0.0.1", port) if port and parts.netloc == parts.geturl()[2:] else None


def _problem_of_address(url: str) -> str:
    """Return what is wrong with an ALERT_URL, as advice; "" if nothing."""
    advice = "write https://…, or smtps://user:password@host:465/?to=you@example.com"
    try:
        parts = urlsplit(url.strip())
        is_mail = parts.scheme in {"smtp", "smtps"}
        _ = parts.port
    except ValueError:
        return advice
    if parts.scheme not in {"http", "https"} and not is_mail:
        return advice
    if not parts.hostname or (is_mail and "@" not in query(parts, "to")):
        return advice
    return ""


def query(parts: SplitResult, name: str) -> str:
    """Return the values of a parameter of an address, separated by commas."""
    return ",".join(parse_qs(parts.query).get(name, ()))


def unknown_settings(path: Path | None = None) -> list[str]:
    """Return a sentence for each name in the settings file or the environment that seems to be a setting and is none.

    The file is by default that of `env_path`.

    Raises:
        OSError, UnicodeDecodeError: the file cannot be read.
    """
    return misspelled(path or env_path(), [name.upper() for name in Settings.model_fields], os.environ)


def without_settings() -> dict[str, str]:
    """Return the environment for a program that is not ours: without our settings, tokens and keys among them."""
    ours = {name.upper() for name in Settings.model_fields}
    return {name: value for name, value in os.environ.items() if name.upper() not in ours}


def load(env_file: Path | EllipsisType | None = ..., **overrides: Any) -> Settings:
    """Read the settings: `overrides`, the environment, then the file, by default that of `env_path`; None reads none.

    Relative paths count from the folder of the file, or without one from the working folder.

    Raises:
        ConfigError: the file cannot be read; or the first setting that is wrong, and what to write instead.
    """
    path = existing_env_path() if isinstance(env_file, EllipsisType) else env_file
    try:
        read = Settings(_env_file=path, **overrides)  # type: ignore[call-arg]  # a parameter of the library's own
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(str(part) for part in first["loc"]).upper() or "SETTINGS"
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, ConfigError):
            raise cause from None
        advice = first["msg"].removeprefix("Value error, ")
        raise ConfigError(name, f"{advice[:1].lower()}{advice[1:]}; see .env.example") from None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError("SETTINGS", f"{path} cannot be read: {why}") from None
    folder = (Path() if path is None else path.parent).absolute()
    return read.model_copy(
        update={name: folder / value.expanduser() for name, value in read if isinstance(value, Path)}
    )
