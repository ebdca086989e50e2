"""How Discord says no."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """The server says no: an HTTP status, a code of Discord's own, and words."""

    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {"code": code, "message": message}
        self.headers: dict[str, str] = {}
