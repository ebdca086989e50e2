"""Where a bot's settings, data and log lie, and which of its settings do not exist: for `run`, `check` and `doctor`."""

from __future__ import annotations

from importlib import metadata

from bot.logs import LOG_FILE
from bot.platforms import PLATFORMS
from bot.settings.env_file import env_path
from bot.settings.models import LIMITED
from bot.settings.settings import Settings
from core.models import Models


def origins(settings: Settings) -> list[str]:
    """Return the lines that say which version runs, on which settings file, data folder, log and platforms."""
    path = env_path()
    file = f"settings in {path}" if path.exists() else f"settings of the environment, there is no {path}"
    data = "nothing is written to the disk" if settings.in_memory else f"data in {settings.data_dir}"
    log = "no log" if settings.log_folder is None else f"log {settings.log_folder / LOG_FILE}"
    if settings.log_to == "stderr":
        log = "log on standard error"
    chosen = [name for name, platform in PLATFORMS.items() if platform.enabled(settings)]
    return [
        f"version {metadata.version('elefante')}, {file}",
        f"{data}, {log}",
        f"platforms: {', '.join(chosen) or 'none'}",
    ]


def models_line(models: Models) -> str:
    """Return the line that says which models are in place."""
    names = dict.fromkeys(model.name for model in (models.heavy, models.reasoning, models.chat, models.summary))
    if all(name.startswith(LIMITED) for name in names):
        return "models: none, limited mode without a language model; `elefante doctor` checks platforms and models"
    return f"models: {', '.join(names)}; `elefante doctor` checks platforms and models"
