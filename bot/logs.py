"""The log, one JSON line an event in a file that only its owner reads; and what owners see of it in a chat.

All lines that belong to one message, from its arrival to the last edit of its answer, have the same `turn`. People's
words are never passed to the log: a message is a fixed phrase, and facts come as `extra`. Of other libraries' lines,
which may hold anything, the fixed phrase alone is written. Secrets that slip into an error's text are struck out here.
"""

from __future__ import annotations

import json
import logging
import os
import re
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Final, cast

from bot.settings.settings import Settings
from core.features.admin.machine import Machine, ModelSwitch, Survey, Trouble, TroubleLog
from core.tasks import current

LOG_FILE = "elefante.log"
_MAX_BYTES = 5_000_000
_BACKUPS = 3
_NOISY: Final = (
    "httpx", "httpx2", "httpcore", "httpcore2", "aiosqlite", "telegram", "discord", "openai", "anthropic", "faiss",
)  # fmt: skip
_OURS: Final = frozenset({"core", "bot", "adapters"})
_UNFIXED: Final = re.compile(r"[\n:<(\[{'\"`]")
_MAX_KINDS: Final = 200
_MAX_ERRORS: Final = 10_000
_MAX_TAIL_BYTES: Final = 256 * 1024
_MAX_KIND_CHARS: Final = 120
_SAME_S: Final = 600.0
_LEVELS: Final = {name: getattr(logging, name) for name in ("WARNING", "ERROR", "CRITICAL")}
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """Format a record as one JSON object: at, level, logger, event, the `extra` fields, the error's place (no locals).

    `kind` is the event before its arguments were put in, if it has any: equal for events of one kind.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__()
        self.secrets = {secret for secret in secrets if secret}

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its newline."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"at": at, **self.event(record)}, ensure_ascii=False, default=str)
        for secret in self.secrets:
            line = line.replace(json.dumps(secret, ensure_ascii=False)[1:-1], "•••")
        return line

    @staticmethod
    def event(record: logging.LogRecord) -> dict[str, object]:
        """Return what a line says besides its time."""
        if "told" in vars(record):
            return cast("dict[str, object]", vars(record)["told"])
        event: dict[str, object] = {"level": record.levelname, "logger": record.name}
        if not _is_ours(record.name):
            event["event"] = _phrase(record)
            event |= {"turn": vars(record)["turn"]} if "turn" in vars(record) else {}
        else:
            try:
                event["event"] = record.getMessage()
            except (TypeError, ValueError):  # a wrong log call must not fail its caller
                event["event"] = str(record.msg)
            if record.args:
                event["kind"] = str(record.msg)
            event |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info and record.exc_info[0] is not None:
            event["error"] = record.exc_info[0].__name__
            event["where"] = where(record)
        return event


def _is_ours(logger: str) -> bool:
    return logger.partition(".")[0] in _OURS


def _phrase(record: logging.LogRecord) -> str:
    """Return what is fixed in a line: all before its arguments are put in; of one without, what begins it.

    asyncio formats tasks, callbacks and exceptions, and so what they hold, into such a line itself.
    """
    said = str(record.msg)
    return said if record.args else _UNFIXED.split(said, maxsplit=1)[0].strip()


@dataclass(slots=True)
class _RepeatedLine:
    """A line that was written, when, and how often it came again."""

    event: Mapping[str, object]
    at_s: float
    count: int = 0


def _said(event: Mapping[str, object]) -> str:
    """Return what a line says, without in which turn, and without what was measured."""
    said = {name: value for name, value in event.items() if name != "turn" and not isinstance(value, float)}
    return json.dumps(said, sort_keys=True, default=str)


class _LogFile(RotatingFileHandler):
    """A file that only its owner reads. Warnings and errors that say the same are one line in ten minutes, and a count.

    They do if they differ in their time, in their turn and in measured values only.
    """

    def __init__(self, path: Path, secrets: Iterable[str]) -> None:
        super().__init__(path, maxBytes=_MAX_BYTES, backupCount=_BACKUPS, encoding="utf-8")
        self.setFormatter(JsonLines(secrets))
        self._lines: OrderedDict[str, _RepeatedLine] = OrderedDict()  # the one written longest ago first

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, unless the same was written lately; before it, how often others were repeated."""
        self._count(record.created)
        if record.levelno >= logging.WARNING:
            event = JsonLines.event(record)
            if (known := self._lines.get(_said(event))) is not None:
                known.count += 1
                return
            self._lines[_said(event)] = _RepeatedLine(event, record.created)
        super().emit(record)

    def close(self) -> None:
        """Write what was repeated, and close the file."""
        self._count(time.time(), is_end=True)
        super().close()

    def _count(self, at_s: float, *, is_end: bool = False) -> None:
        """Write how often the lines whose time is over were repeated; they are new again then."""
        while self._lines:
            key, oldest = next(iter(self._lines.items()))
            if not is_end and 0 <= at_s - oldest.at_s < _SAME_S and len(self._lines) <= _MAX_KINDS:
                return
            del self._lines[key]
            if oldest.count:
                super().emit(_record({**oldest.event, "repeated": oldest.count}, at_s))

    def _open(self):  # type: ignore[no-untyped-def]  # noqa: ANN202  (the type of the stream is the library's secret)
        os.close(os.open(self.baseFilename, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        return super()._open()


def configure(folder: Path | None, level: str, secrets: Iterable[str] = ()) -> None:
    """Send every log record of the process to `folder/elefante.log`, or nowhere, and nothing to the terminal."""
    logging.raiseExceptions = False  # a full disk must not print tracebacks in the terminal
    handler: logging.Handler = logging.NullHandler()
    if folder is not None:
        handler = _LogFile(folder / LOG_FILE, secrets)
    handler.addFilter(_in_turn)
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for noisy in _NOISY:
        logging.getLogger(noisy).setLevel(logging.WARNING)


def to_stderr(secrets: Iterable[str] = ()) -> None:
    """Send every log record of the process to standard error, too."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(secrets))
    handler.addFilter(_in_turn)
    logging.getLogger().addHandler(handler)


def _in_turn(record: logging.LogRecord) -> bool:
    """Give a record the id of the turn that it is made in; keep it."""
    if (trace := current()) is not None:
        record.turn = trace.id
    return True


def strike_out(secrets: Iterable[str]) -> None:
    """Strike these secrets out of the log from now on, too: a token that was read again."""
    for handler in logging.getLogger().handlers:
        for each in (handler, handler.formatter):
            if isinstance(each, JsonLines | RecentTroubles):
                each.secrets.update(secret for secret in secrets if secret)


def where(record: logging.LogRecord) -> list[str]:
    """Return file:line and function of each frame of the record's exception, innermost last; no values."""
    frames = []
    traceback = record.exc_info[2] if record.exc_info else None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append(f"{Path(code.co_filename).name}:{traceback.tb_lineno} {code.co_name}")
        traceback = traceback.tb_next
    return frames


class RecentTroubles(logging.Handler, TroubleLog):
    """A handler of the root logger that keeps the last 200 kinds of warnings and errors, and the times of errors.

    It keeps when, where and which kind. What another library put into a phrase is left out: it may be anything.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(logging.WARNING)
        self.secrets = {secret for secret in secrets if secret}
        self._kinds: OrderedDict[tuple[str, ...], Trouble] = OrderedDict()
        self._errors: deque[datetime] = deque(maxlen=_MAX_ERRORS)

    def emit(self, record: logging.LogRecord) -> None:
        """Note a record. Called by any thread, under the handler's lock."""
        self._note(datetime.fromtimestamp(record.created, UTC), JsonLines.event(record))

    def read(self, folder: Path) -> None:
        """Note the warnings and errors at the end of the log file in that folder, if there is one."""
        for line in _tail(folder / LOG_FILE):
            with suppress(ValueError, KeyError, TypeError, AttributeError):
                event = json.loads(line)
                if event["level"] in _LEVELS:
                    self._note(datetime.fromisoformat(event["at"]), event)

    def newest(self, limit: int) -> Sequence[Trouble]:
        """Return the last kinds of trouble, the newest first."""
        with self._held():
            return list(reversed(self._kinds.values()))[:limit]

    def errors_since(self, at: datetime) -> int:
        """Return how many errors there were since that time."""
        with self._held():
            return sum(each >= at for each in self._errors)

    def _note(self, at: datetime, event: Any) -> None:
        """Note what a line of the log says besides its time."""
        level, logger, phrase = event["level"], event["logger"], event.get("kind", event["event"])
        said = event["event"] if _is_ours(logger) else phrase
        place = " ".join((logger, *event.get("where", [])[-1:]))
        kind, count = self._kind(said, event.get("error", "")), int(event.get("repeated", 1))
        key = (level, place, phrase)
        before = self._kinds.pop(key, None)
        self._kinds[key] = Trouble(at, level, place, kind, count + (before.count if before else 0))
        if len(self._kinds) > _MAX_KINDS:
            self._kinds.popitem(last=False)
        if _LEVELS.get(level, logging.CRITICAL) >= logging.ERROR:
            self._errors.append(at)

    def _kind(self, said: str, error: object) -> str:
        """Return the first line of a phrase without secrets, and the exception's name if there is one."""
        line = said.partition("\n")[0]
        for secret in self.secrets:
            line = line.replace(secret, "•••")
        line = line[:_MAX_KIND_CHARS]
        return f"{line} ({error})" if isinstance(error, str) and error.isidentifier() else line

    def _held(self) -> AbstractContextManager[Any]:
        return cast("AbstractContextManager[Any]", self.lock)  # set by logging.Handler


def _tail(path: Path) -> Sequence[bytes]:
    """Return the last lines of the log, none if there is none; the first one may be a half."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - _MAX_TAIL_BYTES, 0))
            return file.read().split(b"\n")
    except OSError:
        return ()


def _record(event: Mapping[str, object], created: float) -> logging.LogRecord:
    """Return a record of which the line says that."""
    return logging.makeLogRecord({"told": dict(event), "created": created})


def open_machine(settings: Settings, models: ModelSwitch, survey: Survey, stack: AsyncExitStack) -> Machine:
    """Return what owners may ask of this process in a chat, and what workers have in common.

    It reads the troubles of the log file, and listens to new ones until `stack` is closed.
    """
    troubles = RecentTroubles(settings.secrets())
    if settings.log_folder is not None:
        troubles.read(settings.log_folder)
    logging.getLogger().addHandler(troubles)
    stack.callback(logging.getLogger().removeHandler, troubles)

    return Machine(models, troubles, metadata.version("elefante"), survey, time.monotonic())
