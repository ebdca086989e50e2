"""Make the question that a memory answers, of those that say what a code, a name or an address of somebody's is."""

from __future__ import annotations

import re
from typing import Final

from core.text.senses import is_kind, sense

_THING: Final = re.compile(
    r"(?:(?P<en>(?:my|the) )|(?P<pt>(?:(?:o|a|os|as) )?(?:meus?|minhas?) |(?:o|a|os|as) )|"
    r"(?P<es>(?:mis?|el|la|los|las) ))"
    r"(?P<thing>\w+(?: \w+){0,3}?) (?P<is>is|are|é|eh|são|es|son) \S",
    re.IGNORECASE,
)
"""What a memory begins with that tells one thing: "my locker code is …"."""

_ONE: Final = {"en": "what's {}?", "pt": "qual é {}?", "es": "¿cuál es {}?"}
_SEVERAL: Final = {"en": "what are {}?", "pt": "quais são {}?", "es": "¿cuáles son {}?"}


def question_of(content: str) -> str:
    """Return the question that a memory answers, in its own words and language; "" where that is not sure."""
    match = _THING.match(content)
    if match is None:
        return ""
    language = next(name for name in ("en", "pt", "es") if match[name])
    words = match["thing"].split()
    head = words[-1] if language == "en" else words[0]
    if not is_kind(sense(head)):
        return ""
    several = match["is"].casefold() in {"are", "são", "son"}
    asked = match[language] + match["thing"]
    return (_SEVERAL if several else _ONE)[language].format(asked[0].lower() + asked[1:])
