"""Settings of storage: the engine, and how it is reached."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings

from core.errors import ConfigError

_POSTGRES = ("postgresql://", "postgres://")
_SECRET = ("password", "sslpassword")
_PORTS = 1 << 16
_PORT = "5432"  # where none is written
_ADVICE = (
    "write sqlite: (one file in DATA_DIR), memory: (nothing is kept), or postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
)


class StorageSettings(BaseSettings):
    """The settings of storage. `storage_url` is a secret: that of PostgreSQL holds a password."""

    storage_url: SecretStr = Field(
        default=SecretStr("sqlite:"),
        description="Where all that is said and remembered is kept: sqlite: (the file elefante.db in DATA_DIR), "
        "memory: (nothing is written to the disk, and all of it ends with the process), or PostgreSQL 16 or newer "
        "with the extension vector, which any number of processes share: docs/scale.md.",
        examples=["postgresql://elefante:PASSWORD@127.0.0.1:5432/elefante"],
    )
    storage_direct_url: SecretStr | None = Field(
        default=None,
        description="The same PostgreSQL database without a pooler in between, where STORAGE_URL leads to PgBouncer in "
        "transaction mode: over it a worker hears of new messages at once instead of within a second.",
    )
    storage_pool: int = Field(
        default=8,
        ge=2,
        le=100,
        description="How many connections each process has to PostgreSQL at most, beside two by which it is known "
        "to be alive and hears of messages.",
    )

    memory_key_file: Path | None = Field(
        default=None,
        description="File with the master key, outside of DATA_DIR and BACKUP_DIR: all that people say, send and are "
        "told is sealed then, on the disk, in backups and in PostgreSQL. `elefante key make` makes one, `elefante key "
        "seal` seals what is there: docs/encryption.md. Under systemd the credential memory-key takes its place.",
        examples=["/etc/elefante/memory-key"],
    )
    people_keys_file: Path | None = Field(
        default=None,
        description="File of the people's keys, which the master key opens. No backup holds it, so that nobody who was "
        "forgotten comes back with one; lose neither. Several workers share one. Default: keys.db in a folder beside "
        "DATA_DIR, whose name ends in .keys.",
    )

    vectors: Literal["sealed", "open"] = Field(
        default="sealed",
        description="Whether the vectors of memories are sealed, too, where there is a key. Texts can be computed back "
        "from them. Open, PostgreSQL searches them itself; sealed, each worker does in RAM.",
    )

    @field_validator("storage_url", mode="before")
    @classmethod
    def _scheme(cls, value: Any) -> Any:
        """Take `memory` and `memory://` for `memory:`.

        Raises:
            ConfigError: there is no such engine.
        """
        if isinstance(value, SecretStr):
            value = value.get_secret_value()
        if not isinstance(value, str):
            return value
        if (url := value.strip()).lower().startswith(_POSTGRES):
            return _checked("STORAGE_URL", url)
        if (word := f"{url.rstrip(':/').lower()}:") in {"sqlite:", "memory:"}:
            return word
        raise ConfigError("STORAGE_URL", _ADVICE)

    @field_validator("storage_direct_url")
    @classmethod
    def _is_postgres(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().lower().startswith(_POSTGRES):
            raise ConfigError("STORAGE_DIRECT_URL", "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or nothing")
        if value is not None:
            _checked("STORAGE_DIRECT_URL", value.get_secret_value())
        return value

    @property
    def engine(self) -> Literal["sqlite", "memory", "postgres"]:
        """The storage engine."""
        word = self.storage_url.get_secret_value()
        return "sqlite" if word == "sqlite:" else "memory" if word == "memory:" else "postgres"

    @property
    def in_memory(self) -> bool:
        """Tell whether nothing is written to the disk."""
        return self.engine == "memory"

    @property
    def storage_place(self) -> str:
        """Where PostgreSQL is, as HOST:PORT/DATABASE, for people: without the user and the password."""
        parts = _parts(self.storage_url.get_secret_value())
        hosts, ports = parts.get("host", "localhost").split(","), parts.get("port", _PORT).split(",")
        ports = [port or _PORT for port in ports]
        ports = ports if len(ports) == len(hosts) else ports[:1] * len(hosts)
        return f"{','.join(map(':'.join, zip(hosts, ports, strict=True)))}/{parts.get('dbname', '')}"

    @property
    def storage_address(self) -> str:
        """What PostgreSQL's programs take as --dbname, without the password, quoted for a shell."""
        from psycopg.conninfo import make_conninfo

        parts = _parts(self.storage_url.get_secret_value())
        return shlex.quote(make_conninfo(**{name: value for name, value in parts.items() if name not in _SECRET}))

    def storage_secrets(self) -> list[str]:
        """Return the passwords that the URLs hold, by themselves, as they are written and as they are sent."""
        urls = [url.get_secret_value() for url in (self.storage_url, self.storage_direct_url) if url is not None]
        found = []
        for url in urls:
            if url.lower().startswith(_POSTGRES):
                parts = _parts(url)
                sent = [parts[name] for name in _SECRET if name in parts]
                found += [each for secret in sent for each in {secret, quote(secret, safe=""), *_written(url)}]
        return found


def _written(url: str) -> list[str]:
    """Return the password of a URL in the form in which it stands there."""
    user, _, rest = url.partition("://")[2].rpartition("@")[0].partition(":")
    return [rest] if user and rest else []


def _parts(url: str) -> dict[str, str]:
    """Return what a URL of PostgreSQL says, as libpq reads it."""
    from psycopg.conninfo import conninfo_to_dict  # this loads psycopg

    return {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}


def _checked(setting: str, url: str) -> str:
    """Return the URL of PostgreSQL, if it is one.

    Raises:
        ConfigError: it is none, or names no database, or a character has to be written another way.
    """
    from psycopg import ProgrammingError

    try:
        parts = _parts(url)
        is_whole = all(0 < int(port or _PORT) < _PORTS for port in parts.get("port", "").split(","))
    except (ProgrammingError, ValueError):
        parts, is_whole = {}, False
    if not is_whole or not parts.get("dbname") or "@" in parts.get("host", ""):  # the end of a password
        raise ConfigError(setting, f"{_ADVICE}. In the password write @ as %40, : as %3A, / as %2F, # as %23, ? as %3F")
    return url
