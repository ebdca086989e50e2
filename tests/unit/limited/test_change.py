from __future__ import annotations

import pytest

from core.limited.bindings import bindings
from core.limited.change import Edit, change, fits, renewed
from core.limited.cues import Cues
from core.types import MemoryItem, MemoryKind
from tests.unit.limited.tiny_cycle import NOW


def _item(content: str, name: str = "m1") -> MemoryItem:
    return MemoryItem(name, MemoryKind.TEXT, content, bindings(content), NOW, NOW)


@pytest.mark.spec("T11")
@pytest.mark.parametrize(
    ("old", "said", "new"),
    [
        ("a senha do aliexpress é 123456", "mudei a senha do aliexpress para 999", "a senha do aliexpress é 999"),
        ("moro em Natal", "agora moro em Recife", "moro em Recife"),
        ("moro em Natal", "me mudei para Recife", "moro em Recife"),
        ("I live in Leeds", "I moved to York", "I live in York"),
        ("vivo en Sevilla", "me mudé a Cádiz", "vivo en Cádiz"),
        ("o exame de sangue é na segunda às 7h", "na verdade o exame é na terça", "o exame de sangue é na terça às 7h"),
        ("the rent is due on the 5th of every month", "actually the rent is due on the 7th", None),
        ("my boss is called Helen", "my new boss is Omar", "my boss is called Omar"),
        ("Bruno owes me 25 euros", "Bruno's debt changed to 30 euros", "Bruno owes me 30 euros"),
        ("placa do carro QRT4F21", "a placa do carro agora é ABC1D23", "placa do carro ABC1D23"),
        ("my landlord's name is Vince", "my landlord isn't Vince anymore, it's Olga", "my landlord's name is Olga"),
        ("eu tenho 42 anos", "fiz aniversário, agora tenho 43 anos", "tenho 43 anos"),
        ("o telefone da Ana é 1111", "o telefone da Ana mudou, é 2222", "o telefone da Ana é 2222"),
        ("Nora's number 07700 900123", "Nora got a new number: 07700 900999", "Nora's number 07700 900999"),
        ("the gate code is 1", "the gate code is now 2", "the gate code is 2"),
        ("el color es verde", "el color ahora es rojo", "el color es rojo"),
        ("o wifi: gato1", "o wifi é outro: gato2", "o wifi: gato2"),
        ("lista de compras: pão, leite", "adiciona café na lista de compras", "lista de compras: pão, leite, café"),
        ("lista de compras: pão, leite e ovos", "tira o leite da lista de compras", "lista de compras: pão, ovos"),
    ],
)
def test_the_new_value_takes_the_place_of_the_old(cues: Cues, old: str, said: str, new: str | None) -> None:
    told = change(cues, said)
    candidates, clear = fits(told.aim, [_item(old)])
    assert candidates
    assert clear
    text, kept = renewed(old, told)
    assert kept
    assert text == (new or "the rent is due on the 7th of every month")


@pytest.mark.parametrize(
    "said", ["atualize a senha do banco", "update my bank password", "quero mudar a senha do banco"]
)
def test_a_wish_without_a_value_has_none(cues: Cues, said: str) -> None:
    told = change(cues, said)
    assert told.value == ""
    assert "senha" in told.aim


def test_a_memory_that_names_less_than_what_is_meant_is_not_clear() -> None:
    items = [_item("a senha do aliexpress é 1"), _item("o cachorro é Rex", "m2")]
    found, clear = fits(frozenset({"senha", "netflix"}), items)
    assert [item.id for item in found] == ["m1"]
    assert not clear


def test_two_that_fit_alike_are_not_clear() -> None:
    items = [_item("o wifi de casa é a"), _item("o wifi da praia é b", "m2")]
    found, clear = fits(frozenset({"wifi"}), items)
    assert len(found) == 2
    assert not clear


def test_what_fits_nothing_finds_nothing() -> None:
    assert fits(frozenset({"gato"}), [_item("o wifi é a")]) == ([], False)
    assert fits(frozenset(), []) == ([], False)


def test_a_long_memory_is_not_called_the_old_value_alone(cues: Cues) -> None:
    _, kept = renewed("trabalho na padaria do Tonho com a Célia e o Beto", change(cues, "agora trabalho no banco"))
    assert not kept


def test_taking_away_what_is_not_on_the_list_changes_nothing(cues: Cues) -> None:
    told = change(cues, "tira a banana da lista de compras")
    assert told.edit is Edit.REMOVE
    assert renewed("lista de compras: pão, leite", told) == ("lista de compras: pão, leite", False)


def test_putting_something_on_an_unknown_list_is_a_new_list(cues: Cues) -> None:
    assert change(cues, "add milk to my shopping list").statement == "my shopping list: milk"
