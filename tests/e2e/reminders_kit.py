"""What the scenarios of reminders share: the bot as it is run, on a real file, where time goes by when all rests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from unittest import mock

from bot.settings.settings import load
from bot.wiring import App, build, open_chatbot
from core.features.access.storage import People, Person
from core.features.admin.storage import ALLOWED, Decision, DecisionKind, Decisions
from core.features.preferences.storage import PreferenceStore
from core.features.reminders.scheduler import Scheduler
from core.models import HotModel
from core.ports import ChatModel, MessageHandler
from core.providers.failure import Rejected
from core.providers.usem3 import Usem3Embedder
from core.storage.sqlite import open_database
from core.types import Preferences, Role, UserKey, Vectors
from tests.e2e.flowing import counting_the_disk
from tests.fakes.clock import START, FakeClock
from tests.fakes.discord_server import DiscordServer
from tests.fakes.telegram_server import TelegramServer

ZONE = "America/New_York"
"""Ana's and Bia's, where it is 11:09 on Saturday, 14 March 2026."""


@contextmanager
def at_rest_with_the_disk(server: TelegramServer | DiscordServer) -> Iterator[None]:
    """Let what the database has under way count as work, and let there be no embedder: words must do."""

    async def embed(_self: Usem3Embedder, _texts: Sequence[str]) -> Vectors:
        raise Rejected("off", "")  # of an outage an alarm would come amid the answers

    with counting_the_disk(server), mock.patch.object(Usem3Embedder, "embed", embed):
        yield


async def found(folder: Path, platform: str, people: dict[str, Role], rooms: Sequence[int], zone: str = ZONE) -> None:
    """Let those people and rooms be known before the first start; an empty `zone` is not told."""
    database = await open_database(folder / "elefante.db")
    for number, role in people.items():
        user = UserKey(platform, number)
        await People(database).put(Person(user, role, number, START))
        if zone:
            await PreferenceStore(database).put(user, Preferences(zone=zone))
    owner = UserKey(platform, next(iter(people)))
    for room in rooms:
        let_in = Decision(START, owner, DecisionKind.ROOM, f"{platform}:{room}", "", ALLOWED)
        await Decisions(database).apply(let_in)
    await database.close()


@asynccontextmanager
async def started(
    folder: Path,
    clock: FakeClock,
    serving: Callable[[App, MessageHandler], AbstractAsyncContextManager[object]],
    model: ChatModel | None = None,
) -> AsyncIterator[App]:
    """Start the bot on what the folder holds, on one platform; leaving stops it as a signal does."""
    settings = load(None, data_dir=folder, cycle="stepwise" if model is None else "single")
    stop = asyncio.Event()
    async with build(settings, clock=clock) as app:
        if model is not None:
            models = app.parts.services.models
            for hot in (models.heavy, models.reasoning, models.chat, models.summary):
                assert isinstance(hot, HotModel)
                hot.model = model
        async with open_chatbot(app) as chatbot, app.features.get(Scheduler).until(stop):
            async with serving(app, chatbot):
                yield app
                stop.set()
            chatbot.abandon()


def until(clock: FakeClock, at: datetime) -> Callable[[], bool]:
    """Return whether it is that time yet; somebody sleeps until then."""
    sleeping = asyncio.ensure_future(clock.sleep((at - clock.now()) / timedelta(seconds=1)))
    return sleeping.done
