"""The settings file: where it is, which names in it or in the environment are no settings, and writing into it."""

from __future__ import annotations

import difflib
import os
import re
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import dotenv

from core.errors import BotError, ConfigError

VARIABLE: Final = "ELEFANTE_ENV"
"""The variable of the environment that names the settings file."""

PROJECT: Final = Path(__file__).absolute().parents[2]
"""The folder of the project, or what holds the package."""

_OF_A_MODE: Final = re.compile(r"MODEL_(?:[A-Z]+_)+?(TEMPERATURE|CONTEXT_TOKENS|(?:FIRST_TOKEN_)?TIMEOUT_S)")
"""Settings that each mode had, and all models share now."""

_NEAR = 0.85  # of `difflib`: TELEGRAM_BOT_TOKEN is near TELEGRAM_TOKEN, and OPENAI_API_BASE near nothing


def env_path() -> Path:
    """Return the absolute path of the settings file, which need not exist: the same from any folder.

    It is the file that ELEFANTE_ENV names, else `.env` in the project's folder, else (installed as a package)
    `.env` in the working folder.
    """
    if named := os.environ.get(VARIABLE, "").strip():
        return Path(named).expanduser().absolute()
    folder = PROJECT if (PROJECT / "pyproject.toml").is_file() else Path.cwd()
    return folder / ".env"


def existing_env_path() -> Path:
    """Return `env_path()`.

    Raises:
        ConfigError: ELEFANTE_ENV names a file that does not exist.
    """
    path = env_path()
    if os.environ.get(VARIABLE, "").strip() and not path.exists():
        raise ConfigError(VARIABLE, f"there is no file {path}; `elefante setup` makes it, or name another")
    return path


def misspelled(path: Path, settings: Collection[str], environment: Mapping[str, str]) -> list[str]:
    """Return a sentence for each name that is not in `settings` (capitals), with the nearest one.

    These are all names in the file, and those of the environment that are close to a setting and begin like one.

    Raises:
        OSError, UnicodeDecodeError: the file cannot be read.
    """
    said = []
    for name in dotenv.dotenv_values(path, interpolate=False) if path.is_file() else ():
        if name.upper() not in settings:
            near = _shared(name, settings) or difflib.get_close_matches(name.upper(), settings, 1)
            said.append(f"{name} in {path} is not a setting{f'; write {near[0]}' if near else ''}")
    families = {name.partition("_")[0] for name in settings if "_" in name}
    for name in sorted(environment):
        if name.upper() in settings or name.upper().partition("_")[0] not in families:
            continue
        if near := _shared(name, settings) or difflib.get_close_matches(name.upper(), settings, 1, _NEAR):
            said.append(f"{name} in the environment is not a setting; write {near[0]}")
    return said


def _shared(name: str, settings: Collection[str]) -> list[str]:
    """Return what a setting of one mode is called since all models share it; nothing for any other."""
    found = _OF_A_MODE.fullmatch(name.upper())
    return [f"MODEL_{found[1]}"] if found and f"MODEL_{found[1]}" in settings else []


def write_settings(env: Path, values: Mapping[str, str]) -> None:
    """Set lines of the settings file, all or none, readable by its owner only; the other lines stay.

    Raises:
        ConfigError: a value is none that one line can hold.
        BotError: the file cannot be written.
    """
    for name, value in values.items():
        if not value.isprintable() or (" " in value and name != "MODEL"):
            raise ConfigError(name, "there is a space or an invisible character in it; copy it again")
    path = env.resolve()  # the file may be a link
    if path.exists() and not path.is_file():
        raise BotError(f"{env} is no file that settings can be written into")
    aside = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, made = tempfile.mkstemp(dir=path.parent, prefix=".env-")  # readable by its owner only
        aside = Path(made)
        os.close(descriptor)
        if path.exists():
            aside.write_bytes(path.read_bytes())
        for name, value in values.items():
            dotenv.set_key(aside, name, value, quote_mode="never")
        aside.chmod(0o600)
        aside.replace(path)
    except OSError as error:
        raise BotError(f"{env} cannot be written: {error.strerror}") from error
    finally:
        if aside is not None:
            aside.unlink(missing_ok=True)
