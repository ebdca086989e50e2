"""`make audit` tells known faults and licences, and claims nothing that it does not know."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.audit import ALLOWED, READ, Faults, ask, faults, is_allowed, licences
from tests.fakes.http_server import Answer, Asked, LoopbackServer, failure
from tests.profile import long
from tests.release import ROOT, Bom, inventory

LOCK = "".join(f"{name} --hash=sha256:{'0' * 64}\n" for name in ("aiohttp==3.9.1", "yarl==1.9.0"))


@pytest.fixture(scope="module")
def bom() -> Bom:
    return inventory(ROOT / "pyproject.toml")


def of(name: str, *licences: dict[str, str]) -> Bom:
    return {"components": [{"name": name, "licenses": [{"license": each} for each in licences]}]}


def test_every_installed_package_has_a_licence_that_is_allowed(bom: Bom) -> None:
    found = licences(bom)
    assert {"aiohttp", "python-telegram-bot", "pytest"} <= set(found)
    assert {name: expression for name, expression in found.items() if not is_allowed(expression)} == {}


def test_a_licence_is_read_by_hand_only_where_the_package_declares_none(bom: Bom) -> None:
    declared = {each["name"] for each in bom["components"] if each.get("licenses")}
    assert not declared & set(READ)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True), ("MIT OR GPL-3.0-only", True), ("Apache-2.0 AND (MIT OR AGPL-3.0-only)", True),
        ("MIT AND GPL-3.0-only", False), ("GPL-3.0-only", False), ("AGPL-3.0-or-later", False), ("", False),
        ("License :: Other/Proprietary License", False), ("do what you like", False),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
    ],
)  # fmt: skip
def test_what_is_not_known_to_be_allowed_is_not(expression: str, expected: bool) -> None:
    assert is_allowed(expression) is expected


def test_every_licence_that_a_package_declares_counts_and_none_is_no_licence() -> None:
    both = of("new", {"id": "MIT"}, {"name": "License :: OSI Approved :: GNU General Public License v3 (GPLv3)"})
    assert not is_allowed(licences(both)["new"])
    assert not is_allowed(licences({"components": [{"name": "new"}]})["new"])
    assert is_allowed(licences(of("new", {"id": "MIT"}, {"name": "License :: OSI Approved :: BSD License"}))["new"])
    assert all(map(is_allowed, ALLOWED))


async def asked_of(server: LoopbackServer, folder: Path) -> Faults:
    """Return what is known of two old packages by an advisory database on loopback, as pip-audit asks it."""
    lock = folder / "requirements.txt"
    lock.write_text(LOCK)
    async with server.running():
        return await asyncio.to_thread(
            ask, [lock], "--vulnerability-service", "osv", "--osv-url", server.url, "--cache-dir", str(folder / "cache")
        )


def told(asked: Asked) -> Answer:
    """Know one fault of aiohttp."""
    if asked.body["package"]["name"] != "aiohttp":
        return Answer(body=b"{}")
    events = [{"introduced": "0"}, {"fixed": "3.9.2"}]
    affected = [
        {"package": {"name": "aiohttp", "ecosystem": "PyPI"}, "ranges": [{"type": "ECOSYSTEM", "events": events}]}
    ]
    fault = {"id": "PYSEC-2024-24", "aliases": [], "summary": "path traversal", "affected": affected}
    return Answer(body=json.dumps({"vulns": [fault]}).encode())


async def test_a_known_fault_is_named_with_the_version_that_mends_it(tmp_path: Path) -> None:
    found = await asked_of(LoopbackServer([told]), tmp_path)
    assert str(found) == "FAIL  aiohttp 3.9.1: PYSEC-2024-24, mended in 3.9.2\n1 known faults in 2 locked packages"


@pytest.mark.long
async def test_without_known_faults_it_says_how_many_packages_it_asked_about(tmp_path: Path) -> None:
    assert str(await asked_of(LoopbackServer([Answer(body=b"{}")]), tmp_path)) == "no known faults in 2 locked packages"


@pytest.mark.parametrize("fails", [long(failure(500, {})), Answer(404), long(Answer(200, {}, b"no JSON"))])
async def test_a_database_that_does_not_answer_is_no_clean_bill(fails: Answer, tmp_path: Path) -> None:
    found = await asked_of(LoopbackServer([fails]), tmp_path)
    assert str(found) == "NOT CHECKED: the advisory database did not answer for 2 of 2 locked packages"


def test_a_package_that_was_skipped_is_no_clean_bill_though_pip_audit_calls_it_one() -> None:
    skipped = {"name": "yarl", "skip_reason": "Dependency not found on PyPI and could not be audited: yarl (1.9.0)"}
    found = faults({"dependencies": [{"name": "aiohttp", "version": "3.9.2", "vulns": []}, skipped]})
    assert str(found) == "NOT CHECKED: the advisory database did not answer for 1 of 2 locked packages"
