"""Messages that are about what was just told: since when, what was before, what became of whom it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.limited import LimitedMind
from core.providers.usem3 import Usem3Embedder
from core.text.language import choose
from tests.fakes.secretary import Said, Wants, secretary

_TALK = Wants("talk", leave=True)


async def held(path: Path, embedder: Usem3Embedder, talk: str) -> tuple[str, set[str]]:
    """Hold a conversation, a message a line; return the last answer, and the memories after it."""
    said = [line.strip() for line in talk.strip().splitlines()]
    async with secretary(path / "x.db", choose(talk, "en").value, embedder, LimitedMind(embedder)) as chat:
        happened = [await chat.say(Said(each, _TALK, 60)) for each in said]
    return happened[-1].first, set(happened[-1].after.values())


ABOUT_BEFORE = [
    ("lembra que o aluguel é 1500\no aluguel subiu pra 1650\nquanto tá o aluguel?\nquanto era antes?", "1500", "1650"),
    ("the gate code is 5512\nchange the gate code to 9031\nwhat was the old one?", "5512", "9031"),
    (
        "mi hermano vive en Rosario\nmi hermano se mudó a Córdoba\n¿dónde vive mi hermano?\n¿y antes?",
        "Rosario",
        "Córdoba",
    ),
    ("my sister lives in Leeds\nshe moved to York\nwhere did she live before?", "Leeds", "York"),
    ("my sister lives in Leeds\nshe moved to York\nwhere does she live?\nand before", "Leeds", "York"),
    ("a senha do wifi é tulipa\nmudou a senha do wifi pra lírio\ne antes?\ne antes disso?", "tulipa", "lírio"),
    ("I lived in Faro until 2019\nI live in Porto\nwhere do I live?\nwhere did I live before?", "Faro", "Porto"),
]


@pytest.mark.spec("T11")
@pytest.mark.parametrize(("talk", "was", "now"), ABOUT_BEFORE)
async def test_a_bare_question_for_what_was_before_is_about_what_was_told(
    tmp_path: Path, embedder: Usem3Embedder, talk: str, was: str, now: str
) -> None:
    answer, _ = await held(tmp_path, embedder, talk)
    assert was in answer
    assert now not in answer


@pytest.mark.spec("T11")
async def test_of_what_was_told_once_nothing_before_is_made_up(tmp_path: Path, embedder: Usem3Embedder) -> None:
    answer, _ = await held(tmp_path, embedder, "my sister lives in Leeds\nwhere does my sister live?\nand before?")
    assert answer == "I only know “my sister lives in Leeds”. You haven't told me how it was before."


CHANGED = [
    ("lembra que a Júlia trabalha na Vivo\nela saiu de lá e foi pra Claro", "a Júlia trabalha na Claro"),
    ("my sister Nora works at Shell\nshe left Shell for BP", "my sister Nora works at BP"),
    ("my sister Nora works at Shell in Houston\nshe left Shell for BP", "my sister Nora works at BP in Houston"),
    ("mi hermano trabaja en Movistar\nrenunció a Movistar y entró en Claro", "mi hermano trabaja en Claro"),
    ("remember that Megan owes me 40 dollars\nshe paid me back", "Megan paid me back"),
    ("lembra que a Carla me deve 50 reais\nela já me pagou", "a Carla já me pagou"),
    ("the wifi password is tulip\nthey changed the wifi password to daisy", "the wifi password is daisy"),
    ("a senha do wifi é tulipa\nmudou a senha do wifi pra margarida", "a senha do wifi é margarida"),
    ("my locker combo is 12-30-6\nno wait, locker combo is 12-36-6", "my locker combo is 12-36-6"),
]


@pytest.mark.spec("T11")
@pytest.mark.parametrize(("talk", "now"), CHANGED)
async def test_what_is_said_of_whom_was_named_changes_what_is_known(
    tmp_path: Path, embedder: Usem3Embedder, talk: str, now: str
) -> None:
    answer, known = await held(tmp_path, embedder, talk)
    assert known == {now}
    assert now in answer


KEPT = [
    ("Pablo me debe 80\nle debo 80 a Pablo", {"Pablo me debe 80", "le debo 80 a Pablo"}),
    (
        "lembra que a reunião de pais é quinta às 19h\na reunião de ontem foi um saco",
        {"a reunião de pais é quinta às 19h"},
    ),
    ("my sister Nora works at Shell\nshe left early today", {"my sister Nora works at Shell"}),
    ("the wifi password is tulip", {"the wifi password is tulip"}),
    ("la clave del wifi es girasol", {"la clave del wifi es girasol"}),
    ("the password is wrong", set()),
    ("my phone is dead", set()),
]


@pytest.mark.spec("T11")
@pytest.mark.parametrize(("talk", "after"), KEPT)
async def test_what_only_sounds_alike_changes_nothing(
    tmp_path: Path, embedder: Usem3Embedder, talk: str, after: set[str]
) -> None:
    answer, known = await held(tmp_path, embedder, talk)
    assert after <= known
    assert "place of" not in answer
    assert "lugar" not in answer


@pytest.mark.spec("T11")
async def test_since_when_is_about_what_was_just_told(tmp_path: Path, embedder: Usem3Embedder) -> None:
    answer, _ = await held(tmp_path, embedder, "my landlord is Mr Katz\nwho is my landlord?\nsince when?")
    assert answer == "You told me: “my landlord is Mr Katz” (23 Nov 2026)"


@pytest.mark.spec("T11")
async def test_a_reminder_before_something_is_no_question_for_what_was_before(
    tmp_path: Path, embedder: Usem3Embedder
) -> None:
    answer, _ = await held(
        tmp_path, embedder, "the dentist is on friday at 3pm\nwhen is the dentist?\nremind me an hour before?"
    )
    assert "how it was before" not in answer
