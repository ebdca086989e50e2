"""Discord with the whole core behind it: memories by menu, form and button, people let in by card, talks aside."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial

from adapters.discord.update_handler import UpdateHandler
from core.commands.command import AFRESH
from core.dialogue import Prompt, Task
from core.features.access.gate import VERDICTS
from core.features.memories.card import EDIT, EDITED
from core.outgoing import OutgoingMessage
from core.types import ChatKey, ConversationKey, Locale, MemoryDraft, MemoryKind, UserKey
from tests.e2e.discord_kit import ANA, BIA, ME, ROOM, flow, idle, serving
from tests.fakes.clock import FakeClock
from tests.fakes.discord_components import labels
from tests.fakes.discord_interactions import Interaction
from tests.fakes.discord_server import DiscordServer
from tests.fakes.discord_world import EPHEMERAL
from tests.fakes.house import House

PT, EN = Locale.PT, Locale.EN
OWNER = UserKey("discord", str(ANA.id))
SECRET = "abc123"


def finding(clock: FakeClock) -> House:
    """A bot whose model looks into the memory before it answers."""
    decided = iter(["MemorySearch", "Finish"] * 9)
    return House(
        {
            Task.DECIDE: lambda _: next(decided),
            Task.SEARCH_QUERIES: ['{"items": ["senha do wi-fi"]}'],
            Task.FINISH: ["Pronto."],
        },
        clock=clock,
    )


async def knows(built: House) -> str:
    """Ana told the bot something in private; the id of that."""
    memory = built.memories.of(OWNER)
    draft = MemoryDraft(MemoryKind.TEXT, SECRET, ("senha do wi-fi",))
    [item] = await memory.add([draft], await memory.embed(draft.bindings))
    return item.id


async def test_nothing_recalled_aside_reaches_an_answer_that_all_read(clock: FakeClock) -> None:
    built = finding(clock)
    access = built.access()
    async with DiscordServer(clock) as server:
        room = server.room(ROOM)
        async with built.chatbot(access) as handler, serving(server, clock, handler):
            await access.own(OWNER, "Ana")
            await knows(built)
            aside = await server.interactions.command(ANA, "ask", room=ROOM, message="em segredo: e ela?", private=True)
            await flow(server, clock, lambda: any(SECRET in text for text in aside.screen))
            [told] = aside.screen
            assert told.startswith("Pronto.\n")
            assert all(note.flags & EPHEMERAL for note in aside.notes)
            known = len(built.model.prompts)
            assert any(SECRET in _said(prompt) for prompt in built.model.prompts)
            aloud = await server.interactions.command(ANA, "ask", room=ROOM, message="e qual era a senha?")
            await flow(server, clock, lambda: aloud.screen[-1:] == ["Pronto."])
            await server.says(ANA, f"{ME} e a senha?", room=ROOM)
            await flow(server, clock, lambda: room.screen()[-1:] == ["Pronto."] and not aloud.thinking)
            await idle(server)
            spoken = built.model.prompts[known:]
            assert len(spoken) >= 4
            assert not any(SECRET in _said(prompt) or prompt.context.message == "a senha?" for prompt in spoken[:3])
            assert not any(SECRET in _said(prompt) for prompt in spoken)
            assert not any(SECRET in text for text in room.screen())


def _said(prompt: Prompt) -> str:
    return "\n".join([prompt.context.message, *(turn.text for turn in prompt.turns), prompt.system])


async def test_a_memory_is_chosen_from_a_menu_edited_by_a_form_and_the_change_undone_all_in_one_message() -> None:
    clock = FakeClock()
    built = finding(clock)
    access = built.access()
    async with DiscordServer(clock) as server, built.chatbot(access) as handler, serving(server, clock, handler):
        await access.own(OWNER, "Ana")
        memory_id = await knows(built)
        used = await server.interactions.command(ANA, "memories", room=ROOM)
        await flow(server, clock, lambda: used.screen)
        [note] = used.notes
        await server.interactions.press(ANA, note, "1. senha do wi-fi")
        await flow(server, clock, lambda: EDIT[PT] in labels(note.components))
        now = "def456"
        await built.memories.of(OWNER).update(memory_id, content=now, vectors={})  # elsewhere, since it was shown
        opened = await server.interactions.press(ANA, note, EDIT[PT])
        await flow(server, clock, lambda: opened.form)
        assert opened.form["title"] == EDITED[PT]
        assert opened.form["components"][0]["component"]["value"] == now
        await server.interactions.submit(ANA, opened, "xyz789")
        await flow(server, clock, lambda: "xyz789" in note.text)
        [undo] = [label for label in labels(note.components) if "Desfazer" in label]
        await server.interactions.press(ANA, note, undo)
        await flow(server, clock, lambda: now in note.text)
        [kept] = await built.memories.of(OWNER).get([memory_id])
        assert kept.content == now
        assert used.notes == [note]
        assert server.room(ROOM).screen() == []


async def test_the_owner_lets_a_stranger_in_by_the_card_in_direct_messages_also_after_a_restart() -> None:
    clock = FakeClock()
    built = finding(clock)
    access = built.access()
    async with DiscordServer(clock) as server:
        async with built.chatbot(access) as handler, serving(server, clock, handler):
            await access.own(OWNER, "Ana")
            await server.says(BIA, "hi, may I?")
            await flow(server, clock, lambda: server.direct(ANA).screen())
            [card] = [note for note in server.direct(ANA).notes.values() if note.components]
            assert "may I?" not in card.text
        async with built.chatbot(access) as handler, serving(server, clock, handler):
            tried = await server.interactions.press(BIA, card, VERDICTS["allow"][EN])
            await flow(server, clock, lambda: tried.screen)
            assert card.components  # a stranger's press decides nothing
            await server.interactions.press(ANA, card, VERDICTS["allow"][EN])
            await flow(server, clock, lambda: VERDICTS["allow"][EN] not in labels(card.components))
            await server.says(BIA, "hello again")
            await flow(server, clock, lambda: "Pronto." in server.direct(BIA).screen())


async def test_whose_direct_messages_are_closed_is_not_reached_and_two_notices_are_two_messages() -> None:
    clock = FakeClock()
    built = finding(clock)
    handler = built.chatbot(built.access())
    async with DiscordServer(clock) as server, handler, serving(server, clock, handler):
        notifier = handler.parts.reach.notifier
        for text in ("Um aviso.", "Outro aviso."):
            told = await _during(server, clock, notifier.tell(OWNER, OutgoingMessage(text)))
            assert told
        assert server.direct(ANA).screen() == ["Um aviso.", "Outro aviso."]
        server.direct(BIA).refusal = (403, 50007)
        closed = UserKey("discord", str(BIA.id))
        assert not await _during(server, clock, notifier.tell(closed, OutgoingMessage("Um aviso.")))
        assert isinstance(notifier.platforms["discord"], UpdateHandler)


async def _during(server: DiscordServer, clock: FakeClock, work: Coroutine[None, None, bool]) -> bool:
    task = asyncio.create_task(work)
    await flow(server, clock, task.done)
    return task.result()


async def test_a_slash_command_does_not_wait_for_the_answer_that_somebody_gets_in_that_channel() -> None:
    clock = FakeClock()
    built = finding(clock)
    access = built.access()
    async with DiscordServer(clock) as server, built.chatbot(access) as handler, serving(server, clock, handler):
        await access.own(OWNER, "Ana")
        here = ConversationKey(ChatKey("discord", str(ROOM)), UserKey("discord", str(ANA.id)))
        async with handler.pipeline.locks.lane(here):  # an answer is under way
            listed = await server.interactions.command(ANA, "memories", room=ROOM)
            await flow(server, clock, partial(getattr, listed, "screen"))
            afresh = await server.interactions.command(ANA, "reset", room=ROOM)
            helped = await server.interactions.command(ANA, "help", room=ROOM)
            await flow(server, clock, partial(getattr, helped, "screen"))
            assert afresh.thinking  # it changes the conversation, so it waits for its turn
        await flow(server, clock, lambda: afresh.screen == [AFRESH[PT]])


async def test_the_talk_aside_is_begun_anew_by_itself_and_the_rooms_by_itself(clock: FakeClock) -> None:
    built = finding(clock)
    access = built.access()
    async with DiscordServer(clock) as server, built.chatbot(access) as handler, serving(server, clock, handler):
        await access.own(OWNER, "Ana")
        for private in (False, True):
            asked = await server.interactions.command(ANA, "ask", room=ROOM, message="oi?", private=private)
            await flow(server, clock, partial(_ends, asked))
        before = {thread.id for thread in await built.history.threads(OWNER)}
        used = await server.interactions.command(ANA, "reset", room=ROOM, private=True)
        await flow(server, clock, lambda: used.screen == [AFRESH[PT]])
        closed = [one for one in await built.history.threads(OWNER) if one.status.value == "reset"]
        assert len(before) == 2
        assert [thread.conversation.chat.thread for thread in closed] == [f"@{ANA.id}"]


def _ends(asked: Interaction) -> bool:
    return asked.screen[-1:] == ["Pronto."]
