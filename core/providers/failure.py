"""Failures of a provider by HTTP status and words of the error, and which forms of a request a model refused.

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


import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, TypeVar

from core.types import JSONValue

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


# Forms of request parameters, of which the module of each protocol defines the words of its errors.

SCHEMA_WORDS: Final = (
    "response_format",
    "output_config.format",
    "json_schema",
    "structured output",
    "schema",
    "grammar",
)
"""Names of structured output in the refusals of providers."""

TOOLS: Final = "tools"
"""The label of the form that the protocol has for tools."""

Params: TypeAlias = Mapping[str, JSONValue]


@dataclass(frozen=True, slots=True)
class Rung:
    """One form of a parameter. `label` is remembered after a refusal: NAME, or NAME=VALUE.

    `words` appear in errors about it (lower case); `note` is added to the prompt. `written`: tools are told, called and
    answered in the text.
    """

    label: str = ""
    params: Params = field(default_factory=dict)
    words: tuple[str, ...] = ()
    note: str = ""
    written: bool = False


Ladder: TypeAlias = Sequence[Rung]
"""Forms from the best to the last resort. After the last, the parameter is left out."""

Answer = TypeVar("Answer")


class Concessions:
    """What the models of one endpoint refused, and their context windows in tokens (`windows`), for this process.

    `callers` are the models that called a tool as the protocol has it, `forms` the labels of the form in which each
    model's last accepted request offered tools. Learning costs one refused request for each form
    and model; a catalogue of models would become outdated.
    """

    def __init__(self) -> None:
        self._refused: dict[str, set[str]] = {}
        self.windows: dict[str, int] = {}
        self.callers: set[str] = set()
        self.forms: dict[str, str] = {}

    async def settle(
        self, model: str, ladders: Sequence[Ladder], send: Callable[[Sequence[Rung]], Awaitable[Answer]]
    ) -> Answer:
        """Send a request, again with the next form after each refusal of one.

        Raises:
            Rejected: the request was refused for another reason.
            ModelUnknown: there is no such model.
        """
        while True:
            rungs = self.choose(model, ladders)
            try:
                return await send(rungs)
            except Rejected as error:
                if not self.learn(model, rungs, error.complaint):
                    raise (error.instead or error) from None

    def choose(self, model: str, ladders: Sequence[Ladder]) -> list[Rung]:
        """Return the best form of each ladder that the model has not refused."""
        refused = self._refused.get(model, set())
        return [next((rung for rung in ladder if not _is_refused(rung, refused)), Rung()) for ladder in ladders]

    def learn(self, model: str, sent: Sequence[Rung], complaint: str) -> bool:
        """Remember the form that the complaint mentions first; return False if it mentions none.

        "Unsupported value" refuses this value only, any other complaint all values. Tools are given up last: some are
        refused only together with another parameter.
        """
        complaint = complaint.lower()
        named = [(at, rung) for rung in sent for word in rung.words if (at := complaint.find(word)) >= 0]
        if not named:
            return False
        label = min(named, key=lambda entry: (entry[1].label == TOOLS, entry[0]))[1].label
        if "value" not in complaint:
            label = label.partition("=")[0]
        self.refuse(model, label)
        return True

    def refuse(self, model: str, label: str) -> None:
        """Use the form of that label no more."""
        self._refused.setdefault(model, set()).add(label)


def _is_refused(rung: Rung, refused: set[str]) -> bool:
    return rung.label in refused or rung.label.partition("=")[0] in refused


def merged(*params: Params) -> dict[str, JSONValue]:
    """Return all parameters as one request body; objects of one name are merged."""
    body: dict[str, JSONValue] = {}
    for name, value in (entry for part in params for entry in part.items()):
        known = body.get(name)
        body[name] = {**known, **value} if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return body


def as_note(schema: Mapping[str, JSONValue]) -> str:
    """Return the sentence that asks for JSON of the schema, for models without structured output."""
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f"Answer with one JSON object that fits this JSON schema, and with nothing else:\n{text}"
