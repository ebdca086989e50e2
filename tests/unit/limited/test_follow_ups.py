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
    ("Ana sits at the back\nshe sits in front now", "Ana sits in front now"),
    ("mi carnal Beto trabaja en Bimbo\nya no trabaja en Bimbo, se fue a Lala", "mi carnal Beto trabaja en Lala"),
    ("my sister Nora works at Shell\nshe no longer works at Shell, she joined BP", "my sister Nora works at BP"),
    ("a tia Bia trabalha na Oi\nela não trabalha mais na Oi, foi pra Tim", "a tia Bia trabalha na Tim"),
    ("my account na 0142233445\naccount na 7788990011", "account na 7788990011"),
    ("my gym code is 4410\nmy gym code is 9904 now, thanks! also what time is it?", "my gym code is 9904"),
    ("devo 15 reais pro Renan\npaguei o Renan", "paguei o Renan"),
    ("al kiosquero le debo 3 mil\nya le pagué al kiosquero", "ya le pagué al kiosquero"),
    ("le presté 500 a mi prima Karla\nKarla ya me pagó", "Karla ya me pagó"),
    ("I lent my sister Shona 60 quid\nour Shona gave me the 60 back", "our Shona gave me the 60 back"),
    (
        "el turno con el oculista es el 3 de diciembre a las 9\nme corrieron el turno para el 5",
        "el turno con el oculista es el 5 a las 9",
    ),
    (
        "the service is on the 8th of December with Keith\nKeith rang, he can only do the 10th now",
        "the service is on the 10th with Keith",
    ),
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


BESIDE = [
    ("O Leo senta atrás na van\nEle agora senta na frente\nonde o Leo senta?", "frente", "antes: “O Leo senta atrás"),
    ("Cliente Sandra: tinta 6.1 com ox 20\na Sandra agora usa 7.0\nqual a tinta da Sandra?", "7.0", "antes: “Cliente"),
]


@pytest.mark.parametrize(("talk", "now", "before"), BESIDE)
async def test_what_somebody_does_now_is_told_first_and_the_older_is_marked(
    tmp_path: Path, embedder: Usem3Embedder, talk: str, now: str, before: str
) -> None:
    answer, known = await held(tmp_path, embedder, talk)
    assert len(known) == 2
    assert 0 <= answer.index(now) < answer.index(before)


async def test_a_yes_after_a_no_takes_no_older_offer(tmp_path: Path, embedder: Usem3Embedder) -> None:
    talk = "the pin is 3321\nI have an appointment on friday at 10\nforget the pin\nno\nyes"
    answer, known = await held(tmp_path, embedder, talk)
    assert answer.startswith("I have asked nothing")
    assert "the pin is 3321" in known


async def test_a_party_of_a_day_is_told_with_that_day(tmp_path: Path, embedder: Usem3Embedder) -> None:
    answer, _ = await held(tmp_path, embedder, "oi\nlembra que a festa de Natal é sexta")
    assert "27 nov" in answer


KEPT = [
    ("Pablo me debe 80\nle debo 80 a Pablo", {"Pablo me debe 80", "le debo 80 a Pablo"}),
    (
        "lembra que a reunião de pais é quinta às 19h\na reunião de ontem foi um saco",
        {"a reunião de pais é quinta às 19h"},
    ),
    ("Ana owes me 20 dollars\nAna paid 5", {"Ana owes me 20 dollars"}),
    ("I lent Ana 60\nBob gave me the 60 back", {"I lent Ana 60"}),
    ("eu pago o aluguel dia 5\npaguei o aluguel hoje", {"eu pago o aluguel dia 5"}),
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
