"""What people met with when they tried it, as requirements; the embedder is down, so that cues alone must do."""

from __future__ import annotations

import pytest

from core.types import Locale
from tests.unit.limited.tiny_cycle import TinyCycle


@pytest.mark.parametrize("message", ["vc consegue lembrar das coisas?", "what can you do?", "¿qué sabes hacer?"])
async def test_a_question_about_its_abilities_is_answered_and_not_looked_for(chat: TinyCycle, message: str) -> None:
    assert "elefante" in (await chat.say(message)).casefold()
    assert chat.actions == ["Finish"]


@pytest.mark.parametrize(
    "message",
    ["ta, entao anota: placa do carro ABC1D23", "ok, anota: placa do carro ABC1D23", "placa do carro: ABC1D23"],
)
async def test_after_not_found_a_message_of_its_own_is_not_joined_to_the_question(
    chat: TinyCycle, message: str
) -> None:
    await chat.say("qual é a minha senha do netflix?")
    await chat.say(message)
    assert len(chat.contents) == 1
    assert chat.contents[0].startswith("placa do carro")


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("nao esquece de comprar leite", "comprar leite"),
        ("don't forget to buy milk", "buy milk"),
        ("bueno, apunta que el pan es de centeno", "el pan es de centeno"),
        ("ok so remember that the boat is red", "the boat is red"),
        ("me lembra amanha de pagar o boleto", "amanha de pagar o boleto"),
        ("remind me tomorrow to call Ann", "tomorrow to call Ann"),
    ],
)
async def test_what_is_saved_is_free_of_the_words_that_asked_for_it(chat: TinyCycle, said: str, kept: str) -> None:
    await chat.say(said)
    assert chat.contents == [kept]


@pytest.mark.spec("T11")
@pytest.mark.parametrize("correction", ["na verdade era pao", "nao, era pao", "quis dizer pao", "I meant pao"])
async def test_a_correction_right_after_a_save_changes_that_memory(chat: TinyCycle, correction: str) -> None:
    await chat.say("nao esquece de comprar leite")
    await chat.say(correction)
    assert chat.contents == ["comprar pao"]


@pytest.mark.spec("T11")
async def test_a_correction_that_would_take_much_out_of_a_memory_is_confirmed_first(chat: TinyCycle) -> None:
    old = "o Beto me deve 30 reais pela pizza de domingo"
    await chat.say(f"lembra que {old}")
    question = await chat.say("na verdade era o Caio")
    assert chat.contents == [old]
    assert "1. “o Beto me deve 30 reais pela pizza de domingo” (14/03/2026) → “" in question
    await chat.say("2")
    assert old in chat.contents


async def test_a_memory_about_the_same_thing_is_told_as_the_nearest_and_not_as_a_miss(chat: TinyCycle) -> None:
    chat.know("a Bola come ração seca", "Bola")
    answer = await chat.say("qual a data da vacina da Bola?")
    assert "Não tenho certeza; o mais próximo que tenho é “a Bola come ração seca” (14/03/2026)." in answer
    assert "Não achei" not in answer


async def test_a_move_is_kept_in_the_persons_words_and_found_as_their_address(chat: TinyCycle) -> None:
    chat.locale = Locale.EN
    await chat.say("I moved to Berlin last month")
    assert chat.contents == ["I moved to Berlin last month"]
    assert "Berlin" in await chat.say("where do I live?")


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("q dia e hj?", "sábado, 14/03/2026, 15:09 UTC"),
        ("que horas são?", "sábado, 14/03/2026, 15:09 UTC"),
    ],
)
async def test_the_time_is_told_and_said_to_be_utc(chat: TinyCycle, message: str, told: str) -> None:
    assert told in await chat.say(message)
    assert chat.actions == ["Finish"]


@pytest.mark.spec("T12")
@pytest.mark.parametrize(
    "order",
    [
        "olvida todo lo que sabes de mí",
        "esquece tudo",
        "limpa tudo q vc tem meu",
        "forget everything you know about me",
    ],
)
async def test_everything_is_offered_confirmed_and_deleted(chat: TinyCycle, order: str) -> None:
    for number in range(12):
        chat.know(f"o armário {number} abre com {number}00", f"armário {number}")
    question = await chat.say(order)
    assert chat.actions == ["MemorySearch", "MemoryDelete"]
    assert "12. “o armário 0 abre com 000”" in question
    assert len(chat.memories) == 12
    await chat.say("sim")
    assert not chat.memories


async def test_everything_can_be_declined_or_partly_kept(chat: TinyCycle) -> None:
    chat.know("o gato é preto", "gato")
    chat.know("o cão é branco", "cão")
    await chat.say("apaga tudo")
    await chat.say("não")
    assert len(chat.memories) == 2
    await chat.say("apaga tudo")
    await chat.say("1")
    assert chat.contents == ["o gato é preto"]


async def test_there_is_nothing_to_delete_where_nothing_is_kept(chat: TinyCycle) -> None:
    assert "não há o que apagar" in await chat.say("apaga tudo")


async def test_the_result_of_a_first_save_comes_before_the_word_on_being_limited(chat: TinyCycle) -> None:
    ending = await chat.say("lembre que o gato é preto")
    assert ending.index("Guardei: “o gato é preto”") < ending.index("(Modo limitado")


async def test_bindings_are_clean_phrases(chat: TinyCycle) -> None:
    chat.locale = Locale.EN
    await chat.say("remember that I live in Berlin since last month")
    (item,) = chat.memories.values()
    assert {"address", "endereço", "dirección"} <= set(item.bindings)
    assert not any("endereço " in phrase or "address " in phrase for phrase in item.bindings)
