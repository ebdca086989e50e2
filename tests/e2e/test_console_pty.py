"""The terminal, as a person at one sees it: a real process on a pseudo-terminal, and its screen at each moment."""

from __future__ import annotations

import json
import signal
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.terminal import ALT_ENTER, CTRL_C, CTRL_D, END, ENTER, LEFT, PASTE, TAB, UP, Terminal, environment

GREETING = "Elefante: guardo"


class Stage:
    """A terminal with a scripted bot behind it, and the gates that hold the bot back."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.gates = folder / "gates"
        self._call = folder / "call.json"
        self.data.mkdir(exist_ok=True)
        self.gates.mkdir(exist_ok=True)
        self.opened: list[Terminal] = []

    def start(self, *steps: tuple[str, ...], owed: tuple[str, ...] = (), **options: Any) -> Terminal:
        unasked = options.pop("unasked", ())
        variables = options.pop("variables", {})
        call = {"steps": steps, "gates": str(self.gates), "data": str(self.data), "owed": owed, "unasked": unasked}
        self._call.write_text(json.dumps(call), "utf-8")
        child = "tests.e2e.console_child"
        terminal = Terminal([str(self._call)], environment(**variables), module=child, **options)
        self.opened.append(terminal)
        terminal.wait(lambda: terminal.rows[-1:] == ["›"])
        return terminal

    def let(self, gate: str) -> None:
        (self.gates / gate).touch()

    @property
    def received(self) -> list[dict[str, str]]:
        received: list[dict[str, str]] = json.loads((self.data / "received.json").read_text("utf-8"))
        return received


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    for terminal in stage.opened:
        terminal.close()


@pytest.mark.spec("T4", "T5", "T9", "T10")
def test_the_bot_itself_thinks_visibly_saves_and_finds_again_in_a_new_process(tmp_path: Path) -> None:
    """The real program with its real memory, as somebody without any key meets it."""
    terminal = Terminal(["chat"], environment(DATA_DIR=str(tmp_path)))
    terminal.wait(lambda: terminal.rows[-1:] == ["›"])
    terminal.wait(GREETING)
    terminal.type(f"Lembre que a senha do aliexpress é 123456{ENTER}")
    terminal.wait("Guardei")
    terminal.wait(lambda: terminal.rows[-1:] == ["›"])
    assert "IA está pensando...".encode() in terminal.raw
    assert "..." not in terminal.text, "no status is left on the screen"
    assert leave(terminal) == 0
    terminal = Terminal(["chat"], environment(DATA_DIR=str(tmp_path)))
    terminal.wait(lambda: terminal.rows[-1:] == ["›"])
    terminal.type(f"Qual é a senha do aliexpress?{ENTER}")
    terminal.wait(lambda: terminal.rows[-1:] == ["›"] and "123456" in terminal.text)
    assert terminal.text.count("123456") == 1, "what the answer says stands there once"
    terminal.type(f"/memories{ENTER}")
    terminal.wait(lambda: terminal.rows[-1:] == ["›"] and "Suas memórias (1)" in terminal.text)
    terminal.type(f"/stop{ENTER}")
    terminal.wait("Não há nada em andamento.")
    terminal.type(f"/quit{ENTER}")
    assert terminal.wait_end() == 0


@pytest.mark.long
def test_what_is_typed_in_incognito_is_in_no_file_not_even_in_the_terminals_history(tmp_path: Path) -> None:
    terminal = Terminal(["chat"], environment(DATA_DIR=str(tmp_path)))
    terminal.wait(lambda: terminal.rows[-1:] == ["›"])
    for typed, told in (
        ("modo anônimo", "🕶"),
        ("oi zqsegredo", "Oi!"),
        ("/memory on", "Saímos"),
        ("/remember zqdepois", "Guardei"),
    ):
        terminal.type(f"{typed}{ENTER}")
        terminal.wait(partial(_answered, terminal, typed, told))
    assert leave(terminal) == 0
    raw = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"zqdepois" in (tmp_path / "console-history").read_bytes()
    assert b"zqsegredo" not in raw


@pytest.mark.long
@pytest.mark.spec("D8")
def test_in_memory_the_terminal_recalls_what_was_typed_and_leaves_nothing_on_the_disk(tmp_path: Path) -> None:
    terminal = Terminal(["chat"], environment(DATA_DIR=str(tmp_path / "data"), STORAGE_URL="memory:"))
    terminal.wait(lambda: terminal.rows[-1:] == ["›"])
    terminal.type(f"Lembre que a senha do aliexpress é 123456{ENTER}")
    terminal.wait("Guardei")
    terminal.wait(lambda: terminal.rows[-1:] == ["›"])
    terminal.type(UP)
    terminal.wait(lambda: terminal.rows[-1].startswith("› Lembre"))
    terminal.type(CTRL_C)
    terminal.wait(lambda: terminal.rows[-1:] == ["›"])
    assert leave(terminal) == 0
    assert list(tmp_path.iterdir()) == []


def _answered(terminal: Terminal, typed: str, told: str) -> bool:
    """Whether that is told below what was typed, and the prompt is there again."""
    return told in terminal.text.rpartition(f"› {typed}")[2] and terminal.rows[-1:] == ["›"]


def leave(terminal: Terminal) -> int:
    terminal.type(CTRL_D)
    return terminal.wait_end()


@pytest.mark.long
def test_the_greeting_says_what_it_is_and_how_to_leave_in_the_persons_language(stage: Stage) -> None:
    english = "/quit or Ctrl-D leaves"
    languages = {
        "pt_BR.UTF-8": "/quit ou Ctrl-D sai",
        "es_MX": "/quit o Ctrl-D sale",
        "fr_FR": english,
        "C": english,
        "": english,
    }
    for language, words in languages.items():
        terminal = stage.start(("echo",), variables={"LANG": language})
        terminal.wait(words)
        assert leave(terminal) == 0


def test_tab_writes_an_example_of_the_greeting_into_an_empty_line(stage: Stage) -> None:
    terminal = stage.start(("echo",), variables={"LANG": "en_US.UTF-8"})
    examples = [row.strip() for row in terminal.rows if row.startswith("  ")]
    assert len(examples) == 3
    for example in examples:
        terminal.type(TAB)
        terminal.wait(f"› {example}")
    terminal.type(ENTER)
    terminal.wait(f"eco: {examples[-1]}")
    assert leave(terminal) == 0


@pytest.mark.spec("T4", "T5", "T9")
@pytest.mark.long
def test_a_status_is_replaced_in_place_by_what_comes_next_and_an_answer_grows_in_place(stage: Stage) -> None:
    terminal = stage.start(
        ("status", "IA está pensando..."),
        ("gate", "1"),
        ("status", "Buscando por memórias..."),
        ("gate", "2"),
        ("memory", "123456"),
        ("status", "IA está pensando..."),
        ("gate", "3"),
        ("stream", "A senha @4 é @5 123456."),
    )
    top = terminal.rows[:-1]
    terminal.type(f"Qual é a senha?{ENTER}")
    asked = [*top, "› Qual é a senha?"]
    memory = "🧠 senha do aliexpress: 123456 · 14 mar. 2026"
    for gate, screen in (
        ("1", [*asked, "IA está pensando..."]),
        ("2", [*asked, "Buscando por memórias..."]),
        ("3", [*asked, memory, "IA está pensando..."]),
        ("4", [*asked, memory, "A senha"]),
        ("5", [*asked, memory, "A senha é"]),
        ("", [*asked, memory, "A senha é 123456.", "", "›"]),
    ):
        terminal.wait_rows(screen)
        stage.let(gate or "end")
    assert leave(terminal) == 0


@pytest.mark.long
def test_ctrl_c_while_answering_stops_the_answer_and_the_conversation_goes_on(stage: Stage) -> None:
    terminal = stage.start(("stream", "Era uma vez @never fim"))
    terminal.type(f"Conte{ENTER}")
    terminal.wait("Era uma vez")
    terminal.type(CTRL_C)
    terminal.wait("Parei.")
    terminal.wait(lambda: terminal.rows[-1:] == ["›"])
    assert leave(terminal) == 0
    assert [each["text"] for each in stage.received] == ["Conte", "/stop"]


def test_stop_typed_while_answering_stops_the_answer_and_what_else_was_typed_comes_next(stage: Stage) -> None:
    terminal = stage.start(("stream", "Era uma vez @never fim"))
    terminal.type(f"Conte{ENTER}")
    terminal.wait("Era uma vez")
    terminal.type(f"/stap\x7f\x7fop{ENTER}e d")
    terminal.wait(lambda: terminal.rows[-3:] == ["Parei.", "", "› e d"])
    assert not any("/st" in row for row in terminal.rows)
    terminal.type(CTRL_C)
    assert leave(terminal) == 0
    assert [each["text"] for each in stage.received] == ["Conte", "/stop"]


@pytest.mark.long
def test_a_second_ctrl_c_while_answering_leaves(stage: Stage) -> None:
    terminal = stage.start(("deaf",))
    terminal.type(f"oi{ENTER}")
    terminal.wait("pensando")
    terminal.type(CTRL_C)
    terminal.wait("Não paro.")
    terminal.type(CTRL_C)
    assert terminal.wait_end() == 130
    assert terminal.echoes


@pytest.mark.long
def test_ctrl_c_at_the_empty_prompt_says_how_to_leave_and_clears_a_line_that_is_not_empty(stage: Stage) -> None:
    terminal = stage.start(("echo",))
    terminal.type(CTRL_C)
    terminal.wait("Para sair: /quit ou Ctrl-D.")
    terminal.type("nada disso")
    terminal.wait("› nada disso")
    terminal.type(CTRL_C)
    terminal.wait(lambda: terminal.rows[-1] == "›")
    terminal.type(f"isto{ENTER}")
    terminal.wait("eco: isto")
    terminal.type(f"/quit{ENTER}")
    assert terminal.wait_end() == 0
    assert [each["text"] for each in stage.received] == ["isto"]


def test_a_line_is_edited_history_survives_the_process_and_its_file_is_the_owners_alone(stage: Stage) -> None:
    terminal = stage.start(("echo",))
    terminal.type(f"minha senha é 12{ENTER}")
    terminal.wait("eco: minha senha é 12")
    assert leave(terminal) == 0
    history = stage.data / "console-history"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    terminal = stage.start(("echo",))
    terminal.type(UP)
    terminal.wait("› minha senha é 12")
    terminal.type(f"\x7f3{ENTER}")
    terminal.wait("eco: minha senha é 13")
    assert leave(terminal) == 0


@pytest.mark.long
@pytest.mark.parametrize("word", ["exit", "Quit ", "sair", "salir", "/exit"])
def test_a_word_that_means_leaving_leaves_and_a_sentence_with_it_does_not(stage: Stage, word: str) -> None:
    terminal = stage.start(("echo",))
    terminal.type(f"{word} now{ENTER}")
    terminal.wait("eco:")
    terminal.wait(lambda: terminal.rows[-1:] == ["›"])
    terminal.type(f"{word}{ENTER}")
    assert terminal.wait_end() == 0
    assert [each["text"] for each in stage.received] == [f"{word} now"]


@pytest.mark.long
def test_tab_completes_a_command_and_its_words_and_lists_what_it_may_be(stage: Stage) -> None:
    terminal = stage.start(("echo",))
    top = terminal.rows[:-1]
    terminal.type(f"/mem{TAB}")
    terminal.wait_rows([*top, "› /memor"])
    terminal.type(TAB)
    terminal.wait_rows([*top, "› /memor", "/memories /memory", "› /memor"])
    terminal.type(f"y of{TAB}{ENTER}")
    terminal.wait("eco: /memory off")
    terminal.type(f"{TAB}remember mem{TAB}{ENTER}")
    terminal.wait("eco: remember mem")
    assert leave(terminal) == 0


@pytest.mark.long
def test_flags_and_other_clusters_take_the_columns_that_the_terminal_draws(stage: Stage) -> None:
    terminal = stage.start(("echo",), columns=20)
    top = terminal.rows[:-1]
    clusters = "🇧🇷👨‍👩‍👧👍🏽"
    terminal.type(f"um {clusters} dois")
    terminal.wait_rows([*top, f"› um {clusters} dois"])
    assert terminal.history.cursor.x == len("› um 112233 dois")
    terminal.type(f"{LEFT * len(' dois')}X")
    terminal.wait_rows([*top, f"› um {clusters}X dois"])
    terminal.type(f"{END} {clusters}{ENTER}")
    terminal.wait(f"eco: um {clusters}X")
    assert f"› um {clusters}X dois 🇧🇷\n👨‍👩‍👧👍🏽\n" in terminal.text
    assert leave(terminal) == 0
    assert [each["text"] for each in stage.received] == [f"um {clusters}X dois {clusters}"]


@pytest.mark.long
def test_a_window_made_narrower_or_wider_has_the_line_once_and_all_that_stood_above_it(stage: Stage) -> None:
    typed = "uma linha bem mais comprida do que a metade da tela, e mais palavras até o fim"
    terminal = stage.start(("echo",), columns=60)
    above = "".join(terminal.text.removesuffix("›").split())
    terminal.type(f"{typed}{LEFT * 3}")
    terminal.wait("fim")
    for columns, lines in ((31, 24), (79, 24), (19, 10), (60, 24)):
        terminal.resize(columns, lines)
        line = f"› {typed}"
        rows = [line[at : at + columns].rstrip() for at in range(0, len(line), columns)]
        terminal.wait(lambda rows=rows: terminal.rows[-len(rows) :] == rows)  # type: ignore[misc]
        assert "".join(terminal.text.removesuffix("\n".join(rows)).split()) == above
    terminal.type(f"X{ENTER}")
    terminal.wait("Xfim")
    assert leave(terminal) == 0
    assert [each["text"] for each in stage.received] == [typed.replace("fim", "Xfim")]


@pytest.mark.long
def test_pasted_lines_and_alt_enter_make_one_message(stage: Stage) -> None:
    terminal = stage.start(("echo",))
    terminal.type(PASTE.format("um\rdois\rtrês"))
    terminal.type(f"{ALT_ENTER}quatro{ENTER}")
    terminal.wait("eco: um")
    terminal.wait(lambda: terminal.rows[-1:] == ["›"])
    assert leave(terminal) == 0
    assert [each["text"] for each in stage.received] == ["um\ndois\ntrês\nquatro"]


@pytest.mark.long
def test_what_is_typed_while_the_bot_answers_is_not_echoed_into_the_answer_and_not_lost(stage: Stage) -> None:
    terminal = stage.start(("status", "pensando"), ("gate", "1"), ("echo",))
    top = terminal.rows[:-1]
    terminal.type(f"primeira{ENTER}")
    terminal.wait("pensando")
    terminal.type(f"segunda{ENTER}")
    stage.let("1")
    terminal.wait_rows([*top, "› primeira", "eco: primeira", "", "› segunda", "eco: segunda", "", "›"])
    assert leave(terminal) == 0


@pytest.mark.long
def test_a_growing_answer_taller_than_the_screen_is_whole_and_nothing_of_it_is_doubled(stage: Stage) -> None:
    lines = [f"linha **{number}** da resposta" for number in range(60)]
    terminal = stage.start(("stream", "\n".join(lines).replace(" ", "  ").replace("  ", " ")), lines=10)
    terminal.type(f"oi{ENTER}")
    terminal.wait(lambda: "linha 59 da resposta" in terminal.text and terminal.rows[-1:] == ["›"])
    shown = terminal.text.split("› oi\n")[1].split("\n")
    assert shown == [*(line.replace("*", "") for line in lines), "", "›"]
    assert leave(terminal) == 0


@pytest.mark.long
def test_escape_sequences_in_an_answer_or_a_memory_do_nothing(stage: Stage) -> None:
    evil = "antes\x1b[2J\x1b[H\x1b]0;título\x07\x9b31m\x08\x08\rdepois"
    terminal = stage.start(("memory", evil), ("stream", f"{evil} \x1b[31mfim"))
    terminal.type(f"oi{ENTER}")
    terminal.wait(lambda: "fim" in terminal.text and terminal.rows[-1:] == ["›"])
    assert terminal.rows[0].startswith("🐘")
    assert "antes[2J[H]0;título" in terminal.text
    assert b"\x1b[2J" not in terminal.raw
    assert b"\x1b]0;" not in terminal.raw
    assert leave(terminal) == 0


@pytest.mark.long
def test_no_color_is_respected(stage: Stage) -> None:
    colours = {}
    for name in ("", "1"):
        terminal = stage.start(("memory", "x"), ("stream", "**a** `b`"), variables={"NO_COLOR": name} if name else {})
        terminal.type(f"oi{ENTER}")
        terminal.wait(lambda terminal=terminal: len(terminal.rows) >= 8 and terminal.rows[-1] == "›")  # type: ignore[misc]
        assert leave(terminal) == 0
        colours[name] = [code for code in (b"\x1b[1m", b"\x1b[2m", b"\x1b[36m") if code in terminal.raw]
    assert colours == {"": [b"\x1b[1m", b"\x1b[2m", b"\x1b[36m"], "1": []}


@pytest.mark.long
def test_what_was_owed_from_before_is_answered_above_the_prompt(stage: Stage) -> None:
    terminal = stage.start(("gate", "1"), ("status", "pensando"), ("echo",), owed=("antes da queda",))
    terminal.type("estou escrevendo")
    terminal.wait("› estou escrevendo")
    stage.let("1")
    terminal.wait("eco: antes da queda")
    terminal.wait(lambda: terminal.rows[-1] == "› estou escrevendo")
    assert "pensando" not in terminal.text
    terminal.type(ENTER)
    terminal.wait("eco: estou escrevendo")
    assert leave(terminal) == 0


@pytest.mark.long
def test_what_was_not_asked_for_is_said_above_the_line_that_is_being_written(stage: Stage) -> None:
    told = "⏰ pagar [sexta, 8:00](time:1764316800)\n" + "uma linha comprida " * 8
    terminal = stage.start(("echo",), unasked=[("1", told), ("2", "⏰ dois")], columns=40)
    top = terminal.rows[:-1]
    terminal.type("estou escrevendo uma linha mais comprida do que a tela")
    terminal.type("\x1b[D" * 4)
    stage.let("1")
    terminal.wait("⏰ pagar")
    stage.let("2")
    line = ["› estou escrevendo uma linha mais compri", "da do que a tela"]
    long = [" ".join(["uma linha comprida"] * 2)] * 4
    terminal.wait_rows([*top, "Ana:", "⏰ pagar sexta, 8:00", *long, "Ana: ⏰ dois", *line])
    terminal.type("X")
    terminal.wait("da do que a Xtela")
    terminal.type(ENTER)
    terminal.wait("eco: estou escrevendo uma linha mais")
    assert leave(terminal) == 0
    assert [each["text"] for each in stage.received] == ["estou escrevendo uma linha mais comprida do que a Xtela"]


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("typed", ["", f"oi{ENTER}"])
def test_a_process_told_to_end_leaves_the_terminal_as_it_found_it(stage: Stage, number: int, typed: str) -> None:
    terminal = stage.start(("status", "pensando"), ("gate", "never"))
    terminal.type(typed)
    terminal.wait("pensando" if typed else "›")
    assert not terminal.echoes
    terminal.interrupt(number)
    assert terminal.wait_end() == 128 + number
    assert terminal.echoes
