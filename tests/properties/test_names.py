"""Nobody is created by a typo: only a well-formed id or a known @name ever gives somebody a role."""

from __future__ import annotations

import asyncio
import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.types import Role, UserKey
from tests.fakes.house import House
from tests.fakes.lobby import FINISH, Lobby
from tests.profile import examples
from tests.unit.test_names import ANA, BIA, connect

WELL_FORMED = re.compile(
    r"(telegram:)?[1-9][0-9]{0,15}|(discord:)?[0-9]{17,20}|console:\S(.*\S)?|(telegram:)?@bia|here.*"
)
near_misses = st.one_of(
    st.from_regex(r"\A(telegram|discord|telgram|console|)?:?@?[-+]?[0-9٣²]{0,22}[a-z]?\Z"),
    st.from_regex(r"\A@?(b[il]a|here|me|bia_)\Z"),
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=70),  # control characters are cut off what is said
)


@settings(max_examples=examples(150))
@given(st.sampled_from(["allow", "role", "block"]), near_misses)
@example("allow", "@bob")
@example("allow", "telegram:-1001")
def test_no_other_text_gives_anybody_a_role(verb: str, name: str) -> None:
    async def said() -> set[UserKey]:
        async with Lobby(House(FINISH, trusted=("console",)), ()) as lobby:
            await connect(lobby)
            await lobby.give(ANA, Role.OWNER)
            await lobby.say("hi", BIA, handle="bia")
            await lobby.say(f"/admin {verb} {name}{' member' if verb == 'role' else ''}", ANA)
            return {person.user for person in await lobby.house.people.all()} - {ANA}

    created = asyncio.run(said())
    words = name.split()
    assert not created or (len(words) == 1 and WELL_FORMED.fullmatch(words[0])), created
