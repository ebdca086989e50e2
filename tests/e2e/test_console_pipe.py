"""The bot at the end of a pipe, as a script talks to it: the real program, its real memory, nothing but lines."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from core.features.memories.commands import NO_MEMORIES
from tests.e2e.command import ROOT, execute
from tests.e2e.terminal import environment

CHAT = [sys.executable, "-m", "bot", "chat"]
TIMEOUT_S = 180


def chat(text: str, data: Path) -> subprocess.CompletedProcess[str]:
    return execute(("chat",), ROOT, environment(DATA_DIR=str(data)), text)


def chat_in_bytes(text: bytes, data: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    """Say it to an interpreter of its own, which takes the encoding of what is said from its environment."""
    variables = environment(DATA_DIR=str(data), **variables)
    return subprocess.run(CHAT, input=text, capture_output=True, env=variables, timeout=TIMEOUT_S, check=False)


@pytest.mark.spec("T2", "T9", "T10")
def test_what_was_saved_is_found_in_the_same_process_and_in_a_new_one(tmp_path: Path) -> None:
    first = chat("Lembre que a senha do aliexpress é 123456\nQual é a senha do aliexpress?\n", tmp_path)
    assert first.returncode == 0
    assert "123456" in first.stdout.splitlines()[-1]
    second = chat("Qual é a senha do aliexpress?\n", tmp_path)
    assert second.returncode == 0
    assert "123456" in second.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("language", "first_words"),
    [
        ("", "I am Elefante"),
        ("C.UTF-8", "I am Elefante"),
        ("fr_FR.UTF-8", "I am Elefante"),
        ("pt_PT.UTF-8", "Sou o Elefante"),
        ("es_AR.UTF-8", "Soy Elefante"),
    ],
)
def test_the_first_words_are_of_the_terminals_language_and_english_where_it_has_none_of_ours(
    tmp_path: Path, language: str, first_words: str
) -> None:
    variables = environment(DATA_DIR=str(tmp_path), LANG=language)
    told = execute(("chat",), ROOT, variables, "/help\n").stdout
    assert told.startswith(first_words)


def test_it_says_how_an_answer_came_about_and_what_it_rests_on(tmp_path: Path) -> None:
    asked = "Qual é a senha do aliexpress?"
    said = f"/think on\nLembre que a senha do aliexpress é 123456\n{asked}\nComo você sabe disso?\n/help all\n"
    out = chat(said, tmp_path).stdout
    assert re.search(
        r"Você me contou: .*123456.*\n💭 Como cheguei nisso: 2 passos, 0,\d+ s\n• Buscando por memórias: .* → achei 1: "
        r"“a senha do aliexpress é 123456” · 0,\d+ s\n• Escrevendo a resposta · 0(,\d+)? s\n",
        out,
    )
    assert re.search(
        r"Aquela resposta se apoia nisto:\n• “a senha do aliexpress é 123456”\nVocê disse: hoje, .*certeza", out
    )
    assert "\n/why — " in out
    assert "\n/think on | off — " in out


def test_a_pipe_gets_no_status_no_colour_no_prompt_and_no_greeting(tmp_path: Path) -> None:
    done = chat("Lembre que o portão abre com 4433\no portão agora abre com 777\n", tmp_path)
    assert "Atualizei: “o portão abre com 777” (até hoje: “o portão abre com 4433”)" in done.stdout
    assert [sign for sign in ("\x1b", "...", "›", "🐘") if sign in done.stdout] == []
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("said", "answers"),
    [
        ("/memories\n\n   \n/memories\n/quit\n/memories\n", 2),  # blank lines are none, and /quit ends
        ("/memories\r\n/memories", 2),  # lines may end as on Windows, and the last one needs no end
        ("", 0),
    ],
)
def test_each_line_is_a_message(tmp_path: Path, said: str, answers: int) -> None:
    done = chat(said, tmp_path)
    assert (done.returncode, done.stdout.count("Você ainda não me pediu")) == (0, answers)
    assert bool(done.stdout) is bool(answers)


@pytest.mark.long
def test_a_line_of_anything_is_answered_and_the_next_one_too(tmp_path: Path) -> None:
    lines = [
        b"\xff\xfe\x00\x01 bin\xe1rio",
        bytes(range(1, 256)).replace(b"\n", b""),
        b"\x1b[2J\x1b]0;x\x07",
        b"\xed\xa0\x80 surrogate",
        b"a" * 1_000_000,
        "é".encode() * 3_000_000,
    ]
    done = chat_in_bytes(b"".join(line + b"\n/memories\n" for line in lines), tmp_path)
    assert done.returncode == 0
    said = done.stdout.decode()
    none = "|".join(re.escape(text) for text in NO_MEMORIES.values())  # in whichever language that garbage looks like
    answers = re.split(f"(?:{none})\n", said)
    assert answers.pop() == ""
    assert len(answers) == len(lines)
    assert all(answer.strip() for answer in answers)
    assert "\x1b" not in said
    assert done.stderr == b""


@pytest.mark.long
def test_a_reader_that_leaves_ends_the_bot_without_a_complaint(tmp_path: Path) -> None:
    process = subprocess.Popen(
        CHAT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(DATA_DIR=str(tmp_path)),
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdin.write(b"/memories\n")
    process.stdin.flush()
    assert process.stdout.readline()
    process.stdout.close()
    process.stdin.write(b"/memories\n" * 3)
    process.stdin.flush()
    process.wait(TIMEOUT_S)
    assert process.stderr.read() == b""
    assert process.returncode == 0
    process.stdin.close()
    process.stderr.close()


def test_an_answer_is_there_before_the_next_line_is_sent(tmp_path: Path) -> None:
    """A script may wait for each answer: nothing stays in a buffer."""
    process = subprocess.Popen(
        CHAT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(DATA_DIR=str(tmp_path), LANG="en_US.UTF-8")
    )
    assert process.stdin
    assert process.stdout
    for _ in range(3):
        process.stdin.write(b"/memories\n")
        process.stdin.flush()
        assert b"not asked me" in process.stdout.readline()
    process.stdin.close()
    assert process.wait(TIMEOUT_S) == 0
    process.stdout.close()


@pytest.mark.long
def test_an_output_that_cannot_encode_everything_still_gets_every_line(tmp_path: Path) -> None:
    done = chat_in_bytes(b"/help\n", tmp_path, PYTHONUTF8="0", PYTHONIOENCODING="latin-1")
    assert done.returncode == 0
    assert "Sou o Elefante" in done.stdout.decode("latin-1")


def test_what_was_not_asked_for_is_a_line_between_lines_and_the_end_of_the_input_still_ends(tmp_path: Path) -> None:
    unasked = [["um", "⏰ pagar [sexta, 8:00](time:1764316800)"]]
    call = {"steps": [["echo"]], "gates": str(tmp_path), "data": str(tmp_path), "owed": [], "unasked": unasked}
    (tmp_path / "call.json").write_text(json.dumps(call), "utf-8")
    command = [sys.executable, "-m", "tests.e2e.console_child", str(tmp_path / "call.json")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"oi\n")
        process.stdin.flush()
        assert process.stdout.readline().decode() == "eco: oi\n"
        (tmp_path / "um").touch()
        assert process.stdout.readline().decode() == "Ana: ⏰ pagar sexta, 8:00\n"
        process.stdin.write(b"tchau\n")
        process.stdin.close()
        assert process.stdout.read().decode() == "eco: tchau\n"
        assert process.wait(TIMEOUT_S) == 0
