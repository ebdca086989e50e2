"""Every sentence that the code names is there in every language, with the same places to fill in."""

from __future__ import annotations

import ast
import importlib
import string
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from core.locales import head
from core.text.catalogue import name_of, sentences
from core.types import Locale

ROOT = Path(__file__).parents[2]
SOURCES = [path for folder in ("core", "adapters", "bot") for path in sorted((ROOT / folder).rglob("*.py"))]
MENU_NAMES = "names."  # what a command is called in a menu; a language may leave it out
PLURAL_FORMS = {"zero", "one", "two", "few", "many", "other"}


@cache
def named() -> Sequence[tuple[str, str, str]]:
    """Return what each call of `text`, `texts` or `forms` names: text or forms, the key, and where it is."""
    return tuple(_named())


def _named() -> Iterator[tuple[str, str, str]]:
    for path in SOURCES:
        tree, source = ast.parse(path.read_text(encoding="utf-8")), path.relative_to(ROOT)
        tables = {name: table for node in tree.body for name, table in _tables(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in tables:
                function, table = tables[node.value.id]
                yield function, f"{table}.{node.attr}", f"{source}:{node.lineno}"
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            where = f"{source}:{node.lineno}"
            if node.func.id == "texts" and isinstance(path_of := node.args[0], ast.Constant):
                module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
                for each in eval(ast.unparse(node.args[1]), vars(module)):  # noqa: S307  (of our sources)
                    yield "text", f"{path_of.value!s}.{name_of(each)}", where
            if node.func.id in {"text", "forms"}:
                [key] = node.args
                assert isinstance(key, ast.Constant), f"{where}: a key is written out"
                assert isinstance(key.value, str)
                yield node.func.id, key.value, where


def _tables(node: ast.stmt) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the name of a `Sentences` or `Plurals`, what its sentences are, and its table."""
    match node:
        case ast.Assign(
            [ast.Name(name)], ast.Call(ast.Name("Sentences" | "Plurals" as kind), [ast.Constant(str(table))])
        ):
            yield name, ("text" if kind == "Sentences" else "forms", table)


def written(locale: Locale) -> dict[str, set[str]]:
    """Map each key of a language to its forms: {""} for a sentence that counts nothing."""
    found: dict[str, set[str]] = {}
    for key, value in sentences(locale).items():
        table, _, form = key.rpartition(".")
        if isinstance(value, str) and not key.startswith(MENU_NAMES):
            counts = form in PLURAL_FORMS and "other" in sentences(locale)[table]
            found.setdefault(table if counts else key, set()).add(form if counts else "")
    return found


def blanks(sentence: str) -> set[str]:
    """The names of what a sentence leaves open."""
    return {field for _, field, _, _ in string.Formatter().parse(sentence) if field is not None}


@pytest.mark.parametrize("locale", Locale)
def test_a_language_has_the_sentences_that_the_code_names_and_no_other(locale: Locale) -> None:
    there, keys = written(locale), {key: function for function, key, _ in named()}
    assert not there.keys() - keys.keys(), f"{locale}.toml: nothing names these"
    for key, forms in there.items():
        assert ("other" in forms) == (keys[key] == "forms"), f"{locale}.toml: {key} is not what the code takes it for"


@pytest.mark.parametrize("locale", [Locale.PT, Locale.EN, Locale.ES])
def test_every_sentence_that_the_code_names_is_there(locale: Locale) -> None:
    there = written(locale)
    for _, key, where in named():
        assert key in there, f"{where}: {key} is not in {locale}.toml"


def test_what_further_languages_lack_is_listed() -> None:
    lacks = {locale: written(Locale.EN).keys() - written(locale).keys() for locale in Locale}
    if any(lacks.values()):
        listed = [
            f"{each}.toml lacks {len(keys)} sentences: {', '.join(sorted(keys))}"
            for each, keys in lacks.items()
            if keys
        ]
        pytest.skip("; ".join(listed))


@pytest.mark.parametrize("locale", Locale)
def test_every_language_leaves_the_same_places_open(locale: Locale) -> None:
    for key, forms in written(locale).items():
        for form in forms:
            path = f"{key}.{form}" if form else key
            told = sentences(locale)[path]
            meant = sentences(Locale.EN).get(path) or sentences(Locale.EN)[f"{key}.other"]
            assert told.strip(), f"{locale}.toml: {path} is empty"
            free = {"count"} if form else set()  # "a memory" may stand for "1 memory"
            assert blanks(told) - free == blanks(meant) - free, f"{locale}.toml: {path}"


@pytest.mark.parametrize("locale", Locale)
def test_the_head_of_a_file_says_what_there_is_to_know_of_a_language_and_nothing_else(locale: Locale) -> None:
    told = head(locale)
    assert {"name", "english_name"} <= told.keys()
    assert told.keys() <= head(Locale.PT).keys()
