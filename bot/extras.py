"""Optional extras (`pip install elefante[ocr,voice]`): whether their packages are here. None is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Final

from core.files.child import WHISPER

OCR: Final = "ocr"
VOICE: Final = "voice"

MODULES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {OCR: ("rapidocr", "onnxruntime"), VOICE: ("faster_whisper", *WHISPER)}
)
"""What each extra brings."""


def is_installed(extra: str) -> bool:
    """Return whether all that an extra brings can be loaded."""
    return all(find_spec(name) is not None for name in MODULES[extra])


def told(*, hears: str, sees: bool) -> str:
    """Return, in a line, which extras are here, and what becomes of pictures and recordings.

    `hears` names what writes down recordings, "" for nothing; `sees` tells whether the chat model takes pictures.
    """
    here = ", ".join(filter(is_installed, MODULES)) or "none"
    pictures = [*(["shown to the model"] if sees else []), *(["their words are read"] if is_installed(OCR) else [])]
    said = " and ".join(pictures) or "asked about (elefante[ocr] reads the words on them)"
    heard = f"written down by {hears}" if hears else "not heard (MODEL_TRANSCRIPTION)"
    return f"extras here: {here}; pictures: {said}; recordings: {heard}"
