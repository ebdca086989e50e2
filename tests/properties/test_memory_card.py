"""Laws of what a memory looks like and of the commands that its buttons hold, whatever people wrote."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.features.memories.card import after, back, fenced
from core.outgoing import MAX_COMMAND_BYTES
from core.text.markdown import open_fence
from core.types import Locale

NASTY = st.lists(st.sampled_from(["`", "```", "~~~", "\n", " ", "x", "json", "é", "````"]), max_size=30).map("".join)


@given(text=NASTY | st.text(), language=st.sampled_from(["", "json"]))
def test_nothing_in_a_content_ends_the_block_that_shows_it(text: str, language: str) -> None:
    shown = fenced(text, language)
    opening, closing = shown.index("\n") + 1, shown.rindex("\n") + 1
    assert shown[opening : closing - 1] == text
    fence = open_fence(shown, 0, closing, None)
    assert fence is not None
    assert fence.at == 0
    assert open_fence(shown, 0, len(shown), None) is None


@given(origin=st.text() | st.sampled_from(["memories 3", "recall x", "forget all", "admin pause", "memories"]))
def test_a_button_holds_its_command_and_leads_back_to_a_list_only(origin: str) -> None:
    assert len(after("/memories show abcdefghij", origin).encode("utf-8", "surrogatepass")) <= MAX_COMMAND_BYTES
    assert after("/memories show abcdefghij", origin).startswith("/memories show abcdefghij")
    assert back(Locale.EN, origin).command.split()[0] in {"/memories", "/recall", "/forget"}
