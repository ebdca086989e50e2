"""Whole conversations in limited mode, over a tiny cycle; its embedder is down, so that cues alone must do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.dialogue import Outcome, PromptContext, Step, Task
from core.limited import LimitedMind
from core.types import JSONValue, Locale, Message, MessageRole, Modal
from tests.unit.limited.tiny_cycle import ALL, INFOS, NOW, TinyCycle


@pytest.mark.spec("T3", "T10")
async def test_what_is_saved_is_found_again_and_quoted_with_its_date(chat: TinyCycle) -> None:
    told = await chat.say("Lembre que a senha do aliexpress é 123456")
    assert chat.actions == ["MemorySave", "Finish"]
    assert chat.contents == ["a senha do aliexpress é 123456"]
    assert told.startswith("Guardei: “a senha do aliexpress é 123456”\n\n(Modo limitado")
    assert told.count("123456") == 1
    answer = await chat.say("Qual é a senha do aliexpress?")
    assert chat.actions == ["MemorySearch", "Finish"]
    assert "“a senha do aliexpress é 123456” (14/03/2026)" in answer


@pytest.mark.spec("T7")
async def test_a_statement_about_oneself_is_saved_and_answers_a_question_put_otherwise(chat: TinyCycle) -> None:
    await chat.say("Olá, me chamo Edmar")
    assert chat.contents == ["me chamo Edmar"]
    assert "Edmar" in await chat.say("Como é meu nome?")


async def test_the_first_answer_of_a_conversation_says_that_it_is_limited_and_later_ones_do_not(
    chat: TinyCycle,
) -> None:
    first = await chat.say("oi")
    assert first.startswith("(Modo limitado, sem modelo de linguagem")
    assert "MODEL=" in first
    assert "Modo limitado" not in await chat.say("bom dia")


@pytest.mark.spec("T11")
async def test_one_clearly_fitting_memory_is_updated_without_asking(chat: TinyCycle) -> None:
    chat.know("a senha do aliexpress é 123456", "senha do aliexpress")
    chat.know("o cachorro se chama Rex", "cachorro")
    await chat.say("mudei a senha do aliexpress para 999")
    assert chat.actions == ["MemorySearch", "MemoryUpdate", "Finish"]
    assert chat.contents == ["a senha do aliexpress é 999", "o cachorro se chama Rex"]
    assert chat.told == ["Atualizei. Agora está assim: “a senha do aliexpress é 999”"]


@pytest.mark.spec("T11")
async def test_several_fitting_memories_are_asked_about_by_number(chat: TinyCycle) -> None:
    chat.know("o wifi de casa é gato1", "wifi de casa")
    chat.know("o wifi da praia é peixe2", "wifi da praia")
    question = await chat.say("mudei o wifi para lobo3")
    assert chat.actions == ["MemorySearch", "Question"]
    assert "1. “o wifi de casa é gato1”" in question
    assert "3. Nenhuma" in question
    await chat.say("a segunda")
    assert chat.actions == ["MemoryUpdate", "Finish"]
    assert chat.contents == ["o wifi de casa é gato1", "o wifi da praia é lobo3"]


async def test_none_of_several_becomes_a_new_memory(chat: TinyCycle) -> None:
    chat.know("o wifi de casa é gato1", "wifi de casa")
    chat.know("o wifi da praia é peixe2", "wifi da praia")
    await chat.say("mudei o wifi para lobo3")
    await chat.say("3")
    assert chat.actions == ["MemorySave", "Finish"]
    assert chat.contents[-1] == "o wifi é lobo3"


async def test_an_update_without_a_value_asks_for_it(chat: TinyCycle) -> None:
    chat.know("a senha do aliexpress é 123456", "senha do aliexpress")
    assert "valor novo" in await chat.say("atualize a senha do aliexpress")
    await chat.say("é 777")
    assert chat.actions == ["MemoryUpdate", "Finish"]
    assert chat.contents == ["a senha do aliexpress é 777"]


async def test_an_update_of_what_is_not_known_saves_it_and_says_so(chat: TinyCycle) -> None:
    ending = await chat.say("mudei a senha do banco para 55")
    assert chat.actions == ["MemorySearch", "MemorySave", "Finish"]
    assert chat.contents == ["a senha do banco é 55"]
    assert "memória nova" in ending


@pytest.mark.spec("T11")
@pytest.mark.parametrize("correction", ["na verdade é 777", "não, é 777", "ops, é 777"])
async def test_a_correction_that_names_nothing_is_of_what_was_quoted_last(chat: TinyCycle, correction: str) -> None:
    chat.know("a senha do banco é 1", "senha do banco")
    chat.know("o gato é preto", "gato")
    await chat.say("qual a senha do banco?")
    await chat.say(correction)
    assert chat.actions == ["MemoryUpdate", "Finish"]
    assert chat.contents == ["a senha do banco é 777", "o gato é preto"]


async def test_a_correction_of_what_was_just_saved_finds_it_first(chat: TinyCycle) -> None:
    await chat.say("a senha do banco é 1")
    await chat.say("na verdade é 2")
    assert chat.actions == ["MemorySearch", "MemoryUpdate", "Finish"]
    assert chat.contents == ["a senha do banco é 2"]


async def test_a_correction_of_nothing_changes_nothing(chat: TinyCycle) -> None:
    chat.know("a senha do banco é 1", "senha do banco")
    await chat.say("oi")
    await chat.say("na verdade é 2")
    assert chat.contents == ["a senha do banco é 1"]


@pytest.mark.spec("T11")
async def test_a_memory_of_several_facts_is_never_rewritten_unasked(chat: TinyCycle) -> None:
    chat.locale = Locale.EN
    old = "my sister Beth lives in Ohio, her number is 555-0199"
    chat.know(old, "sister Beth")
    question = await chat.say("Beth moved to Texas")
    assert chat.actions[-1] == "Question"
    assert chat.contents == [old]
    assert "2. None: save it as a new memory" in question
    await chat.say("2")
    assert chat.contents == [old, "Beth moved to Texas"]


async def test_my_address_is_not_my_sisters(chat: TinyCycle) -> None:
    chat.locale = Locale.EN
    await chat.say("my sister Beth lives in Ohio")
    await chat.say("i live at 22 Acacia Avenue")
    answer = await chat.say("what's my address?")
    assert "Acacia" in answer
    assert "Ohio" not in answer


@pytest.mark.parametrize(
    "reply", ["you're awesome", "no wait, it's in july", "você é burro", "o carro está lá na oficina do Beto"]
)
async def test_a_remark_is_not_taken_for_the_missing_value(chat: TinyCycle, reply: str) -> None:
    await chat.say("qual é a minha senha do netflix?")
    await chat.say(reply)
    assert not any("netflix" in content for content in chat.contents)


async def test_an_update_that_would_lose_more_than_the_old_value_is_confirmed_first(chat: TinyCycle) -> None:
    old = "trabalho na padaria do Tonho com a Célia e o Beto desde 2019"
    chat.know(old, "trabalho")
    question = await chat.say("agora trabalho no banco")
    assert chat.actions[-1] == "Question"
    assert f"“{old}” (14/03/2026) → “trabalho no banco”" in question
    await chat.say("sim")
    assert chat.contents == ["trabalho no banco"]


@pytest.mark.spec("T12")
async def test_nothing_is_deleted_before_the_person_agreed(chat: TinyCycle) -> None:
    chat.know("a senha do aliexpress é 123456", "senha do aliexpress")
    question = await chat.say("apaga a senha do aliexpress")
    assert chat.actions == ["MemorySearch", "MemoryDelete"]
    assert "1. “a senha do aliexpress é 123456”" in question
    assert chat.memories
    await chat.say("sim, pode apagar")
    assert not chat.memories


@pytest.mark.spec("T12")
@pytest.mark.parametrize("reply", ["não", "n", "no", "deixa", "nenhuma", "nao precisa"])
async def test_a_declined_deletion_deletes_nothing(chat: TinyCycle, reply: str) -> None:
    chat.know("a senha do aliexpress é 123456", "senha do aliexpress")
    await chat.say("apaga a senha do aliexpress")
    await chat.say(reply)
    assert chat.actions == []
    assert len(chat.memories) == 1


@pytest.mark.spec("T12")
@pytest.mark.parametrize(
    ("reply", "left"),
    [("1", ["b"]), ("a primeira", ["b"]), ("todas", []), ("1 e 2", []), ("as duas", [])],
)
async def test_several_fitting_memories_are_deleted_by_choice(chat: TinyCycle, reply: str, left: list[str]) -> None:
    homes = {"a": "o wifi de casa é gato1", "b": "o wifi da praia é peixe2"}
    for content in homes.values():
        chat.know(content, content)
    await chat.say("esquece o wifi")
    await chat.say(reply)
    assert chat.contents == [homes[name] for name in left]


async def test_a_deletion_agreed_on_in_another_language_is_the_same_deletion(chat: TinyCycle) -> None:
    chat.know("o portão abre com 4433", "portão")
    chat.locale = Locale.EN
    await chat.say("delete the gate code")
    chat.locale = Locale.PT
    await chat.say("sim")
    assert not chat.memories


async def test_a_fact_and_a_wish_to_delete_are_done_in_that_order(chat: TinyCycle) -> None:
    chat.know("o portão abre com 4433", "portão")
    await chat.say("Apaga o portão. Me chamo Rui.")
    assert chat.actions == ["MemorySearch", "MemorySave", "MemoryDelete"]
    assert chat.contents[-1] == "Me chamo Rui"


async def test_an_answer_is_not_lost_for_a_wish_to_delete(chat: TinyCycle) -> None:
    chat.know("o portão abre com 4433", "portão")
    chat.know("o gato é preto", "gato")
    answer = await chat.say("Como abre o portão? Apaga o gato.")
    assert "4433" in answer
    assert "Para apagar algo, peça em uma mensagem separada." in answer
    assert len(chat.memories) == 2


async def test_yes_means_nothing_when_nothing_was_asked(chat: TinyCycle) -> None:
    chat.know("o portão abre com 4433", "portão")
    await chat.say("apaga o portão")
    await chat.say("qual o código do portão?")
    await chat.say("sim")
    assert chat.actions == ["Finish"]
    assert chat.memories


async def test_delete_it_means_what_was_quoted_last(chat: TinyCycle) -> None:
    chat.know("o portão abre com 4433", "portão")
    chat.know("o gato é preto", "gato")
    await chat.say("como abre o portão?")
    assert "1. “o portão abre com 4433”" in await chat.say("apaga isso")
    await chat.say("sim")
    assert chat.contents == ["o gato é preto"]


async def test_delete_it_asks_what_when_nothing_was_quoted(chat: TinyCycle) -> None:
    chat.know("o gato é preto", "gato")
    await chat.say("oi")
    assert "O que devo apagar?" in await chat.say("apaga")
    assert "o gato é preto" in await chat.say("o gato")


@pytest.mark.parametrize("order", ["apaga tudo que eu falei sobre o gato", "esquece tudo sobre o gato"])
async def test_everything_about_one_thing_is_not_everything(chat: TinyCycle, order: str) -> None:
    chat.know("o gato é preto", "gato")
    chat.know("meu nome é Rui", "nome")
    question = await chat.say(order)
    assert "gato" in question
    assert "Rui" not in question


async def test_everything_is_listed_before_it_goes(chat: TinyCycle) -> None:
    chat.know("me chamo Rui", "nome")
    chat.know("minha senha é 1", "senha")
    await chat.say("apaga tudo que você sabe")
    await chat.say("todas")
    assert not chat.memories


async def test_another_password_is_not_offered_for_deletion(chat: TinyCycle) -> None:
    chat.know("a senha do aliexpress é 123456", "senha do aliexpress")
    ending = await chat.say("apaga a senha do netflix")
    assert chat.actions == ["MemorySearch", "Finish"]
    assert "netflix" in ending
    assert "123456" not in ending


async def test_a_question_without_an_answer_offers_to_save_one_and_the_reply_is_saved(chat: TinyCycle) -> None:
    chat.know("a senha do aliexpress é 123456", "senha do aliexpress")
    question = await chat.say("qual é a minha senha do netflix?")
    assert chat.actions == ["MemorySearch", "Question"]
    assert "Tenho guardado “a senha do aliexpress é 123456”, mas nada sobre “netflix”." in question
    assert "Você me contou" not in question
    await chat.say("é banana77")
    assert chat.contents[-1] == "senha do netflix: banana77"
    assert "banana77" in await chat.say("qual é a minha senha do netflix?")


@pytest.mark.parametrize("reply", ["não sei", "deixa pra lá", "nada"])
async def test_a_question_without_an_answer_saves_no_excuse(chat: TinyCycle, reply: str) -> None:
    await chat.say("qual é a minha senha do netflix?")
    await chat.say(reply)
    assert not chat.memories


@pytest.mark.parametrize(("reply", "action"), [("1", "MemorySave"), ("guardar", "MemorySave"), ("2", "MemorySearch")])
async def test_when_unsure_it_asks_and_the_reply_settles_it_for_the_first_message(
    chat: TinyCycle, reply: str, action: str
) -> None:
    chat.know("reunião com o Plínio na sala 3", "reunião com o Plínio")
    question = await chat.say("reunião com o Plínio amanhã")
    assert chat.actions == ["Question"]
    assert "1. Guardar\n2. Procurar" in question
    await chat.say(reply)
    assert chat.actions[0] == action
    assert ("reunião com o Plínio amanhã" in chat.contents) == (action == "MemorySave")


async def test_neither_of_the_choices_ends_it(chat: TinyCycle) -> None:
    await chat.say("reunião com o Plínio amanhã")
    await chat.say("3")
    assert chat.actions == ["Finish"]


async def test_save_that_means_what_was_said_before(chat: TinyCycle) -> None:
    await chat.say("estou lendo um livro do Saramago")
    assert not chat.memories
    await chat.say("guarda isso")
    assert chat.contents == ["estou lendo um livro do Saramago"]


async def test_save_without_anything_to_save_asks_what(chat: TinyCycle) -> None:
    assert "O que devo guardar?" in await chat.say("anota aí")
    await chat.say("o portão abre com 4433")
    assert chat.contents == ["o portão abre com 4433"]


async def test_a_message_may_hold_a_fact_and_a_question(chat: TinyCycle) -> None:
    chat.know("o wifi de casa é gato1", "wifi de casa")
    answer = await chat.say("Me chamo Rui. Qual é o wifi de casa?")
    assert chat.actions == ["MemorySave", "MemorySearch", "Finish"]
    assert chat.contents[-1] == "Me chamo Rui"
    assert "gato1" in answer


async def test_what_is_known_is_listed(chat: TinyCycle) -> None:
    chat.know("me chamo Rui", "nome")
    chat.know("meu aniversário é 3 de maio", "aniversário")
    answer = await chat.say("o que você sabe sobre mim?")
    assert "- “me chamo Rui” (14/03/2026)" in answer
    assert "- “meu aniversário é 3 de maio” (14/03/2026)" in answer
    assert "/memories" in answer


async def test_a_list_is_of_everything_whatever_it_is_about(chat: TinyCycle) -> None:
    chat.know("tenho alergia a amendoim", "alergia")
    chat.know("xyzzy", "plugh")
    answer = await chat.say("o que você sabe sobre mim?")
    assert chat.actions == ["MemorySearch", "Finish"]
    assert chat.steps[0].queries == ("*",)
    assert "amendoim" in answer
    assert "xyzzy" in answer


async def test_knowing_nothing_is_said_with_an_example(chat: TinyCycle) -> None:
    assert "lembre que" in await chat.say("o que você sabe sobre mim?")


@pytest.mark.parametrize(
    "message",
    ["escreve um poema sobre o mar", "me conta uma piada", "traduz isso pro inglês", "qual é a capital da França?"],
)
async def test_what_needs_a_model_is_declined_honestly(chat: TinyCycle, message: str) -> None:
    answer = await chat.say(message)
    assert chat.actions[-1] == "Finish"
    assert "não tenho um modelo de linguagem" in answer
    assert "`.env`" in answer


async def test_without_the_action_for_it_a_reminder_is_kept_as_a_memory(chat: TinyCycle) -> None:
    await chat.say("me lembre de comprar ração amanhã")
    assert chat.contents == ["comprar ração amanhã"]


@pytest.mark.parametrize(
    "message",
    [
        "não salva isso: vou largar o emprego",
        "don't save this, but I am quitting",
        "no guardes esto",
        "não apague nada",
    ],
)
async def test_a_negated_order_is_not_carried_out(chat: TinyCycle, message: str) -> None:
    chat.know("o gato é preto", "gato")
    await chat.say(message)
    assert chat.actions == ["Finish"]
    assert chat.contents == ["o gato é preto"]


@pytest.mark.parametrize("action", ["MemorySave", "MemorySearch"])
async def test_a_failed_action_is_not_tried_again_and_not_called_done(mind: LimitedMind, action: str) -> None:
    chat = TinyCycle(mind, failing=frozenset({action}))
    message = "lembre que o gato é preto" if action == "MemorySave" else "qual é o nome do meu gato?"
    ending = await chat.say(message)
    assert chat.actions == [action, "Finish"]
    assert "Não consegui" in ending
    assert not chat.told


@pytest.mark.parametrize("action", ["MemoryUpdate", "MemoryDelete"])
async def test_a_failed_change_leads_to_an_honest_end(mind: LimitedMind, action: str) -> None:
    chat = TinyCycle(mind, failing=frozenset({action}))
    chat.know("a senha do banco é 1", "senha do banco")
    ending = await chat.say("apaga a senha do banco" if action == "MemoryDelete" else "a senha do banco agora é 2")
    assert chat.actions[-2:] == [action, "Finish"]
    assert "Não consegui" in ending


@pytest.mark.spec("T6")
@pytest.mark.parametrize(
    ("off", "message"),
    [
        ("MemorySave", "lembre que o gato é preto"),
        ("MemorySearch", "qual é o nome do gato?"),
        ("MemoryUpdate", "o gato agora é branco"),
        ("MemoryDelete", "apaga o gato"),
    ],
)
async def test_what_is_switched_off_is_said_to_be(mind: LimitedMind, off: str, message: str) -> None:
    chat = TinyCycle(mind, choices=tuple(name for name in ALL if name != off))
    chat.know("o gato é preto", "gato")
    assert "desligado" in await chat.say(message)
    assert off not in chat.actions
    assert chat.contents == ["o gato é preto"]


@pytest.mark.spec("T6")
async def test_without_the_question_action_the_question_is_still_asked(mind: LimitedMind) -> None:
    chat = TinyCycle(mind, choices=tuple(name for name in ALL if name != "Question"))
    chat.know("o gato é preto", "gato")
    assert "Posso apagar" in await chat.say("apaga o gato")
    await chat.say("sim")
    assert not chat.memories


@pytest.mark.parametrize("message", ["", "???", "🐘🐘🐘", "1", "a" * 5000, "é" * 3000, "lembre " * 2000, "e " * 4000])
async def test_odd_messages_get_a_sensible_end(chat: TinyCycle, message: str) -> None:
    assert await chat.say(message)


async def test_markdown_in_a_memory_is_quoted_so_that_no_sign_of_it_is_lost(chat: TinyCycle) -> None:
    await chat.say("lembre que a senha do cofre é a*b_c*d")
    assert "`a senha do cofre é a*b_c*d`" in await chat.say("qual a senha do cofre?")


async def test_a_quoted_memory_with_markdown_can_be_confirmed(chat: TinyCycle) -> None:
    chat.know("a senha do cofre é a*b_c*d", "senha do cofre")
    await chat.say("apaga a senha do cofre")
    await chat.say("sim")
    assert not chat.memories


async def test_memories_in_history_that_are_no_memories_do_no_harm(chat: TinyCycle) -> None:
    odd: list[JSONValue] = ["no json", {"id": ""}, ["a"], '{"id": "x", "content": "y", "created_at": 3}']
    for content in odd:
        chat.history.append(Message(MessageRole.SYSTEM, content, Modal.MEMORY))
    assert await chat.say("apaga isso")


@pytest.mark.parametrize(
    ("locale", "save", "ask", "value"),
    [
        (Locale.EN, "remember that my locker code is 88-1", "what is my locker code?", "You told me"),
        (Locale.ES, "recuerda que mi clave del portal es 88-1", "¿cuál es mi clave del portal?", "Me contaste"),
    ],
)
async def test_it_speaks_the_persons_language(chat: TinyCycle, locale: Locale, save: str, ask: str, value: str) -> None:
    chat.locale = locale
    await chat.say(save)
    answer = await chat.say(ask)
    assert value in answer
    assert "88-1" in answer


async def test_a_memory_told_in_portuguese_answers_in_english_and_spanish(chat: TinyCycle) -> None:
    await chat.say("meu aniversário é 3 de maio")
    chat.locale = Locale.EN
    assert "3 de maio" in await chat.say("when is my birthday?")
    chat.locale = Locale.ES
    assert "3 de maio" in await chat.say("¿cuándo es mi cumpleaños?")


async def test_a_question_of_one_known_word_is_searched_for_in_every_language(chat: TinyCycle) -> None:
    chat.know("moro na rua das Acácias", "endereço")
    chat.locale = Locale.ES
    assert "Acácias" in await chat.say("¿dónde vivo?")
    assert chat.steps[0].queries == ("¿dónde vivo?", "endereço address dirección")


async def test_limited_mode_keeps_nothing_between_conversations(chat: TinyCycle, mind: LimitedMind) -> None:
    chat.know("o gato é preto", "gato")
    await chat.say("apaga o gato")
    other = TinyCycle(mind, memories=dict(chat.memories))
    await other.say("sim")
    assert other.actions == ["Finish"]
    assert other.memories


async def test_a_step_that_only_repeats_ends_the_turn(chat: TinyCycle) -> None:
    context = PromptContext(
        Task.DECIDE,
        Locale.PT,
        "qual a senha?",
        NOW,
        (Message(MessageRole.USER, "qual a senha?"),),
        (Step("MemorySearch", Outcome.REPEATED, ("senha",)),),
        ALL,
        actions=INFOS,
    )
    assert '"Finish"' in await chat.mind.answer(context)
    assert "Não consegui" in await chat.mind.answer(replace(context, task=Task.FINISH, choices=()))
