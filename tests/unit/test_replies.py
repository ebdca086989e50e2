"""Short replies in three languages: yes and no to what was asked, both, numbers, and taking back."""

from __future__ import annotations

import pytest

from core.text.replies import Doing, means_both, means_no, means_none, means_undo, means_yes, numbered, restores


@pytest.mark.parametrize(
    "message",
    """
    undo / undo that / Undo! / undo? / UNDO THAT / undo it / undo this please / undo the last one / undo my last change
    can you undo that? / take it back / take that back please / revert / revert that / no wait, bring it back
    put it back / put that back how it was / change it back / roll it back / restore it / undoo
    oops, undo / hmm undo that
    wait undo that pls / oops wrong one, undo / no wait, it bounced. bring it back / no, wait. undo / un-do / undo thx
    desfaz / desfaz isso / desfaça / desfaca / desfas / desfazer / DESFAZ / volta atrás / volta atras / volta como tava
    traz de volta / traz ele de volta / põe de volta / volta isso como estava / deixa como estava / reverte isso
    opa, desfaz isso aí por favor / pode desfazer isso? / desfaz pfv / desfaz a última / desfaz o que vc fez / desfaz aí
    não, desfaz / desfaz, foi sem querer / ops apaguei errado, desfaz / espera, afinal não desistiu, volta atrás
    deshaz / deshazlo / deshaz eso / deshacer / deshacelo porfa / vuelve atrás / regrésalo / déjalo como estaba
    desaz eso / ponlo como estaba / puedes deshacerlo? / tráelo de vuelta / deshaz lo último
    deshaz el último cambio / devuélvelo
    perdón, me equivoqué, deshazlo / uh no pará, al final se hace, deshacé eso / revierte eso
    """.strip()
    .replace("\n", " / ")
    .split(" / "),
)
def test_a_message_that_takes_back_the_last_change(message: str) -> None:
    assert means_undo(message.strip())


@pytest.mark.parametrize(
    "message",
    [
        "undo the zip", "bring back milk", "undo my seat belt", "don't undo", "no undo", "how do I undo a change?",
        "I will undo that later", "take it back to the store", "put it back in the fridge", "revert the loan", "back",
        "wait, my code is 15, undo", "the jacket was too small, take it back", "undo? what is that",
        "restore the backup",
        "desfaz a mala", "não desfaz", "volta", "volta amanhã", "traz de volta o livro da Ana", "deixa", "espera",
        "deshaz la maleta", "no deshaz", "regresa el martes", "vuelve mañana", "devuélvelo a la tienda", "",
        f"oops {'that was not what I meant to do at all ' * 3}, undo",
    ],
)  # fmt: skip
def test_a_message_that_says_something_else_takes_nothing_back(message: str) -> None:
    assert not means_undo(message)


@pytest.mark.parametrize(
    ("reply", "doings"),
    [
        ("yes please", set(Doing)),
        ("sí, por favor", set(Doing)),
        ("isso mesmo 👍", set(Doing)),
        ("ok valeu", set(Doing)),
        ("aye", set(Doing)),
        ("isso", set(Doing)),
        ("bora", set(Doing)),
        ("dale", set(Doing)),
        ("sii ese", set(Doing)),
        ("keep it", {Doing.KEEP, Doing.ANYTHING}),
        ("pode guardar", {Doing.KEEP, Doing.ANYTHING}),
        ("guárdalo", {Doing.KEEP, Doing.ANYTHING}),
        ("yes, replace it", {Doing.REPLACE, Doing.ANYTHING}),
        ("sim, troca", {Doing.REPLACE, Doing.ANYTHING}),
        ("cámbialo", {Doing.REPLACE, Doing.ANYTHING}),
        ("yes delete it", {Doing.DELETE, Doing.ANYTHING}),
        ("pode apagar", {Doing.DELETE, Doing.ANYTHING}),
        ("bórralo", {Doing.DELETE, Doing.ANYTHING}),
        ("ok gtg bye", set()),
        ("yes and also remember the milk", set()),
        ("sim mas muda pra quinta", set()),
        ("keep it in the fridge", set()),
        ("sim, guarda o leite", set()),
    ],
)
def test_a_yes_is_one_to_what_was_asked(reply: str, doings: set[Doing]) -> None:
    assert {doing for doing in Doing if means_yes(reply, doing)} == doings
    assert not means_no(reply) or reply == "keep it"


@pytest.mark.parametrize(
    ("reply", "is_no"),
    [
        ("no, thanks", True),
        ("não precisa", True),
        ("no lo guardes", True),
        ("don't keep it", True),
        ("Don’t.", True),
        ("não, me enganei", True),
        ("no, leave it as it is", True),
        ("não, é dia 13", False),
        ("no, at 9", False),
        ("no i meant tuesday", False),
        ("no, mejor el jueves", False),
        ("no change it", False),
        ("pera, o telefone tá tocando", False),
    ],
)
def test_a_no_that_says_something_else_too_is_none(reply: str, is_no: bool) -> None:
    assert means_no(reply) is is_no


@pytest.mark.parametrize(
    "reply", ["both", "keep them both", "as duas, por favor", "fica com os dois", "quédate con las dos"]
)
def test_both(reply: str) -> None:
    assert means_both(reply)


@pytest.mark.parametrize("reply", ["none of them", "nenhuma", "ninguno de esos, gracias"])
def test_none(reply: str) -> None:
    assert means_none(reply)


@pytest.mark.parametrize(
    "reply", ["both cats are grey", "as duas da tarde", "none of your business", "las dos y media"]
)
def test_more_than_both_or_none_is_neither(reply: str) -> None:
    assert not means_both(reply)
    assert not means_none(reply)


@pytest.mark.parametrize(
    ("reply", "to", "chosen"),
    [
        ("ok, 2", Doing.REPLACE, (1,)),
        ("troca a 2", Doing.REPLACE, (1,)),
        ("delete 1 and 3", Doing.DELETE, (0, 2)),
        ("guarda la primera", Doing.KEEP, (0,)),
        ("keep 2", Doing.DELETE, None),
        ("keep 2", Doing.ANYTHING, None),
        ("2 eggs", Doing.KEEP, None),
    ],
)
def test_numbers_may_stand_beside_the_word_for_what_was_asked(
    reply: str, to: Doing, chosen: tuple[int, ...] | None
) -> None:
    assert numbered(reply, 3, to) == chosen


@pytest.mark.parametrize(
    ("message", "asks"),
    [
        ("não era pra apagar, volta", True),
        ("the girl says I still need it. Can I have that back?", True),
        ("¡Uy, perdió el papel! Recupérame lo que has quitado, anda.", True),
        ("the jacket was too small, take it back", False),
        ("put the milk in the fridge", False),
        ("we go back in May", False),
    ],
)
def test_what_was_lost_is_asked_for_in_one_clause(message: str, *, asks: bool) -> None:
    assert restores(message) is asks
