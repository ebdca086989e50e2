"""A typed answer, where the provider has no structured output of its own: asked for in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from core.types import JSONValue

SCHEMA_WORDS: Final = (
    "response_format",
    "output_config.format",
    "json_schema",
    "structured output",
    "schema",
    "grammar",
)
"""How providers call their structured output when they refuse it."""


def as_note(schema: Mapping[str, JSONValue]) -> str:
    """Return the sentence that asks for JSON of the schema."""
    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f"Answer with one JSON object that fits this JSON schema, and with nothing else:\n{text}"
