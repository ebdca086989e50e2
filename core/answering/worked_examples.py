"""Worked examples of the single-call cycle as turns, for models that are told their tools in words.

Small models follow turns that they see, and rules hardly: with such turns, Qwen2.5-Coder 1.5B chose the first action
right in 22 of 25 labelled turns, with rules alone in 3 of 8 (`make eval`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from core.dialogue import PromptTurn, ToolCall
from core.types import JSONValue, MessageRole

_Entry = str | tuple[str, dict[str, JSONValue]]


def _save(*facts: tuple[str, Sequence[str]], then: str = "stop") -> _Entry:
    items: list[JSONValue] = [{"content": content, "bindings": list(bindings)} for content, bindings in facts]
    return "MemorySave", {"items": items, "then": then}


def _update(content: str) -> _Entry:
    return "MemoryUpdate", {"items": [{"id": "m1", "content": content}], "then": "stop"}


_EXAMPLES: Final[Sequence[tuple[str, Sequence[str], Sequence[_Entry]]]] = (
    ("oi, tudo certinho?", ("A parede da varanda é bege",), ("Oi! Tudo certo por aqui, e com você?",)),
    (
        "anota que o afinador do piano é o Nilo, fone 0000-1111",
        ("O pintor da varanda é o Ivo",),
        (_save(("O afinador do piano é o Nilo, fone 0000-1111", ("afinador", "telefone do Nilo"))),),
    ),
    ("how far is the moon?", (), ("About 384,000 km.",)),
    (
        "where's my umbrella?",
        ("The umbrella is in the car", "My rain boots are size 40"),
        ("It is in the car. [m1]",),
    ),
    ("¿cuál es mi número de socio?", (), (("MemorySearch", {"items": ["número de socio"], "then": "continue"}),)),
    (
        "agora o treino de remo é na quarta",
        ("O treino de remo é na segunda às 19h",),
        (_update("O treino de remo é na quarta às 19h"),),
    ),
    (
        "forget the number of the beehive",
        ("The telescope is in the attic", "The beehive is number 3"),
        (("MemoryDelete", {"ids": ["m2"], "then": "stop"}),),
    ),
    (
        "recuerda que Eva no come carne, y ¿dónde está la llave del barco?",
        ("La llave del barco está en el cajón",),
        (_save(("Eva no come carne", ("Eva", "comida de Eva")), then="continue"), "Está en el cajón. [m1]"),
    ),
    (
        "note that Kim plays chess and the chess club opens at 9",
        ("Kim has a red bike",),
        (_save(("Kim plays chess", ("Kim", "chess")), ("The chess club opens at 9", ("chess club",))),),
    ),
    (
        "my telescope shows everything upside down, why?",
        ("The telescope is in the attic",),
        ("Most telescopes turn the picture over; a prism sets it right.",),
    ),
    ("from now on write to me in Italian", (), (("AnswerLanguage", {"language": "it", "then": "stop"}),)),
    ("gracias, eso es todo", (), ("¡De nada!",)),
)


def worked_examples(names: Sequence[str]) -> tuple[PromptTurn, ...]:
    """Return the examples that call only tools of those names, as pairs of entries of USER and ASSISTANT."""
    turns: list[PromptTurn] = []
    for message, memories, entries in _EXAMPLES:
        called = [(name, arguments) for name, arguments in (each for each in entries if not isinstance(each, str))]
        if any(name not in names for name, _ in called):
            continue
        blocks = [f"<memory m{number}>{memory}</memory>" for number, memory in enumerate(memories, 1)]
        task = "\n".join(("<task>", *blocks, f"<message>{message}</message>", "</task>"))
        text = " ".join(each for each in entries if isinstance(each, str))
        calls = tuple(ToolCall("", name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in called)
        turns += [PromptTurn(MessageRole.USER, task), PromptTurn(MessageRole.ASSISTANT, text, calls)]
    return tuple(turns)
