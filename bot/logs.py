"""Logs: one JSON line an event, in a file that only the owner reads.

Knows how a record is written. Does not know events: a message is a fixed phrase, and facts come as `extra`. People's
words are never passed to the log; secrets that slip into an error's text are struck out here.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

LOG_FILE = "elefante.log"
_MAX_BYTES = 5_000_000
_BACKUPS = 3
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """One JSON object a line: at, level, logger, event, the `extra` fields, the error's place (never its locals).

    `kind` is the event before its values were put in, where there are any: what is alike has one.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__()
        self._secrets = tuple(secret for secret in secrets if secret)

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its newline."""
        event: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "event": record.getMessage(),
        }
        if record.args:
            event["kind"] = str(record.msg)
        event |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info and record.exc_info[0] is not None:
            event["error"] = record.exc_info[0].__name__
            event["where"] = where(record)
        line = json.dumps(event, ensure_ascii=False, default=str)
        for secret in self._secrets:
            line = line.replace(json.dumps(secret, ensure_ascii=False)[1:-1], "•••")
        return line


class _OwnerOnlyFile(RotatingFileHandler):
    def _open(self):  # type: ignore[no-untyped-def]  # noqa: ANN202  (the type of the stream is the library's secret)
        os.close(os.open(self.baseFilename, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
        return super()._open()


def configure(folder: Path | None, level: str, secrets: Iterable[str] = ()) -> None:
    """Send every log record of the process to `folder/elefante.log`, or nowhere, and nothing to the terminal."""
    logging.raiseExceptions = False  # a full disk must not put tracebacks into the terminal
    handler: logging.Handler = logging.NullHandler()
    if folder is not None:
        handler = _OwnerOnlyFile(folder / LOG_FILE, maxBytes=_MAX_BYTES, backupCount=_BACKUPS, encoding="utf-8")
        handler.setFormatter(JsonLines(secrets))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for noisy in (
        "httpx",
        "httpx2",
        "httpcore",
        "httpcore2",
        "aiosqlite",
        "telegram",
        "discord",
        "openai",
        "anthropic",
    ):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def where(record: logging.LogRecord) -> list[str]:
    """Return file:line of each frame, innermost last: enough to find it, nothing of what it held."""
    frames = []
    traceback = record.exc_info[2] if record.exc_info else None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append(f"{Path(code.co_filename).name}:{traceback.tb_lineno} {code.co_name}")
        traceback = traceback.tb_next
    return frames
