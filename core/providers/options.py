"""Request options of one mode of thought."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """A model's name and knobs. None leaves a knob to the model, and out of the request.

    `effort` is none, minimal, low, medium, high, xhigh or max ("none": answer without thinking); `verbosity` low,
    medium or high; `max_tokens` caps the whole answer, thought included, and None takes the prompt's own cap;
    `window_tokens` is what the model takes in all, prompt and answer, and None leaves that to be found out.
    `timeout_s` is the longest silence borne: until the answer starts, and between any two pieces of it.
    """

    model: str
    effort: str | None = None
    verbosity: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    window_tokens: int | None = None
    timeout_s: float = 30.0
