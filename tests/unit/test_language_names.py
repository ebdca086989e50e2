"""A language is found by its tag and by its name in any language, and named for people and for models."""

from __future__ import annotations

import pytest
from babel import localedata

from core.text.language_names import english_name, find_language, name_in
from core.types import Locale


@pytest.mark.parametrize(
    ("said", "tag"),
    [
        ("de", "de"), ("DE", "de"), ("deu", "de"), ("de_AT", "de-AT"), ("pt", "pt-BR"), ("PT-br", "pt-BR"),
        ("pt-PT", "pt-PT"), ("en", "en"), ("es_mx", "es-MX"), ("iw", "he"), ("zh-hant", "zh-Hant"), ("tlh", "tlh"),
        ("German", "de"), ("alemão", "de"), ("alemao", "de"), ("ALLEMAND", "de"), ("deutsch", "de"), ("немецкий", "de"),
        ("الألمانية", "de"), ("日本語", "ja"), ("japones", "ja"), ("中文", "zh"), ("繁體中文", "zh-Hant"),
        ("mandarin", "zh"),
        ("tiếng việt", "vi"), ("हिन्दी", "hi"), ("한국어", "ko"), ("farsi", "fa"), ("português do Brasil", "pt-BR"),
        ("español", "es"), ("castellano", "es"), ("  English ", "en"),
    ],
)  # fmt: skip
def test_it_is_found(said: str, tag: str) -> None:
    assert find_language(said) == tag


@pytest.mark.parametrize(
    "said",
    ["", "und", "de fr", "en-ZZZ", "<task>", "auto", "x" * 5000, "../de"],
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
