"""What the project never speaks of."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

from tests.architecture.tree import ROOT, relative, texts

_MACHINE_PATH = re.compile(r"(?<![\w./~])/(?:work|root|home|tmp|mnt|Users|private)/\w|\b[A-Z]:\\\\?Users\b")


def test_no_file_names_a_folder_of_somebodys_machine() -> None:
    found = [
        f"{relative(path)}:{number}: {line.strip()[:100]}"
        for path in texts()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1)
        if _MACHINE_PATH.search(line)
    ]
    assert not found


def test_no_package_is_fetched_from_anywhere_but_the_public_index() -> None:
    for path in texts():
        if path.name.startswith("requirements"):
            options = [line for line in path.read_text("utf-8").splitlines() if re.match(r"--(?!hash)|.*://", line)]
            assert not options, relative(path)


SECTIONS = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]


def test_the_changelog_has_a_section_for_each_version_and_the_newest_is_this_one() -> None:
    released = [section for section in SECTIONS if section != "Unreleased"]
    assert SECTIONS in (released, ["Unreleased", *released])
    matched = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+) - (\d{4}-\d\d-\d\d)", section) for section in released]
    versions = [tuple(map(int, found.groups()[:3])) for found in matched if found]
    days = [date.fromisoformat(found[4]) for found in matched if found]
    assert len(versions) == len(released), "a section is `VERSION - DATE`"
    assert (versions, days) == (sorted(set(versions), reverse=True), sorted(days, reverse=True))
    assert versions[:1] in ([], [tuple(map(int, VERSION.split(".")))])  # before the first release there is none
