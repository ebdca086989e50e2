"""The one-time codes of claim links, in a file: a link that set-up printed counts when the bot is started later."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Final

FILE: Final = "claim.json"

_log = logging.getLogger(__name__)


class ClaimCodes(MutableMapping[str, str]):
    """Codes by platform, read anew each time, because another process may have written them.

    Without a folder, and where the file cannot be written, they end with the process.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / FILE
        self._own: dict[str, str] = {}

    def __getitem__(self, platform: str) -> str:
        """Return the platform's code."""
        return self._read()[platform]

    def __setitem__(self, platform: str, code: str) -> None:
        """Keep the platform's code."""
        self._write({**self._read(), platform: code})

    def __delitem__(self, platform: str) -> None:
        """Forget the platform's code."""
        codes = self._read()
        del codes[platform]
        self._write(codes)

    def __iter__(self) -> Iterator[str]:
        """Yield the platforms that have a code."""
        return iter(self._read())

    def __len__(self) -> int:
        """Return how many platforms have a code."""
        return len(self._read())

    def _read(self) -> dict[str, str]:
        if self._path is None:
            return self._own
        try:
            stored = json.loads(self._path.read_text("utf-8"))
            return {str(platform): str(code) for platform, code in stored.items()}
        except (OSError, ValueError, AttributeError):
            return self._own

    def _write(self, codes: dict[str, str]) -> None:
        self._own = codes
        if self._path is None:
            return
        aside = self._path.with_suffix(".new")
        try:
            aside.unlink(missing_ok=True)
            with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                json.dump(codes, file)
            aside.replace(self._path)
        except OSError as error:
            _log.warning("claim code not kept", extra={"error": type(error).__name__})
