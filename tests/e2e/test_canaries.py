"""No word of a person reaches what owners read of the bot: its log, metrics, alarms, status, or the terminal.

A whole bot on Telegram is told a word that occurs nowhere else by every way there is, well and badly: each fault names
the word, as a provider echoes a prompt, a library formats an exception, or a database quotes a value.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import psycopg
import pytest

from adapters.telegram.config import WritePace
from bot import __main__ as program
from bot import logs
from bot.metrics import Metrics
from bot.platforms import PLATFORMS, Start
from bot.run import readings
from bot.settings.settings import Settings, load
from bot.status_file import StatusReport
from bot.wiring import App, build, open_chatbot
from core.answering.chatbot import ChatBot
from core.clock import SystemClock
from core.features.access.storage import Person as Known
from core.features.reminders.reminders import Reminder
from core.features.reminders.service import ReminderPlace, Reminders
from core.memory.user_memory import UserMemory
from core.ports import Channel, MessageHandler
from core.providers.fallback import Circuit
from core.times.reading import Once
from core.types import ChatKey, Incoming, Locale, Role, UserKey
from tests.e2e.stage import Noting
from tests.fakes import openai_server
from tests.fakes.http_server import Answer, Asked, LoopbackServer, failure
from tests.fakes.openai_server import calls, errs, fails, garbles, says
from tests.fakes.telegram_people import Json, Person
from tests.fakes.telegram_server import TOKEN, TelegramServer
from tests.fakes.telegram_wire import Refused
from tests.fakes.tool_calls import Call
from tests.postgres import HAS_POSTGRES, WHY_NOT, database_of

OLGA, ANA = Person(9, "Olga", language_code="en"), Person(7, "Ana", language_code="en")
ROOM = -100123
WELL = "It is well."
KEY = "sk-SECRET"
REFUSALS = (
    (400, "can't parse entities"), (403, "bot was kicked"), (500, "oops"), (400, "chat not found"), (400, "it is new"),
)  # fmt: skip
CONTROL = "zqcontrolqz"
FAULTS = {
    *("RuntimeError", "KeyError", "UnicodeEncodeError", "LookupError", "ValueError", "StorageError"),
    *(
        "Rejected",
        "KeyRejected",
        "CreditGone",
        "ModelUnknown",
        "ProviderBusy",
        "ProviderDown",
        "EmptyReply",
        "StreamCut",
    ),
    *("BadReply", "ChannelError", "ChannelGone", "ChannelUnclear", "Undelivered"),
}
"""Names of errors that are in the log if what was to fail has failed."""


class Heard(Noting):
    """Tells of each message that was taken."""

    def __init__(self, handler: MessageHandler) -> None:
        super().__init__(handler)
        self.stirred = asyncio.Event()

    async def receive(self, incoming: Incoming, channel: Channel) -> Awaitable[None]:
        answered = await super().receive(incoming, channel)
        self.stirred.set()
        return answered


@dataclass
class Town:
    """A bot on Telegram, its model behind a socket, what it tells its owner, and a member who talks to it."""

    app: App
    telegram: TelegramServer
    models: LoopbackServer
    chatbot: ChatBot
    handler: Heard
    script: list[Answer] = field(default_factory=list)
    said: int = 0
    heard: str = ""
    echo: str = ""

    def answer(self, asked: Asked) -> Answer:
        """Answer a request to a model: embeddings well, a chat as the script says, and well when it is over."""
        if asked.path.endswith("/embeddings"):
            return openai_server.embedding(8)(asked)
        if asked.path.endswith("/transcriptions"):
            return Answer(body=json.dumps({"text": self.heard}).encode()) if self.heard else fails(400, self.echo)
        return self.script.pop(0) if self.script else says(WELL)

    async def say(self, text: str | None, *script: Answer, **more: Any) -> None:
        """Let Ana write, and return when everything about it is done."""
        self.script = list(script)
        self.said += 1
        await self.rest(self.telegram.says(ANA, text, **more))

    async def rest(self, message: Json) -> None:
        """Return when that message was taken, and everything that was taken is answered."""
        async with asyncio.timeout(self.telegram.patience_s):
            while str(message["message_id"]) not in self.handler.taken:
                self.handler.stirred.clear()
                await self.handler.stirred.wait()
        while answers := self.chatbot.tasks.of("telegram"):
            await asyncio.wait(answers)


@contextmanager
def broken(error: BaseException, *methods: str) -> Iterator[None]:
    """Have these methods of a person's memory raise that."""

    async def fails(*_: object, **__: object) -> None:
        raise error

    with pytest.MonkeyPatch.context() as patch:
        for name in methods:
            patch.setattr(UserMemory, name, fails)
        yield


Way: TypeAlias = Callable[[Town, str], Awaitable[None]]
WAYS: dict[str, Way] = {}


def way(deed: Way) -> Way:
    """Note a way by which a word comes in."""
    WAYS[deed.__name__] = deed
    return deed


def save(content: str, **more: object) -> Call:
    items = [{"type": "text", "content": content, "bindings": [content]}]
    return Call("MemorySave", {"items": items, "asked": True, "then": "stop", **more})


# --- what goes well ---


@way
async def saved(town: Town, word: str) -> None:
    await town.say(f"remember that my {word} is 4417", calls(save(f"my {word} is 4417")))


@way
async def found(town: Town, word: str) -> None:
    await saved(town, word)
    await town.say(
        f"what is my {word}?", calls(Call("MemorySearch", {"queries": [word]})), says(f"Your {word} is 4417.")
    )


@way
async def updated(town: Town, word: str) -> None:
    await town.say("/remember the gym opens at 7")
    update = {"id": "m1", "type": "text", "content": f"the gym opens at {word}", "bindings": ["gym"], "then": "stop"}
    await town.say(f"the gym opens at {word}", calls(Call("MemoryUpdate", {"items": [update], "then": "stop"})))


@way
async def deleted(town: Town, word: str) -> None:
    await town.say(f"/remember {word} is a colour")
    await town.say(f"/memories delete {word}")
    await town.say("yes")
    await town.say("/undo")


@way
async def reminded(town: Town, word: str) -> None:
    await town.say(f"/remind in 1 minute {word}")
    await town.say(f"/remind tomorrow at 9 {word}")
    await town.say(f"/reminders {word}")


@way
async def said_by_a_reminder(town: Town, word: str) -> None:
    asked, chat = asyncio.Event(), ChatKey("telegram", str(ANA.id))
    place = ReminderPlace(UserKey("telegram", str(ANA.id)), chat, private=True, locale=Locale.EN, name=word)
    for refusal in (None, Refused(403, f"Forbidden: bot was blocked: {word}")):

        def meet(method: str, params: Any, refusal: Refused | None = refusal) -> None:
            if method == "sendmessage" and word in str(params.get("text")):
                asked.set()
                if refusal is not None:
                    raise refusal

        town.telegram.faults.append(meet)
        at = Once((town.app.clock.now() + timedelta(seconds=1)).astimezone(ZoneInfo("UTC")))
        assert isinstance(await town.app.features.get(Reminders).set(place, word, at), Reminder)
        await asyncio.wait_for(asked.wait(), town.telegram.patience_s)
        asked.clear()
        town.telegram.faults.remove(meet)


@way
async def sent_as_a_file(town: Town, word: str) -> None:
    town.telegram.files[word] = f"The {word} is due on Monday.\n".encode()
    document = {"file_id": word, "file_unique_id": word, "file_name": f"{word}.txt", "mime_type": "text/plain"}
    await town.say(None, document=document, caption=f"remember this {word}")
    await town.say(None, document=document, caption=f"what is due, {word}?")


@way
async def sent_as_a_broken_file(town: Town, word: str) -> None:
    town.telegram.files[word] = b"%PDF-1.7\n" + word.encode() * 99
    document = {"file_id": word, "file_unique_id": word, "file_name": f"{word}.pdf", "mime_type": "application/pdf"}
    await town.say(None, document=document, caption=f"what is in {word}?")
    missing = {"file_id": f"{word}2", "file_unique_id": "x", "file_name": f"{word}.pdf"}
    await town.say(None, document=missing, caption=word)


@way
async def dictated(town: Town, word: str) -> None:
    town.telegram.files[word] = b"OggS" + word.encode()
    voice = {"file_id": word, "file_unique_id": word, "duration": 3, "mime_type": "audio/ogg"}
    for town.heard in (f"remember that my {word} is 4417", ""):
        town.echo = f"no words in {word}"
        await town.say(None, voice=voice)


@way
async def said_in_a_room(town: Town, word: str) -> None:
    for said in ("@elefante_bot what is", "/remember@elefante_bot", "/memories@elefante_bot", "not for the bot:"):
        await town.say(f"{said} {word}", chat_id=ROOM)


@way
async def searched_inline(town: Town, word: str) -> None:
    query = town.telegram.searches(ANA, word)
    await town.telegram.until(lambda: query in town.telegram.offered)


@way
async def imported_and_exported(town: Town, word: str) -> None:
    town.telegram.files[word] = f"- {word} one\n- {word} two\n".encode()
    document = {"file_id": word, "file_unique_id": word, "file_name": f"{word}.md", "mime_type": "text/markdown"}
    await town.say(None, document=document, caption="/import")
    await town.say("/export")


@way
async def named(town: Town, word: str) -> None:
    town.said += 1
    stranger = Person(70, word, username=word, language_code="en")
    await town.rest(town.telegram.says(stranger, f"hello, I am {word}"))


@way
async def commanded(town: Town, word: str) -> None:
    for text in (f"/{word}", f"/memories {word}", f"/language {word}", f"/timezone {word}", f"/admin {word}"):
        await town.say(text)


@way
async def edited(town: Town, word: str) -> None:
    await town.say("hello")
    message = town.telegram.says(ANA, f"hello {word}")
    town.telegram.edits(message, f"goodbye {word}")
    await town.say("and now?")


# --- what breaks here ---


@way
async def raised_by_an_action(town: Town, word: str) -> None:
    for error in (RuntimeError(f"broke at {word}"), KeyError(word), UnicodeEncodeError("ascii", word, 0, 1, word)):
        with broken(error, "save", "put", "compare"):
            await town.say(f"remember that my {word} is 4417", calls(save(f"my {word} is 4417")))


@way
async def raised_by_a_command_and_a_search(town: Town, word: str) -> None:
    with broken(LookupError(word), "page", "search"):
        await town.say("/memories")
        await town.say(f"what is {word}?", calls(Call("MemorySearch", {"queries": [word]})))


@way
async def raised_in_the_background(town: Town, word: str) -> None:
    async def fails() -> None:
        raise RuntimeError(word)

    def call(told: str) -> None:
        raise ValueError(told)

    task = asyncio.create_task(fails(), name=word)
    await asyncio.wait({task})
    del task
    asyncio.get_running_loop().call_soon(call, word)
    asyncio.get_running_loop().call_exception_handler({"message": f"Exception in callback {call!r}", "word": word})
    await asyncio.sleep(0)


@way
async def raised_in_a_thread(town: Town, word: str) -> None:
    def call() -> None:
        raise ValueError(word)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "excepthook", program._unseen)  # as a process of ours has it
        thread = threading.Thread(target=call, name=word)
        thread.start()
        await asyncio.to_thread(thread.join)


@way
async def logged_by_a_library(town: Town, word: str) -> None:
    for name in ("telegram.ext", "discord.http", "aiohttp.server", "asyncio", "PIL"):
        log = logging.getLogger(name)
        log.warning("cannot send %s", word)
        log.error(f"cannot send: {word}")  # noqa: G004
        log.warning("odd", extra={"text": word})
    await asyncio.sleep(0)


@way
async def quoted_by_the_database(town: Town, word: str) -> None:
    if town.app.settings.engine == "sqlite":
        begin = [f"CREATE TRIGGER refuse BEFORE INSERT ON memories BEGIN SELECT RAISE(ABORT, '{word}'); END"]
        end = ["DROP TRIGGER refuse"]
    else:
        begin = [
            "CREATE FUNCTION refuse() RETURNS trigger AS 'BEGIN RAISE ''%'', NEW.content; END' LANGUAGE plpgsql",
            "CREATE TRIGGER refuse BEFORE INSERT ON memories FOR EACH ROW EXECUTE FUNCTION refuse()",
        ]
        end = ["DROP TRIGGER refuse ON memories", "DROP FUNCTION refuse"]
    await asyncio.to_thread(changed, town.app.settings, begin)
    try:
        await town.say(f"/remember {word} is refused by a trigger")
        await town.say(f"remember that my {word} is 4417", calls(save(f"my {word} is 4417")))
    finally:
        await asyncio.to_thread(changed, town.app.settings, end)


def changed(settings: Settings, statements: Sequence[str]) -> None:
    """Change the schema below the bot."""
    if settings.engine == "sqlite":
        with closing(sqlite3.connect(settings.database_path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)
    else:
        with psycopg.connect(settings.storage_url.get_secret_value()) as server:
            for statement in statements:
                server.execute(statement.encode())


@way
async def refused_by_the_platform(town: Town, word: str) -> None:
    for code, said in (
        (400, "can't parse entities"),
        (403, "bot was kicked"),
        (500, "oops"),
        (400, "chat not found"),
        (400, "something new"),
    ):
        refusal = Refused(code, f"{said}: {word}")

        def refuse(method: str, params: Any, refusal: Refused = refusal) -> None:
            if method in {"sendmessage", "editmessagetext"} and str(params.get("chat_id")) == str(ANA.id):
                raise refusal

        town.telegram.faults.append(refuse)
        await town.say(f"tell me of {word} {code}", *[says(f"{word} **and more")] * 3)
        town.telegram.faults.remove(refuse)
        await town.say("and now?")


# --- what a provider does, last: it is trusted with less from then on ---


@way
async def echoed_by_a_refusal(town: Town, word: str) -> None:
    for status in (400, 401, 402, 403, 404, 413, 422, 429, 500, 503):
        await town.say(f"tell me of {word}", *[fails(status, f"invalid prompt: {word}")] * 9)


@way
async def echoed_where_no_error_should_be(town: Town, word: str) -> None:
    odd = [Answer(200, {}, f"<html>{word}</html>".encode()), failure(500, [word]), failure(400, word), errs("x", word)]
    for answer in (*odd, garbles(word), Answer(302, {"location": f"/{word}"}), failure(429, {}, {"retry-after": word})):
        await town.say(f"tell me of {word}", *[answer] * 9)


@way
async def called_as_no_tool(town: Town, word: str) -> None:
    for call in (
        Call(word, {"a": word}), Call("MemorySave", f'{{"items": [{word}'), Call("MemorySave", {"items": word}),
        Call("MemoryDelete", {"ids": [word]}), Call("MemorySearch", {"queries": {word: word}}),
        save(word, then=word), Call("MemorySave", {word: word}),
    ):  # fmt: skip
        await town.say(f"do something with {word}", *[calls(call)] * 9)


@way
async def echoed_by_the_embedder(town: Town, word: str) -> None:
    def answer(asked: Asked) -> Answer:
        return fails(400, f"bad input {word}") if asked.path.endswith("/embeddings") else says(WELL)

    town.models.answers = [answer]
    await town.say(f"/remember {word} is a word that the embedder refuses")
    await town.say(f"what of {word}?")
    town.models.answers = [town.answer]


@asynccontextmanager
async def town(folder: Path, storage_url: str, **more: Any) -> AsyncIterator[tuple[Town, Callable[[], Awaitable[str]]]]:
    """Run the bot; with it comes what tells all that its owner has read of it, and may read."""
    models, hook, metrics = LoopbackServer(), LoopbackServer([Answer()]), Metrics()
    async with models.running(), hook.running(), TelegramServer(SystemClock(), patience_s=60.0) as telegram:
        settings = load(
            None, data_dir=folder, storage_url=storage_url, telegram_token=TOKEN,
            telegram_api_base_url=telegram.url, model="openai:gpt-x",
            openai_api_key=KEY, openai_base_url=f"{models.url}/v1", model_embedding="openai:e",
            model_embedding_dims=8, model_transcription="openai:whisper-1", telegram_inline=True,
            log_level="DEBUG", alert_url=f"{hook.url}/", language="en",
            quota_person="none", quota_bot="none", **more,
        )  # fmt: skip
        logs.configure(folder, "DEBUG", settings.secrets())
        logs.to_stderr()
        async with build(settings, metrics=metrics) as app, open_chatbot(app) as chatbot:
            for person, role in ((OLGA, Role.OWNER), (ANA, Role.MEMBER)):
                user = UserKey("telegram", str(person.id))
                await app.features.access.people.put(Known(user, role, person.first_name, app.clock.now()))
            stop, handler = asyncio.Event(), Heard(chatbot)
            printed: list[str] = []
            start = Start(app, handler, stop, printed.append, worker=app.worker)
            running = asyncio.ensure_future(PLATFORMS["telegram"].run(start))
            here = Town(app, telegram, models, chatbot, handler)
            models.answers = [here.answer]

            async def told() -> str:
                telegram.says(OLGA, "/admin logs")
                await here.rest(telegram.says(OLGA, "/admin status"))
                pages = [await metrics.text(readings(app)), json.dumps(StatusReport(app)._told(), default=str).encode()]
                posts = [str(post.text) for post in telegram.chats[OLGA.id].posts.values()]
                return "\n".join([*(page.decode() for page in pages), *posts, *printed, json.dumps(hook.bodies)])

            async with app.features.at_work(stop, serves=True):
                try:
                    yield here, told
                finally:
                    stop.set()
                    await asyncio.wait({running})


@pytest.fixture
def log() -> Iterator[None]:
    """Put the log of this process back as it was."""
    root = logging.getLogger()
    before = root.level, root.handlers[:]
    yield
    logs.configure(None, "INFO")
    root.setLevel(before[0])
    root.handlers[:] = before[1]


@pytest.mark.long
@pytest.mark.parametrize(
    "engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.skipif(not HAS_POSTGRES, reason=WHY_NOT))]
)
async def test_no_word_of_a_person_is_in_what_owners_read_and_no_secret_in_what_models_read(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], log: None
) -> None:
    usual = Settings.telegram
    pace = WritePace(burst=5_000, per_s=5_000.0)
    monkeypatch.setattr(
        Settings, "telegram", lambda self: replace(config, private=pace) if (config := usual(self)) else None
    )
    monkeypatch.setattr(Circuit, "resting", lambda *_: None)  # or nothing would be asked after three failures
    words = {name: f"zq{name.replace('_', '')}qz" for name in WAYS}
    async with town(tmp_path, database_of(tmp_path.name) if engine == "postgres" else "sqlite:") as (here, told):
        for name, deed in WAYS.items():
            await deed(here, words[name])
        logging.getLogger("core.answering").warning("control %s", CONTROL)
        read = await told()
    logging.shutdown()
    written = (tmp_path / "elefante.log").read_text("utf-8")
    printed = capfd.readouterr()
    everything = f"{read}\n{written}\n{printed.out}\n{printed.err}".casefold()
    assert everything.count(CONTROL) > 2, "in the log, on standard error, in /admin logs: what is searched is written"
    assert here.said > len(WAYS)
    asked = b"".join(request.raw for request in here.models.asked).decode(errors="replace")
    assert words["saved"] in asked
    assert not {secret for secret in (KEY, TOKEN) if secret in asked}
    assert {json.loads(line).get("error") for line in written.splitlines()} >= FAULTS, "each fault was met"
    found = {name: [line for line in everything.splitlines() if word in line] for name, word in words.items()}
    assert {name: lines for name, lines in found.items() if lines} == {}
