"""Compare two statements of one person without a model: the same again, a new value of the same fact, or two facts.

Cosines cannot tell these apart: "I have 2 cats" and "I have 3 cats" are nearer to each other than most paraphrases.
What tells is what is left over when the words that both have are taken away: values (numbers, dates, codes), people,
negation, words of change. Chosen on tests/data/changes_tune.json.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from enum import StrEnum
from functools import cached_property
from typing import Final, TypeAlias

from core.memory.statement import MeaningfulWord, Statement, in_both, read, says_same, states_fact, without
from core.text.words import FUNCTION_WORDS
from core.types import NEAR, MemoryDraft, MemoryHit, MemoryItem, MemoryKind

MAX_CHARS: Final = 300
"""Longer statements hold several facts: they are the same only to the letter, and replace nothing."""


class Relation(StrEnum):
    """What a new statement is to a known one."""

    SAME = "same"
    """It says nothing else."""

    REPLACES = "replaces"
    """It says what is true now in place of it."""

    DOUBTS = "doubts"
    """It may be what is true now, but not surely, or the known one tells more: both are kept."""

    NEW = "new"
    """Both are true."""


def relation(old: Statement, new: Statement) -> tuple[Relation, float]:
    """Return what a new statement is to a known one, and the cosine that they need for it: with less, it is NEW."""
    if old.plain == new.plain:
        return Relation.SAME, -1.0
    pair = _Pair(old, new, in_both(new.words, old.words))
    if (
        not pair.shared
        or max(len(old.plain), len(new.plain)) > MAX_CHARS
        or _are_swapped(old, new)
        or _is_other_debt(old, new)
    ):
        return Relation.NEW, -1.0
    if (needed := pair.needed_to_say_no_more()) is not None:
        return Relation.SAME, needed
    if (needed := pair.needed_to_replace()) is not None:
        return Relation.REPLACES, needed
    return Relation.NEW, -1.0


def settles(known: str, said: str, text: str, *, is_sure: bool = False) -> bool:
    """Return whether a text may take the place of a known statement at once, because of what was said.

    It may if nothing else is lost by that, and what was said replaces the known one by its words (`relation`), or
    changes a value in it (`text` is not all that was said) and `is_sure` to be a change of this one.
    """
    if said != text and _CLAUSE_END.search(text.replace(said.rstrip(" .!"), "")) and said.rstrip(" .!") in text:
        return False  # it stands in place of one clause among others: which one is not sure
    old, new = read(known), read(said)
    if (new.kin and old.kin and new.kin.isdisjoint(old.kin)) or dropped(known, text, said):
        return False
    made = read(text)
    if len(without(without(old.words, made.words), new.words)) > len(without(made.words, old.words)):
        # A value of the old one is gone; of a debt that is paid, how much was owed.
        may_go = text == said or any(word.text == "paid" for word in made.words)
        return may_go and relation(old, made)[0] is Relation.REPLACES
    is_swapped = is_sure and text != said and not is_of_another(text, said, known)
    return is_swapped or relation(old, new)[0] is Relation.REPLACES


def is_of_another(text: str, said: str, known: str) -> bool:
    """Return whether each names a thing or a person that the other does not: the wifi's password is not the bank's.

    `text` is what a known statement would be then. What was said of it may name what it names: "she left Shell".
    """
    then, new = read(text), read(said)
    names = then.names | new.names
    more = without(without(new.words, then.words), read(known).words)
    return all(
        any(word.kind == "same" or word.text in names for word in each)
        for each in (without(then.words, new.words), more)
    )


def dropped(known: str, text: str, said: str = "") -> tuple[str, ...]:
    """Return the clauses of a known statement that a text in its place would lose, and that were not spoken of.

    The clause that is most like the text is what it tells anew. Where it names somebody or something else, what
    other clauses say of the old one is lost, too.
    """
    old, new = read(known).words, read(text).words
    clauses = [clause.strip() for clause in _CLAUSE_END.split(known) if read(clause).words]
    lost, more = without(old, new), without(new, old)
    if not read(text).people and any(word in read(known).people for word in lost):
        return (known,)
    is_swapped = len(lost) == len(more)
    if is_swapped and all(word.is_value for word in lost):
        return ()
    people = read(text).people
    marks = lost if is_swapped else [word for word in new if word.kind != "deed" and word not in people]
    told = [len(in_both(read(clause).words, marks)) for clause in clauses]
    others = [clause for at, clause in enumerate(clauses) if at != told.index(max(told))]
    spoken = () if is_swapped else (*new, *read(said).words)
    gone = tuple(clause for clause in others if without(read(clause).words, spoken))
    if gone or len(clauses) == 1 or len(lost) <= len(more):
        return gone
    # Who or what both are about stands in the clause that goes.
    return tuple(clause for clause in clauses if in_both(read(clause).words, lost))


def ends_debt(known: Statement, said: Statement) -> bool:
    """Return whether what is said ends the debt that a known statement tells of: "I paid Liam"."""
    pair = _Pair(known, said, in_both(said.words, known.words))
    return not _is_other_debt(known, said) and pair.ends_debt()


def is_other_debt(known: str, said: str) -> bool:
    """Return whether one tells of what the person owes, and the other of what somebody owes the person."""
    return _is_other_debt(read(known), read(said))


def is_about(known: str, said: str) -> bool:
    """Return whether two statements are of one kind, or share a word that matters; a bare value may be of any."""
    old, new = read(known), read(said)
    if len(old.words) <= 1:
        return True
    if old.kin and new.kin and old.kin.isdisjoint(new.kin):
        return False
    return not old.ones.isdisjoint(new.ones) if old.ones or new.ones else bool(in_both(new.words, old.words))


_CLAUSE_END: Final = re.compile(r"[,;\n]\s*|\.\s+|\s(?:and|e|y|but|mas|pero|w/)\s", re.IGNORECASE)

_DEBTS: Final = frozenset({"owes", "i_owe", "i_lent", "i_borrowed", "paid"})
_MINE: Final = frozenset({"i_owe", "i_borrowed"})
_OPPOSITE: Final = ({"owes", "i_owe"}, {"i_lent", "i_borrowed"})
_ME: Final = frozenset({"me", "mim", "comigo", "conmigo"})


def _is_other_debt(old: Statement, new: Statement) -> bool:
    """Return whether one tells of what the person owes, lent or paid, and the other of what others do."""
    verbs = [{word.text for word in each.words if word.text in _DEBTS} for each in (old, new)]
    to_me = [not _ME.isdisjoint(each.plain.split()) for each in (old, new)]
    if verbs[0] & verbs[1]:
        return to_me[0] != to_me[1]
    return any(pair <= verbs[0] | verbs[1] for pair in _OPPOSITE)


_DIRECTED: Final = frozenset({"owes", "i_owe", "paid", "i_lent", "i_borrowed", "like", "boss"})


def _are_swapped(old: Statement, new: Statement) -> bool:
    """Return whether two people, or the words on both sides of a verb as "owes", have changed places."""
    if _is_turned(old.words, new.words):
        return False
    first, second = _common(old.words, new.words)
    names = old.names | new.names
    if [token for token in first if token.text in names] != [token for token in second if token.text in names]:
        return True
    for kind in ("kin", "number", "time", "date"):
        if [token for token in first if token.kind == kind] != [token for token in second if token.kind == kind]:
            return True
    for at, verb in enumerate(first):
        if verb.text in _DIRECTED or verb.kind == "kin":
            there = second.index(verb)
            before, after = (
                {token for token in part if token.kind in {"word", "kin"}} for part in (first[:at], first[at + 1 :])
            )
            if before & set(second[there + 1 :]) and after & set(second[:there]):
                return True
    return False


def _is_turned(old: Sequence[MeaningfulWord], new: Sequence[MeaningfulWord]) -> bool:
    """Return whether the words that both have come in one order, wherever that begins: "12/12: dinner"."""
    first, second = _common(old, new)
    return not first or any(first[at:] + first[:at] == second for at in range(len(first)))


def _common(
    old: Sequence[MeaningfulWord], new: Sequence[MeaningfulWord]
) -> tuple[list[MeaningfulWord], list[MeaningfulWord]]:
    """Return the words that both have, once in the order of each."""
    first = [token for token in dict.fromkeys(old) if token in new]
    return first, [token for token in dict.fromkeys(new) if token in first]


_I_PAID: Final = re.compile(r"\b(?:paguei|devolvi|pague|i paid|i ve paid|ive paid|i have paid|i gave)\b|^paid\b")
_GIVEN_BACK: Final = re.compile(r"\bgave (?:\w+ ){1,5}back\b|\bdevolv(?:i|eu|eram|io|ieron)\b")
_KNOWN: Final = 0.7
"""The cosine from which one plain word may be left out of what is said again."""

_VALUE: Final = 0.55
"""The cosine from which two values are of one kind: "I live in Boston" and "I live on the third floor" are not."""

_FEW: Final = 8
"""In statements of more words than these, the name of a kind tells which of several things is meant."""

_RESTATED: Final = 0.75
"""The cosine from which the same is told in another form, more or less: the new words then stand for both."""

_ANCHORED: Final = 0.6
"""The same where both have a phone number, or a day and an hour."""

_CUED: Final = 0.28
"""The cosine from which words of change mean what both statements name."""

_PROOF: Final = 3
"""How much has to speak for one subject, words of change included."""


@dataclass(frozen=True)
class _Pair:
    """Two statements, and the words that both have."""

    old: Statement
    new: Statement
    shared: Sequence[MeaningfulWord]

    @cached_property
    def lost(self) -> Sequence[MeaningfulWord]:
        """The words that only the old one has."""
        return without(self.old.words, self.new.words)

    @cached_property
    def more(self) -> Sequence[MeaningfulWord]:
        """The words that only the new one has."""
        return without(self.new.words, self.old.words)

    @property
    def is_contrary(self) -> bool:
        """Whether one of them says that the other is not so."""
        return ("not" in self.old.cues) != ("not" in self.new.cues)

    def needed_to_say_no_more(self) -> float | None:
        """Return the cosine needed if the new one has no word that the old one lacks, and leaves out none that matters.

        None if it says more, or something else.
        """
        left = [*self.lost, *self.more]
        if len(left) > 1 or self.is_contrary or self.new.cues & {"end", "add"} or self.old.kin != self.new.kin:
            return None
        other_sense = any(not any(says_same(word, other) for other in self.old.words) for word in self.shared)
        if self._denies_other_things() or other_sense or self._is_somebody_elses() or not self._is_in_order():
            return None
        if not left:
            return -1.0
        if self.new.cues & {"now", "change"}:
            return None
        is_known = len(self.shared) > 1 or any(token.is_value for token in self.shared)
        if left[0].kind in {"one", "class"}:
            return -1.0 if is_known and len(self.new.words) <= _FEW else None
        is_plain = left[0].kind in {"word", "same"} and left[0].text not in self.old.names
        has_others = set(self.new.plain.split()) - FUNCTION_WORDS - set(self.old.plain.split())
        is_short = bool(self.more or has_others) or self.old.is_list or bool(self.old.denied) or len(self.shared) <= 2  # noqa: PLR2004
        return _KNOWN if is_plain and not is_short else None

    def needed_to_replace(self) -> float | None:
        """Return the cosine needed if the new one is what is true now of what the old one tells; None if it is not."""
        if self.new.cues & {"add", "will"} or (self._is_of_others() and not self._is_paid()):
            return None
        if self._is_paid():
            return -1.0 if self.ends_debt() else None
        is_denied = self.is_contrary and not self.more and len(self.lost) <= 1
        if is_denied or (not self.lost and not self.more and self.old.senses != self.new.senses):
            return -1.0
        needed = self._needed_of_values() if self.lost and self.more else None
        cues = ("now" in self.new.cues) + 2 * bool(self.new.cues & {"change", "end"})
        evidence = self._evidence() if cues else 0
        if evidence and evidence + cues >= _PROOF:
            return min(_CUED, needed or _CUED)
        if needed is None and self._is_restated():
            kinds = {token.kind for token in self.shared}
            return _ANCHORED if "phone" in kinds or {"date", "time"} <= kinds else _RESTATED
        return needed

    def ends_debt(self) -> bool:
        """Return whether who owes something has paid; not how much, which may be a part."""
        return self._is_paid() and not any(word.is_value for word in self.more)

    def _is_paid(self) -> bool:
        """Return whether who owes something, or is owed it, has paid."""
        if (self.old.kin and self.new.kin and self.old.kin != self.new.kin) or self._is_somebody_elses():
            return False
        debts = {word.text for word in self.old.words} & _DEBTS - {"paid"}
        is_paid = "paid" in {word.text for word in self.new.words} or _GIVEN_BACK.search(self.new.plain) is not None
        if len(debts) != 1 or not is_paid or all(word.is_value for word in self.shared):
            return False
        return (_I_PAID.search(self.new.plain) is not None) == (debts <= _MINE)

    def _denies_other_things(self) -> bool:
        """Return whether both say of something that it is not so, and not of the same."""
        old, new = self.old.denied, self.new.denied
        return bool(without(old, new) and without(new, old))

    def _is_restated(self) -> bool:
        """Return whether nothing that differs is a value, a person or a name, and it differs in more than one place.

        Two things of a kind are told in one form ("buy ink", "buy paper"), one thing told again mostly in another.
        """
        left = [*self.lost, *self.more]
        names = self.old.names | self.new.names
        if not 0 < len(left) <= _FEW or len(self.shared) <= 1 or not self._is_in_order():
            return False
        if self.is_contrary or self._denies_other_things():
            return False
        if any(token.is_value or token.kind == "kin" or token.text in names for token in left):
            return False
        blocks = SequenceMatcher(None, self.old.plain.split(), self.new.plain.split(), autojunk=False).get_opcodes()
        return sum(tag != "equal" for tag, *_ in blocks) > 1

    def _is_in_order(self) -> bool:
        """Return whether the words come in one order: "from Rome to Paris" is another journey than back.

        Words that the file knows, and apposition, may change places: "the name of my mother", "Ana, my sister".
        """
        values = sum(token.is_value for token in self.new.words)
        may_list = (self.old.is_list or self.new.is_list) and values <= 1 and len(self.new.words) <= _FEW
        if may_list or _is_turned(self.old.words, self.new.words):
            return True
        plain = [[token for token in each.words if token.kind == "word"] for each in (self.old, self.new)]
        first, second = _common(*plain)
        return first == second or (len(first) > 2 and _is_turned(*plain))  # noqa: PLR2004 - two would have changed places

    def _is_somebody_elses(self) -> bool:
        """Return whether one of them alone is about something of his or hers, and does not say whose."""
        of_theirs = {"theirs" in each.cues for each in (self.old, self.new)}
        return len(of_theirs) > 1 and not (self.old.people and self.new.people)

    def _is_of_others(self) -> bool:
        """Return whether they are about different people or things."""
        old, new = self.old, self.new
        if self._is_somebody_elses():
            return True
        named = [token for token in self.shared if token.text in old.names | new.names]
        if old.kin != new.kin and (not named or (old.kin and new.kin)):
            return True
        moved = {token for token in new.ones if token.text != "address" or "change" not in new.cues}
        if old.ones and moved and not old.ones & new.ones:
            return True
        other = [token for token in without(new.subject, old.words) if token.kind not in {"class", "deed"}]
        mine = old.subject if old.subject and not new.cues & {"change", "end"} else old.words
        return bool(other) and any(not token.is_value for token in without(mine, new.words))

    def _needed_of_values(self) -> float | None:
        """Return the cosine needed if only the value differs of what one has one of at a time, or a number of things.

        None if more differs.
        """
        old, new = self.old, self.new
        ones = old.ones & new.ones
        if without(old.subject, new.subject) or without(new.subject, old.subject):
            return None
        kinds = {token.kind for token in self.lost}, {token.kind for token in self.more}
        if kinds[0] == kinds[1] and kinds[0] <= {"number", "phone", "code"}:
            return -1.0 if ones or (old.is_state and new.is_state) else None
        if kinds[0] == kinds[1] and kinds[0] <= {"time", "date"}:
            return -1.0 if ones else None
        left = [*self.lost, *self.more]
        capital = {token.text in old.names | new.names for token in left}
        return _VALUE if ones and len(capital) == 1 and not any(token.is_value for token in left) else None

    def _evidence(self) -> int:
        """Return how much speaks for one subject: words that both have, other values of one kind, where it is."""
        shared = [token for token in self.shared if token not in self.old.people]
        words = [token for token in shared if not token.is_value]
        kinds = {token.kind for token in self.lost if token.is_value} & {token.kind for token in self.more}
        own = {token for token in self.old.words if not token.is_value} - self.old.people
        whole = bool(words) and 2 * len(words) >= len(own)
        are_located = bool(words) and "located" in self.old.cues & self.new.cues
        return len(shared) + sum(token.kind == "one" for token in words) + len(kinds) + (whole or are_located)


# What becomes of a statement that is to be saved.

NEIGHBOURS: Final = 8
"""How many of the memories nearest to a statement are compared with it."""

Cosine: TypeAlias = Callable[[str], Awaitable[float]]
"""Returns the cosine of a known content and the statement; -1 where there is none."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A draft, and what it is to what is known: unless it is NEW, to the memory that is `known`."""

    draft: MemoryDraft
    relation: Relation = Relation.NEW
    known: MemoryItem | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """What became of a statement: the memory that holds it now, and if it took the place of another, that one's words.

    `before` is that memory as it was.
    """

    item: MemoryItem
    relation: Relation = Relation.NEW
    before: MemoryItem | None = None


async def related(
    draft: MemoryDraft, items: Sequence[MemoryItem], cosine: Cosine, named: MemoryItem | None = None
) -> Compared:
    """Return what a draft is to the memories: the one it repeats, or else takes the place of, or else doubts.

    `named` is the one that a model names: it counts where they speak of one thing. What was said before a memory was
    does not take its place, nor does what states no fact.
    """
    found: dict[Relation, MemoryItem] = {}
    statement = read(draft.content)
    may_replace = states_fact(draft.content, statement)
    for item in (item for item in items if item.kind is MemoryKind.TEXT):
        is_older = draft.said_at is not None and draft.said_at < item.updated_at
        meant = await compared(item.content, statement, cosine)
        if meant is Relation.REPLACES:
            known = read(item.content)
            is_fact = (may_replace or ends_debt(known, statement)) and states_fact(item.content, known)
            if is_older or not is_fact:
                continue
            if dropped(item.content, draft.content):
                meant = Relation.DOUBTS
        found.setdefault(meant, item)
    if named is not None and Relation.SAME not in found:
        is_one = is_about(named.content, draft.content) and not dropped(named.content, draft.content)
        found |= {Relation.REPLACES: named} if is_one else {Relation.DOUBTS: named}
    for meant in (Relation.SAME, Relation.REPLACES, Relation.DOUBTS):
        if meant in found:
            return Compared(draft, meant, found[meant])
    return Compared(draft)


async def compared(known: str, statement: Statement, cosine: Cosine) -> Relation:
    """Return what a statement is to a known content."""
    found, needed = relation(read(known), statement)
    return found if needed <= -1 or await cosine(known) >= needed else Relation.NEW


_COMPARED: Final = 4
"""How many of the likeliest hits are compared with one another: it takes 0.3 ms."""


def in_time(hits: Sequence[MemoryHit]) -> Sequence[MemoryHit]:
    """Return what a search found, each that a later one may be true in place of right behind that, and marked (`over`).

    A memory was kept beside the one that it may replace, or its words say so.
    What was said at one moment, or said then to be so still, is both true.
    """
    now = [hit for hit in hits if _is_now(hit.item)]
    compared = [hit for hit in now if hit.chance >= NEAR][:_COMPARED]
    likely = {hit.item.id for hit in compared}
    compared += [hit for hit in now if hit.item.may_replace in likely and hit.item.id not in likely]
    if len(compared) < 2:  # noqa: PLR2004 - nothing to compare
        return hits
    told = {hit.item.id: read(hit.item.content) for hit in compared}
    over: dict[str, MemoryHit] = {}
    for older in compared:
        later = [hit for hit in compared if hit.item.updated_at > older.item.updated_at]
        for newer in sorted(later, key=lambda hit: hit.item.updated_at, reverse=True):
            is_beside = newer.item.may_replace == older.item.id
            if is_beside or relation(told[older.item.id], told[newer.item.id])[0] is Relation.REPLACES:
                over.setdefault(older.item.id, newer)
    if not over:
        return hits
    found: dict[str, MemoryHit] = {}
    for hit in hits:
        newest = over.get(hit.item.id)
        if newest is not None:
            found.setdefault(newest.item.id, replace(newest, score=max(newest.score, hit.score)))
            found.setdefault(hit.item.id, replace(hit, item=replace(hit.item, over=newest.item.id)))
        found.setdefault(hit.item.id, hit)
    return list(found.values())


def _is_now(item: MemoryItem) -> bool:
    return item.kind is MemoryKind.TEXT and not item.current
