"""Private words in rooms: what people told in private, asked for in rooms, with a model that says all it is shown.

`elefante run` as it is on both platforms. The model searches for everything, then repeats each secret that stands in
what it is sent. Everything that rooms were ever shown counts, also what was replaced since.
"""

from __future__ import annotations

import json
import re
from itertools import count
from typing import Final

from bench.chat import World, world
from bench.proof.result import Proven, Table
from tests.crash.at_writes import at_rest
from tests.fakes import openai_server
from tests.fakes.http_server import Answer, Asked, LoopbackServer
from tests.fakes.openai_server import offered, told
from tests.fakes.tool_calls import Call

PEOPLE: Final = 5
SECRETS: Final = ("garage code", "bank password", "doctor's name", "sister's debt", "locker number")
WAYS: Final = (
    "what is my {what}?", "/retry", "/recall {what}", "forget my {what}", "tell everybody my {what}", "/memories",
    "what did I tell you in private?", "what is the {what} of {other}?",
)  # fmt: skip
_SECRET: Final = re.compile(r"zq\d+-\d+")


class Parrot:
    """A model that searches for all there is, and says every secret that it was ever shown in the same request."""

    def __init__(self) -> None:
        self.in_rooms: list[str] = []  # secrets in requests about what was said in a room

    def __call__(self, asked: Asked) -> Answer:
        """Answer one request."""
        text = json.dumps(asked.body)
        found = sorted({*_SECRET.findall(text)})
        if "in this room" in text:
            self.in_rooms += found
        if "MemorySearch" in offered(asked.body) and not told(asked.body):
            return openai_server.calls(Call("MemorySearch", '{"items": ["*"], "then": "continue"}'))
        return openai_server.says("I ", "was ", "shown ", *(f"{each} " for each in found), "and ", "no ", "more.")


def _secret(person: int, what: int) -> str:
    return f"zq{person}-{what}"


def shown_in_rooms(here: World) -> list[str]:
    """Return everything that rooms of both platforms were ever shown."""
    texts = [
        json.dumps(call.params, default=str)
        for call in here.telegram.calls
        if call.chat_id < 0 and "ephemeral_message_parameters" not in call.params
    ]
    rooms = {number for number, channel in here.discord.channels.items() if channel.guild}
    return texts + [str(write) for write in here.discord.writes if write.channel in rooms and not write.hidden]


async def private_words(people: int) -> Proven:
    """Let that many people of each platform tell their secrets in private, and ask for them in a room in every way."""
    parrot = Parrot()
    server = LoopbackServer([parrot])
    rows, wrong, planted, heard_in_all, asked_in_all = [], list[str](), 0, 0, 0
    async with (
        server.running(),
        world("", unlimited=True, MODEL="openai:m", OPENAI_API_KEY="k", OPENAI_BASE_URL=f"{server.url}/v1") as here,
    ):
        for platform in ("Telegram", "Discord"):
            asked, own, before = count(), 0, len(shown_in_rooms(here))
            parrot.in_rooms.clear()
            for what, name in enumerate(SECRETS):
                for person in range(people):
                    secret = _secret(person, what)
                    await here.private(platform, person).say(f"/remember my {name} is {secret}")
                await at_rest(here)
            for number, way in enumerate(WAYS):
                for what, name in enumerate(SECRETS):  # few messages in each room: of more Telegram takes 20 a minute
                    for person in range(people):
                        place = here.room(platform, person, what * len(WAYS) + number // 2)
                        await place.say(f"{way.format(what=name, other=f'Ana{(person + 1) % people}')}{_here(way)}")
                        next(asked)
                await at_rest(here)
            heard = [each for text in shown_in_rooms(here)[before:] for each in _SECRET.findall(text)]
            control = here.room(platform, 0, 999)  # what is told in a room is shown there, and was found so
            await control.say(f"/remember my parking lot is {_secret(9, 9)}")
            await at_rest(here)
            wrong += [f"{platform}: the control was not found"] * (_secret(9, 9) not in str(shown_in_rooms(here)))
            for person in range(people):  # the same model says in private what it is shown
                await here.private(platform, person).say("what do you know of me?")
            await at_rest(here)
            for person in range(people):
                screen = " ".join(bubble.text for bubble in here.private(platform, person).screen()[len(SECRETS) :])
                own += sum(_secret(person, what) in screen for what in range(len(SECRETS)))
            total, questions = people * len(SECRETS), next(asked)
            rows.append(
                (platform, str(total), str(questions), str(len(heard)), str(len(parrot.in_rooms)), f"{own} of {total}")
            )
            wrong += [f"{platform}: {each} was shown in a room" for each in heard]
            wrong += [f"{platform}: {each} was in a prompt about a room" for each in parrot.in_rooms]
            wrong += [f"{platform}: of {total} secrets {own} were found in private"] * (own < total * 0.9)
            planted, heard_in_all, asked_in_all = planted + total, heard_in_all + len(heard), asked_in_all + questions
    head = (
        "platform",
        "secrets told in private",
        "asked in rooms",
        "shown there",
        "in prompts of rooms",
        "told again in private",
    )
    return Proven(
        f"{planted} secrets told in private, asked for {asked_in_all} times in rooms: {heard_in_all} were shown there.",
        [Table(head, rows)],
        wrong=wrong,
        figures={"secrets": str(planted), "room_questions": str(asked_in_all), "room_leaks": str(heard_in_all)},
    )


def _here(way: str) -> str:
    """Return words by which a prompt is known to be about a room; commands have none."""
    return "" if way.startswith("/") else " (in this room)"
