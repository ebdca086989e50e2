"""Find the settings file, and the settings in it or in the environment that do not exist."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

import dotenv

from core.errors import ConfigError

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
