"""A feature is taken out as its folder and the lines that name it; the engine names none."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.architecture.recipes import Copy
from tests.architecture.tree import modules, relative

LINES = (
    "core/features/assembly.py",
    "core/features/feature.py",
    "bot/wiring.py",
    "bot/settings/settings.py",
)
"""The files whose lines name features."""

MODULES = """
import importlib, pkgutil
for package in ("core", "adapters", "bot"):
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
"""
TALK = """\
remember that my locker code is 4417
what is my locker code?
/memories
/admin status
forget my locker code
yes
what is my locker code?
"""
ENGINE = ("answering", "actions", "commands", "memory", "history", "delivery", "text")


def without(copy: Copy, feature: str) -> None:
    """Take a feature out of the copy: its folder, its settings, and the lines that name it."""
    shutil.rmtree(copy.root / "core/features" / feature)
    (copy.root / "bot/settings" / f"{feature}.py").unlink(missing_ok=True)
    name = re.compile(rf"(?i){feature.removesuffix('s')}")
    for path in LINES:
        file = copy.root / path
        file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if not name.search(line)))


@pytest.mark.long
@pytest.mark.parametrize("feature", ["reminders", "links"])
def test_a_feature_is_deleted_as_one_folder_and_its_lines(tmp_path: Path, feature: str) -> None:
    copy = Copy(tmp_path)
    without(copy, feature)
    imported = copy.run("-c", MODULES)
    assert imported.returncode == 0, imported.stderr[-2000:]
    talk = copy.run("-m", "bot", "chat", said=TALK, env={"LANGUAGE": "en"})
    said = talk.stdout
    assert "4417" in said.split("what is my")[0], said + talk.stderr
    assert said.count("4417") >= 3, said
    assert "State: answering" in said
    assert "deleted" in said.casefold() or "forgot" in said.casefold(), said


def test_the_engine_names_no_feature() -> None:
    paths = [path for room in ENGINE for path in modules(f"core/{room}")]
    code = {relative(path): re.sub(r'"""[\s\S]*?"""|#.*', "", path.read_text("utf-8")) for path in paths}
    named = {
        name: re.findall(r"(?i)\w*(?:reminder|broadcast|takeout|handover)\w*", text) for name, text in code.items()
    }
    assert len(paths) > len(ENGINE)
    assert {name: found for name, found in named.items() if found} == {}
