"""The steps of the Dockerfile, done in a scratch folder, since tests have no container engine."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from bot.cli.service import STOP_WITHIN_S
from tests.release import needed

ROOT = Path(__file__).parents[2]
BUILD = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", "").split("\nFROM ")[1]
INSTALL_PACKAGES, INSTALL_BOT = re.findall(r"^RUN (.+)$", BUILD, re.MULTILINE)
COPIED = [name for line in re.findall(r"^COPY (.+) \S+$", BUILD, re.MULTILINE) for name in line.split()]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users can look into, which those of pytest are not."""
    made = Path(tempfile.mkdtemp())
    made.chmod(0o755)
    yield made
    subprocess.run(["chmod", "-R", "u+w", made], check=True)
    shutil.rmtree(made)


def other_user(python: Path) -> Mapping[str, object]:
    """Return how to run that Python as nobody if this is root; skip the test if nobody cannot."""
    if os.getuid() != 0:
        return {}
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    try:
        subprocess.run([python, "--version"], check=True, capture_output=True, **user)  # type: ignore[call-overload]
    except PermissionError:
        pytest.skip(f"this is root, and {python.resolve()} is nobody else's to run: no test without privileges")
    return user


def python_for_all() -> Path:
    """Return a Python of this version that any user may run, if there is one."""
    system = Path(f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}")
    return system if os.getuid() == 0 and system.exists() else Path(sys.executable)


def do(step: str, folder: Path) -> None:
    """Run a RUN line of the Dockerfile, with its folders in `folder`."""
    step = step.replace("/opt/elefante", str(folder / "opt")).replace("python -m venv", f"{python_for_all()} -m venv")
    done = subprocess.run(["sh", "-ec", step], cwd=folder / "src", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.long
def test_the_bot_is_installed_by_the_steps_of_the_image_and_runs_without_privileges(folder: Path) -> None:
    (folder / "src").mkdir()
    for name in COPIED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, folder / "src" / name)
    opt, data = folder / "opt", folder / "data"
    packages = opt / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    do(INSTALL_PACKAGES, folder)
    do(INSTALL_BOT, folder)
    left = {canonicalize_name(each.name) for each in metadata.distributions(path=[str(packages)])}
    assert left == needed(PROJECT["project"]["dependencies"]) | {"elefante"}
    for name in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        files = {path.relative_to(ROOT) for path in (ROOT / name).rglob("*") if path.is_file()}
        files = {path for path in files if "__pycache__" not in path.parts}
        assert not {path for path in files if not (packages / path).is_file()}

    data.mkdir()
    data.chmod(0o777)
    subprocess.run(["chmod", "-R", "a-w,a+rX", opt], check=True)
    done = subprocess.run(
        [opt / "bin" / "elefante", "check", "--json"], cwd=data, env={"DATA_DIR": str(data / "own")},
        capture_output=True, text=True, check=False, **other_user(opt / "bin" / "python"),
    )  # type: ignore[call-overload]  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["ok"]


def test_the_image_is_left_without_what_only_an_install_needs() -> None:
    build = PROJECT["dependency-groups"]["build"]
    removed = shlex.split(INSTALL_BOT.partition("uninstall --yes")[2])
    needless = needed(build) - needed(PROJECT["project"]["dependencies"])
    assert set(removed) == needless | {"pip", "setuptools"}


def test_the_image_gets_the_files_that_it_copies_and_no_others() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert "*" in ignored
    assert {line.removeprefix("!") for line in ignored if line.startswith("!")} == {
        name.removeprefix("./") for name in COPIED
    }


def test_a_container_is_given_as_long_to_stop_as_a_service() -> None:
    assert f"stop_grace_period: {STOP_WITHIN_S}s" in (ROOT / "compose.yaml").read_text("utf-8")
