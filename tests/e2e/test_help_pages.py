"""The pages of /help on each surface: a button below the first page leads to a topic, in its place."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from core.types import UserKey
from tests.e2e import discord_kit
from tests.e2e.command import ROOT, execute
from tests.e2e.terminal import environment
from tests.fakes.clock import FakeClock
from tests.fakes.discord_components import labels
from tests.fakes.discord_server import DiscordServer
from tests.fakes.house import House
from tests.transcripts.telegram_house import ANA, scene


async def test_on_telegram_a_topic_takes_the_place_of_the_first_page() -> None:
    async with scene() as there:
        first = await there.say(ANA, "/help")
        assert first.text.startswith("Sou o Elefante")
        assert [label for row in first.labels for label in row] == [
            "Memórias",
            "Respostas",
            "Lembretes",
            "Ajustes",
            "Dados",
        ]
        page = await there.press(ANA, "Lembretes")
        assert page.id == first.id
        assert page.text.startswith("/remind … — ")
        assert "✓ Lembretes" in [label for row in page.labels for label in row]
        page = await there.press(ANA, "Dados")
        assert page.id == first.id
        assert "/export" in page.text


async def test_on_discord_a_topic_is_a_field_of_the_command_and_a_button() -> None:
    clock = FakeClock()
    house = House(clock=clock)
    access = house.access()
    async with DiscordServer(clock) as server, house.chatbot(access) as handler:
        server.room(discord_kit.ROOM)
        async with discord_kit.serving(server, clock, handler):
            await access.own(UserKey("discord", str(discord_kit.ANA.id)), "Ana")
            [entry] = [each for each in server.commands[-1] if each["name"] == "help"]
            [field] = entry["options"]
            assert [each["value"] for each in field["choices"]][-1] == "all"
            used = await server.interactions.command(discord_kit.ANA, "help", room=discord_kit.ROOM)
            await discord_kit.flow(server, clock, partial(getattr, used, "screen"))
            [note] = used.notes
            assert note.text.startswith("Sou o Elefante")
            before = note.text
            [reminders] = [each for each in labels(note.components) if "Lembretes" in each]
            await server.interactions.press(discord_kit.ANA, note, reminders)
            await discord_kit.flow(server, clock, lambda: note.text != before)
            assert note.text.startswith("/remind … — ")
            assert len(used.notes) == 1
            told = await server.interactions.command(discord_kit.ANA, "help", topic="data", room=discord_kit.ROOM)
            await discord_kit.flow(server, clock, partial(getattr, told, "screen"))
            assert "/export" in told.notes[0].text


def test_in_a_terminal_a_topic_is_a_letter(tmp_path: Path) -> None:
    said = "/help\n/c\n/help datos\n"
    told = execute(("chat",), ROOT, environment(DATA_DIR=str(tmp_path), LANG="es_MX.UTF-8"), said).stdout
    assert "→ /a Memorias · /b Respuestas · /c Recordatorios · /d Ajustes · /e Datos" in told
    assert "\n/remind … — " in told
    assert "\n/export — " in told
