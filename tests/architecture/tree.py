"""Where our source stands. Found from the tree, so that what is added is covered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("bot", "core", "adapters")
_NOT_OURS = {"build", "dist", "__pycache__"}
_OURS_THOUGH_HIDDEN = {".ci", ".env.example", ".gitignore", ".pre-commit-config.yaml"}


def modules(*packages: str) -> list[Path]:
    """Every Python file of those packages."""
    return sorted(path for package in packages or PACKAGES for path in (ROOT / package).rglob("*.py"))


def dotted(path: Path) -> str:
    """The name that a module is imported by."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def relative(path: Path) -> str:
    """The name that a test is reported by."""
    return path.relative_to(ROOT).as_posix()


def texts(folder: Path = ROOT) -> Iterator[Path]:
    """Every file of the project that is text: no environment, no cache, nothing hidden but our own configuration."""
    for path in sorted(folder.iterdir()):
        if path.name in _NOT_OURS or (path.name.startswith(".") and path.name not in _OURS_THOUGH_HIDDEN):
            continue
        if path.is_dir():
            yield from texts(path)
        elif path.suffix in {"", ".py", ".md", ".toml", ".txt", ".json", ".yml", ".yaml", ".example", ".sh", ".cfg"}:
            yield path
