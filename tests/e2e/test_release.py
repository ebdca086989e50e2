"""A release is the same bytes wherever and whenever it is made, and its wheel does what the clone does."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.architecture.tree import PACKAGES, ROOT
from tests.release import SUMS, make, shipped

UNCOMMITTED = "siht dettimmoc ydobon"[::-1]  # backwards, since a release has this file, too
COMMITTED_AT = "2026-03-14T15:09:26+00:00"
SAID = """\
Remember that the wifi password is abc123
What is the wifi password?
Guarda que a vacina da Mel vence dia 14 de março
quando vence a vacina da Mel?
/timezone Buenos Aires
/help reminders
"""


def git(folder: Path, *arguments: str, **environment: str) -> None:
    author = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(
        ["git", *author, *arguments], cwd=folder, check=True, capture_output=True, env=os.environ | environment
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose one commit is the project as it stands here, and a file that nobody committed."""
    folder = tmp_path_factory.mktemp("release") / "project"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "-q", "-b", "main", ".")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "as it stands", GIT_COMMITTER_DATE=COMMITTED_AT)
    (folder / ".env").write_text(f"TELEGRAM_TOKEN={UNCOMMITTED}\n")
    (folder / "core" / "notes.txt").write_text(UNCOMMITTED)
    return folder


@pytest.fixture(scope="module")
def made(project: Path) -> Mapping[str, Path]:
    """The files of a release, by their endings."""
    folder = project.parent / "first"
    folder.mkdir()
    return {path.name.removeprefix("elefante-").partition("-")[2] or path.name: path for path in make(folder, project)}


def sums(files: Mapping[str, Path]) -> str:
    return files[SUMS].read_text()


@pytest.mark.long
def test_a_release_names_the_digest_of_each_of_its_files(made: Mapping[str, Path]) -> None:
    listed = {name: digest for digest, name in (line.split("  ") for line in sums(made).splitlines())}
    folder = made[SUMS].parent
    assert set(listed) == {path.name for path in folder.iterdir()} - {SUMS}
    assert {name.partition("-")[2].partition("-")[2] or name.rpartition(".")[2] for name in listed} == {
        "py3-none-any.whl", "requirements.txt", "gz", "json"
    }  # fmt: skip
    for name, digest in listed.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


@pytest.mark.long
def test_two_releases_of_one_commit_are_the_same_bytes(project: Path, made: Mapping[str, Path], tmp_path: Path) -> None:
    before = os.umask(0o077)  # git gives its files other modes, and every time is another
    try:
        git(tmp_path, "clone", "-q", str(project), "elsewhere")
        (tmp_path / "second").mkdir()
        again = make(tmp_path / "second", tmp_path / "elsewhere")
    finally:
        os.umask(before)
    assert again[-1].read_text() == sums(made)


@pytest.mark.long
def test_nothing_that_is_not_committed_is_in_a_release(project: Path, made: Mapping[str, Path]) -> None:
    folder = made[SUMS].parent
    wheel = next(folder.glob("*.whl"))
    source = next(folder.glob("*.tar.gz"))
    for text in (*(wheel_bytes(wheel)), gzip.decompress(source.read_bytes())):
        assert UNCOMMITTED.encode() not in text
        assert str(project).encode() not in text


def wheel_bytes(path: Path) -> list[bytes]:
    with zipfile.ZipFile(path) as wheel:
        return [wheel.read(name) for name in wheel.namelist()]


@pytest.mark.long
def test_the_wheel_and_the_source_have_every_file_of_the_packages(project: Path, made: Mapping[str, Path]) -> None:
    folder = made[SUMS].parent
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel, tarfile.open(next(folder.glob("*.tar.gz"))) as source:
        wheels = set(wheel.namelist())
        assert {each.date_time for each in wheel.infolist()} == {(2026, 3, 14, 15, 9, 26)}
        sources = {name.partition("/")[2] for name in source.getnames()}
    listed = subprocess.run(["git", "ls-files"], cwd=project, capture_output=True, text=True, check=True)
    names = set(listed.stdout.splitlines())
    needed = {name for name in names if name.partition("/")[0] in PACKAGES}
    assert {path.rpartition(".")[2] for path in needed} >= {"py", "toml", "npz", "gz", "txt", "json"}
    assert needed <= wheels
    assert names <= sources


@pytest.mark.long
def test_the_sbom_is_cyclonedx_and_has_what_runs_with_its_licence_and_no_tool_of_tests(
    made: Mapping[str, Path],
) -> None:
    text = next(made[SUMS].parent.glob("*.cdx.json")).read_text("utf-8")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bom = json.loads(text)
    assert bom["metadata"]["component"]["name"] == "elefante"
    assert bom["metadata"]["timestamp"] == COMMITTED_AT
    names = {each["name"] for each in bom["components"]}
    assert {"aiohttp", "yarl", "python-telegram-bot", "psycopg-binary", "numpy"} <= names
    assert not {"pytest", "mypy", "hatchling", "pip-audit", "pip_audit"} & names
    assert {each["ref"] for each in bom["dependencies"]} == {each["bom-ref"] for each in bom["components"]} | {
        "root-component"
    }
    assert {each["name"] for each in bom["components"] if not each.get("licenses")} <= {
        "protobuf",
        "pypdfium2",
        "pyromark",
    }


def test_a_release_with_another_version_than_the_locked_one_is_refused() -> None:
    component = {"bom-ref": "one", "name": "Typing_Extensions", "version": "4.1"}
    tool = {"bom-ref": "two", "name": "pytest", "version": "9"}
    bom = {
        "metadata": {"component": {"bom-ref": "root", "name": "elefante"}},
        "components": [component, tool],
        "dependencies": [{"ref": "root", "dependsOn": ["one", "two"]}, {"ref": "one"}, {"ref": "two"}],
    }
    part = shipped(bom, {"typing-extensions"}, "typing-extensions==4.1 \\\n")
    assert part["components"] == [component]
    assert part["dependencies"] == [{"ref": "root", "dependsOn": ["one"]}, {"ref": "one", "dependsOn": []}]
    with pytest.raises(ValueError, match="not as locked: Typing_Extensions"):
        shipped(bom, {"typing-extensions"}, "typing-extensions==4.2 \\\n")


@pytest.mark.long
def test_what_pip_installed_from_the_wheel_answers_as_the_clone_does(made: Mapping[str, Path], tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    python = environment / "bin" / "python"
    wheel = next(made[SUMS].parent.glob("*.whl"))
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    subprocess.run([*pip, "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))
    (packages / "locked.pth").write_text(sysconfig.get_path("purelib"))  # the locked packages, but no project beside

    def answers(*command: object, folder: Path, **settings: str) -> str:
        folder.mkdir(exist_ok=True)
        own = {"HOME": str(folder), "CONSOLE_USER": "ana", "TZ": "UTC", "LANG": "en_US.UTF-8", **settings}
        done = subprocess.run(
            list(map(str, command)), input=SAID, cwd=folder, env=own, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        return re.sub(r"\d+:\d\d [AP]M", "NOW", done.stdout)  # a minute may pass between the two

    where = answers(python, "-c", "import bot, core; print(bot.__file__, core.__file__)", folder=tmp_path / "where")
    assert all(path.startswith(str(packages)) for path in where.split())
    command = environment / "bin" / "elefante"
    said = answers(command, "chat", folder=tmp_path / "empty")
    assert "abc123" in said
    assert said == answers(sys.executable, "-m", "bot", "chat", folder=tmp_path / "clone", PYTHONPATH=str(ROOT))
    assert json.loads(answers(command, "check", "--json", folder=tmp_path / "empty"))["ok"]
