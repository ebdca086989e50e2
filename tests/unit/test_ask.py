"""The bot inside a program of one's own: document 2's requests, word for word."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from core.ask import ask
from core.delivery.view import View
from core.dialogue import Prompt, Task
from core.errors import InputError, ProviderDown
from core.history.conversation import Conversations
from core.history.summary import Summaries, Summarizer
from core.history.tokens import ByCharacters
from core.history.window import HistoryLimits
from core.outgoing import OutgoingMessage
from core.storage.sqlite import open_database
from core.types import (
    ChatKey,
    ConversationKey,
    Incoming,
    MemoryDraft,
    MemoryKind,
    MemoryNote,
    Message,
    MessageRole,
    UserKey,
)
from tests.fakes.clock import FakeClock
from tests.fakes.handler import ScriptedHandler
from tests.fakes.house import House, Script

REQUEST: dict[str, Any] = {"chat_id": "chat_abc123", "user_id": "60d5ec49f1a2c8b1f8e4e1a1", "session_id": "session_001"}
HELLO = "Oi, Edmar! Prazer em conhecer você. Como posso ajudar com suas finanças hoje? 😊"
EUROPE = (
    "O usuário Edmar está planejando uma viagem para Europa em julho/2026. Orçamento estimado: R$ 15.000. "
    "Já economizou R$ 5.000 em conta poupança. Preferências: voos diretos, hotéis 4 estrelas."
)


def reply(prompt: Prompt) -> str:
    """Answer as a model would that knows what it was shown, and nothing else."""
    said = "\n".join(turn.text for turn in prompt.turns)
    asked = prompt.context.message
    if asked == "Como é meu nome?":
        name = re.search(r"me chamo (\w+)", said)
        return f"Seu nome é {name[1]}! 😊 Posso te ajudar com algo?" if name else "Ainda não sei seu nome!"
    if asked == "Quanto ainda preciso guardar?":
        goal, saved = (
            re.search(rf"{mark}: R\$ ([\d.]+)|{mark} R\$ ([\d.]+)", said) for mark in ("estimado", "economizou")
        )
        if goal and saved:
            left = int((goal[1] or goal[2]).replace(".", "")) - int((saved[1] or saved[2]).replace(".", ""))
            return f"Faltam R$ {left:,}".replace(",", ".") + " para sua viagem! 🎯"
        return "Não sei."
    return HELLO


SCRIPT: Script = {Task.DECIDE: ["Finish"], Task.FINISH: reply, Task.SUMMARY: [EUROPE]}


@pytest.mark.spec("J6", "J5", "J1")
async def test_document_2s_name_is_known_in_the_next_request_and_after_a_restart(tmp_path: Path) -> None:
    clock = FakeClock()
    for message, response in (
        ("Olá, me chamo Edmar", HELLO),
        ("Como é meu nome?", "Seu nome é Edmar! 😊 Posso te ajudar com algo?"),
        ("Como é meu nome?", "Seu nome é Edmar! 😊 Posso te ajudar com algo?"),
    ):
        database = await open_database(tmp_path / "elefante.db")  # each request in a process of its own
        house = House(SCRIPT, clock=clock, database=database)
        async with house.chatbot() as handler:
            answer = await ask(handler, clock, message=message, platform="test", **REQUEST)
        await database.close()
        assert (answer.response, answer.session_id) == (response, "session_001")
        assert re.fullmatch(r"2026-03-14T15:09:\d\d\.\d{3}Z", answer.timestamp)
        assert answer.to_json() == {
            "response": response,
            "sessionId": "session_001",
            "timestamp": answer.timestamp,
        }


@pytest.mark.spec("J1", "J2", "J3", "J4")
async def test_document_2s_long_talk_is_summarised_and_the_summary_answers() -> None:
    house = House(SCRIPT)
    limits = HistoryLimits()
    summarizer = Summarizer(house.history, house.model, ByCharacters(), house.clock, limits)
    summaries = Summaries(summarizer, house.clock)
    house.conversations = Conversations(house.history, house.clock, limits, summaries=summaries)
    key = ConversationKey(ChatKey("test", REQUEST["chat_id"]), UserKey("test", REQUEST["user_id"]))
    thread = (await house.conversations.open(key)).thread
    window = ["Vou viajar em julho", "Ótimo! Quanto você planeja gastar?", "Uns 15 mil", "Legal! Já tem algo guardado?"]
    for number, text in enumerate([*(f"mensagem {n}" for n in range(46)), *window]):
        role = MessageRole.ASSISTANT if number % 2 else MessageRole.USER
        await house.history.append(thread.id, Message(role, text, tokens=72))
    assert await house.history.totals(thread.id) == (50, 3600)
    await summarizer.fold(thread.id)
    async with summaries, house.chatbot() as handler:
        message = "Quanto ainda preciso guardar?"
        answer = await ask(handler, house.clock, message=message, platform="test", **REQUEST)
    assert answer.response == "Faltam R$ 10.000 para sua viagem! 🎯"
    text = house.model.asked(Task.FINISH)[0].turns[0].text
    assert text.startswith(f"[HISTÓRICO_RESUMIDO]\n{EUROPE}\n\n[JANELA_ATUAL]\n\n{window[0]}")
    assert "mensagem" not in text
    assert len(await house.history.since(thread.id, 0, 99)) == 52


@pytest.mark.spec("J6")
async def test_memories_alone_are_answered_as_their_lines() -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("Antes."))
        await view.status("Buscando por memórias...")
        await view.complete(memories=(item,))

    item = MemoryNote("senha", "abc123", "14 Mar 2026")
    clock = FakeClock()
    answer = await ask(ScriptedHandler(clock, script), clock, message="qual é a senha?", **REQUEST)
    assert answer.response == "🧠 senha: abc123 · 14 Mar 2026"


@pytest.mark.spec("T1", "T4", "T9")
async def test_every_message_of_a_turn_is_heard_in_the_documents_form_as_it_is_said() -> None:
    house = House(
        {Task.DECIDE: ["MemorySearch", "Finish"], Task.SEARCH_QUERIES: ['["senha"]'], Task.FINISH: ["Achei."]}
    )
    memory = house.memories.of(UserKey("test", "ana"))
    draft = MemoryDraft(MemoryKind.TEXT, "abc123", ("senha",))
    await memory.save([draft], await memory.embed(["senha", "abc123"]))
    heard: list[Message] = []
    async with house.chatbot() as handler:
        asked: dict[str, Any] = {"chat_id": "c", "user_id": "ana", "platform": "test", "on_message": heard.append}
        answer = await ask(handler, house.clock, message="Qual é a senha?", **asked)
    told = [message.to_wire() for message in heard]
    statuses = [each["content"] for each in told if each["modal"] == "textForReplace"]
    assert [str(each).rstrip(".") for each in statuses] == [
        "IA está pensando",
        "Buscando por memórias",
        "Buscando por memórias, formatando",
        "Buscando por memórias, pesquisando",
        "IA está pensando",
    ]
    assert told[0] == {
        "chat-history": False,
        "modal": "textForReplace",
        "role": "assistant",
        "content": statuses[0],
    }
    recalled, said = (each for each in told if each["modal"] != "textForReplace")
    assert (recalled["chat-history"], recalled["modal"], recalled["role"]) == (True, "memory", "system")
    assert isinstance(recalled["content"], dict)
    assert recalled["content"]["content"] == "abc123"
    assert said == {"chat-history": False, "modal": "text", "role": "assistant", "content": answer.response}


async def test_a_time_is_answered_as_its_words() -> None:
    async def script(_: Incoming, view: View) -> None:
        await view.show(OutgoingMessage("Até [sexta, 8:00](time:1764316800)."))

    clock = FakeClock()
    answer = await ask(ScriptedHandler(clock, script), clock, message="quando?", **REQUEST)
    assert answer.response == "Até sexta, 8:00."


@pytest.mark.spec("J6")
@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"message": " "}, "missing: message"),
        ({"chat_id": ""}, "missing: chat_id"),
        ({"user_id": None, "chat_id": ""}, "missing: chat_id, user_id"),
        ({"user_id": 7}, "not text: user_id"),
        ({"session_id": b"s"}, "not text: session_id"),
        ({"chat_id": "c" * 201}, "200 characters.*: chat_id"),
        ({"user_id": "a\ud800"}, "cannot be shown: user_id"),
        ({"thread_id": "x"}, "3 to 64 .*: thread_id"),
    ],
)
async def test_a_field_that_is_missing_or_wrong_is_named(change: dict[str, Any], missing: str) -> None:
    house = House(SCRIPT)
    async with house.chatbot() as handler:
        with pytest.raises(InputError, match=missing):
            await ask(handler, house.clock, **{"message": "oi", "chat_id": "c", "user_id": "u"} | change)
    assert not house.model.prompts


@pytest.mark.spec("J6")
async def test_fields_that_are_left_out_are_named_and_optional_ones_may_be_none() -> None:
    house = House(SCRIPT)
    async with house.chatbot() as handler:
        with pytest.raises(InputError, match="missing: message, chat_id, user_id"):
            await ask(handler, house.clock)
        optional: dict[str, Any] = {"session_id": None, "thread_id": None, "language": None}
        answer = await ask(handler, house.clock, message="oi", chat_id="c", user_id="u", platform="test", **optional)
    assert answer.response == HELLO
    assert answer.session_id


@pytest.mark.spec("J6")
async def test_without_a_session_the_answer_names_a_new_one() -> None:
    house = House(SCRIPT)
    async with house.chatbot() as handler:
        answers = [
            await ask(handler, house.clock, message="oi", chat_id="c", user_id="u", platform="test") for _ in range(2)
        ]
    assert len({answer.session_id for answer in answers} - {""}) == 2


async def test_a_failure_is_answered_in_words() -> None:
    house = House({Task.DECIDE: [ProviderDown("down")]})
    async with house.chatbot() as handler:
        answer = await ask(handler, house.clock, message="hello there", chat_id="c", user_id="u", platform="test")
    assert "could not reach" in answer.response


async def test_whom_the_bot_does_not_answer_gets_an_empty_answer() -> None:
    house = House(SCRIPT)
    async with house.chatbot() as handler:
        await ask(handler, house.clock, message="oi", chat_id="c", user_id="u", platform="elsewhere")
        answer = await ask(handler, house.clock, message="oi", chat_id="c", user_id="u", platform="elsewhere")
    assert answer.response == ""
