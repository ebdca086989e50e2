"""Where the master key may come from, and what is refused before anything is written."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot import doctor
from bot.cli.update import _environment
from bot.sealing import key_path, make_key, mark_of, read_key, sealing_of
from bot.settings.settings import Settings, load
from bot.wiring import build, storage
from core.errors import BotError, ConfigError, StorageError, WrongKey
from core.types import UserKey

ANA = UserKey("telegram", "1")
TEXT = base64.b64encode(bytes(range(32))).decode()


def settings(folder: Path, **more: object) -> Settings:
    return load(None, data_dir=folder / "data", **more)


def with_key(folder: Path, **more: object) -> Settings:
    path = folder / "etc" / "memory-key"
    if not path.exists():
        make_key(path)
    return settings(folder, memory_key_file=path, **more)


def files(folder: Path) -> Mapping[str, bytes]:
    """Map what lies in the folder to its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


async def say(given: Settings, text: str) -> None:
    async with storage(given) as database:
        await database.change(
            'INSERT INTO threads (id, platform, chat, topic, "user", created_at, updated_at, status) '
            "VALUES ('t', 'telegram', '1', '', '1', 1, 1, 'active')"
        )
        await database.change(
            "INSERT INTO summaries (thread, through, after, text, tokens, model) VALUES ('t', 1, 0, ?, 1, 'm')",
            (text,),
        )


def test_a_made_key_is_read_by_its_owner_only_and_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "memory-key"
    key = make_key(path)
    assert read_key(path) == key
    assert len(key) == 32
    assert path.stat().st_mode & 0o777 == 0o400
    assert path.read_text().count("\n") == 1
    with pytest.raises(StorageError, match="never written over"):
        make_key(path)
    assert read_key(path) == key


@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        (TEXT, 0o440, "chmod 400"),
        (TEXT, 0o404, "chmod 400"),
        (base64.b64encode(bytes(31)).decode(), 0o400, "holds no key"),
        (bytes(32).hex(), 0o400, "holds no key"),
        ("correct horse battery staple", 0o400, "holds no key"),
        ("", 0o400, "holds no key"),
    ],
)
def test_what_is_no_key_of_its_owners_alone_is_refused(tmp_path: Path, content: str, mode: int, said: str) -> None:
    path = tmp_path / "key"
    path.write_text(content)
    path.chmod(mode)
    with pytest.raises(ConfigError, match=said):
        read_key(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        tmp_path.chmod(0o700)
        with pytest.raises(ConfigError, match="cannot be read"):
            read_key(path)


@pytest.mark.parametrize("where", ["data/key", "data/backups/key", "elsewhere/key", "link/key"])
def test_a_key_where_copies_are_made_is_refused(tmp_path: Path, where: str) -> None:
    (tmp_path / "data" / "backups").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "data")
    given = settings(tmp_path, memory_key_file=tmp_path / where, backup_dir=tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match=r"MEMORY_KEY_FILE: .* whoever copies"):
        key_path(given)
    keys = with_key(tmp_path, people_keys_file=tmp_path / where, backup_dir=tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match=r"PEOPLE_KEYS_FILE: .* whoever copies"), sealing_of(keys):
        pass


def test_a_key_in_the_environment_or_as_the_setting_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (TEXT.replace("/", "_"), bytes(32).hex()):
        with pytest.raises(ConfigError, match="this is a key"):
            key_path(settings(tmp_path, memory_key_file=tmp_path / value))
    monkeypatch.setenv("MEMORY_KEY", TEXT)
    with pytest.raises(ConfigError, match="remove this line"):
        key_path(settings(tmp_path))
    monkeypatch.delenv("MEMORY_KEY")
    (tmp_path / ".env").write_text(f"MEMORY_KEY={TEXT}\n")
    monkeypatch.setenv("ELEFANTE_ENV", str(tmp_path / ".env"))
    with pytest.raises(ConfigError, match="remove this line"):
        key_path(settings(tmp_path))


def test_a_credential_of_systemd_is_the_key_where_no_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "credentials"
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    assert key_path(settings(tmp_path)) is None
    key = make_key(folder / "memory-key")
    (folder / "memory-key").chmod(0o440)  # as an access list for the service's user shows
    assert read_key(key_path(settings(tmp_path)) or tmp_path) == key
    (folder / "memory-key").chmod(0o444)
    with pytest.raises(ConfigError, match="chmod"):
        read_key(folder / "memory-key")
    assert key_path(with_key(tmp_path)) == tmp_path / "etc" / "memory-key"


async def test_without_a_key_nothing_is_sealed_and_no_key_file_made(tmp_path: Path) -> None:
    given = settings(tmp_path)
    async with storage(given) as database:
        assert not database.sealing.is_on
    assert mark_of(given) is None
    assert not given.people_keys.exists()


async def test_a_new_database_is_sealed_from_the_start_with_keys_beside_the_data(tmp_path: Path) -> None:
    given = with_key(tmp_path)
    async with storage(given) as database:
        assert database.sealing.is_on
    assert given.people_keys == tmp_path / "data.keys" / "keys.db"
    mark = mark_of(given)
    assert mark is not None
    assert mark.state == "sealed"
    async with storage(given) as database:  # and again
        assert database.sealing.id == mark.file


async def test_a_sealed_database_is_refused_without_its_key_before_anything_is_written(tmp_path: Path) -> None:
    given = with_key(tmp_path)
    await say(given, "hello")
    before = files(tmp_path)
    make_key(tmp_path / "etc" / "other-key")
    other = {"memory_key_file": tmp_path / "etc" / "other-key"}
    moved = settings(
        tmp_path, memory_key_file=tmp_path / "etc" / "memory-key", people_keys_file=tmp_path / "k" / "k.db"
    )
    cases: list[tuple[Settings, type[BotError], str]] = [
        (settings(tmp_path), WrongKey, "MEMORY_KEY_FILE"),
        (settings(tmp_path, **other), WrongKey, "not the one"),
        (moved, StorageError, "elefante key backup"),
    ]
    before = files(tmp_path)
    for wrong, kind, said in cases:
        with pytest.raises(kind, match=said):
            async with storage(wrong):
                pass
        with pytest.raises(kind, match=said):
            async with build(wrong, dry=ANA):
                pass
        assert files(tmp_path) == before
    apart = Path(f"{tmp_path}-apart")
    async with storage(with_key(apart)):
        pass
    shutil.copytree(apart / "data.keys", tmp_path / "k")
    (tmp_path / "k" / "keys.db").rename(tmp_path / "k" / "k.db")
    key = apart / "etc" / "memory-key"
    with pytest.raises(WrongKey, match="another key file"):
        async with storage(moved.model_copy(update={"memory_key_file": key})):
            pass
    async with storage(given):
        pass


async def test_a_key_over_what_is_not_sealed_yet_is_refused_with_the_command(tmp_path: Path) -> None:
    await say(settings(tmp_path), "hello")
    given = with_key(tmp_path)
    before = files(tmp_path / "data")
    with pytest.raises(StorageError, match="elefante key seal"):
        async with storage(given):
            pass
    assert files(tmp_path / "data") == before


async def test_a_library_that_knows_no_key_is_refused(tmp_path: Path) -> None:
    from core.library import open_memory

    given = with_key(tmp_path)
    await say(given, "hello")
    with pytest.raises(WrongKey):
        async with open_memory(given.database_path):
            pass


async def test_check_says_what_is_sealed_and_writes_nothing(tmp_path: Path) -> None:
    async def said(given: Settings) -> str:
        report = await doctor.check(given)
        [found] = [each for each in report["findings"] if each["name"] == "sealing"]
        return f"{found['ok']} {found['detail']}"

    plain = settings(tmp_path)
    assert "True nothing is sealed" in await said(plain)
    given = with_key(tmp_path)
    before = files(tmp_path)
    assert "the first start seals" in await said(given)
    assert files(tmp_path) == before
    async with storage(given):
        pass
    assert "True all that people say is sealed" in await said(given)
    assert "False MEMORY_KEY_FILE" in await said(settings(tmp_path, memory_key_file=tmp_path / "nowhere"))
    assert "False the database is sealed, and no key is given" in await said(plain)


async def test_check_says_that_what_is_stored_is_not_sealed_yet(tmp_path: Path) -> None:
    await say(settings(tmp_path), "hello")
    given = with_key(tmp_path)
    with pytest.raises(StorageError, match="elefante key seal"):
        doctor._sealing(given)


def test_an_update_is_rehearsed_with_the_keys_of_the_data(tmp_path: Path) -> None:
    given = with_key(tmp_path)
    environment = _environment(tmp_path / "program", tmp_path / "data" / "try" / "data", given.people_keys)
    assert environment["PEOPLE_KEYS_FILE"] == str(tmp_path / "data.keys" / "keys.db")
