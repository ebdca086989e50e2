"""Make a release of a commit: wheel, source archive, lock, SBOM and their SHA-256; equal bytes wherever it is made.

`make release` runs it. The commit alone is built, in a folder of its own: what lies beside it uncommitted is not in it,
and its time is the time of every file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Collection, Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final, TypeAlias

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
SUMS: Final = "SHA256SUMS"
_PINNED: Final = re.compile(r"^([a-z0-9-]+)(?:\[[^]]+\])?==([^ ]+)", re.MULTILINE)

Bom: TypeAlias = dict[str, Any]
"""A CycloneDX document as its JSON has it."""


def make(folder: Path, project: Path = ROOT) -> list[Path]:
    """Build the project's newest commit into an empty folder and return what was made, SHA256SUMS last.

    Raises:
        ValueError: a package that the bot needs is installed in another version than it is locked to.
        subprocess.CalledProcessError: git or the build failed.
    """
    epoch_s = _git(project, "log", "-1", "--format=%ct").decode().strip()
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(fileobj=io.BytesIO(_git(project, "archive", "HEAD"))) as archive:
            archive.extractall(scratch, filter="data")
        environment = {"PATH": os.environ["PATH"], "SOURCE_DATE_EPOCH": epoch_s}
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder.absolute())]
        subprocess.run(command, cwd=scratch, env=environment, check=True, capture_output=True)
        locked = (Path(scratch) / "requirements.txt").read_text("utf-8")
        pyproject = Path(scratch) / "pyproject.toml"
        names = needed(tomllib.loads(pyproject.read_text("utf-8"))["project"]["dependencies"])
        bom = shipped(inventory(pyproject, environment), names, locked)
    name = f"elefante-{bom['metadata']['component']['version']}"
    (folder / f"{name}-requirements.txt").write_text(locked, "utf-8")
    (folder / f"{name}.cdx.json").write_text(_checked(bom), "utf-8")
    made = sorted(folder.iterdir())
    sums = folder / SUMS
    sums.write_text("".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made))
    return [*made, sums]


def inventory(pyproject: Path, environment: Mapping[str, str] | None = None) -> Bom:
    """Return the packages that are installed beside this Python, with the licences that their metadata declare."""
    command = [sys.executable, "-m", "cyclonedx_py", "environment", "--no-validate", "--output-reproducible"]
    done = subprocess.run(
        [*command, "--pyproject", pyproject, sys.executable],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    bom: Bom = json.loads(done.stdout)
    return bom


def shipped(bom: Bom, names: Collection[str], locked: str) -> Bom:
    """Return the part of an inventory that the packages of these names are.

    Raises:
        ValueError: one of them is installed in another version than the text of the lock file says.
    """
    components = [each for each in bom["components"] if canonicalize_name(each["name"]) in names]
    pins = set(_PINNED.findall(locked))
    others = [each["name"] for each in components if (canonicalize_name(each["name"]), each["version"]) not in pins]
    if others:
        raise ValueError(f"not as locked: {', '.join(others)}")
    refs = {bom["metadata"]["component"]["bom-ref"], *(each["bom-ref"] for each in components)}
    dependencies = [
        {"ref": each["ref"], "dependsOn": [ref for ref in each.get("dependsOn", ()) if ref in refs]}
        for each in bom["dependencies"]
        if each["ref"] in refs
    ]
    return bom | {"components": components, "dependencies": dependencies}


def needed(requirements: Iterable[str]) -> set[str]:
    """Return the names of installed packages that these requirements lead to."""
    found: set[str] = set()
    waiting = [(Requirement(each), "") for each in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        if name in found and not requirement.extras:
            continue
        found.add(name)
        for extra in {"", *requirement.extras}:
            waiting += [(Requirement(each), extra) for each in metadata.requires(name) or ()]
    return found


def _checked(bom: Bom) -> str:
    """Return the document as JSON.

    Raises:
        ValueError: it is none by the schema.
    """
    text = json.dumps(bom, indent=2, sort_keys=True)
    if (fault := JsonStrictValidator(SchemaVersion.from_version(bom["specVersion"])).validate_str(text)) is not None:
        raise ValueError(f"no CycloneDX: {fault}")
    return text


def _git(project: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=project, check=True, capture_output=True).stdout


def main() -> None:
    """Replace dist/ by a release of the newest commit."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    dist = ROOT / "dist"
    dist.mkdir(exist_ok=True)
    for left in dist.iterdir():
        left.unlink()
    print(f"elefante {version}, of {_git(ROOT, 'log', '-1', '--format=%h of %cI').decode().strip()}")  # noqa: T201
    for path in make(dist):
        print(f"{path.stat().st_size:>10,}  {path.relative_to(ROOT)}")  # noqa: T201


if __name__ == "__main__":
    main()
