"""Classify failures of a provider by HTTP status and by words of the error.

A provider's own words are never put into our messages: some providers echo the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from math import inf
from typing import TYPE_CHECKING

from core.errors import (
    ContextTooLong,
    CreditGone,
    KeyRejected,
    ModelUnknown,
    ProviderBusy,
    ProviderDown,
    ProviderError,
    ProviderRefused,
)

if TYPE_CHECKING:
    import httpx2  # the SDKs', which are loaded only for a model that is asked

_TOO_LONG = re.compile(
    r"context.?(length|window|size|limit)|maximum (context|model length)|prompt is too long|input token count"
    r"|exceed_context|max_new_tokens.{0,4} must be <=",
    re.IGNORECASE,
)
_WINDOW = re.compile(
    r"(?:context.{0,12}?(?:length|window|size|limit)[^\d]{0,24}|maximum model length\D{1,4}|configured limit\D{1,4}"
    r"|tokens allowed\D{1,4}|must be <= |n_ctx\W{1,4}|> )(\d{3,9})|(\d{3,9}) maximum context",
    re.IGNORECASE,
)
_NO_TOOLS = re.compile(r"param: tools|tools param|--jinja")  # llama.cpp, with a 500
_BAD_KEY = re.compile(r"api.?key", re.IGNORECASE)  # Gemini's compatible endpoint says so with a 400
_NO_CREDIT = re.compile(
    r"insufficient[_ ](quota|balance|credits?|funds)|credit balance is too low|out of (available )?credits"
    r"|billing_(error|hard_limit_reached|not_active)",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"model_not_found|invalid_model|not a valid model|no such model|unknown model|model not exist"
    r"|model.{1,80}(does not exist|not found)",
    re.IGNORECASE,
)
_DECLINED = re.compile(
    r"content_filter|content_policy|content management policy|requires moderation|input was flagged", re.IGNORECASE
)
_UNKNOWN = "model_not_found"  # OpenAI's, also with a 403: the key's project may not use the model
_KIND = re.compile(r"[A-Za-z_]{1,40}")
_OVERLOADED = 529  # Anthropic's own
_BUSY = frozenset({HTTPStatus.TOO_MANY_REQUESTS, _OVERLOADED})
_KEY = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_REQUEST = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND, HTTPStatus.UNPROCESSABLE_ENTITY})
_HINTS: dict[int, str] = {
    HTTPStatus.NOT_FOUND: "no such model, or no such address",
    HTTPStatus.PAYMENT_REQUIRED: "no credit",
}


class Rejected(ProviderDown):
    """The request itself was refused. `complaint` is the provider's reason: to be searched, never shown.

    `instead`, if given, is the error to raise if no other form of the request is accepted.
    """

    def __init__(self, message: str, complaint: str, instead: ProviderError | None = None) -> None:
        super().__init__(message)
        self.complaint = complaint
        self.instead = instead


def by_status(name: str, status: int, kind: str | None, complaint: str, headers: Mapping[str, str]) -> ProviderError:
    """Return the error for an HTTP status. `kind` is the provider's code or type, `complaint` its explanation."""
    known = _HINTS.get(status) or (kind if kind and _KIND.fullmatch(kind) else "")
    message = f"{name} answered HTTP {status}" + (f" ({known})" if known else "")
    said = f"{kind} {complaint}"
    if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE or (status in _REQUEST and _TOO_LONG.search(said)):
        return ContextTooLong(message, window_tokens(said))
    if (refusal := _of_account(message, status, kind, said)) is not None:
        return refusal
    if status in _BUSY:
        return ProviderBusy(message, retry_after_s(headers))
    if status in _KEY | _REQUEST or _NO_TOOLS.search(said):
        if _DECLINED.search(said):
            return ProviderRefused(message)
        is_unknown = status == HTTPStatus.NOT_FOUND or _NO_MODEL.search(said)
        return Rejected(message, said, ModelUnknown(message) if is_unknown else None)
    return ProviderDown(message)


def _of_account(message: str, status: int, kind: str | None, said: str) -> ProviderError | None:
    """Return the error if it is about the key or the credit; None if not."""
    may_be = status in _KEY | _REQUEST | {HTTPStatus.TOO_MANY_REQUESTS}
    if status == HTTPStatus.PAYMENT_REQUIRED or (may_be and _NO_CREDIT.search(said)):
        return CreditGone(message)
    if kind == _UNKNOWN or (status in _KEY and _DECLINED.search(said)):  # OpenRouter refuses a text with a 403
        return None
    return KeyRejected(message) if status in _KEY or (status in _REQUEST and _BAD_KEY.search(said)) else None


def window_tokens(complaint: str) -> int:
    """Return the context window that a refusal names, in tokens; 0 if it names none.

    Source: OpenAI and vLLM write "maximum context length is 8192 tokens", llama.cpp `"n_ctx": 4096`, Anthropic
    "199000 + 4096 > 200000", Gemini "maximum number of tokens allowed (32768)", Mistral "32768 maximum context length".
    """
    sizes = [int(size) for found in _WINDOW.findall(complaint) for size in found if size]
    return sizes[-1] if sizes else 0


def retry_after_s(headers: Mapping[str, str]) -> float:
    """Return the wait that the headers name, in seconds; 0.0 if they name none.

    Source: RFC 9110, 10.2.3 (seconds, or a date, which is read against the answer's own Date); `retry-after-ms` is
    what both vendors' SDKs read before it.
    """
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            wait_s = float(headers[name]) * unit_s
        except (KeyError, ValueError):
            continue
        return wait_s if 0.0 < wait_s < inf else 0.0
    try:
        until, at = parsedate_to_datetime(headers["retry-after"]), parsedate_to_datetime(headers["date"])
        return max((until - at).total_seconds(), 0.0)
    except (KeyError, ValueError, TypeError):  # TypeError: one of the dates has a time zone, the other none
        return 0.0


def hooks(patience_s: float) -> dict[str, list[Callable[[httpx2.Response], Awaitable[None]]]]:
    """Return the event hooks of an HTTP client whose SDK is to wait for `patience_s` at most."""

    async def before_retry(response: httpx2.Response) -> None:
        forbid_long_waits(response.headers, patience_s)

    return {"response": [before_retry]}


def forbid_long_waits(headers: MutableMapping[str, str], patience_s: float) -> None:
    """Forbid the SDK a wait longer than `patience_s`, so that another model can be asked instead.

    Source: both SDKs obey `x-should-retry`; Anthropic's sleeps up to 49 days if Retry-After says so, OpenAI's 120 s.
    """
    if retry_after_s(headers) > patience_s:
        headers["x-should-retry"] = "false"
