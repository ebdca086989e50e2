"""Which language a text is in: told from its words, also without accents; nothing is guessed where nothing tells."""

from __future__ import annotations

import pytest

from core.language import choose, detect, from_tag
from core.types import Locale

PT, EN, ES = Locale.PT, Locale.EN, Locale.ES


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        ("Lembre que a senha do aliexpress é 123456", PT),
        ("ta, entao anota: placa do carro ABC1D23", PT),
        ("qual eh a placa do meu carro", PT),
        ("Olá, me chamo Edmar", PT),
        ("tô testando esse bot", PT),
        ("what's the wifi password?", EN),
        ("I'm allergic to peanuts", EN),
        ("¿Cuál es mi contraseña?", ES),
        ("me llamo Lucía", ES),
        ("recuerda que mi hija nació el 3 de mayo", ES),
        ("ok", None),
        ("no", None),
        ("123456", None),
        ("", None),
        ("ABC1D23 !!!", None),
    ],
)
def test_a_text_tells_its_language_or_nothing(text: str, locale: Locale | None) -> None:
    assert detect(text) is locale


@pytest.mark.parametrize(
    ("tag", "locale"),
    [("pt-br", PT), ("pt_BR.UTF-8", PT), ("EN", EN), ("es-419", ES), ("de", None), ("C.UTF-8", None), ("", None)],
)
def test_a_platforms_tag_is_read(tag: str, locale: Locale | None) -> None:
    assert from_tag(tag) is locale


def test_the_message_comes_before_the_platform_then_earlier_messages_then_portuguese() -> None:
    assert choose("where is it?", "pt-br", ["¿dónde está?"]) is EN
    assert choose("ok", "es", ["where is it?"]) is ES
    assert choose("ok", "", ["123", "where is it?"]) is EN
    assert choose("ok", "", []) is PT
