"""How values are written to the database: ids, times, vectors, JSON."""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from importlib import metadata

import numpy as np

from core.enclosures import Attachment, attachments_to_json, cleaned_attachments, identities
from core.text.unicode import fold
from core.types import (
    MAX_PASSAGE_CHARS,
    MAX_PASSAGES,
    JSONValue,
    MemoryDraft,
    MemoryKind,
    Passage,
    UserKey,
    Vector,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_SURROGATES = re.compile("[\ud800-\udfff]")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_PUNCTUATION = re.compile(r"""(?<!\w)[¿¡"'“‘«(\[]+|[.,;:!?…"'”’»)\]]+(?!\w)""")
_STORED = np.dtype("<f2")

NO_LIMIT = 2**62
"""More rows than there can be."""

OF_USER = 'platform = ? AND "user" = ?'
"""The condition on a row that it is one person's; its values are `user_key`."""


def user_key(user: UserKey) -> tuple[str, str]:
    """Return the values of OF_USER."""
    return (user.platform, user.user)


def program_version() -> str:
    """Return the version of this program."""
    return metadata.version("elefante")


def random_id() -> str:
    """Return ten lower-case letters and digits (50 random bits): not to be guessed, easy for a model to copy."""
    return base64.b32encode(secrets.token_bytes(7))[:10].decode().lower()


def microseconds(at: datetime) -> int:
    """Return an aware time as microseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND


def moment(at_us: int) -> datetime:
    """Undo `microseconds`; the result is in UTC."""
    return _EPOCH + at_us * _MICROSECOND


def storable(text: str) -> str:
    """Return the text with what is no text for an engine replaced: lone surrogates, and NUL in PostgreSQL."""
    return _NO_TEXT.sub("\ufffd", text)


def listed(texts: Iterable[str]) -> str:
    """Return a JSON list for `texts(?)`."""
    return to_json([storable(text) for text in texts])


def to_json(value: JSONValue) -> str:
    """Return compact JSON, legible where it can be; a lone surrogate survives as an escape."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return json.dumps(value, separators=(",", ":")) if _SURROGATES.search(text) else text


def digest(kind: str, content: str, attachments: Sequence[Attachment] = ()) -> bytes:
    """Return what two contents of a kind have in common that differ by case, accents, white space and punctuation only.

    With other things, the same words are another memory. Punctuation is what stands before or after a word; within one
    ("1.5", "c++", "-3") it is a part of it, as in JSON.
    """
    text = fold(storable(content))
    if kind != MemoryKind.JSON:
        text = " ".join(_PUNCTUATION.sub(" ", text).split()) or text
    return blake2b("\0".join((text, *identities(attachments))).encode("utf-8", "replace"), digest_size=16).digest()


def enclosed(attachments: Sequence[Attachment]) -> str:
    """Return the things of a memory as they are stored; "" for none."""
    return to_json([*attachments_to_json(attachments)]) if attachments else ""


class VectorBytes(bytes):
    """A vector as it is stored: half floats, little-endian. An engine with vectors of its own knows it from bytes."""

    __slots__ = ()


def to_blob(vector: Vector) -> VectorBytes:
    """Return the vector's bytes."""
    return VectorBytes(np.ascontiguousarray(vector, dtype=_STORED).tobytes())


def from_blob(stored: bytes) -> Vector:
    """Return the vector that was stored; of several one after the other, all their numbers."""
    return np.frombuffer(stored, _STORED).astype(np.float32)


def checked(draft: MemoryDraft) -> MemoryDraft:
    """Return the draft as it is stored: storable, each binding once.

    Raises:
        ValueError: there is no binding, or an empty one.
    """
    bindings = tuple(dict.fromkeys(storable(binding) for binding in draft.bindings))
    if not bindings or not all(binding.strip() for binding in bindings):
        raise ValueError("a memory needs at least one binding, and none may be empty")
    return MemoryDraft(
        draft.kind,
        storable(draft.content),
        bindings,
        until=_as_stored(draft.until),
        meant=storable(draft.meant),
        said_at=_as_stored(draft.said_at),
        may_replace=storable(draft.may_replace),
        attachments=cleaned_attachments(draft.attachments),
        passages=tuple(
            Passage(storable(each.text)[:MAX_PASSAGE_CHARS], each.page) for each in draft.passages if each.text.strip()
        )[:MAX_PASSAGES],
    )


def _as_stored(at: datetime | None) -> datetime | None:
    return None if at is None else moment(microseconds(at))


def phrases_of(draft: MemoryDraft) -> Sequence[str]:
    """Return the texts that the memory is found by, bindings first, each once."""
    return tuple(dict.fromkeys((*draft.bindings, draft.content)))
