"""What limited mode made of a message, for traces."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the message: what it is for, and the evidence in a few plain words."""

    text: str
    intent: str
    because: str


@dataclass(frozen=True, slots=True)
class Reading:
    """The parts of a message, in the order in which they were said."""

    parts: tuple[Part, ...]
