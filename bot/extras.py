"""Optional extras (`pip install elefante[ocr,voice,heic]`): whether their packages are here. None is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType
from typing import Final

from bot.models.presets import PROVIDERS, Mode
from bot.settings.models import LIMITED, ModelSettings
from core.files.child import WHISPER

OCR: Final = "ocr"
VOICE: Final = "voice"
HEIC: Final = "heic"

MODULES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {OCR: ("rapidocr", "onnxruntime"), VOICE: ("faster_whisper", *WHISPER), HEIC: ("pi_heif",)}
)
"""What each extra brings."""


def is_installed(extra: str) -> bool:
    """Return whether all that an extra brings can be loaded."""
    return all(find_spec(name) is not None for name in MODULES[extra])


def told(settings: ModelSettings) -> str:
    """Return, in a line, which extras are here, and what becomes of pictures and recordings."""
    here = ", ".join(filter(is_installed, MODULES)) or "none"
    pictures = [
        *(["shown to the model"] if _sees(settings) else []),
        *(["their words are read"] if is_installed(OCR) else []),
    ]
    said = " and ".join(pictures) or "asked about (elefante[ocr] reads the words on them)"
    name = settings.transcription()
    heard = f"written down by {name}" if name else "not heard (MODEL_TRANSCRIPTION)"
    return f"extras here: {here}; pictures: {said}; recordings: {heard}"


def _sees(settings: ModelSettings) -> bool:
    """Return whether the first model of the chat takes pictures."""
    name = settings.chain(Mode.CHAT)[0]
    if name.provider == LIMITED:
        return False
    return PROVIDERS[name.provider].pictures if settings.model_pictures is None else settings.model_pictures
