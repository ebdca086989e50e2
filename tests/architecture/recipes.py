"""Follow a recipe of docs/extending.md in a fresh copy of the tree, as a reader would.

A fence that names a file is followed: `python PATH` and `toml PATH` make a new file, `diff PATH` changes one
(its lines without "+" must stand there once), `toml PATH (append)` adds to its end. `sh` fences hold what to run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "extending.md"
MORE = ROOT / "tests" / "data" / "recipes.md"
"""What is made as the page says, and is not on it."""
_LEFT_OUT = shutil.ignore_patterns(".git", ".env", ".venv*", ".*_cache", ".hypothesis", ".import_linter_cache")
_FENCE = re.compile(r"^```(\w+)(?: (\S+)( \(append\))?)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Fence:
    """A fenced block of the page."""

    kind: str
    path: str
    append: bool
    body: str


def section(title: str) -> str:
    """Return the text below a heading of one of the pages, up to the next one."""
    pages = PAGE.read_text("utf-8") + MORE.read_text("utf-8")
    (text,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", pages, re.MULTILINE | re.DOTALL)
    return str(text)


def fences(title: str, names: Mapping[str, str]) -> Iterator[Fence]:
    """Yield the fences of a section, in order, with other names in place of those of the page."""
    text = section(title)
    for name, other in names.items():
        assert name in text, name
        text = text.replace(name, other)
    for kind, path, append, body in _FENCE.findall(text):
        yield Fence(kind, path, bool(append), body)


class Copy:
    """A copy of the tree in which the recipes are followed, with this environment's packages."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        shutil.copytree(ROOT, self.root, ignore=_LEFT_OUT)

    def follow(self, title: str, names: Mapping[str, str] = MappingProxyType({})) -> None:
        """Do what the section says, in its order: files and changes, `make` commands, talks with the bot."""
        for fence in fences(title, names):
            if fence.path:
                self._write(fence)
            elif fence.kind == "sh":
                for line in fence.body.strip().splitlines():
                    self._make(line)
            elif fence.kind == "console":
                self._talk(fence.body.strip().splitlines())

    def _make(self, line: str) -> None:
        if line == "make fix":
            done = self.run("-m", "tests.pages")
        else:
            (args,) = re.findall(r'^make test ARGS="(.+)"$', line)
            self.test(*shlex.split(args))
            return
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]

    def test(self, *arguments: str) -> None:
        """Run tests of the copy."""
        done = self.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]

    def _talk(self, lines: Sequence[str]) -> None:
        """Start the bot as the first line says, say what follows ">", and look for every other line in what it says."""
        *settings, make, chat = lines[0].removeprefix("$ ").split()
        assert (make, chat) == ("make", "chat")
        said = "".join(f"{line[2:]}\n" for line in lines if line.startswith("> "))
        done = self.run("-m", "bot", "chat", said=said, env=dict(one.split("=", 1) for one in settings))
        for line in lines[1:]:
            assert line.startswith("> ") or line in done.stdout, done.stdout + done.stderr

    def run(self, *args: str, said: str = "", env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run Python in the copy, with nothing of this tree in sight."""
        return subprocess.run(
            [sys.executable, *args], cwd=self.root, input=said, capture_output=True, text=True, check=False,
            env=self.env(env), timeout=1500,
        )  # fmt: skip

    def env(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a person who set nothing but `more`."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {**kept, "PYTHONPATH": str(self.root), "DATA_DIR": str(self.root / "data"), **(more or {})}

    def _write(self, fence: Fence) -> None:
        path = self.root / fence.path
        if fence.kind == "diff":
            text = path.read_text("utf-8")
            for hunk in fence.body.split("@@\n"):
                lines = hunk.splitlines(keepends=True)
                before = "".join(line[1:] for line in lines if line[0] in " -")
                after = "".join(line[1:] for line in lines if line[0] in " +")
                assert text.count(before) == 1, f"{fence.path} does not hold once:\n{before}"
                text = text.replace(before, after)
            path.write_text(text, "utf-8")
        elif fence.append:
            path.write_text(f"{path.read_text('utf-8').rstrip()}\n\n{fence.body}", "utf-8")
        else:
            assert not path.exists(), fence.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(fence.body, "utf-8")
