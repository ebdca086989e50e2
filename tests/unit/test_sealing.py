"""Sealing of cells, and the key file: what opens, what does not, and what is gone once a key is destroyed."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import StorageError, Unreadable, WrongKey
from core.sealing.port import BLANKS, PLAIN, SEALED_EXTRA_BYTES
from core.sealing.sealed import KeyFile, Sealed
from core.types import UserKey

MASTER = bytes(range(32))
ANA, BIA = UserKey("telegram", "1"), UserKey("discord", "1")
PLACES = st.tuples(st.sampled_from([ANA, BIA]), st.sampled_from(["memories.content", "phrases.text"]), st.text())


@pytest.fixture
def sealing(tmp_path: Path) -> Iterator[Sealed]:
    file = KeyFile(tmp_path / "keys" / "keys.db", MASTER)
    yield Sealed(file)
    file.close()


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sealed]:
    file = KeyFile(tmp_path_factory.mktemp("keys") / "keys.db", MASTER)
    yield Sealed(file)
    file.close()


@given(text=st.text(st.characters(codec=None)), place=PLACES)
def test_what_is_sealed_opens_in_its_place(one: Sealed, text: str, place: tuple[UserKey, str, str]) -> None:
    owner, column, row = place
    sealed = one.seal(owner, column, row, text)
    assert one.open(column, row, sealed) == text
    assert sealed.isascii() or text in BLANKS
    assert (sealed == text) == (text in BLANKS)


@given(content=st.binary(), place=PLACES, other=PLACES)
def test_it_opens_in_no_other_place(
    one: Sealed, content: bytes, place: tuple[UserKey, str, str], other: tuple[UserKey, str, str]
) -> None:
    owner, column, row = place
    sealed = one.seal_bytes(owner, column, row, content)
    assert len(sealed) == len(content) + SEALED_EXTRA_BYTES
    if other[1:] == place[1:]:
        assert one.open_bytes(*other[1:], sealed) == content
    else:
        with pytest.raises(Unreadable):
            one.open_bytes(*other[1:], sealed)


def test_a_changed_byte_anywhere_does_not_open(sealing: Sealed) -> None:
    sealed = sealing.seal_bytes(ANA, "memories.content", 1, b"the wifi password is banana")
    for at in range(len(sealed)):
        broken = bytes((*sealed[:at], sealed[at] ^ 1, *sealed[at + 1 :]))
        with pytest.raises(Unreadable):
            sealing.open_bytes("memories.content", 1, broken)
    for no_token in ("the wifi password is banana", "AQ", "ç"):
        with pytest.raises(Unreadable):
            sealing.open("memories.content", 1, no_token)


def test_words_and_digests_are_equal_for_one_person_only(sealing: Sealed) -> None:
    [mine] = sealing.hashed(ANA, ["wifi"])
    assert sealing.hashed(ANA, ["wifi", "banana"])[0] == mine
    assert sealing.hashed(BIA, ["wifi"]) != [mine]
    assert "wifi" not in mine
    assert set(sealing.hashed_of([ANA, BIA], ["wifi"])) == {mine, *sealing.hashed(BIA, ["wifi"])}
    digest = bytes(16)
    assert sealing.digest(ANA, digest) == sealing.digest(ANA, digest)
    assert len({digest, sealing.digest(ANA, digest), sealing.digest(BIA, digest)}) == 3
    assert len(sealing.digest(ANA, digest)) == len(digest)


def test_looking_words_up_makes_no_key(sealing: Sealed) -> None:
    assert sealing.hashed_of([ANA], ["wifi"]) == ()
    assert sealing.file.owners() == []


def test_a_destroyed_key_opens_nothing_and_leaves_no_byte(sealing: Sealed) -> None:
    sealed = {owner: sealing.seal(owner, "memories.content", 1, "banana") for owner in (ANA, BIA)}
    connection = sqlite3.connect(sealing.file.path)
    [(wrapped,)] = connection.execute("SELECT wrapped FROM keys WHERE platform = 'telegram'").fetchall()
    connection.close()
    assert wrapped in on_disk(sealing)

    key_id = sealing.key_id(ANA)
    assert key_id is not None
    sealing.destroy(key_id)
    sealing.destroy(key_id)
    assert sealing.key_id(ANA) is None
    assert sealing.destroyed() == {key_id}
    with pytest.raises(Unreadable):
        sealing.open("memories.content", 1, sealed[ANA])
    assert sealing.open("memories.content", 1, sealed[BIA]) == "banana"
    assert wrapped not in on_disk(sealing)

    again = sealing.seal(ANA, "memories.content", 1, "banana")  # who comes back has another key
    assert sealing.open("memories.content", 1, again) == "banana"
    with pytest.raises(Unreadable):
        sealing.open("memories.content", 1, sealed[ANA])


def test_another_process_that_destroys_a_key_is_heard_of(sealing: Sealed) -> None:
    sealed = sealing.seal(ANA, "memories.content", 1, "banana")
    other = KeyFile(sealing.file.path, MASTER)
    Sealed(other).destroy(sealing.key_id(ANA) or b"")
    other.close()
    sealing.refresh()
    with pytest.raises(Unreadable):
        sealing.open("memories.content", 1, sealed)
    assert sealing.seal(ANA, "memories.content", 1, "banana")[:14] != sealed[:14]  # sealed with another key


def test_two_that_make_a_key_at_once_have_the_same(sealing: Sealed) -> None:
    other = KeyFile(sealing.file.path, MASTER)
    ready = threading.Barrier(2)
    made: list[bytes] = []

    def make(file: KeyFile, owner: UserKey) -> None:
        ready.wait()
        made.append(file.made(owner).id)

    for number in range(20):
        threads = [threading.Thread(target=make, args=(f, UserKey("t", str(number)))) for f in (sealing.file, other)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert len(set(made[-2:])) == 1
    other.close()


def test_another_master_key_is_refused_before_anything_is_written(sealing: Sealed) -> None:
    sealing.seal(ANA, "memories.content", 1, "banana")
    before = on_disk(sealing)
    with pytest.raises(WrongKey):
        KeyFile(sealing.file.path, bytes(32))
    assert on_disk(sealing) == before


def test_keys_are_wrapped_anew_by_another_master_key(sealing: Sealed) -> None:
    sealed, name = sealing.seal(ANA, "memories.content", 1, "banana"), sealing.file.id
    connection = sqlite3.connect(sealing.file.path)
    [(wrapped,)] = connection.execute("SELECT wrapped FROM keys").fetchall()
    connection.close()
    sealing.file.rewrap(bytes(32))
    assert sealing.open("memories.content", 1, sealed) == "banana"
    assert wrapped not in on_disk(sealing)
    with pytest.raises(WrongKey):
        KeyFile(sealing.file.path, MASTER)
    again = KeyFile(sealing.file.path, bytes(32))
    assert Sealed(again).open("memories.content", 1, sealed) == "banana"
    assert again.id == name
    again.close()


def test_another_file_is_not_taken_for_a_key_file(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE keys (x)")
    connection.close()
    for content in (path, tmp_path):
        with pytest.raises(StorageError):
            KeyFile(content, MASTER)


def test_a_copy_of_the_key_file_opens_what_the_file_opens(sealing: Sealed, tmp_path: Path) -> None:
    sealed = sealing.seal(ANA, "memories.content", 1, "banana")
    copy = tmp_path / "copy.db"
    sealing.file.copy(copy)
    assert copy.stat().st_mode & 0o777 == 0o600
    with pytest.raises(StorageError):
        sealing.file.copy(copy)
    again = KeyFile(copy, MASTER, make=False)
    assert Sealed(again).open("memories.content", 1, sealed) == "banana"
    again.close()


def test_no_key_file_is_made_where_one_has_to_be(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "keys.db"
    for _ in range(2):
        with pytest.raises(StorageError, match="no key file"):
            KeyFile(path, MASTER, make=False)
        assert not path.exists() or not path.stat().st_size
        path.parent.mkdir(exist_ok=True)
        path.touch()


def test_the_key_file_is_its_owners_alone(sealing: Sealed) -> None:
    sealing.seal(ANA, "memories.content", 1, "banana")
    folder = sealing.file.path.parent
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_without_a_key_everything_is_as_it_is() -> None:
    assert PLAIN.open("c", 1, PLAIN.seal(ANA, "c", 1, "banana")) == "banana"
    assert PLAIN.open_bytes("c", 1, PLAIN.seal_bytes(ANA, "c", 1, b"banana")) == b"banana"
    assert (PLAIN.hashed(ANA, ["a"]), PLAIN.hashed_of([ANA, BIA], ["a"])) == (["a"], ("a",))
    assert PLAIN.digest(ANA, b"d") == b"d"
    assert not PLAIN.is_on


def on_disk(sealing: Sealed) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(sealing.file.path.parent.iterdir()))
