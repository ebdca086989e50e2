"""Look at what is installed and locked: known faults, and licences. `make audit` runs it; it ends with 1 if one is bad.

Faults are asked of the advisory database of the package index. Where it does not answer, that is said, and nothing is
claimed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from license_expression import get_spdx_licensing

from tests.release import ROOT, Bom, inventory

LOCKS: Final = ("requirements.txt", "requirements-dev.txt")

ALLOWED: Final = frozenset(
    "0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC LGPL-3.0-only MIT MIT-0 MIT-CMU MPL-2.0 PSF-2.0 Python-2.0"
    " Zlib"
    .split()
)  # fmt: skip
"""Licences of what an Apache-2.0 program may need: permissive ones, and copyleft of single files or libraries."""

_CLASSIFIERS: Final = {
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: BSD License": "BSD-3-Clause",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""Names of licences that say no version, as the packages that are here mean them."""

READ: Final = {"protobuf": "BSD-3-Clause", "pypdfium2": "BSD-3-Clause AND Apache-2.0", "pyromark": "MIT"}
"""Licences of packages whose metadata name none that is one, read in the files that come with them."""


@dataclass(frozen=True, slots=True)
class Faults:
    """What the advisory database says of packages: their known faults, and those of which it says nothing."""

    known: Sequence[str]
    asked: int
    unanswered: Sequence[str]

    def __str__(self) -> str:
        """Return the answer in lines, the last of which is the verdict."""
        if self.unanswered:
            count = f"{len(self.unanswered)} of {self.asked}"
            verdict = f"NOT CHECKED: the advisory database did not answer for {count} locked packages"
        else:
            verdict = f"{len(self.known) or 'no'} known faults in {self.asked} locked packages"
        return "\n".join([*self.known, verdict])


def faults(report: Mapping[str, Any]) -> Faults:
    """Return what a report of pip-audit says: of a package that it skipped it says nothing."""
    packages = report["dependencies"]
    known = [
        f"FAIL  {each['name']} {each['version']}: {fault['id']}"
        + (f", mended in {', '.join(fault['fix_versions'])}" if fault["fix_versions"] else "")
        for each in packages
        for fault in each.get("vulns", ())
    ]
    return Faults(known, len(packages), [each["name"] for each in packages if "skip_reason" in each])


def ask(locks: Iterable[Path], *options: str) -> Faults:
    """Ask the advisory database about all that is locked; `options` are pip-audit's."""
    paths = [part for path in locks for part in ("--requirement", str(path))]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip", "--progress-spinner", "off"]
        command += ["--format", "json", "--output", str(file), *options]
        subprocess.run([*command, *paths], check=False, capture_output=True)
        if not file.exists():  # it met an error before it had asked for all
            names = [line for path in locks for line in path.read_text("utf-8").splitlines() if line[:1].isalnum()]
            return Faults((), len(names), names)
        return faults(json.loads(file.read_text("utf-8")))


def licences(bom: Bom) -> dict[str, str]:
    """Return the SPDX expression of each package by its name; "" if its metadata name no licence."""
    return {each["name"]: _expression(each) for each in bom["components"]}


def _expression(component: Mapping[str, Any]) -> str:
    if (read := READ.get(component["name"])) is not None:
        return read
    named = [each.get("expression") or _id(each["license"]) for each in component.get("licenses", ())]
    return " AND ".join(sorted({f"({name})" if " OR " in name else name for name in named}))


def _id(licence: Mapping[str, str]) -> str:
    return licence.get("id") or _CLASSIFIERS.get(licence["name"], licence["name"])


def is_allowed(expression: str) -> bool:
    """Return whether a licence may be used: of those joined by OR one suffices, of those joined by AND each counts."""
    spdx = _spdx()
    if not expression.strip():
        return False
    try:
        parsed = spdx.parse(expression, validate=True)
    except Exception:  # noqa: BLE001  (whatever the parser raises at words that are none)
        return False
    return _holds(parsed, spdx)


def _holds(node: Any, spdx: Any) -> bool:
    if isinstance(node, spdx.OR):
        return any(_holds(each, spdx) for each in node.args)
    if isinstance(node, spdx.AND):
        return all(_holds(each, spdx) for each in node.args)
    return str(node) in ALLOWED


@lru_cache(maxsize=1)
def _spdx() -> Any:  # the library ships no types
    return get_spdx_licensing()


def main() -> None:
    """Print a table of licences, what is not allowed of them, and what is known of faults."""
    found = licences(inventory(ROOT / "pyproject.toml"))
    bad = {name: expression for name, expression in found.items() if not is_allowed(expression)}
    for expression, count in Counter(found.values()).most_common():
        names = sorted(name for name, its in found.items() if its == expression)
        print(f"{count:>4}  {expression or 'none named'}: {', '.join(names)}")  # noqa: T201
    for name, expression in sorted(bad.items()):
        print(f"FAIL  {name}: {expression or 'no licence named'}: not in ALLOWED of tests/audit.py")  # noqa: T201
    print(f"{len(found)} packages, {len(bad) or 'no'} licences that are not allowed")  # noqa: T201
    answer = ask([ROOT / lock for lock in LOCKS], *sys.argv[1:])
    print(answer)  # noqa: T201
    sys.exit(bool(bad or answer.known))


if __name__ == "__main__":
    main()
