"""What `make check` asks of the requirements: each is held by a test, or excused where everybody sees it."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests import spec_plugin
from tests.architecture.tree import ROOT
from tests.spec_plugin import NOT_YET, SPEC


def pytest_of_pytest(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)


def test_the_table_knows_all_five_documents() -> None:
    assert Counter(spec_id[0] for spec_id in SPEC) == {"T": 15, "J": 9, "H": 6, "D": 8, "L": 6}


def test_nothing_of_the_thought_cycle_is_excused() -> None:
    assert not [spec_id for spec_id in NOT_YET if spec_id.startswith("T")]


def test_an_id_that_the_specification_does_not_have_stops_the_collection(tmp_path: Path) -> None:
    test = tmp_path / "test_it.py"
    test.write_text("import pytest\n@pytest.mark.spec('T1', 'T99')\ndef test_it(): pass\n")
    done = pytest_of_pytest(
        "-p", "tests.spec_plugin", "-c", str(ROOT / "pyproject.toml"), f"--rootdir={tmp_path}", str(test)
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "the specification has no 'T99'" in done.stdout + done.stderr


def test_a_requirement_without_test_or_excuse_is_a_fault_and_so_is_an_excuse_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spec_plugin, "NOT_YET", {"J1": "later", "J2": "later"})
    tests = {"T1": Counter[str](), "T2": Counter(["a"]), "J1": Counter[str](), "J2": Counter(["b"])}
    tests["T3"] = Counter(["a (long)"])
    assert spec_plugin.faults(tests) == [
        "T1 has no test", "T3 has no test but long ones", "J2 has a test: take it out of NOT_YET"
    ]  # fmt: skip
