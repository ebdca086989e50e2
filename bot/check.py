"""`elefante check`: is everything that the bot stands on in order? Read-only; each finding has one next step.

Knows what is looked at. Does not call a model: that costs money, and is the doctor's.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from bot.settings.settings import Settings
from bot.wiring import App, build
from core.errors import BotError
from core.library import new_index
from core.types import JSONValue

PROBE = "elefante"


async def check(settings: Settings) -> dict[str, JSONValue]:
    """Return one finding for each part, and `ok`: whether all of them are."""
    kept = "nothing is written to the disk" if settings.in_memory else f"data in {settings.data_dir}"
    findings: list[JSONValue] = [_finding("settings", kept)]
    try:
        async with build(settings) as app:
            for name, probe in _PROBES.items():
                findings.append(await _probed(name, probe, app))
    except BotError as error:
        findings.append(_finding("start", str(error), ok=False))
    return {"ok": all(finding["ok"] for finding in findings if isinstance(finding, dict)), "findings": findings}


async def _storage(app: App) -> str:
    problems = await app.database.integrity()
    if problems:
        raise BotError(f"{problems[0]}: restore a backup of {app.settings.database_path}")
    owners = await app.store.owners()
    name = "the database in memory" if app.settings.in_memory else app.settings.database_path.name
    return f"{name} is sound; people with memories: {len(owners)}"


async def _embedder(app: App) -> str:
    started = time.perf_counter()
    vectors = await app.models.embedder.embed([PROBE])
    return f"{app.models.embedder.space}: {vectors.shape[1]} dims in {(time.perf_counter() - started) * 1000:.0f} ms"


async def _index(app: App) -> str:
    vectors = await app.models.embedder.embed([PROBE])
    index = new_index(app.models.embedder.dims)
    index.add([1], vectors)
    (hits,) = index.search(vectors, 1)
    if [found for found, _ in hits] != [1]:
        raise BotError("FAISS does not find what was put in; reinstall faiss-cpu")
    return "FAISS finds what it was given"


async def _models(app: App) -> str:
    names = {
        "reasoningHeavy": app.models.heavy.name,
        "reasoning": app.models.reasoning.name,
        "chat": app.models.chat.name,
        "summary": app.models.summary.name,
    }
    return ", ".join(f"{mode} {name}" for mode, name in names.items())


_PROBES: dict[str, Callable[[App], Awaitable[str]]] = {
    "storage": _storage,
    "embedder": _embedder,
    "index": _index,
    "models": _models,
}


async def _probed(name: str, probe: Callable[[App], Awaitable[str]], app: App) -> dict[str, JSONValue]:
    try:
        return _finding(name, await probe(app))
    except (BotError, ImportError) as error:
        return _finding(name, str(error), ok=False)


def _finding(name: str, detail: str, *, ok: bool = True) -> dict[str, JSONValue]:
    return {"name": name, "ok": ok, "detail": detail}


def render(document: dict[str, JSONValue]) -> str:
    """Return the findings, one a line."""
    findings: Any = document["findings"]
    return "\n".join(f"{'ok  ' if f['ok'] else 'FAIL'}  {f['name']:<9} {f['detail']}" for f in findings)
