"""`elefante key`: the master key, the people's keys, and the sealing of what is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from bot.cli.shell import Document, JsonOption, YesOption, confirm, load_settings, show
from bot.cli.storage import progress
from bot.data_folder import DataFolder
from bot.sealing import (
    KEY,
    KEYS,
    PROTECTS,
    Rows,
    convert,
    key_path,
    make_key,
    mark_of,
    reading,
    refuse_copied,
    required_keys,
)
from bot.settings.env_file import env_path, write_settings
from bot.settings.settings import Settings
from core.clock import SystemClock
from core.errors import BotError, ConfigError, StorageError
from core.features.privacy.forget import keys_of
from core.sealing.port import BOT
from core.sealing.sealed import Sealed
from core.storage.convert import opened
from core.storage.files import file_content
from core.storage.forgotten import gone_of, lost_keys
from core.storage.move import in_folder
from core.storage.move_sqlite import sqlite_source
from core.storage.sqlite_backup import is_lost

_LOST: Final = (
    "      -> the key file is older than what they said: put back the newest copy of it; where there is none, "
    "`elefante key drop` gives up what nobody can read"
)
_NEW: Final = "A file that is not there yet, outside of DATA_DIR and BACKUP_DIR."

app = typer.Typer(
    name="key",
    help="""Seal all that people say on the disk, with a key: docs/encryption.md.

    Example: elefante key make ~/.config/elefante/memory-key
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("make")
def make_(path: Annotated[Path, typer.Argument(help=_NEW)], as_json: JsonOption = False) -> None:
    """Make a master key, in a new file that only you can read. It seals nothing yet.

    Example: elefante key make ~/.config/elefante/memory-key
    """
    settings, file = load_settings(stored=False, writes=False), path.expanduser().absolute()
    refuse_copied(settings, KEY, file)
    make_key(file)
    show({"file": str(file), "setting": f"{KEY}={file}"}, as_json=as_json, plain=_made)


@app.command("check")
def check_(
    forgotten: Annotated[
        str, typer.Option("--forgotten", metavar="RECEIPT", help="Show that nobody can open what a receipt names.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Open every sealed value, and say what does not open, and which copies are not sealed; exit 1 if any fails.

    Example: elefante key check --forgotten 6f0c2d1e9a7b4835
    """
    settings = load_settings()
    document = check_forgotten(settings, forgotten) if forgotten else check(settings)
    show(document, as_json=as_json, plain=_forgotten if forgotten else _checked)
    if not document["ok"]:
        raise typer.Exit(1)


@app.command("rotate")
def rotate_(path: Annotated[Path, typer.Argument(help=_NEW)], as_json: JsonOption = False) -> None:
    """Make a new master key and wrap the people's keys with it; the old one opens nothing then. Stop the bot first.

    Example: elefante key rotate ~/.config/elefante/memory-key-2027
    """
    show(rotate(load_settings(), path.expanduser().absolute()), as_json=as_json, plain=_rotated)


@app.command("backup")
def backup_(
    path: Annotated[Path, typer.Argument(help=f"{_NEW} Best on another machine.")], as_json: JsonOption = False
) -> None:
    """Copy the file of the people's keys, which no backup holds. Without the master key the copy opens nothing.

    Example: elefante key backup /media/usb/keys.db
    """
    settings, file = load_settings(), path.expanduser().absolute()
    refuse_copied(settings, KEYS, file)
    with required_keys(settings) as sealed:
        sealed.file.copy(file)
        people = _people(sealed)
    show({"file": str(file), "people": people}, as_json=as_json, plain=_backed_up)


@app.command("seal")
def seal_(yes: YesOption = False, as_json: JsonOption = False) -> None:
    """Seal all that was stored before there was a key. Stop the bot first; broken off, the same command goes on.

    Example: elefante key seal
    """
    settings = load_settings()
    confirm(f"{PROTECTS} Seal {_place(settings)}?", yes=yes)
    show(seal(settings), as_json=as_json, plain=_sealed)


@app.command("unseal")
def unseal_(yes: YesOption = False, as_json: JsonOption = False) -> None:
    """Open all that is sealed, to go on without a key. Stop the bot first; broken off, the same command goes on.

    Example: elefante key unseal
    """
    settings = load_settings()
    confirm(f"Whoever copies {_place(settings)} can read it then. Open it?", yes=yes)
    show(seal(settings, opens=True), as_json=as_json, plain=_sealed)


@app.command("drop")
def drop_(yes: YesOption = False, as_json: JsonOption = False) -> None:
    """Give up the values whose keys are lost, so that the bot starts again; the next start removes them.

    First look for a newer copy of the file of the people's keys: it may open them.

    Example: elefante key drop
    """
    settings = load_settings()
    lost = check(settings)["unreadable"]
    if lost:
        confirm(f"Give up for good what no key opens, of {', '.join(lost)}?", yes=yes)
    show(drop(settings), as_json=as_json, plain=_dropped)


def drop(settings: Settings) -> Document:
    """Count keys that are lost as destroyed, and return how many; what they sealed the next start removes.

    Raises:
        ConfigError, StorageError: there is no key, or a bot runs.
    """
    with _stopped(settings):
        pass  # a bot that runs has keys in RAM, and would go on with them
    with required_keys(settings) as sealed, reading(settings) as stream:
        lost = lost_keys(stream, sealed)
        for key_id in lost:
            sealed.destroy(key_id)
    return {"keys": len(lost)}


def check(settings: Settings) -> Document:
    """Return whether every sealed value opens, whose do not, and which copies are in the clear.

    Raises:
        ConfigError, StorageError: there is no key, or it is the wrong one.
    """
    mark = mark_of(settings)
    with required_keys(settings, make=mark is None) as sealed:
        if mark is not None and mark.file != sealed.id:
            raise StorageError(f"the database is sealed with the keys of another key file: {mark.file}")
        state = mark.state if mark else "open"
        with reading(settings) as stream:
            found = opened(stream, sealed) if state == "sealed" else None
            files, broken = _files(settings, sealed, stream) if state == "sealed" else (0, 0)
        return {
            "ok": state == "sealed" and not broken and not (found and found.unreadable),
            "key": str(key_path(settings)),
            "keys": str(settings.people_keys),
            "people": _people(sealed),
            "database": _place(settings),
            "state": state,
            "values": found.values if found else 0,
            "files": files,
            "broken_files": broken,
            "unreadable": {str(owner): count for owner, count in found.unreadable.items()} if found else {},
            "plain": _plain_copies(settings),
        }


def check_forgotten(settings: Settings, receipt: str) -> Document:
    """Return what is left of the keys that a receipt names.

    Raises:
        ConfigError: it is no receipt's number.
        StorageError: the key file or the database cannot be read.
    """
    try:
        keys = keys_of(receipt)
    except ValueError:
        raise ConfigError("--forgotten", f"{receipt!r} is no receipt; write what stands after “Receipt”") from None
    with required_keys(settings) as sealed, reading(settings) as stream:
        left = [gone_of(stream, sealed, key) for key in keys]
    return {
        "ok": not any(each.is_there or each.values for each in left),
        "receipt": receipt,
        "keys": len(left),
        "keys_left": sum(each.is_there for each in left),
        "keys_noted": sum(each.is_noted for each in left),
        "values_left": sum(each.values for each in left),
    }


def rotate(settings: Settings, path: Path) -> Document:
    """Make a new master key in `path`, wrap all keys with it, and let the settings name it.

    Raises:
        ConfigError, StorageError: there is no key, or a bot runs; nothing was changed but that the file may be there.
    """
    refuse_copied(settings, KEY, path)
    old = key_path(settings)
    with _stopped(settings), required_keys(settings) as sealed:
        sealed.file.rewrap(make_key(path))
        people = _people(sealed)
    written, why = None, ""
    if settings.memory_key_file is None:
        why = "the key came from systemd: give it the new one as the credential memory-key"
    else:
        try:
            write_settings(env_path(), {KEY: str(path)})
            written = str(env_path())
        except BotError as error:
            why = str(error)
    return {"file": str(path), "old": str(old), "people": people, "settings": written, "why": why}


def seal(settings: Settings, *, opens: bool = False) -> Document:
    """Seal all that is stored, or open it, and return what was done.

    Raises:
        ConfigError, StorageError: there is no key, a bot runs, or something failed; what is there can be used.
    """
    if not opens and settings.engine == "sqlite" and is_lost(settings.database_path):
        raise StorageError("nothing is stored yet: with a key set, the first start seals from the beginning")
    makes = not opens and mark_of(settings) is None
    with required_keys(settings, make=makes) as sealed, progress() as told:
        done = convert(settings, sealed, told, opens=opens)
    return {
        "database": _place(settings),
        "state": "open" if opens else "sealed",
        "rows": done.rows,
        "files": done.files,
        "seconds": round(done.seconds, 1),
        "plain": [] if opens else _plain_copies(settings),
        "engine": settings.engine,
    }


@contextmanager
def _stopped(settings: Settings) -> Iterator[None]:
    """Keep a bot from starting while the block runs.

    Raises:
        StorageError: one runs.
    """
    if settings.engine == "postgres":
        from core.storage.move_postgres import postgres_source  # this loads psycopg

        with postgres_source(settings.storage_url.get_secret_value(), settings.storage_place):
            yield
    elif is_lost(settings.database_path):
        yield
    else:
        with sqlite_source(settings.database_path):
            yield


def _plain_copies(settings: Settings) -> list[str]:
    """Return the backups and exports here that are not sealed."""
    return [str(path) for path in DataFolder(settings, SystemClock()).in_the_clear()]


def _people(sealed: Sealed) -> int:
    return sum(owner != BOT for owner in sealed.file.owners())


def _files(settings: Settings, sealed: Sealed, stream: Rows) -> tuple[int, int]:
    """Return how many files that people have kept open, and how many do not."""
    if settings.engine == "postgres":
        stored = ((name, bytes(content)) for name, content in stream("SELECT sha256, content FROM files"))
    else:
        folder = settings.files_folder
        stored = ((name, (folder / owner / name).read_bytes()) for owner, name in in_folder(folder))
    opens = Counter(file_content(sealed, name, content) is not None for name, content in stored)
    return opens[True], opens[False]


def _place(settings: Settings) -> str:
    return settings.storage_place if settings.engine == "postgres" else str(settings.database_path)


def _made(document: Document) -> str:
    return "\n".join(
        [
            f"{document['file']} holds a new key. {PROTECTS}",
            f"Write {document['setting']} into {env_path()}; then `elefante key seal` seals what is there already.",
        ]
    )


def _checked(document: Document) -> str:
    lines = [f"ok    master key: {document['key']}", f"ok    people's keys: {document['people']} in {document['keys']}"]
    where = document["database"]
    if document["state"] == "sealed":
        files = f" and {document['files']:,} files" if document["files"] else ""
        opens = f"{where} is sealed; {document['values']:,} values{files}, and each opens"
        lost = [f"{owner}: {count:,}" for owner, count in document["unreadable"].items()]
        lines += [f"FAIL  {where}: values that do not open: {', '.join(lost)}", _LOST] if lost else [f"ok    {opens}"]
        if document["broken_files"]:
            lines.append(f"FAIL  files that do not open: {document['broken_files']} of {document['files']}")
    elif document["state"] == "open":
        lines.append(f"FAIL  {where} is not sealed: stop the bot, then `elefante key seal`")
    else:
        verb = document["state"].removesuffix("ing")
        lines.append(f"FAIL  the conversion of {where} was broken off: `elefante key {verb}` goes on with it")
    return "\n".join([*lines, *_advice(document["plain"], "note  ")])


def _advice(plain: Sequence[str], head: str = "") -> list[str]:
    if not plain:
        return []
    return [
        f"{head}Copies that are not sealed, and that anybody who has them can read:",
        *(f"  {path}" for path in plain),
        "`elefante backup` makes a sealed one; then delete these, here and wherever else you keep backups.",
    ]


def _forgotten(document: Document) -> str:
    if document["ok"]:
        noted = document["keys_noted"] == document["keys"]
        how = "was destroyed" if noted else "is not there"
        return (
            f"ok    receipt {document['receipt']}: the key {how}, no value in the database is sealed with it, and what "
            "backups hold of it nobody can open"
        )
    return (
        f"FAIL  receipt {document['receipt']}: keys that are there: {document['keys_left']}, values of them in the "
        f"database: {document['values_left']}. The next start of the bot removes both if they were destroyed once"
    )


def _rotated(document: Document) -> str:
    lines = [f"The people's keys ({document['people']}) are wrapped with {document['file']} now."]
    lines.append(f"{document['old']} opens nothing any more, but a copy of the key file made before: delete both.")
    if document["settings"]:
        return "\n".join([*lines, f"{document['settings']} names the new one: start the bot as ever."])
    return "\n".join([*lines, f"Now let {KEY} name it yourself: {document['why']}."])


def _dropped(document: Document) -> str:
    if not document["keys"]:
        return "No key is lost."
    return f"Keys that are given up: {document['keys']}. The next start removes what nobody can read."


def _backed_up(document: Document) -> str:
    return (
        f"{document['file']} holds the people's keys ({document['people']}). Keep it away from backups of the data.\n"
        "Make another when new people have come: what they say opens with no older copy.\n"
        "Whoever is forgotten from now on is in it yet: delete it when you have made another. Where the database knows "
        "of a forgetting, the key is destroyed again as soon as the copy is used."
    )


def _sealed(document: Document) -> str:
    done, is_open = document["rows"], document["state"] == "open"
    advice = _advice(document["plain"])
    if not done:
        return "\n".join([f"{document['database']} is {'not sealed' if is_open else 'sealed already'}.", *advice])
    files = f", files: {document['files']:,}" if document["files"] else ""
    lines = [f"{document['database']} is {document['state']}: {done:,} rows{files}, {document['seconds']:g} s."]
    if is_open:
        return f"{lines[0]} Take {KEY} out of {env_path()}; backups of before still need the key."
    lines.append("Each value was opened again before the old file was overwritten. Start the bot as ever.")
    if document["engine"] == "postgres":
        lines.append(
            "PostgreSQL keeps old rows until it rewrites its tables, and its log and replicas longer: say VACUUM FULL "
            "there now; dumps, archived logs and snapshots of before can be read."
        )
    return "\n".join([*lines, *advice])
