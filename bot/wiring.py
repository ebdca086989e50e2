"""Put a bot together: the one place that names concrete classes of stores, models and features."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import SecretStr

from bot.data_folder import ConsoleHistory, DataFolder, ServerCopies, check_not_lost, damaged, upkeep
from bot.logs import open_machine
from bot.models.chains import build_chains
from bot.models.health import ModelHealth
from bot.models.hot import HotModels
from bot.models.metering import counting
from bot.program import OCR, is_installed
from bot.sealing import finish_conversion, sealing_of
from bot.settings.models import LIMITED, USEM3
from bot.settings.settings import Settings
from bot.workers import open_worker
from core import ask
from core.answering.chatbot import ChatBot
from core.answering.enclosed import FileService
from core.answering.incognito import IncognitoTalks
from core.answering.loop import tools_of
from core.answering.parts import ChatBotParts
from core.answering.prompting import SYSTEM
from core.answering.questions import purge_answered
from core.clock import SystemClock
from core.dialogue import Prompt, PromptContext, Task
from core.errors import ConfigError, Damaged, ProviderError
from core.features.access.rules import Access, Mode
from core.features.access.storage import People
from core.features.admin.machine import Survey
from core.features.admin.storage import Decisions
from core.features.assembly import Features
from core.features.broadcast.storage import Broadcasts
from core.features.feature import FeatureSettings, Stores
from core.features.ledger.chart import draw
from core.features.ledger.storage import Ledger
from core.features.links.storage import LinkCodes
from core.features.preferences.storage import PreferenceStore
from core.features.privacy.forget import Erasure
from core.features.quotas.quotas import Quotas
from core.features.reminders.storage import ReminderStore
from core.features.transfer.files import NoCopies, Spool
from core.features.transfer.intake import MEGABYTE
from core.files.port import FileReader, FileStore
from core.files.reading import ProcessReader, ProcessWordFinder, WordsReader
from core.history.conversation import Conversations, PlaceSettingsOf
from core.history.summary import Summaries, Summarizer
from core.history.tokens import TOKENIZERS, Calibration, TokenizerInUse, tokenizer_of
from core.history.withholding import MemoriesOf
from core.library import new_index, new_memories
from core.memory.memories import Memories
from core.models import Models, complete
from core.ports import Clock, Tokenizer
from core.sealing.port import Sealing
from core.storage.database import Database
from core.storage.files import FolderFiles, SqlFiles
from core.storage.forgotten import Forgotten, Revived
from core.storage.history import SqlHistory
from core.storage.inbox import ClaimChat, SqlConfirmations, SqlInbox, SqlPendingInputs
from core.storage.kept import SqlKept
from core.storage.memories import SqlMemories
from core.storage.sqlite import open_copy, open_database
from core.stores import HistoryStore, KeptStore, SearchableMemoryStore
from core.tasks import background, first_of
from core.text.catalogue import sentences
from core.text.replies import means_undo
from core.times.grammar import find_time
from core.times.zones import guess
from core.types import Locale, Role, UserKey
from core.workers.port import Worker

if TYPE_CHECKING:
    from bot.metrics import Metrics  # it loads a library that few need

_log = logging.getLogger(__name__)

_CLAUDE_RATIO = 1.3  # Source: Anthropic's migration notes: about 30 % more tokens than the tokenizers before


@dataclass(frozen=True, slots=True)
class ConversationNeeds:
    """What conversations ask while they run: the models in place, their token counts, decisions of a place.

    `known` returns the memories that a person has now.
    """

    models: Models
    calibration: Calibration
    place_settings: PlaceSettingsOf
    known: MemoriesOf


def new_calibration(tokenizer: str = "") -> Calibration:
    """Return a calibration for counts by the tokenizer of that setting, with the ratio that is known for Claude."""
    return Calibration({} if tokenizer == "provider" else {"anthropic": _CLAUDE_RATIO})


async def build_conversations(
    settings: Settings, store: HistoryStore, needs: ConversationNeeds, clock: Clock, stack: AsyncExitStack, *, dry: bool
) -> Conversations:
    """Build the conversations.

    Nothing is summarised in limited mode, nor by a `dry` bot. `stack` breaks off a summary in the background; the next
    answer begins it again.
    """
    models, calibration = needs.models, needs.calibration
    limits = replace(settings.history_limits(), answer_tokens=settings.model_chat_max_tokens)
    tokenizer = TokenizerInUse(lambda: models.chat.name, lambda name: build_tokenizer(settings, name, stack))

    def room(names: Iterable[str]) -> int:
        return min(calibration.room(name, limits.max_context_tokens) for name in names)

    summaries = None
    if not dry:
        summarizer = Summarizer(
            store,
            models.summary,
            tokenizer,
            clock,
            limits,
            window=lambda: room(models.summary.names),
            shown_in=lambda: room((models.heavy.name, models.reasoning.name, models.chat.name)),
            zone=settings.zone(),
            lookup=needs.known,
        )
        summaries = Summaries(summarizer, clock, able=lambda: not models.summary.name.startswith(f"{LIMITED}:"))
        await stack.enter_async_context(summaries)
    return Conversations(
        store,
        clock,
        limits,
        tokenizer=tokenizer,
        summaries=summaries,
        system=SYSTEM,
        calibration=calibration,
        model_of=lambda mode: str(getattr(models, mode).name),
        place_settings=needs.place_settings,
        version=metadata.version("elefante"),
        zone=settings.zone(),
    )


def build_tokenizer(settings: Settings, model: str, stack: AsyncExitStack) -> Tokenizer:
    """Return the tokenizer that the settings choose for a model, named `provider:model`."""
    provider, _, name = model.partition(":")
    if settings.tokenizer == "provider" and provider == "anthropic":
        from core.providers.anthropic import AnthropicTokenizer

        counter = AnthropicTokenizer(settings.key(provider) or "none", settings.address(provider), name)
        stack.callback(counter.close)
        return counter
    chosen = TOKENIZERS.get(settings.tokenizer)
    return tokenizer_of(model) if chosen is None else chosen()


@dataclass(frozen=True, slots=True)
class App:
    """A bot put together, with the parts that the command line looks into."""

    settings: Settings
    database: Database
    kept: KeptStore
    store: SearchableMemoryStore
    conversations: Conversations
    clock: Clock
    parts: ChatBotParts
    features: Features
    health: ModelHealth
    worker: Worker
    models: HotModels
    revived: Revived = field(default_factory=Revived)
    """Of whom an older copy of the database brought something back, which was removed again."""


def new_reader() -> FileReader:
    """Return what reads files, words on pictures included where the extra `ocr` is here. Its processes begin later."""
    return WordsReader(ProcessReader(), ProcessWordFinder()) if is_installed(OCR) else ProcessReader()


@asynccontextmanager
async def build(
    settings: Settings,
    *,
    dry: UserKey | None = None,
    grants: Mapping[UserKey, Role] | None = None,
    clock: Clock | None = None,
    metrics: Metrics | None = None,
) -> AsyncIterator[App]:
    """Put a bot together, and take it apart again in reverse order.

    A `dry` one works on a copy in RAM, of the SQLite file, or of what PostgreSQL stores of that person.
    `grants` are the roles that the program around it gives to people by name, for as long as it runs. `clock` takes the
    place of the operating system's. `metrics` counts turns and calls of models.

    Raises:
        ConfigError: a setting is wrong, or the data folder cannot be used.
        StorageError: the database cannot be used.
    """
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(storage(settings, dry=dry))
        if dry is not None:  # nor does a command write a file
            settings = settings.model_copy(update={"storage_url": SecretStr("memory:")})
        clock = clock or SystemClock()
        worker, claim_chat = await open_worker(settings, database, clock, stack)
        stores = _Stores(database, settings, clock, worker, claim_chat)
        revived = Revived() if dry is not None else await stores.forgotten.settle()
        app = await _build_over(
            stores, settings, clock, stack, dry=dry is not None, grants=grants or {}, metrics=metrics
        )
        await _forget_again(app, revived)
        yield replace(app, revived=revived)


async def _forget_again(app: App, revived: Revived) -> None:
    """Erase those of whom an older copy of the database brought something back that nobody can read any more."""
    for owner in revived.owners:
        # As they were linked then: who has a key was not forgotten.
        accounts = await app.features.memories.accounts(owner)
        if not any(app.database.sealing.key_id(account) for account in accounts):
            await app.features.get(Erasure).forget(owner)
    if revived.rows:
        _log.warning("forgotten again", extra={"people": len(revived.owners), "rows": revived.rows})


@asynccontextmanager
async def storage(settings: Settings, *, dry: UserKey | None = None) -> AsyncIterator[Database]:
    """Open the database that the settings name, with their sealing; with `dry`, a copy in RAM of that person's rows.

    Raises:
        ConfigError, StorageError: it cannot be used, lacks what a backup beside it holds, or is not sealed by this key.
    """
    await asyncio.to_thread(finish_conversion, settings)
    with sealing_of(settings) as sealing:
        database = await _opened(settings, sealing, dry)
        try:
            yield database
        finally:
            await database.close()


async def _opened(settings: Settings, sealing: Sealing, dry: UserKey | None) -> Database:
    if settings.in_memory:
        return await open_copy(None)
    prepare_folder(settings.data_dir)
    if settings.engine == "postgres":
        url = settings.storage_url.get_secret_value()
        if dry is not None:
            from core.storage.move_postgres import copy_of_person  # this loads psycopg

            return await copy_of_person(url, dry, sealing)
        from core.storage.postgres import open_postgres

        return await open_postgres(url, pool=settings.storage_pool, sealing=sealing)
    if dry is not None:
        return await open_copy(settings.database_path, sealing=sealing)
    try:
        await asyncio.to_thread(check_not_lost, settings)
        return await open_database(settings.database_path, backups=settings.backups_folder, sealing=sealing)
    except Damaged as error:
        raise damaged(settings, error) from error


async def _build_over(
    stores: _Stores,
    settings: Settings,
    clock: Clock,
    stack: AsyncExitStack,
    *,
    dry: bool,
    grants: Mapping[UserKey, Role],
    metrics: Metrics | None,
) -> App:
    quotas = Quotas(stores.ledger, stores.decisions, clock, settings.quotas(), settings.zone())
    calibration = new_calibration(settings.tokenizer)
    record = quotas.record if metrics is None else counting(quotas.record, metrics.model_called)
    chains = await build_chains(settings, clock, stack, record, calibration, window_tokens=settings.max_context_tokens)
    hot_models = HotModels(settings, chains, clock)
    models = hot_models.models
    undo_within = timedelta(seconds=settings.memory_undo_s)
    memories = new_memories(
        stores.memories, stores.history, models.embedder, clock, undo_within=undo_within, files=stores.files
    )
    stack.push_async_callback(memories.close)
    await memories.start()
    needs = ConversationNeeds(models, calibration, stores.decisions.place_settings, memories.known)
    conversations = await build_conversations(settings, stores.history, needs, clock, stack, dry=dry)
    reader = new_reader()
    stack.push_async_callback(reader.close)
    if chains.transcriber is not None:
        stack.push_async_callback(chains.transcriber.close)
    features = Features(
        stores.stores(settings, memories, quotas, clock),
        access=stores.access(settings, clock, grants),
        models=models,
        machine=open_machine(settings, hot_models, stores.survey(), stack),
        clock=clock,
        settings=FeatureSettings(
            language=settings.language,
            learn=settings.learn,
            logs_words=settings.log_content,
            draw=draw,
            broadcast_interval_s=settings.broadcast_interval_s,
            reminder_limits=settings.reminder_limits(),
        ),
        worker=stores.worker,
        actions_off=settings.actions_off,
        files=FileService(reader, chains.transcriber),
    )
    stack.push_async_callback(features.alerts.close)
    chains.health.report_to(features.alerts)
    await features.open()
    incognito = IncognitoTalks(partial(_open_talk, settings, needs, clock), clock)
    stack.push_async_callback(incognito.close)
    parts = features.parts(stores.inbox, conversations, settings.turn_limits(), incognito)
    if metrics is not None:
        parts = replace(parts, hooks=replace(parts.hooks, turn_ended=metrics.turn_ended))
    return App(
        settings,
        stores.database,
        stores.kept,
        stores.memories,
        conversations,
        clock,
        parts,
        features,
        chains.health,
        stores.worker,
        hot_models,
    )


async def _open_talk(
    settings: Settings, needs: ConversationNeeds, clock: Clock, stack: AsyncExitStack
) -> tuple[Conversations, Memories]:
    """Open conversations, and memories of which there are none, over a database of their own in RAM."""
    database = await open_copy(None)
    stack.push_async_callback(database.close)
    history, store = SqlHistory(database), SqlMemories(database)
    memories = new_memories(store, history, needs.models.embedder, clock, undo_within=timedelta())
    stack.push_async_callback(memories.close)
    return await build_conversations(settings, history, needs, clock, stack, dry=True), memories


class _Stores:
    """Everything that is kept in the one database."""

    def __init__(
        self, database: Database, settings: Settings, clock: Clock, worker: Worker, claim_chat: ClaimChat
    ) -> None:
        self.database = database
        self.worker = worker
        self.kept = SqlKept(database)
        self.forgotten = Forgotten(database, clock)
        self.people = People(database)
        self.decisions = Decisions(database)
        self.ledger = Ledger(database, settings.zone())
        self.memories = SqlMemories(database)
        self.history = SqlHistory(database)
        self.inbox = SqlInbox(database, claim_chat)
        self.preferences = PreferenceStore(database)
        self.files: FileStore = (
            FolderFiles(settings.files_folder, clock, settings.max_files_mb * MEGABYTE, database.sealing)
            if settings.engine == "sqlite"
            else SqlFiles(database, clock, settings.max_files_mb * MEGABYTE)
        )

    def access(self, settings: Settings, clock: Clock, grants: Mapping[UserKey, Role]) -> Access:
        """Return who is answered; whoever has a shell here owns the bot."""
        mode = Mode(settings.access)
        return Access(
            self.people,
            self.decisions,
            self.kept,
            clock,
            trusted={"console"},
            embedded={ask.PLATFORM},
            grants=grants,
            mode=mode,
        )

    def survey(self) -> Survey:
        """Return what owners may ask about the whole of the bot."""
        return Survey(self.database.describe, self.inbox.backlog, self.worker.present)

    def stores(self, settings: Settings, memories: Memories, quotas: Quotas, clock: Clock) -> Stores:
        """Return what commands read, and all that forgets."""
        terminal = () if settings.in_memory else (ConsoleHistory(settings),)
        folder = ServerCopies if settings.engine == "postgres" else DataFolder
        return Stores(
            self.decisions,
            self.preferences,
            memories,
            self.history,
            quotas,
            self.kept,
            links=LinkCodes(self.database),
            pending_inputs=SqlPendingInputs(self.database),
            confirmations=SqlConfirmations(self.database),
            broadcasts=Broadcasts(self.database),
            reminders=ReminderStore(self.database),
            forgetters=(*terminal, self.history, self.inbox),
            spool=Spool(settings.state_dir),
            copies=NoCopies() if settings.in_memory else folder(settings, clock),
            keys=self.forgotten,
            forgetting=self.database.scrubbing_once,
        )


@asynccontextmanager
async def open_chatbot(app: App) -> AsyncIterator[ChatBot]:
    """Run the bot's message handler; leaving waits for the answers that are under way."""
    app.features.stores.spool.clear()
    async with app.worker.at_work(), ChatBot(app.parts) as chatbot, background(_housekeeping(app)):
        yield chatbot


async def _housekeeping(app: App) -> None:
    """Maintain and tidy what all workers share, while that is this worker's duty."""
    while True:
        async with app.worker.hold("housekeeping") as duty:
            others = () if app.worker.is_alone else (app.parts.memories.purge_for_others(),)
            await first_of(
                purge_answered(app.parts.inbox, app.clock),
                upkeep(app.database, app.features.alerts, app.clock),
                *others,
                duty.lost.wait(),
            )


def say(line: str) -> None:
    """Tell the owner something, in the terminal that the bot was started from."""
    try:
        sys.stderr.write(f"elefante: {line}\n")
        sys.stderr.flush()
    except OSError:  # the terminal was closed; what is left in the buffer would fail again at the end
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 (until the process ends)


async def warm_embedder(app: App) -> None:
    """Load the embedded embedder's model, which takes a second, and embed what every search needs.

    Tell the owner if it does not run.

    An embedder elsewhere is not asked: it may be down now and up later, and each question costs.
    """
    if app.settings.embedding()[0].provider != USEM3:
        return
    try:
        await app.parts.memories.prepare()
    except ProviderError as error:
        say(f"{error}. Until then memories are found by their words alone.")


async def warm_up(app: App) -> None:
    """Load and compile what the first message would wait for: the words of times and replies, schemas, the embedder.

    Then ask providers' lists for what is not known of the models.

    Run it in the background: a message that comes meanwhile is answered, and waits for what it needs alone.
    """
    await asyncio.to_thread(_compile, app)
    await warm_embedder(app)
    await _rehearse(app)
    await app.models.read_lists()


_REHEARSED: Final = ("what is it?", "it is so", "remember that it is so", "forget it")
"""What people ask for, and a statement in which no frame is found, so that all are tried."""


async def _rehearse(app: App) -> None:
    """Let limited mode, if it answers, decide on messages: the first ones compile the words by which it reads."""
    models = app.parts.services.models
    if not models.is_limited:
        return
    from core.limited import LimitedMind  # a bot with a language model has no use for it

    mind, actions = LimitedMind(models.embedder), app.parts.registry.infos()
    choices = tuple(each.name for each in actions)
    for message in _REHEARSED:
        context = PromptContext(Task.DECIDE, Locale.EN, message, app.clock.now(), choices=choices, actions=actions)
        with suppress(ProviderError):  # the person is told by the first message
            await complete(mind, Prompt("", (), context))


def _compile(app: App) -> None:
    sentences(app.settings.locale or Locale.EN)
    means_undo("")
    find_time("", app.clock.now(), Locale.EN)  # in all languages
    guess("", app.settings.locale or Locale.EN)  # reads the cities of all zones
    tools_of(app.parts.registry)
    for action in app.parts.registry.enabled:
        if action.reads is not None:
            action.reads("", app.clock.now(), Locale.EN)  # in all languages, too
    if not app.database.searches_vectors:
        new_index(1)  # loads FAISS


def prepare_folder(folder: Path, setting: str = "DATA_DIR") -> None:
    """Make the folder that a setting names, readable by its owner only. That of the data is made so if it was not.

    Raises:
        ConfigError: it cannot be made or written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if setting == "DATA_DIR" and folder.stat().st_uid == os.getuid():
            folder.chmod(0o700)
    except OSError as error:
        advice = f"cannot use {folder} ({error.strerror}); name a folder you may write to"
        raise ConfigError(setting, advice) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(setting, f"cannot write to {folder}; name a folder you may write to")
