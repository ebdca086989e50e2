"""What a field of a slash command offers while somebody types, and to whom: nothing of it is ever stored."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from core.answering.chatbot import ChatBot
from core.commands.command import Command, CommandTable, CompletionRequest, Request
from core.commands.menu import MenuOption, OptionKind
from core.errors import StorageError
from core.features.access.storage import Person as Known
from core.outgoing import Suggestion
from core.types import Locale, Role, UserKey
from tests.e2e.discord_kit import ANA, BIA, ROOM, flow, serving
from tests.fakes.clock import FakeClock
from tests.fakes.discord_interactions import Interaction
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import Person
from tests.fakes.house import House

ABOUT = dict.fromkeys(Locale, "about it")
EVA = Person(10**17 + 9, "Eva")


@dataclass
class Setting:
    """A bot with one command, /alarm WHEN TEXT, whose first field offers what the test says."""

    server: DiscordServer
    clock: FakeClock
    house: House
    choices: Sequence[Suggestion] = (Suggestion("amanhã às 8:00", "amanhã 8h"),)
    failure: Exception | None = None
    asked: list[CompletionRequest] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    hangs: bool = False

    def command(self) -> Command:
        fields = tuple(MenuOption(name, OptionKind.TEXT, ABOUT, completes=name == "when") for name in ("when", "text"))
        return Command("alarm", ABOUT, self._run, fields=fields, complete=self._complete)

    async def _run(self, request: Request, argument: str) -> None:
        self.ran.append(argument)
        await request.answer.tell("ok")

    async def _complete(self, request: CompletionRequest) -> Sequence[Suggestion]:
        self.asked.append(request)
        if self.hangs:
            await asyncio.Event().wait()
        if self.failure is not None:
            raise self.failure
        return self.choices

    async def typing(self, person: Person, typed: str, room: int = 0) -> Interaction:
        used = await self.server.interactions.typing(person, "alarm", "when", room=room, typed=typed)
        await flow(self.server, self.clock, lambda: used.offered is not None)
        return used


@asynccontextmanager
async def set_up(**given: object) -> AsyncIterator[Setting]:
    clock = FakeClock()
    house = House(clock=clock, trusted=())
    await house.people.put(Known(UserKey("discord", str(ANA.id)), Role.OWNER, "Ana", clock.now()))
    await house.people.put(Known(UserKey("discord", str(BIA.id)), Role.BLOCKED, "Bia", clock.now()))
    parts = house.parts(house.features())
    async with DiscordServer(clock) as server:
        setting = replace(Setting(server, clock, house), **given)  # type: ignore[arg-type]  # as the test wants it
        table = CommandTable([setting.command()])
        async with ChatBot(replace(parts, commands=table)) as bot, serving(server, clock, bot, entries=table.menu()):
            await flow(server, clock, lambda: server.commands)
            yield setting


async def test_a_field_offers_what_its_command_says_in_the_persons_language_and_runs_with_the_rest() -> None:
    async with set_up() as setting:
        [offered] = setting.server.commands
        [alarm] = [command for command in offered if command["name"] == "alarm"]
        assert [(one["name"], one.get("autocomplete", False)) for one in alarm["options"]] == [
            ("when", True), ("text", False),
        ]  # fmt: skip
        used = await setting.typing(ANA, "amanhã ")
        assert used.offered == [("amanhã às 8:00", "amanhã 8h")]
        assert (await setting.typing(ANA, "", ROOM)).offered == [("amanhã às 8:00", "amanhã 8h")]
        first, second = setting.asked
        assert (first.option, first.typed, first.locale, first.incoming.private) == ("when", "amanhã", Locale.PT, True)
        assert (second.typed, second.incoming.user) == ("", UserKey("discord", str(ANA.id)))
        await setting.server.interactions.command(ANA, "alarm", when="amanhã 8h", text="pagar")
        await flow(setting.server, setting.clock, lambda: setting.ran)
        assert setting.ran == ["amanhã 8h pagar"]


async def test_strangers_and_the_blocked_are_offered_nothing_and_nothing_is_kept_of_them() -> None:
    async with set_up() as setting:
        for person in (EVA, BIA):
            assert (await setting.typing(person, "amanhã")).offered == []
        assert setting.asked == []
        assert await setting.house.people.stranger(UserKey("discord", str(EVA.id))) is None
        await setting.typing(ANA, "amanhã")
        assert await setting.house.history.threads(UserKey("discord", str(ANA.id))) == []
        assert await setting.house.inbox.owed("discord") == {}
        assert setting.server.writes == []


async def test_discord_is_given_what_it_takes_and_never_a_value_that_was_cut() -> None:
    many = [Suggestion("x" * 300, f"{number}") for number in range(40)]
    async with set_up(
        choices=[Suggestion("longe", "y" * 101), Suggestion(" ", "vazio"), Suggestion("nada", ""), *many]
    ) as setting:
        offered = (await setting.typing(ANA, "a")).offered or []
    assert [value for _, value in offered] == [str(number) for number in range(25)]
    assert {label for label, _ in offered} == {"x" * 99 + "…"}


@pytest.mark.parametrize("failure", [StorageError("gone"), ValueError("?")])
async def test_a_failure_offers_nothing(failure: Exception) -> None:
    async with set_up(failure=failure) as setting:
        assert (await setting.typing(ANA, "a")).offered == []


async def test_what_takes_too_long_offers_nothing_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.discord.interaction_handler._COMPLETED_WITHIN_S", 0.0)
    async with set_up(hangs=True) as setting:
        assert (await setting.typing(ANA, "a")).offered == []


@pytest.mark.parametrize(
    ("role", "private", "said", "offers"),
    [
        (Role.OWNER, True, "/alarm a", True),
        (Role.OWNER, True, "/ALARM a", True),
        (Role.OWNER, False, "/alarm a", False),
        (Role.MEMBER, True, "/alarm a", False),
        (Role.OWNER, True, "/help a", False),
        (Role.OWNER, True, "/unknown a", False),
    ],
)
async def test_a_command_offers_something_only_where_it_would_be_run(
    role: Role, said: str, *, private: bool, offers: bool
) -> None:
    async def complete(_: CompletionRequest) -> Sequence[Suggestion]:
        return [Suggestion("a", "b")]

    async def run(_: Request, __: str) -> None:
        raise AssertionError("nothing was sent")

    table = CommandTable([Command("alarm", ABOUT, run, complete=complete, in_private=True, for_staff=True)])
    incoming = replace(House().incoming(said), private=private)
    assert bool(await table.complete(CompletionRequest(incoming, Locale.EN, role, "when", "a"))) is offers
