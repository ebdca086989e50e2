"""Read what a provider's list of models tells of one: its context window, and its price where the list has prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bot.models.prices import Price

_WINDOWS: Final = (
    "context_length",  # OpenRouter, DeepInfra, Together
    "context_window",  # Groq
    "max_context_length",  # Mistral
    "max_model_len",  # vLLM
    "inputTokenLimit",  # Gemini
)
_LEAST_WINDOW_TOKENS: Final = 512
_MILLION: Final = 1e6


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list tells of a model: its window in tokens, and its price; None where it tells none."""

    window_tokens: int | None = None
    price: Price | None = None


def find(listing: object, model: str, *, alone: bool = False) -> Listed:
    """Return what a list tells of a model; `alone`: a server of one model, which has it whatever it is asked for."""
    entries = list(_entries(listing))
    found = next((each for each in entries if str(each.get("id", "")).removeprefix("models/") == model), None)
    if found is None:
        found = entries[0] if alone and len(entries) == 1 else {}
    return Listed(_window(found), _price(found.get("pricing")))


def _entries(listing: object) -> Iterator[Mapping[str, object]]:
    match listing:
        case {"data": [*entries]} | {"models": [*entries]}:
            yield from (entry for entry in entries if isinstance(entry, Mapping))


def _window(entry: Mapping[str, object]) -> int | None:
    """Return the window; of llama.cpp that which it serves (`n_ctx`), not the one that the model was trained for."""
    meta = entry.get("meta")
    told = [*(entry.get(name) for name in _WINDOWS), meta.get("n_ctx") if isinstance(meta, Mapping) else None]
    windows = [each for each in told if isinstance(each, int) and each >= _LEAST_WINDOW_TOKENS]
    return min(windows, default=None)


def _price(pricing: object) -> Price | None:
    """Return OpenRouter's prices, US dollars a token as text, by the million; negative ones vary from call to call."""
    if not isinstance(pricing, Mapping):
        return None
    asked, said, cached, written = (
        _million(pricing.get(name)) for name in ("prompt", "completion", "input_cache_read", "input_cache_write")
    )
    return None if asked is None or said is None else Price(asked, said, cached, written)


def _million(told: object) -> float | None:
    try:
        price = round(float(str(told)) * _MILLION, 6)
    except ValueError:
        return None
    return price if 0 <= price < _MILLION else None
