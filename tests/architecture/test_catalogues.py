"""What people read is there in every language, with the same places to fill in."""

from __future__ import annotations

import importlib
import pkgutil
import string
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

import pytest

import adapters
import bot
import core
from adapters.console import texts as console
from adapters.discord import texts as discord
from adapters.telegram import texts as telegram
from core.features.admin import survey
from core.types import Locale

COMMAND_NAMES = "NAMES["  # of Discord: what a command is called by itself is English
MODULES = sorted(
    module.name
    for package in (core, adapters, bot)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.startswith(("core.providers", "core.storage")) and not module.name.endswith("__main__")
)


def catalogues(value: Any, name: str) -> Iterator[tuple[str, Mapping[Locale, Any]]]:
    """Yield every mapping by language in a value, with what to call it."""
    if isinstance(value, Mapping):
        if any(isinstance(key, Locale) for key in value):
            yield name, value
        else:
            for key, inner in value.items():
                yield from catalogues(inner, f"{name}[{key}]")
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from catalogues(getattr(value, field.name, None), f"{name}.{field.name}")


def blanks(text: str) -> set[str]:
    """The names of what a text leaves open."""
    return {field for _, field, _, _ in string.Formatter().parse(text) if field is not None}


def test_every_sentence_is_there_in_every_language() -> None:
    for module in MODULES:
        for name, value in vars(importlib.import_module(module)).items():
            for where, catalogue in catalogues(value, name):
                check(catalogue, f"{module}: {where}", is_command_name=where.startswith(COMMAND_NAMES))


def check(catalogue: Mapping[Locale, Any], where: str, *, is_command_name: bool) -> None:
    """Assert that a catalogue has every language, and the same blanks in each."""
    assert set(catalogue) == set(Locale) - ({Locale.EN} if is_command_name else set()), where
    forms = [form for form in catalogue.values() if isinstance(form, Mapping)]
    assert all(set(form) == {"one", "other"} for form in forms), f"{where}: a plural form is missing"
    assert len(forms) in {0, len(Locale)}, f"{where}: counted in one language only"
    wordings = [text for form in forms for text in form.values()]
    assert len({frozenset(blanks(text) - {"count"}) for text in wordings}) <= 1, where
    texts = [text for text in catalogue.values() if isinstance(text, str)]
    assert len({bool(text) for text in texts}) <= 1, f"{where}: empty in one language only"
    if texts and ": _" not in where:
        assert len({frozenset(blanks(text)) for text in texts}) == 1, where


@pytest.mark.parametrize("module", [survey, console, discord, telegram])
def test_catalogues_are_found(module: ModuleType) -> None:
    assert len(list(catalogues(vars(module), module.__name__))) > 1
