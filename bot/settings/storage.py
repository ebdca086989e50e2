"""Settings of storage: the engine, and how it is reached."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings

from core.errors import ConfigError

_POSTGRES = ("postgresql://", "postgres://")
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
        description="How many connections each process has to PostgreSQL at most; one more is for itself.",
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
            return url
        if (word := f"{url.rstrip(':/').lower()}:") in {"sqlite:", "memory:"}:
            return word
        raise ConfigError("STORAGE_URL", _ADVICE)

    @field_validator("storage_direct_url")
    @classmethod
    def _is_postgres(cls, value: SecretStr | None) -> SecretStr | None:
        if value is not None and not value.get_secret_value().lower().startswith(_POSTGRES):
            raise ConfigError("STORAGE_DIRECT_URL", "write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or nothing")
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
        parts = urlsplit(self.storage_url.get_secret_value())
        return f"{parts.hostname or 'localhost'}:{parts.port or 5432}{parts.path}"

    def storage_secrets(self) -> list[str]:
        """Return the passwords that the URLs hold, by themselves, as they are written and as they are sent."""
        urls = [url.get_secret_value() for url in (self.storage_url, self.storage_direct_url) if url is not None]
        written = [urlsplit(url).password for url in urls]
        return [each for password in written if password for each in (password, unquote(password))]
