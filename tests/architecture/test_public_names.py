"""What the project never speaks of."""

from __future__ import annotations

import re
from pathlib import Path

from tests.architecture.tree import relative, texts

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
