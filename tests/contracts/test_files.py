"""Every store of files keeps bytes under their owner, and nothing else of them anywhere."""

from __future__ import annotations

import asyncio
import hashlib
import stat
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from core.errors import FileQuotaExceeded
from core.files.port import FileStore
from core.sealing.port import PLAIN
from core.storage.files import FolderFiles, SqlFiles, owner_name
from core.types import UserKey
from tests.contracts.engines import ENGINES, sealing_beside
from tests.fakes.clock import START, FakeClock

ANA, BIA = UserKey("telegram", "ana"), UserKey("discord", "../../ana\0")
QUOTA = 1_000
PHOTO, LETTER = bytes(range(256)) * 2, b"Dear Ana,\n"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["folder", "sealed folder", *ENGINES])
async def files(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[FileStore]:
    """Give every implementation."""
    if "folder" in request.param:
        sealing = sealing_beside(tmp_path / "elefante.db") if "sealed" in request.param else PLAIN
        yield FolderFiles(tmp_path / "data" / "files", clock, QUOTA, sealing)
        return
    database = await ENGINES[request.param](tmp_path / "elefante.db")
    yield SqlFiles(database, clock, QUOTA)
    await database.close()


async def test_bytes_come_back_to_their_owner_alone(files: FileStore) -> None:
    photo = await files.put(ANA, PHOTO)
    assert photo == hashlib.sha256(PHOTO).hexdigest()
    assert await files.get(ANA, photo) == PHOTO
    assert await files.get(BIA, photo) is None
    assert await files.get(ANA, "0" * 64) is None
    assert await files.get(ANA, f"../{photo}") is None
    assert await files.digests(BIA) == frozenset()
    assert await files.put(BIA, PHOTO) == photo
    await files.remove(ANA, [photo])
    assert await files.get(ANA, photo) is None
    assert await files.get(BIA, photo) == PHOTO


async def test_the_same_bytes_of_one_owner_are_kept_once(files: FileStore) -> None:
    for _ in range(3):
        await files.put(ANA, PHOTO)
    await files.put(ANA, LETTER)
    assert await files.used(ANA) == len(PHOTO) + len(LETTER)
    assert len(await files.digests(ANA)) == 2
    assert await files.used(BIA) == 0


async def test_nobody_keeps_more_than_they_may_and_what_is_there_costs_nothing(files: FileStore) -> None:
    await files.put(ANA, PHOTO)
    with pytest.raises(FileQuotaExceeded) as refused:
        await files.put(ANA, PHOTO[1:])
    assert (refused.value.used, refused.value.quota) == (len(PHOTO), QUOTA)
    assert await files.put(ANA, PHOTO)
    assert await files.put(BIA, PHOTO[1:])
    assert await files.put(ANA, b"x" * (QUOTA - len(PHOTO)))
    assert await files.used(ANA) == QUOTA


async def test_people_who_put_at_once_do_not_pass_the_quota_together(files: FileStore) -> None:
    found = await asyncio.gather(*(files.put(ANA, bytes([n]) * 300) for n in range(9)), return_exceptions=True)
    assert sum(isinstance(each, str) for each in found) == 3
    assert sum(isinstance(each, FileQuotaExceeded) for each in found) == 6
    assert await files.used(ANA) == 900


async def test_what_is_copied_is_of_both_whatever_the_other_may_keep(files: FileStore) -> None:
    photo, letter = await files.put(ANA, PHOTO), await files.put(ANA, LETTER)
    full = await files.put(BIA, b"y" * QUOTA)
    await files.copy(ANA, BIA, [photo, "0" * 64])
    await files.copy(ANA, BIA, [photo])
    assert await files.digests(BIA) == {photo, full}
    await files.remove(ANA, [photo, letter, "../../x"])
    assert await files.get(BIA, photo) == PHOTO
    assert await files.digests(ANA) == frozenset()


async def test_a_sweep_removes_what_is_old_and_not_named(files: FileStore, clock: FakeClock) -> None:
    photo, _ = await files.put(ANA, PHOTO), await files.put(ANA, LETTER)
    alone = await files.put(BIA, LETTER)
    await clock.advance(60)
    note = await files.put(ANA, b"new")
    before = clock.now() - timedelta(seconds=30)
    assert await files.sweep({ANA: [photo]}, before) == 2
    assert await files.digests(ANA) == {photo, note}
    assert await files.get(BIA, alone) is None


async def test_what_was_put_or_copied_again_is_as_new(files: FileStore, clock: FakeClock) -> None:
    photo, letter = await files.put(ANA, PHOTO), await files.put(ANA, LETTER)
    await files.copy(ANA, BIA, [letter])
    await clock.advance(60)
    await files.put(ANA, PHOTO)
    await files.copy(ANA, BIA, [letter])
    assert await files.sweep({}, START + timedelta(seconds=30)) == 1
    assert (await files.digests(ANA), await files.digests(BIA)) == (frozenset({photo}), frozenset({letter}))


async def test_nothing_is_kept_of_who_put_nothing(files: FileStore) -> None:
    await files.remove(ANA, ["0" * 64])
    await files.copy(ANA, BIA, ["0" * 64])
    assert await files.used(ANA) == await files.sweep({ANA: ["0" * 64]}, START + timedelta(days=1)) == 0


async def test_a_folder_holds_private_files_without_a_name_and_nothing_once_they_are_gone(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "files"
    files = FolderFiles(folder, FakeClock(), QUOTA)
    await files.put(ANA, PHOTO)
    found = list(folder.rglob("*"))
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, *found)] == [0o700, 0o700, 0o600]
    assert not any("ana" in str(path) for path in found)
    [*_, path] = found
    assert path.read_bytes() == PHOTO
    await files.remove(ANA, [path.name])
    assert list(folder.rglob("*")) == []


async def test_an_account_of_any_name_has_a_folder(tmp_path: Path) -> None:
    files, strange = FolderFiles(tmp_path, FakeClock(), QUOTA), UserKey("discord", "../ana\ud800")
    assert await files.get(strange, await files.put(strange, PHOTO)) == PHOTO
    assert (tmp_path / owner_name(strange) / hashlib.sha256(PHOTO).hexdigest()).read_bytes() == PHOTO


async def test_bytes_that_the_disk_changed_are_not_handed_out(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path, FakeClock(), QUOTA)
    photo = await files.put(ANA, PHOTO)
    (tmp_path / owner_name(ANA) / photo).write_bytes(PHOTO[:-1] + b"x")
    assert await files.get(ANA, photo) is None


async def test_a_sweep_removes_what_a_crash_left_half_written(tmp_path: Path) -> None:
    files = FolderFiles(tmp_path, FakeClock(), QUOTA)
    await files.put(ANA, PHOTO)
    (tmp_path / "part-left").write_bytes(PHOTO)
    await files.sweep({}, START)
    assert (tmp_path / "part-left").exists()
    await files.sweep({ANA: await files.digests(ANA)}, FakeClock().now() + timedelta(days=20_000))
    assert not (tmp_path / "part-left").exists()
    assert await files.used(ANA) == len(PHOTO)


async def test_files_are_read_and_written_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files, running, most = FolderFiles(tmp_path, FakeClock(), 10**9), 0, 0

    async def counted(work: object) -> object:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return work()  # type: ignore[operator]

    monkeypatch.setattr("asyncio.to_thread", counted)
    await asyncio.gather(*(files.put(ANA, bytes([n])) for n in range(50)))
    assert most == 4
