"""`elefante status`: say whether a bot runs on the data folder, and whether each platform is connected."""

from __future__ import annotations

import typer

from bot.cli.shell import JsonOption, run, show
from bot.settings.settings import load
from bot.status_file import render, status, workers_status
from core.clock import SystemClock
from core.errors import ConfigError


def status_(as_json: JsonOption = False) -> None:
    """Say whether the bot runs and every platform is connected; exit 1 if not. Over PostgreSQL: of all workers.

    Example: elefante status --json
    """
    settings = load()  # opens neither folder nor log: a health check of another process changes nothing
    if settings.in_memory:
        raise ConfigError("STORAGE_URL", "nothing is stored with memory:, so a running bot tells nothing of itself")
    is_shared = settings.engine == "postgres"
    report = run(workers_status(settings)) if is_shared else status(settings, SystemClock().now())
    show(report, as_json=as_json, plain=render)
    if not report["ok"]:
        raise typer.Exit(1)
