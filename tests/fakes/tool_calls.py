"""Tool calls as a scripted server makes them, and what it was told of tools, in no vendor's form."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a server makes. `arguments` are streamed in pieces of `chars` letters; as they are, if a text."""

    name: str
    arguments: dict[str, Any] | str
    id: str = "call_1"
    chars: int = 7

    @property
    def text(self) -> str:
        """The arguments as JSON."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments, ensure_ascii=False)

    @property
    def pieces(self) -> list[str]:
        """The arguments in pieces."""
        return [self.text[at : at + self.chars] for at in range(0, len(self.text), self.chars)]


@dataclass(frozen=True, slots=True)
class Result:
    """What a server was told of a call: its id, the text, and whether it is marked as failed."""

    id: str
    text: str
    failed: bool = False
