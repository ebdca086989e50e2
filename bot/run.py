"""`elefante run` and `elefante chat`: answer on every platform that has a token, or in this terminal, until stopped."""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import json
import os
import signal
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from adapters.running import Backoff, until
from bot.alarms import tell_start_failed, watching
from bot.data_folder import daily_backups, go_on_anyway
from bot.logs import LOG_FILE, to_stderr
from bot.platforms import PLATFORMS, Platform, Start
from bot.settings.env_file import env_path
from bot.settings.models import LIMITED
from bot.settings.settings import Settings, unknown_settings
from bot.status_file import RUN, StatusReport
from bot.supervisor import Supervisor
from bot.wiring import App, build, open_chatbot, prepare_folder, say, warm_up
from core.clock import SystemClock
from core.errors import BotError, ClaimLost, ConfigError, InputError, StorageDown, StorageError
from core.models import Models
from core.ports import Clock
from core.tasks import background

if TYPE_CHECKING:
    from bot.metrics import MetricsServer, Readings

_AWAY_S: Final = 60.0
_LONGEST_S: Final = 4.0  # between two attempts to reach the database; people wait for it
_PATIENCE_S: Final = 1.0
_TITLES: Final = {"telegram": "Telegram", "discord": "Discord", "console": "the terminal"}


_M_MMAP_THRESHOLD: Final = -3  # malloc.h
_LARGE_BYTES: Final = 4 << 20


def give_back_large_blocks() -> None:
    """Let the C library return each large block to the system once it is free. Source: mallopt(3).

    glibc otherwise keeps blocks as large as one that was freed before, up to 32 MB, for each thread that had one: after
    fifty documents of 20 MB these are 120 MB for good.
    """
    with suppress(AttributeError, OSError, TypeError):  # another library
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)


async def run(settings: Settings, *, anyway: bool = False) -> None:
    """Run every platform that has a token until SIGINT or SIGTERM; one that ends is tried again, at once on SIGHUP.

    `anyway`: also on a database that lacks what a backup beside it holds, now and at later starts.

    Raises:
        ConfigError: no platform has a token, or every platform's was refused before any was connected.
        BotError: another process answers one of the platforms from this data folder; or a platform ended, and
            ON_PLATFORM_END=exit.
    """
    give_back_large_blocks()
    chosen = {name: platform for name, platform in PLATFORMS.items() if platform.enabled(settings)}
    unknown = unknown_settings()
    if not chosen:
        advice = (
            f"no platform is on; write TELEGRAM_TOKEN=... or DISCORD_TOKEN=... into {env_path()}, or try `make chat`"
        )
        raise ConfigError("TELEGRAM_TOKEN", ". ".join((advice, *unknown)))
    if settings.log_to == "stderr":
        to_stderr(settings.secrets())
    for line in (*unknown, *origins(settings)):
        say(line)
    with serving(settings, RUN, chosen):
        try:
            if anyway:
                await go_on_anyway(settings)
            failure = await _run(settings, chosen)
        except BotError as error:
            await tell_start_failed(settings, error)
            raise
    if failure is not None:
        raise failure


async def _run(settings: Settings, chosen: Mapping[str, Platform]) -> BaseException | None:
    """Run the platforms, and return the failure of one that was connected and ended the whole.

    Raises:
        BotError: nothing was ever connected.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, lambda: None)  # a closed terminal does not end it
    async with _served(settings, stop) as server:
        await _reached(settings, stop)
        return None if stop.is_set() else await answer(settings, chosen, stop, server)


async def answer(
    settings: Settings,
    chosen: Mapping[str, Platform],
    stop: asyncio.Event,
    server: MetricsServer | None = None,
    *,
    clock: Clock | None = None,
) -> BaseException | None:
    """Answer on these platforms until `stop` is set; `clock` takes the place of the operating system's.

    Returns the failure of a platform that was connected and ended the whole.

    Raises:
        BotError: nothing was ever connected.
    """
    loop = asyncio.get_running_loop()
    async with (
        build(settings, clock=clock, metrics=server.metrics if server else None) as app,
        watching(app),
        open_chatbot(app) as chatbot,
        app.features.at_work(stop, serves=True),
        daily_backups(settings, app.features.alerts, app.clock),
        background(warm_up(app)),
    ):
        say(models_line(app.parts.services.models))
        status = StatusReport(app)
        start = Start(app, chatbot, stop, say, worker=app.worker)
        supervisor = Supervisor(start, chosen, changed=status.change, wrote=server.metrics.wrote if server else None)
        if server is not None:
            server.bot = readings(app)
        loop.add_signal_handler(signal.SIGHUP, supervisor.retry_now)
        async with status.kept():
            failure = await supervisor.run()
        chatbot.abandon()
    if failure is not None and not supervisor.was_connected:
        raise failure
    return failure


async def _reached(settings: Settings, stop: asyncio.Event) -> None:
    """Return when the database server answers, or once `stop` is set: a start is no failure because it is away.

    The owner is told at ALERT_URL when it has been away for a minute.

    Raises:
        ConfigError: it refuses STORAGE_URL.
    """
    if settings.engine != "postgres":
        return
    from core.storage.postgres_connection import parameters  # these load psycopg
    from core.storage.postgres_schema import connected

    named = parameters(settings.storage_url.get_secret_value())
    clock, backoff = SystemClock(), Backoff(longest_s=_LONGEST_S)
    began_s, is_told = clock.monotonic(), False
    while not stop.is_set():
        try:
            connection = await asyncio.to_thread(connected, named)
        except StorageDown as error:
            if not is_told:
                say(f"{error}. It is tried again until it answers.")
            is_told = True
            if clock.monotonic() - began_s > _AWAY_S:
                await tell_start_failed(settings, error)
            await until(stop, clock.sleep(backoff.next_s()))
        else:
            connection.close()
            return


@asynccontextmanager
async def _served(settings: Settings, stop: asyncio.Event) -> AsyncIterator[MetricsServer | None]:
    """Serve metrics and health while the context is entered, before and after the bot is there; None without METRICS.

    Raises:
        ConfigError: METRICS cannot be listened on.
    """
    if settings.metrics_address is None:
        yield None
        return
    from bot.metrics import Metrics, MetricsServer

    server, (host, port) = MetricsServer(Metrics(), stop), settings.metrics_address
    async with server.at(host, port):
        say(f"Metrics and health at http://{f'[{host}]' if ':' in host else host}:{port}")
        yield server


def readings(app: App) -> Readings:
    """Return what METRICS reads of a bot."""
    from bot.metrics import Readings  # it loads a library that few need

    return Readings(
        app.clock,
        app.features.platforms.all,
        backlog=app.parts.inbox.backlog,
        pool=app.database.pool,
        is_known=lambda: app.worker.is_alive,
    )


async def chat(settings: Settings, thread_id: str = "", *, anyway: bool = False) -> None:
    """Talk in this terminal until the person leaves; their last question is answered before this returns.

    `anyway` is that of `run`.

    Raises:
        ConfigError: the conversation that `thread_id` or DEFAULT_THREAD names belongs to somebody else.
        BotError: another process runs the terminal from this data folder.
    """
    with serving(settings, "elefante chat", ["console"]):
        if anyway:
            await go_on_anyway(settings)
        await _talk(settings, thread_id)


async def _talk(settings: Settings, thread_id: str) -> None:
    from adapters import console  # this loads prompt_toolkit

    at_once = settings.model_copy(update={"status_after_s": 0.0})  # a terminal shows no other sign of life
    failure: BotError | None = None
    async with build(at_once) as app, open_chatbot(app) as chatbot, background(warm_up(app)), only_terminal(app):
        try:
            await _go_on(app, thread_id)
            async with app.features.at_work(asyncio.Event(), serves=False):
                await console.run(
                    chatbot,
                    app.clock,
                    user=settings.console_owner,
                    data_dir=settings.data_dir,
                    language=settings.locale,
                    keeps_lines=not (settings.in_memory or app.database.sealing.is_on),
                    menu=app.parts.menu(),
                )
        except ConfigError as error:
            failure = error  # raised in here it would be one of a group
        except ClaimLost:
            failure = BotError("the database was away, and another `elefante chat` goes on with this conversation")
    if failure is not None:
        raise failure


@asynccontextmanager
async def only_terminal(app: App) -> AsyncIterator[None]:
    """Enter once no other process of this database talks in a terminal: on that screen all answers would be shown."""
    async with AsyncExitStack() as held:
        async with background(_tell_waiting(app.clock)):
            await held.enter_async_context(app.worker.hold("terminal"))
        yield


async def _tell_waiting(clock: Clock) -> None:
    await clock.sleep(_PATIENCE_S)
    say("another `elefante chat` is open over this database; this one begins when that one ends")


async def _go_on(app: App, thread_id: str) -> None:
    """Make the named conversation active; without a name the last one stays active."""
    from adapters import console

    if not (name := thread_id or app.settings.default_thread):
        return
    try:
        await app.conversations.open(console.conversation(app.settings.console_owner), name)
    except InputError as error:
        raise ConfigError("--thread" if thread_id else "DEFAULT_THREAD", str(error)) from None


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


@contextmanager
def serving(settings: Settings, command: str, platforms: Collection[str]) -> Iterator[None]:
    """Lock those platforms of this data folder, so that one process at a time answers there: of a SQLite file.

    Of PostgreSQL any number of processes may, which share the work; only the terminal of a folder is one process's.
    The kernel releases the locks when the process dies, however it dies (flock(2)).

    Raises:
        BotError: another process answers one of them; the message names it.
        ConfigError, StorageError: the data folder cannot be used.
    """
    if settings.engine == "postgres":
        platforms = set(platforms) & {"console"}
    if settings.state_dir is None or not platforms:  # data in RAM is shared with nobody
        yield
        return
    prepare_folder(settings.state_dir)
    with ExitStack() as held:
        for platform in platforms:
            held.enter_context(_locked(settings, command, platform))
        yield


@contextmanager
def _locked(settings: Settings, command: str, platform: str) -> Iterator[None]:
    path = settings.data_dir / f"serving-{platform}.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BotError(
                f"{_holder(path)} already answers {_TITLES.get(platform, platform)} from this folder "
                f"({settings.data_dir}). Stop it first, or use another DATA_DIR."
            ) from None
        since = SystemClock().now().astimezone(settings.zone()).strftime("%d %b %H:%M")
        with suppress(OSError):  # on a full disk the lock still holds; only its holder has no name
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps({"command": command, "pid": os.getpid(), "since": since}).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _holder(path: Path) -> str:
    """Return the name of the process that holds the lock, for an error message."""
    try:
        holder = json.loads(path.read_text())
        return f"`{holder['command']}` (process {holder['pid']}, since {holder['since']})"
    except (OSError, ValueError, KeyError, TypeError):  # it took the lock a moment ago and has not written yet
        return "Another process"
