"""docs/encryption.md names what exists: verbs, settings, lines of a compose file."""

from __future__ import annotations

import re

import typer.main
import yaml  # type: ignore[import-untyped]

from bot.cli.main import app
from bot.settings.settings import Settings, load
from tests.architecture.tree import ROOT

PAGE = (ROOT / "docs" / "encryption.md").read_text("utf-8")


def test_every_verb_of_the_page_exists() -> None:
    known = typer.main.get_command(app).commands["key"].commands  # type: ignore[attr-defined]
    told = set(re.findall(r"elefante key ([a-z]+)", PAGE))
    assert told == set(known)


def test_every_setting_of_the_page_exists() -> None:
    told = set(re.findall(r"\b[A-Z]+_[A-Z_]+[A-Z]\b", PAGE)) - {"CREDENTIALS_DIRECTORY"}
    assert told <= {name.upper() for name in Settings.model_fields} | {"VACUUM_FULL"}
    assert "with `.keys` behind its name" in " ".join(PAGE.split()).replace("`DATA_DIR` ", "")
    assert load(None, data_dir=ROOT / "x").people_keys == ROOT / "x.keys" / "keys.db"


def test_the_lines_for_a_container_fit_into_the_compose_file() -> None:
    [lines] = [block for block in re.findall(r"```\n(.*?)```", PAGE, re.DOTALL) if block.startswith("services:")]
    more, compose = yaml.safe_load(lines), yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    assert more["services"].keys() <= compose["services"].keys()
    service = more["services"]["elefante"]
    assert {name.lower() for name in service["environment"]} <= Settings.model_fields.keys()
    assert service["secrets"] == list(more["secrets"])
    assert service["environment"]["MEMORY_KEY_FILE"] == f"/run/secrets/{service['secrets'][0]}"
    assert "10001" in lines, "the user of the Dockerfile"
