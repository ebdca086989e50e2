"""The terminal's cursor, and the stream behind it, in the cases that a person rarely meets."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.console.channel import ConsoleChannel
from adapters.console.output import Output
from core.errors import ChannelGone
from core.outgoing import OutgoingMessage
from core.types import Modal


class Size(Output):
    """A terminal of any size, and what was written to it."""

    def __init__(self, columns: int, lines: int) -> None:
        self.stream = io.StringIO()
        Output.__init__(self, self.stream)
        self.columns, self.lines = columns, lines

    @property
    def size(self) -> os.terminal_size:
        return os.terminal_size((self.columns, self.lines))

    @property
    def written(self) -> str:
        """What was written since the last look."""
        text = self.stream.getvalue()
        self.stream.seek(0)
        self.stream.truncate()
        return text


async def test_while_a_person_types_only_whole_messages_are_printed_above_the_prompt() -> None:
    output = Size(40, 10)
    channel = ConsoleChannel(output, colour=False)
    above = []

    async def print_above(write: Callable[[], None]) -> None:
        write()
        above.append(output.written)

    with channel.printing_above(print_above):
        handle = await channel.post(OutgoingMessage("pensando", Modal.TEXT_FOR_REPLACE))
        await channel.edit(handle, OutgoingMessage("uma res", final=False))
        await channel.edit(handle, OutgoingMessage("uma resposta"))
        await channel.post(OutgoingMessage("outra"))
    assert above == ["uma resposta\n", "outra\n"]
    assert output.written == ""


async def test_a_table_is_as_wide_as_the_terminal_allows() -> None:
    wide, narrow = Size(40, 10), Size(17, 10)
    table = OutgoingMessage("| Produto | Preço |\n|---|--:|\n| **Caneta azul** | 1,50 |")
    for output in (wide, narrow):
        channel = ConsoleChannel(output, colour=False)
        await channel.post(OutgoingMessage(f"{table.text[:19]}", final=False))
        await channel.edit("1", table)
    in_columns, in_blocks = wide.written, narrow.written
    assert in_columns.endswith("Produto      Preço\n-----------  -----\nCaneta azul   1,50")
    assert in_blocks.endswith("Produto:\n**Caneta azul**\nPreço: 1,50")
    assert "|" not in in_columns + in_blocks


async def test_only_rows_that_changed_are_written_again() -> None:
    output = Size(40, 10)
    channel = ConsoleChannel(output, colour=False)
    handle = await channel.post(OutgoingMessage("um\ndois\ntr", final=False))
    assert output.written == "\r\x1b[Jum\ndois\ntr"
    await channel.edit(handle, OutgoingMessage("um\ndois\ntrês", final=False))
    assert output.written == "\r\x1b[Jtrês"
    await channel.edit(handle, OutgoingMessage("um\ndois\ntrês\nquatro", final=False))
    assert output.written == "\nquatro"
    await channel.edit(handle, OutgoingMessage("um\ndois\ntrês\nquatro"))
    assert output.written == ""
    await channel.edit(handle, OutgoingMessage("um\nDOIS"))
    assert output.written == "\r\x1b[2A\x1b[JDOIS"
    await channel.edit(handle, OutgoingMessage("um"))
    assert output.written == "\r\x1b[1A\x1b[Jum"


async def test_rows_that_scrolled_away_are_left_alone() -> None:
    output = Size(40, 3)
    channel = ConsoleChannel(output, colour=False)
    handle = await channel.post(OutgoingMessage("a\nb\nc\nd\ne", final=False))
    assert output.written
    await channel.edit(handle, OutgoingMessage("A\nb\nc\nd\nE"))
    assert output.written == "\r\x1b[2A\x1b[Jc\nd\nE"


async def test_rows_that_a_narrower_window_wrapped_again_are_taken_back_whole() -> None:
    output = Size(41, 10)
    channel = ConsoleChannel(output, colour=False)
    handle = await channel.post(OutgoingMessage("x" * 40, final=False))
    assert output.written
    output.columns = 11
    await channel.edit(handle, OutgoingMessage("y"))
    assert output.written == "\r\x1b[3A\x1b[Jy"


def test_a_stream_that_is_no_terminal_has_a_usual_size(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w", encoding="utf-8") as file:
        assert Output(file).size == (80, 24)
    assert Output(io.StringIO()).size == (80, 24)


def test_a_closed_stream_is_a_channel_that_is_gone() -> None:
    stream = io.StringIO()
    output = Output(stream)
    stream.close()
    with pytest.raises(ChannelGone):
        output.write("oi")
    assert output.gone


def test_what_a_stream_cannot_encode_is_replaced(tmp_path: Path) -> None:
    with (tmp_path / "file").open("w", encoding="latin-1") as file:
        Output(file).write("é 🧠 \ud800")
    assert (tmp_path / "file").read_text("latin-1") == "é ? ?"
