"""What pages name exists: verbs, settings, models, lines of a compose file; their commands do what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml  # type: ignore[import-untyped]

from bot.cli.main import app
from bot.models.metering import load_prices
from bot.models.presets import PROVIDERS, TRANSCRIBERS, example
from bot.settings.models import ModelSettings
from bot.settings.settings import Settings, load
from core.dialogue import Usage
from tests.architecture.tree import ROOT
from tests.e2e.command import Elefante
from tests.fakes.service_manager import Machine
from tests.pages import ENV_EXAMPLE, MODELS, README, env_example, with_models

DOCS = ROOT / "docs"
PAGES = [README, *sorted(DOCS.glob("*.md"))]
VERBS: dict[str, Any] = dict(typer.main.get_group(app).commands)
MODELS_PAGE = MODELS.read_text("utf-8")
ENCRYPTION = (DOCS / "encryption.md").read_text("utf-8")
BLOCKS = re.findall(r"^```sh run\n(.*?)^```$", (DOCS / "operating.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)


# --- verbs


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_verb_that_a_page_names_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    verbs = set(re.findall(r"[`$] ?elefante ([a-z]+(?:-[a-z]+)*)(?=[ `\n])", text))
    assert verbs <= set(VERBS)
    for group in ("service", "key", "users"):
        assert set(re.findall(rf"`elefante {group} ([a-z]+)", text)) <= set(VERBS[group].commands)


def test_the_page_of_keys_tells_all_its_verbs() -> None:
    assert set(re.findall(r"elefante key ([a-z]+)", ENCRYPTION)) == set(VERBS["key"].commands)


@pytest.mark.long
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: " ".join(block.split()[:3]))
def test_the_commands_do_what_they_say(block: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    command = machine.home / "bin" / "elefante"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m bot "$@"\n')
    command.chmod(0o755)
    done = subprocess.run(
        ["sh", "-ex"], input=block, cwd=machine.home, env=Elefante(machine.home).environment(**machine.environment()),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


# --- settings


def test_the_example_lists_every_setting_as_it_is_and_as_env_gives_the_defaults() -> None:
    assert ENV_EXAMPLE.read_text("utf-8") == env_example(), "run: make fix"
    for name in Settings.model_fields:
        assert f"\n{name.upper()}=" in env_example()
    assert load(ENV_EXAMPLE) == load(None)


def test_every_setting_of_the_page_of_keys_exists() -> None:
    told = set(re.findall(r"\b[A-Z]+_[A-Z_]+[A-Z]\b", ENCRYPTION)) - {"CREDENTIALS_DIRECTORY"}
    assert told <= {name.upper() for name in Settings.model_fields} | {"VACUUM_FULL"}
    assert "with `.keys` behind its name" in " ".join(ENCRYPTION.split()).replace("`DATA_DIR` ", "")
    assert load(None, data_dir=ROOT / "x").people_keys == ROOT / "x.keys" / "keys.db"


def test_the_lines_for_a_container_fit_into_the_compose_file() -> None:
    [lines] = [block for block in re.findall(r"```\n(.*?)```", ENCRYPTION, re.DOTALL) if block.startswith("services:")]
    more, compose = yaml.safe_load(lines), yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    assert more["services"].keys() <= compose["services"].keys()
    service = more["services"]["elefante"]
    assert {name.lower() for name in service["environment"]} <= Settings.model_fields.keys()
    assert service["secrets"] == list(more["secrets"])
    assert service["environment"]["MEMORY_KEY_FILE"] == f"/run/secrets/{service['secrets'][0]}"
    assert "10001" in lines, "the user of the Dockerfile"


# --- models


def test_every_provider_is_shown_by_a_setting_that_works() -> None:
    shown = set(re.findall(r"`MODEL=([a-z]+):", MODELS_PAGE))
    assert shown == set(PROVIDERS)


def test_the_models_of_readme_and_page_are_those_of_the_presets() -> None:
    for page in (README, MODELS):
        text = page.read_text(encoding="utf-8")
        assert text == with_models(text), "run: make fix"
        assert "MODEL=" in text


@pytest.mark.parametrize("page", [*PAGES, ENV_EXAMPLE], ids=lambda page: page.name)
def test_a_page_names_models_of_presets_and_price_table_alone(page: Path) -> None:
    known = {*map(example, PROVIDERS), *TRANSCRIBERS, *load_prices().models, "ollama:qwen3:8b"}
    named = re.findall(rf"\b(?:{'|'.join(PROVIDERS)}):[\w./:-]*\d[\w./:-]*", page.read_text(encoding="utf-8"))
    assert {name for name in named if "//" not in name} <= known


def test_every_setting_of_a_model_that_is_named_exists() -> None:
    named = {
        name.lower() for name in re.findall(r"\b(?:MODEL|[A-Z]+_API_KEY|[A-Z]+_BASE_URL)(?:_[A-Z]+)*\b", MODELS_PAGE)
    }
    assert named
    assert named <= ModelSettings.model_fields.keys()


def test_the_price_table_of_the_page_is_one(tmp_path: Path) -> None:
    (table,) = re.findall(r"```json\n(.*?)```", MODELS_PAGE, re.DOTALL)
    path = tmp_path / "prices.json"
    path.write_text(table, encoding="utf-8")
    prices = load_prices(path)
    assert prices.cost_usd("openrouter:any", Usage(1_000_000, 0)) == 1.0
