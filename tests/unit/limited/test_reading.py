"""A message is cut into parts, each of them a slice of it that is for one thing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.actions import ACTIONS
from core.dialogue import ActionInfo, PromptContext, Task
from core.limited import reading
from core.limited.cutting import sentences
from core.limited.likeness import Intent, Likeness
from core.limited.reading import KEEP_WHAT, REMOVE_WHAT, MessagePart, read
from core.limited.scene import read as read_scene
from core.providers.usem3 import Usem3Embedder
from core.types import JSONValue, Locale, Message, MessageRole, OpenQuestion
from tests.fakes.clock import START
from tests.fakes.model import HashEmbedder

KEEP, FIND, LIST, CHANGE, REMOVE, ABOUT, CHAT = (
    Intent.KEEP, Intent.FIND, Intent.LIST, Intent.CHANGE, Intent.REMOVE, Intent.ABOUT, Intent.CHAT,
)  # fmt: skip
ADDRESS = "Casa da praia:\nRua do Sol, 40\n\nportão 4433"
MAIL = "Hi Ann,\nthe flight is LA3302 on 3 May at 6:40.\nSeat 12C.\nIs that fine?\nBo"


def _context(message: str, *before: str, question: str = "") -> PromptContext:
    """Return the prompt of a turn; `before` alternates between the person and the bot."""
    roles = (MessageRole.USER, MessageRole.ASSISTANT)
    told = tuple(Message(roles[at % 2], text) for at, text in enumerate(before))
    asked = OpenQuestion(question) if question else None
    return PromptContext(
        Task.DECIDE, Locale.EN, message, START, (*told, Message(MessageRole.USER, message)),
        actions=ACTIONS, question=asked,
    )  # fmt: skip


async def _read(likeness: Likeness, context: PromptContext) -> list[tuple[Intent, str]]:
    """Return the intent and text of each part; a statement that says of no change is kept, if it changes nothing."""
    parts = await read(read_scene(context), likeness)
    return [(KEEP if part.about == "maybe" else part.intent, part.text) for part in parts]


@pytest.fixture
def likeness(embedder: Usem3Embedder) -> Likeness:
    return Likeness(embedder)


@pytest.fixture(scope="session")
def nobody() -> Likeness:
    """Examples without an embedder: nothing can be judged by them."""
    embedder = HashEmbedder()
    embedder.down = True
    return Likeness(embedder)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Oi! Tudo bem? Sim.", ["Oi!", "Tudo bem?", "Sim."]),
        ("consulta com a dra. Lúcia às 14h. Anota.", ["consulta com a dra. Lúcia às 14h.", "Anota."]),
        ("meet Mr. Shaw at 9 a.m. today. ok", ["meet Mr. Shaw at 9 a.m. today.", "ok"]),
        ("pão\n  ovos\n\nleite", ["pão", "ovos", "leite"]),
        ("custa 3.50 na loja", ["custa 3.50 na loja"]),
        ("  muito   espaço  ", ["  muito   espaço"]),
        ("", []),
    ],
)
def test_a_message_is_cut_into_sentences_and_lines(text: str, pieces: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == pieces


@pytest.mark.spec("T10")
@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("Lembre que a senha do aliexpress é 123456", [(KEEP, "a senha do aliexpress é 123456")]),
        ("me chamo Roberto e moro em Olinda", [(KEEP, "me chamo Roberto e moro em Olinda")]),
        ("minha filha Júlia tem alergia a amendoim. ela tem 4 anos",
            [(KEEP, "minha filha Júlia tem alergia a amendoim. ela tem 4 anos")]),
        (f"guarda isso:\n{ADDRESS}", [(KEEP, ADDRESS)]),
        (ADDRESS, [(KEEP, ADDRESS)]),
        ("- [ ] leite\n- [ ] pão\n\nguarda essa lista", [(KEEP, "- [ ] leite\n- [ ] pão")]),
        (f"remember this mail:\n{MAIL}", [(KEEP, MAIL)]),
        ("we parked on level 3. Remember that!", [(KEEP, "we parked on level 3.")]),
        ("recuerda que mi clave del portal es 88-1", [(KEEP, "mi clave del portal es 88-1")]),
        ("my cat is called Bob. what does he eat?", [(KEEP, "my cat is called Bob."), (FIND, "what does he eat?")]),
        ("Qual é o wifi? Anota: o portão é 4433", [(FIND, "Qual é o wifi?"), (KEEP, "o portão é 4433")]),
        ("qual é a senha do wifi?", [(FIND, "qual é a senha do wifi?")]),
        ("¿cuándo es mi vuelo?", [(FIND, "¿cuándo es mi vuelo?")]),
        ("what do you know about me?", [(LIST, "what do you know about me?")]),
        ("o aluguel agora é 1350", [(CHANGE, "o aluguel agora é 1350")]),
        ("my meeting moved to Thursday 18:30", [(CHANGE, "my meeting moved to Thursday 18:30")]),
        ("adiciona café na lista de compras", [(CHANGE, "adiciona café na lista de compras")]),
        ("apaga a senha do wifi", [(REMOVE, "apaga a senha do wifi")]),
        ("Harlow paid. You can delete that", [(REMOVE, "Harlow paid. You can delete that")]),
        ("are you ChatGPT?", [(ABOUT, "are you ChatGPT?")]),
        ("bom dia!", [(CHAT, "bom dia!")]),
        ("oi! qual é a senha do wifi? obrigado!", [(FIND, "qual é a senha do wifi?")]),
        ("", [(CHAT, "")]),
    ],
)  # fmt: skip
async def test_a_message_has_parts(likeness: Likeness, message: str, parts: list[tuple[Intent, str]]) -> None:
    assert await _read(likeness, _context(message)) == parts


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("remember that the gate is 4433", [(KEEP, "the gate is 4433")]),
        ("the gate is 4433", [(KEEP, "the gate is 4433")]),
        ("what is the gate code?", [(FIND, "what is the gate code?")]),
        ("delete the gate code", [(REMOVE, "delete the gate code")]),
        ("thanks", [(CHAT, "thanks")]),
    ],
)
async def test_without_its_embedder_frames_alone_decide(
    nobody: Likeness, message: str, parts: list[tuple[Intent, str]]
) -> None:
    assert await _read(nobody, _context(message)) == parts


@pytest.mark.parametrize(("chance", "is_sure"), [(0.0, True), (1.01, False)])
async def test_a_statement_is_sure_from_a_chance_on(
    likeness: Likeness, monkeypatch: pytest.MonkeyPatch, chance: float, *, is_sure: bool
) -> None:
    monkeypatch.setattr(reading, "KEEP_FROM", chance)
    [part] = await read(read_scene(_context("the gate is 4433")), likeness)
    assert part.is_sure is is_sure


async def test_save_that_means_what_was_said_just_before(nobody: Likeness) -> None:
    context = _context("save that", "the gate is 4433", "ok")
    assert await _read(nobody, context) == [(KEEP, "the gate is 4433")]
    assert await _read(nobody, _context("save that")) == [(KEEP, "")]
    assert await _read(nobody, _context("save that", "what's the gate code?", "?")) == [(KEEP, "")]


@pytest.mark.parametrize("reply", ["the gate", "the cat that is black"])
async def test_a_whole_message_answers_what_is_to_be_kept_or_deleted(nobody: Likeness, reply: str) -> None:
    to_keep = _context(reply, "save it", "What?", question=KEEP_WHAT)
    assert await _read(nobody, to_keep) == [(KEEP, reply)]
    to_delete = replace(to_keep, question=OpenQuestion(REMOVE_WHAT))
    assert await _read(nobody, to_delete) == [(REMOVE, reply)]


@pytest.mark.parametrize("reply", ["thanks", "never mind"])
@pytest.mark.parametrize("kind", [KEEP_WHAT, REMOVE_WHAT, "of-another-model"])
async def test_small_talk_answers_no_question(nobody: Likeness, reply: str, kind: str) -> None:
    assert await _read(nobody, _context(reply, "save it", "What?", question=kind)) == [(CHAT, reply)]


PIECES = st.sampled_from(
    ["remember that ", "lembre que ", "apaga ", "delete it", "qual é a senha?", "moro em Natal", ". ", "\n", "\n\n- ",
     "oi! ", "no, it's 3 pm", "add milk to the list", "guarda isso:", ", não esqueça", "12. ", "agora é 7h", "?", " "]
)  # fmt: skip


@given(st.text(max_size=200) | st.lists(PIECES, max_size=12).map("".join))
async def test_nothing_is_composed(nobody: Likeness, message: str) -> None:
    parts: tuple[MessagePart, ...] = await read(read_scene(_context(message, "I live in Oslo", "ok")), nobody)
    assert parts
    assert all(part.text in message or part.text == "I live in Oslo" for part in parts)
    assert all(part.because for part in parts)


def _town(message: str, _: datetime, __: Locale) -> Mapping[str, JSONValue] | None:
    found = re.search(r"weather in (\w+)", message)
    return None if found is None else {"town": found[1]}


@pytest.mark.parametrize(
    ("message", "intent"),
    [
        ("what's the weather in Lisbon", Intent.ACTION),
        ("don't forget to tell me the weather in Lisbon", Intent.ACTION),
        ("remember that I asked what's the weather in Lisbon", KEEP),
        ("anota que ela vai ver the weather in Lisbon", KEEP),
        ("delete the note about the weather in Lisbon", REMOVE),
    ],
)
async def test_what_an_action_reads_gives_way_where_it_is_what_is_kept_or_deleted(
    nobody: Likeness, message: str, intent: Intent
) -> None:
    context = replace(_context(message), actions=(ActionInfo("Forecast", reads=_town),))
    [part] = await read(read_scene(context), nobody)
    assert part.intent is intent
