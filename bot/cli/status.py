"""`elefante status`: say whether a bot runs on the data folder, and whether it is well."""

from __future__ import annotations

import typer

from bot.cli.shell import JsonOption, run, show
from bot.settings.settings import load
from bot.status_file import render, status_of
from core.clock import SystemClock
from core.errors import ConfigError


def status_(as_json: JsonOption = False) -> None:
    """Say whether the bot runs, every platform is connected and no alarm stops answers; exit 1 if not.

    Over PostgreSQL: of all workers.

    Example: elefante status --json
    """
    settings = load()  # opens neither folder nor log: a health check of another process changes nothing
    if settings.in_memory:
        raise ConfigError("STORAGE_URL", "nothing is stored with memory:, so a running bot tells nothing of itself")
    report = run(status_of(settings, SystemClock().now()))
    show(report, as_json=as_json, plain=render)
    if not report["ok"]:
        raise typer.Exit(1)
