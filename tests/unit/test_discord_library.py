"""What the adapter uses of discord.py though its documentation does not promise it: all of it stands here."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import discord
import pytest
from packaging.requirements import Requirement

from adapters.discord.gateway import GatewayClient, ReconnectPauses

ROOT = Path(__file__).parents[2]

FUNCTIONS: dict[str, tuple[Callable[..., object], set[str]]] = {
    "http.edit_message": (discord.http.HTTPClient.edit_message, {"channel_id", "message_id", "params"}),
    "http.get_bot_gateway": (discord.http.HTTPClient.get_bot_gateway, set()),
    "http.handle_message_parameters": (
        discord.http.handle_message_parameters,
        {"content", "embeds", "view", "allowed_mentions", "flags", "previous_allowed_mentions"},
    ),
    "http.start_thread_with_message": (
        discord.http.HTTPClient.start_thread_with_message,
        {"channel_id", "message_id", "name", "auto_archive_duration"},
    ),
}
"""Each with the parameters that are given."""

STATES = {
    "_connection": "what the webhook of an interaction is made of",
    "_connection.parsers": "what reads the events",
    "gateway.DiscordWebSocket.DEFAULT_GATEWAY": "the address of a new session",
    "http.Route.BASE": "the address of every request",
    "shard.ExponentialBackoff": "the pauses of every shard",
}
UNDOCUMENTED = (
    r"discord\.((?:http|gateway|shard)\..+)",
    r"(?:self|(?:self\.)?client)\.(http\..+)",
    r".+\.(_connection(?:\..+)?)",
    r"(?!(?:self|cls)\._\w+$)[\w.]+\.(_[a-z]\w*)",
)
OVERRIDDEN = {"before_identify_hook": {"shard_id", "initial"}, "launch_shard": {"gateway", "shard_id", "initial"}}


def test_nothing_else_of_the_library_is_used_that_its_documentation_does_not_promise() -> None:
    used = {
        name
        for path in (ROOT / "adapters" / "discord").glob("*.py")
        for name in _undocumented(ast.parse(path.read_text("utf-8")))
    }
    assert used == {*FUNCTIONS, *STATES}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_undocumented_function_takes_what_it_is_given(name: str) -> None:
    function, given = FUNCTIONS[name]
    assert given <= inspect.signature(function).parameters.keys()


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_each_undocumented_method_that_is_replaced_is_called_as_before(name: str) -> None:
    theirs, ours = (inspect.signature(getattr(each, name)) for each in (discord.AutoShardedClient, GatewayClient))
    assert {*theirs.parameters} == {*ours.parameters} == {"self", *OVERRIDDEN[name]}


async def test_the_state_of_a_client_reads_events_by_a_table_that_can_be_changed() -> None:
    client = discord.AutoShardedClient(intents=discord.Intents.none())
    parsers: dict[str, Any] = client._connection.parsers
    assert {"READY", "RESUMED", "MESSAGE_CREATE", "INTERACTION_CREATE", "GUILD_CREATE"} <= parsers.keys()
    assert discord.Webhook.from_state({"id": 1, "type": 3, "token": "x"}, client._connection).type.value == 3


def test_the_pauses_of_shards_and_the_addresses_stand_where_they_are_replaced() -> None:
    assert vars(discord.shard)["ExponentialBackoff"] is ReconnectPauses
    assert "ExponentialBackoff()" in inspect.getsource(discord.shard.Shard)
    assert isinstance(discord.gateway.DiscordWebSocket.DEFAULT_GATEWAY.host, str)
    assert discord.http.Route("GET", "/gateway").url.startswith(discord.http.Route.BASE)


def test_the_version_of_the_library_is_one_that_this_was_read_in() -> None:
    needed = map(Requirement, tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"])
    [pinned] = [one.specifier for one in needed if one.name == "discord.py"]
    assert version("discord.py") in pinned
    assert not pinned.contains("2.8.0")


def _undocumented(tree: ast.AST) -> set[str]:
    """Return the names that a module uses of the library's requests, its gateway, its shards and its private state."""
    chains = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    found = {made[1] for chain in chains for pattern in UNDOCUMENTED if (made := re.fullmatch(pattern, chain))}
    return {name for name in found if not any(other.startswith(f"{name}.") for other in found)}
