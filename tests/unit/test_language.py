"""Which language a text is in: told from its words, also without accents; nothing is guessed where nothing tells."""

from __future__ import annotations

import pytest
from babel import localedata

from core.text.language import choose, detect, english_name, find_language, from_tag, name_in, spoken, spoken_tag
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
        ("meu nome é Ana", PT),
        ("Explique recursão", PT),
        ("pode jogar cara ou coroa para mim?", PT),
        ("onde tem padaria perto", PT),
        ("vou jogar", PT),
        ("what's the wifi password?", EN),
        ("Explain recursion", EN),
        ("Write a haiku", EN),
        ("Good morning", EN),
        ("Capital of France", EN),
        ("Explica la recursión", ES),
        ("I'm allergic to peanuts", EN),
        ("¿Cuál es mi contraseña?", ES),
        ("me llamo Lucía", ES),
        ("¿puedes tirar cara o cruz por mí?", ES),
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
    "text",
    [
        "Wie heißt mein Hund?",
        "Ich wohne in Berlin",
        "Was ist das Passwort?",
        "Guten Morgen",
        "Erkläre Rekursion",
        "Quel est mon mot de passe ?",
        "Souviens-toi que mon chien s'appelle Rex",
        "Bonjour",
        "Come si chiama il mio gatto?",
        "Ricordati che la mia password è 1234",
        "Qual è la password del wifi?",
        "Mi chiamo Marco e abito a Roma",
        "Hoe heet mijn hond?",
        "Jakie jest hasło do wifi?",
        "Vad heter min hund?",
        "Jak se jmenuje můj pes?",
        "Köpeğimin adı ne?",
        "Cum se numește câinele meu?",
        "Mật khẩu wifi là gì",
        "Как зовут мою собаку?",
        "私の犬の名前は何ですか",
        "我的密码是什么",
        "내 비밀번호가 뭐야",
        "ما هي كلمة السر",
        "ποιος είναι ο κωδικός",
        "मेरा नाम क्या है",
    ],
)
def test_a_text_in_another_language_is_in_none_of_ours_and_is_met_with_english(text: str) -> None:
    assert detect(text) is None
    assert spoken(text) is EN


@pytest.mark.parametrize("text", ["ok", "123456", "", "👍", "x" * 32_000])
def test_what_tells_nothing_is_met_with_nothing(text: str) -> None:
    assert spoken(text) is None


@pytest.mark.parametrize(
    ("tag", "locale"),
    [("pt-br", PT), ("pt_BR.UTF-8", PT), ("EN", EN), ("es-419", ES), ("de", None), ("C.UTF-8", None), ("", None)],
)
def test_a_platforms_tag_is_read(tag: str, locale: Locale | None) -> None:
    assert from_tag(tag) is locale


@pytest.mark.parametrize(
    ("tag", "locale"), [("pt-br", PT), ("de", EN), ("zh-CN", EN), ("es-419", ES), ("", None), ("C.UTF-8", None)]
)
def test_of_tags_of_other_languages_only_english_is_left(tag: str, locale: Locale | None) -> None:
    assert spoken_tag(tag) is locale


def test_the_message_comes_first_then_earlier_messages_then_the_platform_then_portuguese() -> None:
    assert choose("where is it?", "pt-br", ["¿dónde está?"]) is EN
    assert choose("ok", "es", ["where is it?"]) is EN
    assert choose("ok", "", ["123", "where is it?"]) is EN
    assert choose("ok", "es", ["123"]) is ES
    assert choose("ok", "de", []) is EN
    assert choose("ok", "", []) is PT


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("recuérdame cada último viernes del mes pagar a Luis", Locale.ES),
        ("recuérdame dos horas antes del vuelo hacer la maleta", Locale.ES),
        ("me lembra às 18h30 e às 20h de tomar remédio", Locale.PT),
        ("remind me to call Ana", Locale.EN),
        ("sei lá", None),
    ],
)
def test_requests_for_reminders_are_not_taken_for_another_language(text: str, language: Locale | None) -> None:
    assert spoken(text) is language


def test_what_no_message_says_clearly_all_of_them_may() -> None:
    earlier = ["la clave del wifi es 99", "mi carnal trabaja en Bimbo", "apunta que el depa de Narvarte renta en 9500"]
    assert choose("nos subieron la renta a 10200", "pt-BR", earlier) is Locale.ES
    assert choose("nos subieron la renta a 10200", "pt-BR") is Locale.PT


# Names of languages.


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
