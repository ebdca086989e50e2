"""The newest version of the changelog is that of the package; later changes stand under "Unreleased" above it."""

from __future__ import annotations

import re
import tomllib
from datetime import date

from tests.architecture.tree import ROOT

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
