"""An answer with tables that grows word by word: nobody ever reads a bar, and no row is lost. Over real sockets."""

from __future__ import annotations

import re

from tests.e2e.wire import Wire
from tests.fakes.handler import slowly

NARROW_ROWS, WIDE_ROWS = 300, 30
NARROW = "\n".join(f"| n{n:03} | **{n}** | v{n:03} |" for n in range(NARROW_ROWS))
WIDE = "\n".join(f"| n{n:03} | {'palavra ' * 6}| v{n:03} |" for n in range(WIDE_ROWS))
ANSWER = (
    f"Veja:\n\n| Nome | Nota | Valor |\n|---|--:|---|\n{NARROW}\n\n"
    f"E:\n\n| Nome | Texto | Valor |\n|---|---|---|\n{WIDE}\nFim."
)


def check(written: list[str], screen: list[str]) -> None:
    assert not [text for text in written if "|" in text]
    seen = "\n".join(screen)
    assert re.findall(r"[nv]\d{3}", seen) == [
        f"{mark}{n:03}" for rows in (NARROW_ROWS, WIDE_ROWS) for n in range(rows) for mark in "nv"
    ]
    parts = [text for text in screen if re.search(r"n\d{3} +\d", text)]
    assert len(parts) > 1
    assert all("Nome  Nota  Valor" in text for text in parts)


async def test_tables_that_grow_over_several_messages_are_shown(wire: Wire) -> None:
    async with wire.running(slowly(wire.clock, ANSWER, 0.05)) as bot:
        await bot.answers(wire.says("tabelas?"))
        check([write.text for write in wire.written()], wire.screen())


async def test_the_first_line_of_a_table_is_not_shown_before_it_is_known_to_be_one(wire: Wire) -> None:
    async with wire.running(slowly(wire.clock, "Veja: \n| a | b |\n|---|---|\n| 1 | 2 |", 5.0)) as bot:
        await bot.answers(wire.says("tabelas?"))
        said = [write.text for write in wire.written()]
    assert "Veja:" in said
    assert not [text for text in said if "|" in text]
