"""What sealing costs, what it leaves to be read on a disk, and what becomes of a conversion that is killed."""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench import memory
from bench.proof.result import Bars, Proven, Table
from bot.cli.key import check
from core.storage.sqlite import open_database
from tests.crash import test_seal_kill as conversion
from tests.fakes.canaries import PEOPLE, filled, with_files, words_in

_AIMS = {"search": 1.1, "durable save": 1.3, "cold open and first search": 1.5, "bytes of a memory": 1.3}
"""How many times the cost of an unsealed one the sealed one may be."""


async def cost(size: int) -> tuple[list[Table], Bars]:
    """Measure a memory of that size sealed and unsealed by turns; return tables, and the ratios as a plot."""
    with tempfile.TemporaryDirectory() as folder:
        rows, measured = await memory.compare(Path(folder), [size])
    ratios = {name: each for name, each in zip(memory.HEAD[1:], measured, strict=True) if name in _AIMS}
    tables = [
        Table(memory.HEAD, rows, "A memory sealed and unsealed: CPU ms without the embedding; bytes"),
        Table(("ratio", "seen", "aim"), [(name, f"{each:.2f}", f"{_AIMS[name]}") for name, each in ratios.items()]),
    ]
    return tables, Bars("Sealed, as a multiple of unsealed", "times", ratios)


async def sealed(size: int, rows: int, kills: int) -> Proven:
    """Measure the cost, and seal a database and files that hold a word in each column, killed so often on the way."""
    tables, bars = await cost(size)
    with tempfile.TemporaryDirectory() as folder:
        settings = conversion.settings_in(Path(folder))
        database = await open_database(settings.database_path)
        await database.write(lambda query: filled(query, rows))
        await database.close()
        with_files(settings.files_folder, conversion.FILES)
        in_the_clear = words_in([settings.data_dir])
        killed, ended = await conversion.killed(settings, "seal", kills)
        conversion.here(settings, opens=False)
        left, report = words_in([settings.data_dir, settings.people_keys.parent]), check(settings)
    unread = sum(report["unreadable"].values())
    seen = (
        str(len(PEOPLE)),
        f"{in_the_clear:,}",
        str(left),
        f"{killed}, and {ended} that ended",
        f"{report['values']:,}",
    )
    head = (
        "people",
        "words in the clear before",
        "words left, in any file",
        "kills of the conversion",
        "values that open",
    )
    says = f"Of {in_the_clear:,} words {left} are left to be read, after {killed} kills; {unread} values do not open."
    wrong = [says] if left or unread or not report["ok"] else []
    figures = {"sealed_words": f"{in_the_clear:,}", "sealed_left": str(left), "sealed_kills": str(killed)}
    return Proven(says, [*tables, Table(head, [seen])], [bars], wrong=wrong, figures=figures)
