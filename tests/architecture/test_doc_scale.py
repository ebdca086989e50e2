"""docs/scale.md and its two YAML files name what exists; their times, ports and numbers are the program's."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer
import yaml  # type: ignore[import-untyped]

from adapters.telegram.config import TelegramConfig
from bot.cli.main import app
from bot.cli.service import STOP_WITHIN_S
from bot.settings.settings import Settings, load
from tests.architecture.tree import ROOT

PAGE = (ROOT / "docs" / "scale.md").read_text("utf-8")
COMPOSE = yaml.safe_load((ROOT / "compose.scale.yaml").read_text("utf-8"))
BOT, POSTGRES = COMPOSE["services"]["bot"], COMPOSE["services"]["postgres"]
SECRET, DEPLOYMENT, BUDGET = yaml.safe_load_all((ROOT / "docs" / "kubernetes.yaml").read_text("utf-8"))
POD = DEPLOYMENT["spec"]["template"]["spec"]
[CONTAINER] = POD["containers"]
KUBERNETES = SECRET["stringData"] | {each["name"]: each["value"] for each in CONTAINER["env"]}
SETTINGS = {name.upper() for name in Settings.model_fields}
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
SERVED = (ROOT / "bot" / "metrics.py").read_text("utf-8")
LEFT_FOR_SUPERUSERS = 3
OWN_CONNECTIONS = 2  # of a worker: its signs of life (`bot/workers.py`), and LISTEN


def compose_settings() -> dict[str, str]:
    return {
        name: re.sub(r"\$\{POSTGRES_PASSWORD[^}]*\}", "secret", value) for name, value in BOT["environment"].items()
    }


@pytest.mark.parametrize("given", [compose_settings(), KUBERNETES], ids=["compose", "kubernetes"])
def test_the_settings_exist_and_are_taken(given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(given) <= SETTINGS
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    settings = load(None)
    assert settings.engine == "postgres"
    assert settings.metrics_address is not None
    assert settings.metrics_address[0] == "0.0.0.0"  # noqa: S104 - of a container


def test_health_is_asked_where_it_is_told() -> None:
    port = load(None, metrics=BOT["environment"]["METRICS"]).metrics_address
    assert port is not None
    [path] = re.findall(rf"http://127\.0\.0\.1:{port[1]}(/\w+)", BOT["healthcheck"]["test"][-1])
    ports = {each["name"]: each["containerPort"] for each in CONTAINER["ports"]}
    probes = [CONTAINER[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")]
    assert [each["path"] for each in probes] == ["/healthz", "/readyz"]
    assert path == "/readyz"
    assert {ports[each["port"]] for each in probes} == {load(None, metrics=KUBERNETES["METRICS"]).metrics_address[1]}  # type: ignore[index]
    for each in ("/healthz", "/readyz"):
        assert f'add_get("{each}"' in SERVED
    compile(BOT["healthcheck"]["test"][-1], "healthcheck", "exec")


def test_a_stop_has_longer_than_answers_under_way_have() -> None:
    drain_s = float(str(TelegramConfig.__dataclass_fields__["drain_s"].default))
    grace = [BOT["stop_grace_period"], f"{POD['terminationGracePeriodSeconds']}s"]
    assert grace == [f"{STOP_WITHIN_S}s"] * 2
    assert drain_s + 5 < STOP_WITHIN_S
    assert f"answers under way have {drain_s:.0f} seconds" in PAGE


def test_a_bot_has_no_disk_and_may_write_only_where_nothing_has_to_stay() -> None:
    [folder] = re.findall(r"DATA_DIR=(\S+)", DOCKERFILE)
    [user] = re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE)
    assert "volumes" not in BOT
    assert BOT["read_only"]
    assert {each.partition(":")[0]: each for each in BOT["tmpfs"]}.keys() == {"/tmp", folder}  # noqa: S108
    assert f"uid={user}" in BOT["tmpfs"][1]
    assert CONTAINER["securityContext"]["readOnlyRootFilesystem"]
    assert POD["securityContext"]["runAsUser"] == int(user)
    assert {each["mountPath"] for each in CONTAINER["volumeMounts"]} == {"/tmp", folder}  # noqa: S108
    assert [set(each) for each in POD["volumes"]] == [{"name", "emptyDir"}]
    assert set(COMPOSE["volumes"]) == {"database"}


def test_the_parts_of_the_example_belong_together() -> None:
    app_label = DEPLOYMENT["spec"]["selector"]["matchLabels"]
    assert DEPLOYMENT["spec"]["template"]["metadata"]["labels"] == app_label
    assert BUDGET["spec"]["selector"]["matchLabels"] == app_label
    assert BUDGET["spec"]["minAvailable"] < DEPLOYMENT["spec"]["replicas"]
    assert CONTAINER["envFrom"] == [{"secretRef": {"name": SECRET["metadata"]["name"]}}]
    assert {each["name"] for each in CONTAINER["volumeMounts"]} == {each["name"] for each in POD["volumes"]}
    assert [each["kind"] for each in (SECRET, DEPLOYMENT, BUDGET)] == ["Secret", "Deployment", "PodDisruptionBudget"]


def test_the_connections_of_all_bots_fit() -> None:
    pool = Settings.model_fields["storage_pool"].default
    [limit] = [int(each.partition("=")[2]) for each in POSTGRES["command"] if each.startswith("max_connections=")]
    workers = (limit - LEFT_FOR_SUPERUSERS) // (pool + OWN_CONNECTIONS) - 1
    assert f"With the default of {limit} that is {workers} workers" in PAGE
    assert BOT["deploy"]["replicas"] <= workers
    assert max(int(each) for each in re.findall(r"--scale bot=(\d+)", PAGE)) <= workers
    assert f"`STORAGE_POOL` ({pool})" in PAGE


def test_the_bots_wait_for_their_database() -> None:
    assert BOT["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert "pg_isready" in POSTGRES["healthcheck"]["test"]
    url = BOT["environment"]["STORAGE_URL"]
    assert url.startswith(f"postgresql://{POSTGRES['environment']['POSTGRES_USER']}:")
    assert url.endswith(f"@postgres:5432/{POSTGRES['environment']['POSTGRES_DB']}")


def test_every_verb_and_setting_that_the_page_names_exists() -> None:
    commands: Any = typer.main.get_group(app).commands
    verbs = set(re.findall(r"\belefante ([a-z-]+)(?=[ `])", PAGE)) - {"elefante"}
    assert verbs >= {"move-storage", "run"}
    assert verbs <= set(commands)
    named = set(re.findall(r"`((?:STORAGE|TELEGRAM|METRICS|TURN|DATA)[A-Z_]*)", PAGE))
    assert named <= SETTINGS, named - SETTINGS
    for name in re.findall(r"[a-z./]+\.yaml", PAGE):
        assert (ROOT / name).exists() or (ROOT / "docs" / name).exists()
