from __future__ import annotations

from core.memory.user_memory import cleaned, distinct, merged, phrases_of
from core.types import MemoryDraft, MemoryKind


def _draft(content: str, *bindings: str, kind: MemoryKind = MemoryKind.TEXT) -> MemoryDraft:
    return MemoryDraft(kind, content, bindings)


def test_texts_are_cleaned_and_empty_and_repeated_bindings_left_out() -> None:
    assert cleaned(_draft(" 12\x00 ", "Wi-Fi\ud800", " ", "café", "CAFE")) == _draft("12", "Wi-Fi\ufffd", "café")


def test_the_phrases_are_the_bindings_and_the_content_each_once() -> None:
    assert phrases_of(_draft("blue", "color", "blue", "favourite")) == ("color", "blue", "favourite")
    assert phrases_of(_draft("\x00", "color")) == ("color",)


def test_drafts_of_one_kind_and_content_become_one_with_all_bindings() -> None:
    drafts = [_draft("Azul", "cor"), _draft("7", "número"), _draft("azul", "cor favorita", "COR")]
    assert distinct(drafts) == [_draft("Azul", "cor", "cor favorita"), _draft("7", "número")]


def test_another_kind_is_another_memory() -> None:
    drafts = [_draft("7", "a"), _draft("7", "b", kind=MemoryKind.JSON)]
    assert distinct(drafts) == drafts


def test_what_is_known_keeps_its_wording() -> None:
    assert merged(_draft("Azul", "cor"), _draft("AZUL", "Cor", "tinta")) == _draft("Azul", "cor", "tinta")
