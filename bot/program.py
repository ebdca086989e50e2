"""What this program is: its version, the optional extras that are here, and what starts it anew. Nothing is loaded."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_MARKS: Final = (Path("/.dockerenv"), Path("/run/.containerenv"))
"""Files that Docker and Podman put into each container."""

_KUBERNETES: Final = "KUBERNETES_SERVICE_HOST"

OCR: Final = "ocr"
VOICE: Final = "voice"
HEIC: Final = "heic"

EXTRAS: Final = (OCR, VOICE, HEIC)
"""What can be installed besides: `pip install elefante[ocr,voice,heic]`."""


def version_line() -> str:
    """Return the name of the program and its version."""
    from importlib import metadata  # a start has no use for it

    return f"elefante {metadata.version('elefante')}"


def is_installed(extra: str) -> bool:
    """Return whether all that an extra brings can be loaded."""
    from core.files.child import WHISPER  # the version is told without it

    brings = {OCR: ("rapidocr", "onnxruntime"), VOICE: ("faster_whisper", *WHISPER), HEIC: ("pi_heif",)}
    return all(find_spec(name) is not None for name in brings[extra])


def in_container() -> bool:
    """Tell whether this process runs in a container of Docker, Podman or Kubernetes."""
    return _KUBERNETES in os.environ or any(mark.exists() for mark in _MARKS)


def restart_command() -> str:
    """Return the command that starts the bot anew with the settings as they are now."""
    if _KUBERNETES in os.environ:
        return "kubectl rollout restart deployment/elefante"
    return "docker compose up -d" if in_container() else "elefante service restart"
