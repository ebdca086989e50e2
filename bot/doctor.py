"""`elefante check` and `elefante doctor`: is everything that the bot needs in order? Each failure has a next step.

`check` looks at the parts on this machine and is free; `doctor` asks each platform and model once, and costs a little.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import astuple
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeAlias

from pydantic import SecretStr

from bot.data_folder import check_not_lost, damaged
from bot.models.chains import Chains, build_embedder
from bot.models.health import ModelHealth
from bot.models.hot import prove
from bot.models.metering import Meter, Prices, prices_of
from bot.models.presets import PROVIDERS, Mode
from bot.platforms import PLATFORMS, about
from bot.program import EXTRAS, OCR, is_installed
from bot.run import origins
from bot.sealing import key_path, reading, sealing_of
from bot.settings.models import LIMITED, USEM3, ModelName, ModelSettings
from bot.settings.settings import Settings, unknown_settings
from bot.status_file import status_of
from bot.wiring import App, build
from core.clock import SystemClock
from core.errors import (
    BadReply,
    BotError,
    ConfigError,
    ContextTooLong,
    CreditGone,
    Damaged,
    EmptyReply,
    KeyRejected,
    ModelUnknown,
    ProviderBusy,
    ProviderError,
    ProviderRefused,
    StorageError,
)
from core.features.ledger.calls import ModelCall
from core.library import new_index
from core.ports import ChatModel, Clock
from core.providers.failure import Rejected
from core.storage.database import Row
from core.storage.files import files_named
from core.storage.move import in_folder, in_table, judged
from core.storage.sqlite import is_to_be_marked
from core.storage.sqlite_backup import is_lost
from core.storage.sqlite_migrations import MIGRATIONS
from core.storage.sqlite_upgrade import inspect

Document: TypeAlias = dict[str, Any]

PROBE = "elefante"
_NEXT_LINE: Final = "\n      "
_NEW: Final = "new"  # key file
_SWEPT_WITHIN: Final = timedelta(hours=1)
"""After the time to undo, what nothing names may still be there for so long."""

UNPRICED: Final = (
    "its price is not known: limits in money count it like the dearest model of its provider, and on a server of your "
    "own not at all; MODEL_PRICES can tell"
)


async def check(settings: Settings) -> Document:
    """Return a finding for each part of the bot on this machine, and in `ok` whether all are well.

    Nothing is written and nothing migrated, whether the bot runs or not: parts are tried in a bot that is in RAM.
    """
    findings = [
        await _tried("settings", partial(_folder, settings)),
        *_unknown(),
        await _tried("storage", partial(asyncio.to_thread, _storage, settings)),
        await _tried("sealing", partial(asyncio.to_thread, _sealing, settings)),
    ]
    if all(each["ok"] for each in findings) and not settings.in_memory:
        findings.append(await _tried("files", partial(_files, settings)))
    try:
        async with build(settings.model_copy(update={"storage_url": SecretStr("memory:")})) as app:
            findings.append(await _tried("embedder", partial(_embedder, app)))
            if settings.engine != "postgres":  # there the server searches
                findings.append(await _tried("index", partial(_index, app)))
            findings.append(_finding("models", _models(app)))
            findings.append(_finding("extras", told_extras(settings)))
    except BotError as error:
        findings.append(_finding("start", str(error), ok=False))
    return _report(findings)


async def examine(settings: Settings) -> Document:
    """Say where the settings come from, ask each platform that has a token who the bot is, then run `doctor`."""
    platforms = {name: platform for name, platform in PLATFORMS.items() if platform.enabled(settings)}
    prices = prices_of(settings)
    report = await doctor(settings, prices)
    findings = [_finding("settings", *origins(settings)), *_unknown()]
    if settings.engine == "postgres":  # a file is read whole by `check`
        findings.append(await _tried("storage", partial(asyncio.to_thread, _storage, settings)))
    findings.append(await _tried("sealing", partial(asyncio.to_thread, _sealing, settings)))
    findings += await _running(settings)
    findings += [
        await _tried("platform", partial(about, platform, settings), model=name) for name, platform in platforms.items()
    ]
    findings += [*report["findings"], _finding("extras", told_extras(settings)), *_unpriced(settings, prices)]
    return report | _report(findings)


def _report(findings: Sequence[Document]) -> Document:
    return {"ok": all(finding["ok"] for finding in findings), "findings": list(findings)}


def _finding(name: str, *lines: str, ok: bool = True, **more: Any) -> Document:
    """Return what was found of a part: `ok`, `detail`, and maybe `model` (which one), `advice`, or that it warns."""
    return {"name": name, "ok": ok, "detail": _NEXT_LINE.join(lines), **more}


async def _tried(name: str, probe: Callable[[], Awaitable[str | list[str]]], **more: Any) -> Document:
    try:
        found = await probe()
    except (BotError, ImportError) as error:
        return _finding(name, str(error), ok=False, **more)
    return _finding(name, *([found] if isinstance(found, str) else found), **more)


def _unknown() -> list[Document]:
    """Return a warning for each name that seems to be a setting and is none."""
    return [_finding("settings", sentence, warning=True) for sentence in unknown_settings()]


async def _folder(settings: Settings) -> str:
    if settings.in_memory:
        return "nothing is written to the disk"
    folder = settings.data_dir
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        raise ConfigError("DATA_DIR", f"cannot write to {there}; name a folder you may write to")
    return f"data in {folder}" + ("" if folder.exists() else ", which the first start makes")


def _storage(settings: Settings) -> str:
    if settings.engine == "postgres":
        return _postgres(settings)
    if settings.in_memory:
        return "the database in memory"
    path = settings.database_path
    try:
        check_not_lost(settings)
        if is_lost(path):
            return "there is no database yet; the first start makes it"
        found = inspect(path)
    except Damaged as error:
        raise damaged(settings, error) from error
    said = f"{path.name} is sound; people with memories: {found.people}; schema {found.version}"
    if found.version == found.known:
        return said
    return f"{said}: the next start backs it up and migrates it to {found.known}"


def _postgres(settings: Settings) -> str:
    from core.storage import postgres_schema  # these load psycopg
    from core.storage.postgres_connection import parameters
    from core.storage.postgres_schema import MIGRATIONS

    found = postgres_schema.inspect(parameters(settings.storage_url.get_secret_value()), MIGRATIONS)
    extensions = [f"{name} {version or '(the first start adds it)'}" for name, version in found.extensions.items()]
    said = f"PostgreSQL {found.server} at {settings.storage_place}, with {', '.join(extensions)}"
    if not found.version:
        return f"{said}; there is no data yet; the first start makes the tables"
    said += f"; people with memories: {found.people}; schema {found.version}"
    return said if found.version >= found.known else f"{said}: the next start migrates it to {found.known}"


def _sealing(settings: Settings) -> str:
    """Say whether what is stored is sealed, and with which key.

    Raises:
        ConfigError, WrongKey, StorageError: the key cannot be used, or is not that of the database.
    """
    if settings.in_memory:
        return "nothing is stored"
    path = key_path(settings)
    with sealing_of(settings, makes=False) as sealing:
        is_new = _is_to_be_marked(settings, sealing.id or (_NEW if path else ""))
        if sealing.is_on and not is_new:
            return f"all that people say is sealed; key {path}, keys of people {settings.people_keys}"
    if path is not None:
        return f"key {path}; the first start seals from the beginning, with keys of people in {settings.people_keys}"
    return "nothing is sealed; `elefante setup` offers a key, without which nobody reads copies of the data"


def _is_to_be_marked(settings: Settings, key_file: str) -> bool:
    if settings.engine == "postgres":
        from core.storage import postgres_schema  # these load psycopg
        from core.storage.postgres_connection import parameters

        return postgres_schema.is_to_be_marked(parameters(settings.storage_url.get_secret_value()), key_file)
    return is_to_be_marked(settings.database_path, key_file)


async def _files(settings: Settings) -> str:
    """Say whether the bytes of all that memories keep are there, and how many others are.

    Raises:
        StorageError: some are missing.
    """
    if settings.engine == "sqlite" and _is_older(settings):
        return "files that people have kept: 0"  # nothing of them is known yet
    before = SystemClock().now() - timedelta(seconds=settings.memory_undo_s) - _SWEPT_WITHIN
    with sealing_of(settings, makes=False) as sealing, reading(settings) as rows:

        async def rows_of(sql: str, values: Sequence[object]) -> list[Row]:
            return list(rows(sql, values))

        named = await files_named(rows_of, sealing)
        listed = in_folder(settings.files_folder) if settings.engine == "sqlite" else in_table(rows)
        missing, strays = judged(named, listed, before, sealing)
    if missing:
        raise StorageError(
            f"files that memories keep and that are not there: {missing} of {len(listed) + missing}. "
            "`elefante restore` puts a backup in place, files included"
        )
    said = f"files that people have kept: {len(listed)}"
    return f"{said}; {strays} of them nothing names: the bot removes these" if strays else said


def _is_older(settings: Settings) -> bool:
    return is_lost(settings.database_path) or inspect(settings.database_path).version < len(MIGRATIONS)


async def _embedder(app: App) -> str:
    embedder, started = app.parts.services.models.embedder, time.perf_counter()
    vectors = await embedder.embed([PROBE])
    return f"{embedder.space}: {vectors.shape[1]} dims in {(time.perf_counter() - started) * 1000:.0f} ms"


async def _index(app: App) -> str:
    vectors = await app.parts.services.models.embedder.embed([PROBE])
    index = new_index(app.parts.services.models.embedder.dims)
    index.add([1], vectors)
    (hits,) = index.search(vectors, 1)
    if [found for found, _ in hits] != [1]:
        raise BotError("FAISS does not find what was put in; reinstall faiss-cpu")
    return "FAISS finds what it was given"


def _models(app: App) -> str:
    models = app.parts.services.models
    return (
        f"reasoningHeavy {models.heavy.name}, reasoning {models.reasoning.name}, chat {models.chat.name}, "
        f"summary {models.summary.name}"
    )


def told_extras(settings: ModelSettings) -> str:
    """Return, in a line, which extras are here, and what becomes of pictures and recordings."""
    here = ", ".join(filter(is_installed, EXTRAS)) or "none"
    pictures = [
        *(["shown to the model"] if _sees(settings) else []),
        *(["their words are read"] if is_installed(OCR) else []),
    ]
    said = " and ".join(pictures) or "asked about (elefante[ocr] reads the words on them)"
    name = settings.transcription()
    heard = f"written down by {name}" if name else "not heard (MODEL_TRANSCRIPTION)"
    return f"extras here: {here}; pictures: {said}; recordings: {heard}"


def _sees(settings: ModelSettings) -> bool:
    """Return whether the first model of the chat takes pictures."""
    name = settings.chain(Mode.CHAT)[0]
    if name.provider == LIMITED:
        return False
    return PROVIDERS[name.provider].pictures if settings.model_pictures is None else settings.model_pictures


async def _running(settings: Settings) -> list[Document]:
    """Return what is not well with the bot that runs with these settings; nothing if none runs."""
    if settings.in_memory:
        return []
    try:
        found = await status_of(settings, SystemClock().now())
    except BotError:  # of the storage, which has a finding of its own
        return []
    if found["state"] not in {"running", "silent"}:
        return []
    return [
        _finding("running", each["said"], ok=False, model=each["about"] or "elefante run", advice=each["advice"])
        for each in found["problems"]
    ] or [_finding("running", "`elefante run` is well")]


def _unpriced(settings: Settings, prices: Prices) -> list[Document]:
    """Return a warning for each model without a known price, if a limit in money is set."""
    if not any(limit.is_cost for limits in astuple(settings.quotas()) for limit in limits):
        return []
    names = dict.fromkeys(name for mode in Mode for name in settings.chain(mode) if name.provider != LIMITED)
    unknown = [str(name) for name in names if prices.of(str(name)) is None]
    return [_finding("price", UNPRICED, warning=True, model=name) for name in unknown]


async def doctor(settings: ModelSettings, prices: Prices | None = None) -> Document:
    """Ask each model of each mode once, and the embedder; return the findings, and in `ok` whether all answered.

    `prices` learn from the lists of providers.
    """
    asked = ((mode, name) for mode in Mode for name in settings.chain(mode))
    findings = await ask_models(settings, asked, prices)
    findings.append(await _embedded(settings, SystemClock()))
    return _report(findings) | {
        "cost_usd": sum(finding.get("cost_usd") or 0.0 for finding in findings),
        "prices_of": prices_of(settings).date,
    }


async def ask_models(
    settings: ModelSettings, asked: Iterable[tuple[Mode, ModelName]], prices: Prices | None = None
) -> list[Document]:
    """Ask models one tiny question each, of the kind that the mode asks, and return a finding for each.

    That of a model that did not answer has `error` (the class of core.errors) and `advice`.
    """
    clock = SystemClock()
    calls: list[ModelCall] = []

    async def record(call: ModelCall) -> None:
        calls.append(call)

    findings: list[Document] = []
    async with AsyncExitStack() as stack:
        embedder = build_embedder(settings)
        stack.push_async_callback(embedder.close)
        prices = prices or prices_of(settings)
        chains = Chains(
            settings, embedder, ModelHealth(settings, clock), stack, prices, meter=Meter(record, prices, clock)
        )
        for mode, name in asked:
            calls.clear()
            await chains.read_lists([name])
            [link] = chains.links(mode, [name])
            finding = await _asked(mode, settings, name, link.model, calls)
            if mode is Mode.CHAT and finding["ok"] and name.provider != LIMITED:
                finding["form"] = chains.form(name)
            findings.append(finding)
    return findings


async def _asked(
    mode: Mode, settings: ModelSettings, name: ModelName, model: ChatModel, calls: list[ModelCall]
) -> Document:
    found = partial(_finding, mode.value, model=str(name))
    if name.provider == LIMITED:
        return found("no language model: limited mode")
    try:
        said = await prove(mode, model, SystemClock())
    except ProviderError as error:
        return _failed(mode.value, error, settings, name)
    costs = [call.cost_usd for call in calls]  # there are several calls if a bad answer was retried
    return found(
        said,
        total_ms=round(sum(call.duration_s for call in calls) * 1000),
        cost_usd=None if None in costs else float(sum(cost or 0 for cost in costs)),
    )


def _failed(mode: str, error: ProviderError, settings: ModelSettings, name: ModelName) -> Document:
    """Return the finding of a failure. It says nothing of the model's name, which is shown beside it."""
    said, kind = str(error).removeprefix(f"{name} "), type(error).__name__
    return _finding(mode, said, ok=False, model=str(name), error=kind, advice=_advice(error, settings, name))


async def _embedded(settings: ModelSettings, clock: Clock) -> Document:
    name, _ = settings.embedding()
    embedder = build_embedder(settings)
    started_s = clock.monotonic()
    try:
        vectors = await embedder.embed([PROBE])
    except ProviderError as error:
        return _failed("embedding", error, settings, name)
    finally:
        await embedder.close()
    total_ms = round((clock.monotonic() - started_s) * 1000)
    return _finding("embedding", f"a vector of {vectors.shape[1]}", model=str(name), total_ms=total_ms)


_ADVICE: Final[tuple[tuple[tuple[type[ProviderError], ...], str], ...]] = (
    ((CreditGone,), "the key is right, but its account has no credit; top it up: {credit_page}"),
    ((KeyRejected,), "{provider} refuses the key; mend {key}: {page}"),
    ((ProviderBusy,), "the key works, but it is over its limit; wait, or add another model after a comma"),
    ((ModelUnknown,), "{provider} has no model {model!r} for you; is the name right, and {setting}, if it is set?"),
    ((Rejected,), "the server refuses the question; is there a model {model!r}, and is {setting} right?"),
    ((BadReply, EmptyReply), "it answers, but not in the form that the bot needs; choose another model"),
    ((ProviderRefused, ContextTooLong), "choose another model"),
    ((ProviderError,), "is the server at {address} running and reachable? {setting} names another address"),
)
"""What to do about a failure: the first line whose classes it is one of."""


def _advice(error: ProviderError, settings: ModelSettings, name: ModelName) -> str:
    if name.provider == USEM3:
        return "see elefante check"
    preset = PROVIDERS[name.provider]
    return next(advice for kinds, advice in _ADVICE if isinstance(error, kinds)).format(
        provider=name.provider,
        model=name.model,
        key=preset.key_setting or "the key",
        page=preset.key_page or "the server wants one",
        credit_page=preset.credit_page or preset.key_page,
        setting=preset.url_setting,
        address=settings.address(name.provider),
    )


def render(document: Document) -> str:
    """Return the findings, one a line, each failure with its next step."""
    width, lines = max(len(finding["name"]) for finding in document["findings"]), []
    for finding in document["findings"]:
        mark = "warn" if "warning" in finding else "ok  " if finding["ok"] else "FAIL"
        about_what = f"{finding['model']}: " if "model" in finding else ""
        lines.append(f"{mark}  {finding['name']:<{width}}  {about_what}{finding['detail']}")
        if "total_ms" in finding:
            lines[-1] += f" ({'; '.join(filter(None, (finding.get('form'), _took(finding))))})"
        if finding.get("advice"):
            lines.append(f"      -> {finding['advice']}")
    if document.get("cost_usd"):
        lines.append(f"Cost: about US$ {document['cost_usd']:.6f} by the prices of {document['prices_of']}.")
    return "\n".join(lines)


def _took(finding: Document) -> str:
    took = f"{finding['total_ms']} ms"
    if "cost_usd" not in finding:
        return took
    cost = finding["cost_usd"]
    return f"{took}, " + ("cost unknown" if cost is None else f"US$ {cost:.6f}" if cost else "free")
