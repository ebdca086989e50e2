"""What a memory keeps is handed back when it is asked for: the thing itself, byte for byte, with its words."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.answering.parts import TurnLimits
from core.dialogue import Prompt, Task
from core.enclosures import Attachment, AttachmentKind, Quote, QuoteKind, Speaker
from core.models import Cycle
from core.text.pointing import asks_to_show
from tests.fakes.house import ANA, Script
from tests.fakes.model import call
from tests.fakes.sending import LEASE, LEASE_FILE, PHOTO, Sending, sending


@pytest.fixture
async def chat(tmp_path: Path) -> AsyncIterator[Sending]:
    async with sending(tmp_path) as chat:
        yield chat


async def keep(chat: Sending, words: str, thing: Attachment) -> None:
    await chat.say("remember this", thing)
    if not await chat.kept() or (await chat.kept())[0].content != words:
        await chat.say(words)


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ("Nina's vaccination card", "show me Nina's vaccination card"),
        ("Nina's vaccination card", "where's Nina's vaccination card?"),
        ("Nina's vaccination card", "can you send me nina's vaccination card pls"),
        ("my passport", "I need my passport photo"),
        ("RG da Nina", "vc tem o RG da Nina?"),
        ("el seguro del coche", "necesito el seguro del coche"),
        ("carteirinha de vacina da Nina", "cadê a carteirinha de vacina da Nina?"),
        ("carteirinha de vacina da Nina", "me manda a carteirinha de vacina da Nina"),
        ("carnet de vacunas de Nina", "muéstrame el carnet de vacunas de Nina"),
        ("carnet de vacunas de Nina", "¿dónde está el carnet de vacunas de Nina?"),
    ],
)
async def test_a_photo_is_handed_back_with_its_words(chat: Sending, words: str, asked: str) -> None:
    await keep(chat, words, PHOTO)
    answer = await chat.say(asked)
    assert chat.handed == [("photo.jpg", chat.sent["test:photo"])]
    assert words in answer
    assert chat.shown.text == words
    assert [(file.kind, file.handle) for file in chat.handed_files] == [(AttachmentKind.PHOTO, PHOTO.handle)]


async def test_a_question_about_a_thing_brings_words_and_not_the_thing(chat: Sending) -> None:
    await chat.say("remember this contract", LEASE_FILE)
    answer = await chat.say("what does my contract say about pets?")
    assert "Page 4" in answer
    assert "Page 2" not in answer  # it says nothing of pets
    assert "Page 3" not in answer
    assert chat.handed == []
    await chat.say("show me the contract")
    assert chat.handed == [("lease.pdf", LEASE)]


async def test_what_was_kept_in_private_is_not_shown_in_a_room(chat: Sending) -> None:
    await keep(chat, "my passport", PHOTO)
    await chat.say("show me my passport", room="family")
    assert chat.handed == []
    await chat.say("show me my passport")
    assert len(chat.handed) == 1


async def test_a_place_comes_as_a_place(chat: Sending) -> None:
    await chat.say("", Attachment(AttachmentKind.LOCATION, detail="-23.5,-46.6"))
    await chat.say("remember I parked here")
    await chat.say("where did I park?")
    assert [(file.kind, file.detail) for file in chat.handed_files] == [(AttachmentKind.LOCATION, "-23.5,-46.6")]


async def test_a_contact_comes_as_a_card(chat: Sending) -> None:
    card = "BEGIN:VCARD\nFN:Ana Lima\nTEL:+55 11 5555-0000\nEND:VCARD"
    await chat.say("", Attachment(AttachmentKind.CONTACT, "Ana Lima", detail=card))
    assert "Saved: “Ana Lima: +55 11 5555-0000” 📎 Ana Lima" in await chat.press("Remember")
    await chat.say("send me Ana Lima's contact")
    assert [(file.kind, file.detail) for file in chat.handed_files] == [(AttachmentKind.CONTACT, card)]


async def test_the_card_of_a_memory_shows_what_it_keeps(chat: Sending) -> None:
    await chat.say("remember this contract", LEASE_FILE)
    [item] = await chat.kept()
    assert "📎 lease.pdf" in await chat.say(f"/memories show {item.id}")
    await chat.press("Show")
    assert chat.handed == [("lease.pdf", LEASE)]


async def test_bytes_that_are_gone_are_said_to_be(chat: Sending) -> None:
    await keep(chat, "Nina's vaccination card", PHOTO)
    await chat.files.remove(ANA, await chat.files.digests(ANA))
    answer = await chat.say("show me Nina's vaccination card")
    assert chat.handed == []
    assert "could not send it" in answer


async def test_who_has_a_photo_forgotten_has_no_byte_of_it_left(chat: Sending) -> None:
    await keep(chat, "my garden in May", PHOTO)
    await chat.say("forget the photo of my garden in May")
    await chat.press("Delete")
    assert await chat.kept() == []
    await chat.say("show me my garden in May")
    assert chat.handed == []


async def test_with_a_model_the_things_of_what_it_cites_are_handed_back(tmp_path: Path) -> None:
    script = {Task.SINGLE: ["Here it is. [m1]"]}
    async with sending(tmp_path, script, limits=TurnLimits(cycle=Cycle.SINGLE)) as chat:
        await chat.say("/remember the lease of the flat", LEASE_FILE)
        assert await chat.say("show me the lease of the flat")
        assert [name for name, _ in chat.handed] == ["lease.pdf"]


async def test_a_model_that_goes_step_by_step_hands_back_what_its_answer_tells_of(tmp_path: Path) -> None:
    script: Script = {
        Task.DECIDE: ['{"action": "MemorySearch"}', '{"action": "Finish"}'],
        Task.SEARCH_QUERIES: ['{"items": ["lease of the flat"]}'],
        Task.FINISH: ["Here is the lease of the flat."],
    }
    async with sending(tmp_path, script) as chat:
        await chat.say("/remember the lease of the flat", LEASE_FILE)
        await chat.say("show me the lease of the flat")
        assert [name for name, _ in chat.handed] == ["lease.pdf"]


VET = "I'm at the vet and they don't believe me about Nina's shots"
"""Asks for nothing, and of whose words the memory says more."""


def send_what_is_shown(prompt: Prompt) -> str:
    """Send the memories that the prompt shows, by their ids."""
    ids = re.findall(r'"id": ?"([^"]+)"', "\n".join(turn.text for turn in prompt.turns))
    return json.dumps({"ids": list(dict.fromkeys(ids))})


async def test_a_model_sends_what_nobody_asked_for_in_words_in_its_one_call(tmp_path: Path) -> None:
    script: Script = {Task.SINGLE: ["ok", call("MemorySend", ids=["m1"], text="Her card, all up to date."), "Fine."]}
    async with sending(tmp_path, script, limits=TurnLimits(cycle=Cycle.SINGLE)) as chat:
        await chat.say("/remember that Nina is afraid of the vet")
        await chat.say("hi")
        await chat.say("/remember Nina's vaccination card: rabies shots at the vet", PHOTO)
        answer = await chat.say(VET)
        assert answer.startswith("Her card, all up to date.")
        assert chat.handed == [("photo.jpg", chat.sent["test:photo"])]
        asked = chat.house.model.asked(Task.SINGLE)
        assert len(asked) == 2
        assert "keeps photo" in asked[-1].turns[-1].volatile
        assert ["MemorySend" in {tool.name for tool in prompt.tools} for prompt in asked] == [False, True]


async def test_a_model_that_goes_step_by_step_sends_by_the_same_action(tmp_path: Path) -> None:
    script: Script = {
        Task.DECIDE: [f'{{"action": "{name}"}}' for name in ("MemorySearch", "MemorySend", "Finish")],
        Task.SEARCH_QUERIES: ['{"items": ["Nina\'s shots"]}'],
        Task.ARGUMENTS: send_what_is_shown,
        Task.FINISH: ["All up to date."],
    }
    async with sending(tmp_path, script) as chat:
        await chat.say("/remember Nina's vaccination card: rabies shots at the vet", PHOTO)
        assert "All up to date." in await chat.say(VET)
        assert chat.handed == [("photo.jpg", chat.sent["test:photo"])]


async def test_a_model_sends_into_a_room_nothing_that_was_kept_in_private(tmp_path: Path) -> None:
    script: Script = {Task.SINGLE: [call("MemorySend", ids=["m1"], text="Here."), "I have nothing of that."]}
    async with sending(tmp_path, script, limits=TurnLimits(cycle=Cycle.SINGLE)) as chat:
        await chat.say("/remember Nina's vaccination card: rabies shots at the vet", PHOTO)
        await chat.say(VET, room="family")
        assert chat.handed == []


@pytest.mark.parametrize(
    "text",
    [
        "show me the lease",
        "Cadê meu CPF?",
        "onde eu estacionei?",
        "me manda o contrato",
        "¿dónde estacioné?",
        "pásame la foto del perro",
        "e o comprovante? me mostra",
        "I need to see my passport",
        "enséñame el recibo",
        "play me grandpa's speech",
        "toca o áudio do vô",
        "ponme el audio de la abuela",
        "reproduce la grabación",
    ],
)
def test_who_asks_for_a_thing_is_understood(text: str) -> None:
    assert asks_to_show(text)


@pytest.mark.parametrize(
    "text",
    [
        "what does my contract say about pets?",
        "quanto é o aluguel?",
        "remember this",
        "¿cuánto pago de alquiler?",
        "the show was great",
        "guarda isso",
        "when is the show?",
        "o time dele ponta a ponta",
    ],
)
def test_who_asks_for_words_is_not_handed_things(text: str) -> None:
    assert not asks_to_show(text)


@pytest.mark.parametrize("text", ["/remember", "remember this", "guarda isso"])
async def test_remember_this_as_a_reply_keeps_the_message_with_its_things(chat: Sending, text: str) -> None:
    quote = Quote(QuoteKind.REPLY, "the lease of the flat", Speaker.OTHER, "Bia", attachments=(LEASE_FILE,))
    await chat.say(text, quotes=(quote,))
    [item] = await chat.kept()
    assert "Bia" in item.content
    assert "lease of the flat" in item.content
    assert [thing.name for thing in item.attachments] == ["lease.pdf"]
    assert "Page 4" in await chat.say("does the lease of the flat allow a dog?")


async def test_remember_as_a_reply_to_a_document_without_words_keeps_it_under_its_title(chat: Sending) -> None:
    await chat.say("/remember", quotes=(Quote(QuoteKind.REPLY, attachments=(LEASE_FILE,)),))
    assert [item.content for item in await chat.kept()] == ["LEASE AGREEMENT"]


async def test_what_came_as_an_album_is_handed_back_as_one(chat: Sending) -> None:
    chat.sent["test:second"] = chat.sent["test:photo"] + b"\0"
    second = Attachment(AttachmentKind.PHOTO, handle="test:second")
    await chat.say("remember this: our kitchen", PHOTO, second)
    await chat.say("show me our kitchen")
    assert [raw for _, raw in chat.handed] == [chat.sent["test:photo"], chat.sent["test:second"]]
    assert len(chat.shown.files) == 2
