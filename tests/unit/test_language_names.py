"""A language is found by its tag and by its name in any language, and named for people and for models."""

from __future__ import annotations

import pytest
from babel import localedata

from core.text.language import english_name, find_language, name_in
from core.types import Locale


@pytest.mark.parametrize(
    ("said", "tag"),
    [
        ("DE", "de"), ("deu", "de"), ("de_AT", "de-AT"), ("pt", "pt-BR"), ("pt-PT", "pt-PT"), ("iw", "he"),
        ("zh-hant", "zh-Hant"), ("German", "de"), ("alemao", "de"), ("ALLEMAND", "de"), ("日本語", "ja"),
        ("繁體中文", "zh-Hant"), ("farsi", "fa"), ("português do Brasil", "pt-BR"), ("castellano", "es"),
        ("  English ", "en"),
    ],
)  # fmt: skip
def test_it_is_found(said: str, tag: str) -> None:
    assert find_language(said) == tag


@pytest.mark.parametrize(
    "said",
    ["", "und", "en-ZZZ", "../de"],
)
def test_what_is_no_language_is_not_found(said: str) -> None:
    assert find_language(said) == ""


@pytest.mark.parametrize(
    ("tag", "english", "portuguese"),
    [
        ("de", "German", "alemão · Deutsch"),
        ("ja", "Japanese", "japonês · 日本語"),
        ("pt-BR", "Brazilian Portuguese", "português"),
        ("es", "Spanish", "español"),
        ("zh-Hant", "Chinese (Traditional)", "chinês (tradicional) · 中文 (繁體)"),
        ("tlh", "Klingon", "klingon"),
    ],
)
def test_it_is_named(tag: str, english: str, portuguese: str) -> None:
    assert (english_name(tag), name_in(tag, Locale.PT)) == (english, portuguese)


def test_looking_a_name_up_does_not_keep_every_file_in_ram() -> None:
    before = len(localedata._cache)
    assert find_language("no such language anywhere") == ""
    assert len(localedata._cache) <= before + 2
