"""What Discord's menus show of the core's tables, and for whom an answer is: all that Discord would refuse or leak."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.discord.audience import IN_ORDER, SPEAKS, STEERS, audience, overtakes
from adapters.discord.form import Forms
from adapters.discord.markup import Drawn
from adapters.discord.option import filled, options_of
from adapters.discord.press import MAX_ID_CHARS, press_id, press_of, stop_id, stopped_by
from adapters.discord.room import Room, aside, channel_id, is_aside
from core.features.admin.admin import VERBS
from core.features.tables import COMMANDS, STAFF_COMMANDS
from core.outgoing import MAX_COMMAND_BYTES, Button
from core.text.catalogue import menu_names
from core.types import ChatKey, ConversationKey, Locale, UserKey
from tests.fakes.clock import FakeClock

TABLES = (COMMANDS, STAFF_COMMANDS, VERBS)
ROOM = Room(5, guild=1)
OPTION_NAMES = ("file", "message", "person", "private", "text")


@pytest.mark.parametrize("name", sorted({"ask", *OPTION_NAMES, *(name for table in TABLES for name in table)}))
def test_every_name_in_a_menu_is_there_in_every_language_and_as_discord_wants_it(name: str) -> None:
    names = menu_names(name)
    assert set(names) == {Locale.PT, Locale.ES}
    for said in (name, *names.values()):
        assert re.fullmatch(r"[-_'\w]{1,32}", said)
        assert said == said.lower()


@pytest.mark.parametrize("locale", [Locale.PT, Locale.ES])
def test_no_two_commands_of_a_menu_have_one_name_in_any_language(locale: Locale) -> None:
    for names in (["ask", *COMMANDS, *STAFF_COMMANDS], list(VERBS)):
        said = [menu_names(name)[locale] for name in names]
        assert len(set(said)) == len(said)


def test_descriptions_have_at_most_a_hundred_characters_and_a_group_at_most_25_commands() -> None:
    assert all(len(table) <= 25 for table in TABLES)
    for about in [entry.about for entry in (*COMMANDS.values(), *STAFF_COMMANDS.values())] + [
        verb.about for verb in VERBS.values()
    ]:
        assert all(1 <= len(text) <= 100 for text in about.values()), about


def test_options_say_what_the_usage_says() -> None:
    shape = {name: [(one.name, one.words) for one in options_of(name, usage)] for name, usage in (
        ("language", " pt | en | es | auto"), ("forget", " N | ID | all"), ("import", ""), ("help", ""),
        ("admin allow", " PLATFORM:ID | here"), ("reset", ""), ("admin context", " [on | off]"),
    )}  # fmt: skip
    assert shape == {
        "language": [("text", ("pt", "en", "es", "auto"))], "forget": [("text", ())], "import": [("file", ())],
        "help": [], "admin allow": [("person", ()), ("text", ())], "reset": [("private", ())],
        "admin context": [("text", ("on", "off"))],
    }  # fmt: skip
    assert filled("/forget", {"text": "2"}).text == "/forget 2"


def test_commands_known_by_what_they_do_to_a_conversation_exist() -> None:
    assert {*COMMANDS} >= STEERS | SPEAKS | IN_ORDER


@given(st.sampled_from(["", "oi", "/", "/reset", "/stop now", "/memories 2", "/retry", "/ x", "/x"]), st.booleans())
def test_what_is_private_in_a_room_is_hidden_and_never_said_into_the_rooms_own_conversation(
    text: str, unseen: bool
) -> None:
    to = audience(ROOM, 7, text, unseen=unseen)
    assert to.private == to.hidden
    if unseen:
        assert is_aside(to.chat)
    if to.private and not is_aside(to.chat):
        assert text.split(maxsplit=1)[0][1:] in STEERS
    direct = audience(Room(5, private=True), 7, text, unseen=unseen)
    assert (direct.chat, direct.private, direct.hidden) == (ChatKey("discord", "5"), True, False)


def test_a_place_aside_is_of_one_person_in_one_channel_and_written_into_there() -> None:
    chats = [ROOM.chat, Room(6, parent=5, guild=1).chat]
    places = [aside(chat, user) for chat in chats for user in (7, 8)]
    assert len({*places, *chats}) == 6
    assert [channel_id(place) for place in places] == [5, 5, 6, 6]


@given(
    st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: len(text.encode()) <= MAX_COMMAND_BYTES),
    st.booleans(), st.booleans(), st.booleans(), st.integers(0, 149),
)  # fmt: skip
def test_all_that_a_button_means_stands_in_its_id(
    command: str, asks: bool, in_place: bool, aloof: bool, number: int
) -> None:
    choice = Button("x", command, asks="?" * asks, in_place=in_place)
    custom_id = press_id(choice, number, aside=aloof)
    assert len(custom_id) <= MAX_ID_CHARS
    found = press_of({"custom_id": custom_id})
    assert (found.command, found.asks, found.in_place, found.aside) == (command, asks, in_place, aloof)
    assert stopped_by({"custom_id": custom_id}) is None


@given(st.text(max_size=100))
def test_an_id_of_any_other_form_means_nothing(custom_id: str) -> None:
    if not custom_id.startswith("elefante:"):
        assert not press_of({"custom_id": custom_id}).command


@pytest.mark.parametrize("thread", ["", str(10**18), "@" + str(10**18), f"{10**18}@{10**18}"])
def test_the_stop_button_holds_its_conversation(thread: str) -> None:
    conversation = ConversationKey(ChatKey("discord", str(10**18), thread), UserKey("discord", str(10**18)))
    assert len(stop_id(conversation)) <= MAX_ID_CHARS
    assert stopped_by({"custom_id": stop_id(conversation)}) == conversation


def test_a_form_as_an_older_client_sends_it_is_understood() -> None:
    rows = [{"type": 1, "components": [{"type": 4, "custom_id": "text", "value": "novo"}]}]
    assert press_of({"custom_id": "elefante:do:f0:/edit 7", "components": rows}).command == "/edit 7 novo"


def test_only_what_leaves_a_conversation_as_it_is_overtakes() -> None:
    assert overtakes("/memories 2")
    assert overtakes("/stop")
    assert not any(overtakes(text) for text in ("oi", "/", "/reset", "/remember x", "/retry"))


def test_of_many_forms_only_the_newest_are_kept_in_mind() -> None:
    forms = Forms(FakeClock())
    for number in range(600):
        forms.note("7", Drawn(choices=(Button("Editar", f"/edit {number}", asks="Novo conteúdo"),)))
    assert len(forms) == 500
