"""The last errors and warnings of this process, and of the one before it, as the log file tells them.

Knows records and lines of the log. Keeps what is fixed in them: when, where, what kind. Words of people and secrets are
in neither; what another library put into a phrase is left out, as it may be anything.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict, deque
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from bot.logs import LOG_FILE, where
from core.features.admin.machine import Trouble, TroubleLog

_OURS: Final = frozenset({"core", "bot", "adapters"})
_MAX_KINDS: Final = 200
_MAX_ERRORS: Final = 10_000
_MAX_TAIL_BYTES: Final = 256 * 1024
_MAX_KIND_CHARS: Final = 120
_LEVELS: Final = {name: getattr(logging, name) for name in ("WARNING", "ERROR", "CRITICAL")}


class RecentTroubles(logging.Handler, TroubleLog):
    """A handler of the root logger that keeps the last 200 kinds of trouble, and the times of the last errors."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__(logging.WARNING)
        self._secrets = tuple(secret for secret in secrets if secret)
        self._kinds: OrderedDict[tuple[str, ...], Trouble] = OrderedDict()
        self._errors: deque[datetime] = deque(maxlen=_MAX_ERRORS)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record. Called under the handler's lock, by any thread."""
        phrase = str(record.msg)
        try:
            said = record.getMessage() if _is_ours(record.name) else phrase
        except (TypeError, ValueError):  # a mistake in what is logged is no mistake of whoever logs
            said = phrase
        error = getattr(record, "error", "")
        place = record.name
        if record.exc_info and record.exc_info[0] is not None:
            error = record.exc_info[0].__name__
            place = " ".join((place, *where(record)[-1:]))
        at = datetime.fromtimestamp(record.created, UTC)
        self._note(at, record.levelname, place, phrase, self._kind(said, error))

    def read(self, folder: Path) -> None:
        """Keep what the end of the log file in that folder tells; a file that is not there tells nothing."""
        try:
            with (folder / LOG_FILE).open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(size - _MAX_TAIL_BYTES, 0))
                lines = file.read().split(b"\n")
        except OSError:
            return
        for line in lines:  # the first one may be a half
            try:
                self._read_line(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue

    def newest(self, limit: int) -> Sequence[Trouble]:
        """Return the last of them, the newest first; those that are alike as one."""
        with self._held():
            return list(reversed(self._kinds.values()))[:limit]

    def errors_since(self, at: datetime) -> int:
        """Return how many errors there were since then."""
        with self._held():
            return sum(each >= at for each in self._errors)

    def _read_line(self, event: Any) -> None:
        if event["level"] not in _LEVELS:
            return
        phrase = event.get("kind", event["event"])
        said = event["event"] if _is_ours(event["logger"]) else phrase
        place = " ".join((event["logger"], *event.get("where", [])[-1:]))
        kind = self._kind(said, event.get("error", ""))
        self._note(datetime.fromisoformat(event["at"]), event["level"], place, phrase, kind)

    def _note(self, at: datetime, level: str, place: str, phrase: str, kind: str) -> None:
        key = (level, place, phrase)
        before = self._kinds.pop(key, None)
        trouble = Trouble(at, level, place, kind)
        self._kinds[key] = replace(trouble, count=before.count + 1) if before else trouble
        if len(self._kinds) > _MAX_KINDS:
            self._kinds.popitem(last=False)
        if _LEVELS.get(level, logging.CRITICAL) >= logging.ERROR:
            self._errors.append(at)

    def _kind(self, said: str, error: object) -> str:
        """Return the first line of a phrase, and the name of the failure if it is one."""
        line = said.partition("\n")[0]
        for secret in self._secrets:
            line = line.replace(secret, "•••")
        line = line[:_MAX_KIND_CHARS]
        return f"{line} ({error})" if isinstance(error, str) and error.isidentifier() else line

    def _held(self) -> AbstractContextManager[Any]:
        return cast("AbstractContextManager[Any]", self.lock)  # a Handler makes one


def _is_ours(logger: str) -> bool:
    return logger.partition(".")[0] in _OURS
