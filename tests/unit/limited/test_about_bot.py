"""Questions about the bot are answered from what is true of it, in three languages, without a model."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from core.limited import frames
from core.limited.mind import LimitedMind
from core.providers.usem3 import Usem3Embedder
from tests.fakes.talk import talking

ASKED = {
    "erase": (
        "how do I delete everything?",
        "how can i wipe all my data",
        "can I delete everything you know about me?",
        "como apago tudo?",
        "como eu faço pra apagar meus dados",
        "tem como apagar tudo o que vc sabe?",
        "¿cómo borro todo?",
        "como hago para borrar mis datos",
        "se puede borrar todo?",
    ),
    "today": (
        "what did you save today?",
        "what did i tell you today",
        "o que você guardou hoje?",
        "oq vc anotou hj",
        "¿qué guardaste hoy?",
        "que te conté hoy",
    ),
    "data": (
        "who can read this?",
        "who reads what I write?",
        "quem pode ler isso?",
        "quem mais vê isso?",
        "¿quién puede leer esto?",
        "quien más lee mis mensajes?",
    ),
    "": (
        "delete everything",
        "apaga tudo",
        "borra todo",
        "how do I delete the wifi password?",
        "who read the book?",
        "quem vai ver o filme?",
        "what did you eat today?",
        "how do I get rid of ants?",
        "como apago a luz da varanda?",
        "who sees the doctor on friday?",
    ),
}


def test_questions_about_the_bot_are_told_from_others() -> None:
    read = {said: frames.asks_whole(said) for said in (each for said in ASKED.values() for each in said)}
    assert read == {said: topic for topic, all_said in ASKED.items() for said in all_said}


@pytest.mark.spec("T7")
async def test_they_are_answered_and_what_was_kept_today_is_only_that(tmp_path: Path, embedder: Usem3Embedder) -> None:
    async with talking(tmp_path, embedder=embedder, mind=LimitedMind(embedder)) as person:
        await person.say("/language en")
        assert "I have saved nothing of yours today." in await person.say("what did you save today?")
        await person.say("remember that the gate code is 5512")
        person.clock.jump(timedelta(days=2))
        await person.say("remember that my bike is red")
        told = await person.say("what did you save today?")
        assert "my bike is red" in told
        assert "5512" not in told
        told = await person.say("how do I delete everything?")
        assert "/forget all" in told
        assert len(await person.contents()) == 2
        assert "/privacy" in await person.say("who can read this?")
