"""How people frame what they want, in three languages; and what looks like a frame and is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.limited import frames


@pytest.mark.spec("T7", "T10")
@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("Lembre que a senha do aliexpress é 123456", "a senha do aliexpress é 123456"),
        ("por favor, não se esqueça de que o exame é na segunda às 7h", "o exame é na segunda às 7h"),
        ("ta, entao anota: placa do carro ABC1D23", "placa do carro ABC1D23"),
        ("anota aí: o código é 4433", "o código é 4433"),
        ("guarda isso: Rua das Flores, 12\nap 4", "Rua das Flores, 12\nap 4"),
        ("me lembra que a Ana gosta de chá", "a Ana gosta de chá"),
        ("ok so remember that the boat is red", "the boat is red"),
        ("can you remember that the alarm code is 4471", "the alarm code is 4471"),
        ("don't let me forget the recital is on Dec 14", "the recital is on Dec 14"),
        ("make a note: the pump needs 40 psi", "the pump needs 40 psi"),
        ("Note to self: buy stamps", "buy stamps"),
        ("recuerda que mi clave del portal es 88-1", "mi clave del portal es 88-1"),
        ("bueno, apunta que el pan es de centeno", "el pan es de centeno"),
        ("no olvides que el médico es el martes", "el médico es el martes"),
        ("anota", ""),
        ("save this:", ""),
        ("guarda esto", ""),
    ],
)
def test_what_is_kept_stands_behind_the_wish_to_keep_it(message: str, kept: str) -> None:
    start = frames.kept_from(message)
    assert start is not None
    assert message[start:] == kept


@pytest.mark.parametrize(
    "message",
    [
        "a senha é 1", "eu sempre esqueço de apagar a luz", "nota 10 para a festa", "guardei o passaporte na gaveta",
        "remember when we went to Rome", "I remember my first car", "I forgot my keys", "keep calm", "don't forget me",
        "no recuerdo dónde está", "anoche apunté mal la dirección", "",
    ],
)  # fmt: skip
def test_what_only_tells_of_keeping_is_no_wish_to_keep(message: str) -> None:
    assert frames.kept_from(message) is None


@pytest.mark.spec("T10")
@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("o pin do cartão é 9087, não esqueça", "o pin do cartão é 9087"),
        ("a chave tá no vaso, guarda isso pra mim", "a chave tá no vaso"),
        ("we parked on level 3, remember that please", "we parked on level 3"),
        ("la llave está en la maceta, apúntalo", "la llave está en la maceta"),
        ("estacioné en el nivel 3, no lo olvides", "estacioné en el nivel 3"),
        ("I always forget", None),
        ("my dog ate the note", None),
        ("a nota da Ana foi 10", None),
    ],
)
def test_the_wish_to_keep_may_stand_behind(message: str, kept: str | None) -> None:
    end = frames.kept_until(message)
    assert (end if end is None else message[:end]) == kept


@pytest.mark.spec("T12")
@pytest.mark.parametrize(
    ("message", "verb", "behind"),
    [
        ("apaga a senha do aliexpress", "apaga", "a senha do aliexpress"),
        ("pode apagar o do dentista", "pode apagar", "o do dentista"),
        ("oi, deleta a placa do carro", "oi, deleta", "a placa do carro"),
        ("esquece o wifi", "esquece", "o wifi"),
        ("can you forget my old address", "can you forget", "my old address"),
        ("Harlow paid, you can delete that", "you can delete", "that"),
        ("get rid of the note about Bo", "get rid of", "the note about Bo"),
        ("borra lo del dentista", "borra", "lo del dentista"),
        ("elimina la nota del gas, por favor", "elimina", "la nota del gas, por favor"),
    ],
)
def test_what_is_to_be_deleted_is_named_beside_the_verb(message: str, verb: str, behind: str) -> None:
    span = frames.removed(message)
    assert span is not None
    assert (message[slice(*span)], message[span[1] :].strip()) == (verb, behind)


@pytest.mark.parametrize(
    "message",
    [
        "eu sempre esqueço de apagar a luz", "o cachorro apagou no sofá", "tirei o siso",
        "drop at Immingham 6am", "I forgot my keys", "forget to pay", "the doctor removed my stitches",
        "he told me to delete the app", "don't delete it", "clear skies tomorrow", "my boss wants to drop the price",
        "se me olvidó borrar la pizarra",
    ],
)  # fmt: skip
def test_what_only_tells_of_deleting_is_no_wish_to_delete(message: str) -> None:
    assert frames.removed(message) is None


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("bom diaaa", "greeting"), ("hi there elefante", "greeting"), ("hola", "greeting"),
        ("hi, how are you?", "how"), ("tudo bem?", "how"), ("hola qué tal", "how"),
        ("valeu!!", "thanks"), ("thanks mate", "thanks"), ("muchas gracias", "thanks"),
        ("tchau", "bye"), ("ok gtg bye", "bye"), ("adiós", "bye"), ("boa noite, vou dormir", "bye"),
        ("kkkk", "ack"), ("ok", "ack"), ("vale", "ack"),
        ("deixa pra lá", "cancel"), ("never mind", "cancel"), ("no importa", "cancel"),
        ("que horas são?", "clock"), ("what time is it?", "clock"),
        ("oi, minha senha é 1", ""), ("thanks to Bob we won", ""), ("great news: I got the job", ""),
        ("bye bye Birdie is at 8pm", ""), ("morning run at 7", ""), ("ok " * 40, ""), ("", ""),
    ],
)  # fmt: skip
def test_small_talk_is_what_is_nothing_else(message: str, name: str) -> None:
    assert frames.talk(message) == name


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("are you ChatGPT?", "who"), ("quem é você?", "who"), ("¿eres humano?", "who"),
        ("where is my data?", "data"), ("onde ficam meus dados?", "data"), ("¿dónde están mis datos?", "data"),
        ("can you see photos?", "media"), ("você entende áudio?", "media"),
        ("what can you do?", ""), ("o que você sabe fazer?", ""),
    ],
)  # fmt: skip
def test_a_question_about_the_bot_is_about_something(question: str, name: str) -> None:
    assert frames.about(question) == name


@pytest.mark.parametrize(
    ("message", "wish"),
    [
        ("adiciona café na lista de compras", ("café", "lista de compras", True)),
        ("tira o leite da lista de compras", ("o leite", "lista de compras", False)),
        ("put eggs and flour on the grocery list", ("eggs and flour", "the grocery list", True)),
        ("scratch milk off the shopping list", ("milk", "the shopping list", False)),
        ("take it off the list", ("it", "the list", False)),
        ("agrega pan a la lista de compras", ("pan", "la lista de compras", True)),
        ("quita la leche de la lista", ("la leche", "la lista", False)),
        ("the milk is on the list", None),
        ("what's on my shopping list?", None),
        ("add salt to taste", None),
    ],
)
def test_a_thing_is_put_on_a_list_or_taken_off_it(message: str, wish: tuple[str, str, bool] | None) -> None:
    assert frames.listed(message) == wish


@pytest.mark.parametrize(
    ("name", "message", "is_there"),
    [
        ("list", "o que você sabe sobre mim?", True),
        ("list", "what do you know about me?", True),
        ("list", "¿qué sabes de mí?", True),
        ("list", "what do you know about Bob?", False),
        ("private", "não salva isso: vou largar o emprego", True),
        ("private", "don't save this, but I am quitting", True),
        ("private", "no guardes esto", True),
        ("leave", "não apague nada", True),
        ("leave", "don't delete it", True),
        ("leave", "no borres nada", True),
        ("leave", "delete it", False),
        ("last", "o que eu acabei de dizer", True),
        ("last", "what I just said", True),
        ("last", "lo que te acabo de decir", True),
        ("if", "if I moved to Rome", True),
        ("if", "ask if I moved to Rome", False),
    ],
)
def test_other_frames_are_told_from_what_looks_alike(name: str, message: str, is_there: bool) -> None:
    assert frames.has(name, message) is is_there


@given(st.text(max_size=400))
def test_a_frame_is_a_place_in_the_text(text: str) -> None:
    ends = [frames.opened(text), frames.kept_from(text), frames.kept_until(text), *(frames.removed(text) or ())]
    assert all(0 <= end <= len(text) for end in ends if end is not None)
    wish = frames.listed(text)
    assert wish is None or (wish[0] in text and wish[1] in text)


@pytest.mark.parametrize(
    "message",
    ["mostra lá a lista do horto", "passa lá o telefone do Zé", "vê lá a placa do carro", "mostra aí o código"],
)
def test_to_be_shown_something_is_asked(message: str) -> None:
    assert frames.begins("asks", message)
    assert frames.begins("tells", message)
