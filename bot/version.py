"""The version of the program."""

from __future__ import annotations


def version_line() -> str:
    """Return the name of the program and its version."""
    from importlib import metadata  # a start has no use for it

    return f"elefante {metadata.version('elefante')}"
