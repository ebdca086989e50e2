"""Words said right after a file mean it or not: "remember this" does, "remember that the code is 4471" does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.text.pointing import points_at_sent
from tests.fakes.sending import PHOTO, sending

MEANT = """
    remember this
    remember that
    save that receipt
    remember this is my insurance card
    remember I parked here
    that's my vaccination card, remember it
    remember that photo
    guarda isso
    guarda essa foto
    lembra que estacionei aqui
    guardá este comprobante
    recuerda que esto es de la abuela
    acuérdate de esto
"""
NOT_MEANT = """
    remember that the gate code is 4471
    remember that my sister is allergic to nuts
    pls remember that I paid the plumber yesterday
    remeber that milk is cheaper at Aldi
    note that Tunde's birthday is 4 May
    don't forget that the bins go out on Tuesday
    remember it's bin day on Tuesday
    remember that the pin of my card is 0917
    lembra que essa semana eu tenho dentista
    lembra que a chave esta na gaveta
    anota que este mês não vou viajar
    lembra que aqui em casa o wifi é tigre22
    guarda que o Pedro não come carne
    lembra que preciso tirar foto 3x4
    recuerda que mi hermana esta en Lima
    acordate que esta semana no hay clases
    anotá que este viernes viene el gasista
"""

# Written before the rules, too, and first tried when the others held.
MEANT_UNSEEN = """
    keep that one
    pls save this pic
    remember this as Amara's school report
    remember where I left the car, it's here
    save the picture
    this is grandad's medal, remember it
    salva esse print
    lembra desse lugar
    isso aqui é o laudo do meu joelho, guarda
    guarda aí essa nota fiscal
    a foto é do armário novo, guarda
    guardame esta foto porfa
    recordá este lugar
    esto es la factura del gas, guardala
    guárdalo como pasaporte de Iván
"""
NOT_MEANT_UNSEEN = """
    remember that dad's blood type is O negative
    remember that we rented the flat that Femi found
    abeg remember that NEPA bill is due on the 10th
    rember that its my turn to bring snacks on friday
    keep in mind that this weekend I'm in Leeds
    remember that there's no school this Thursday
    remember that location scouting starts monday
    lembre que eu não gosto de coentro
    lembra q a consulta é as 15h
    anota aí que a senha do portão é 8830
    lembra que a Duda está doente
    lembra que hoje está calor aqui no Recife
    recordá que el perro está vacunado
    recuerda que este año cumplo 40
    recuerda que aquí en Puebla llueve en junio
    guarda que la clave del banco es 5520
"""


def sentences(*tables: str) -> list[str]:
    return [line.strip() for table in tables for line in table.strip().splitlines()]


@pytest.mark.parametrize("text", sentences(MEANT, MEANT_UNSEEN))
def test_what_was_just_sent_is_meant(text: str) -> None:
    assert points_at_sent(text)


@pytest.mark.parametrize("text", sentences(NOT_MEANT, NOT_MEANT_UNSEEN))
def test_words_of_their_own_mean_no_file(text: str) -> None:
    assert not points_at_sent(text)


@pytest.mark.parametrize(
    ("text", "lang", "things"),
    [
        ("remember that the gate code is 4471", "en", 0),
        ("lembra que a chave está na gaveta", "pt-br", 0),
        ("recuerda que mi hermana está en Lima", "es", 0),
        ("remember this is Nina's drawing", "en", 1),
    ],
)
async def test_a_fact_said_right_after_a_photo_is_kept_without_it(
    tmp_path: Path, text: str, lang: str, things: int
) -> None:
    async with sending(tmp_path) as chat:
        await chat.say("look at this sky?", PHOTO, lang=lang)
        await chat.say(text, lang=lang)
        [item] = await chat.kept()
        assert len(item.attachments) == things
