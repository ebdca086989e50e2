"""Judges a statement of the stores: whether PostgreSQL would take it as SQLite does (`core.storage.database`).

PostgreSQL's own grammar reads it; what its grammar takes and its analysis refuses, or reads otherwise, is looked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count
from typing import Any

import pg_query
from pg_query import pg_query_pb2 as pg

OURS = {"numbers", "texts", "tuples", "json_list"}
COMMON = {"count", "sum", "max", "min", "lower", "substr", "length", "replace"}
_MARK = re.compile(r"'(?:[^']|'')*'|\?(\d*)")
_CONDITIONS = ("A_Expr", "BoolExpr", "NullTest", "SubLink", "BooleanTest")


@lru_cache(None)
def faults_of(sql: str) -> tuple[str, ...]:
    """Return what is wrong with a statement; nothing for one that both engines take."""
    numbers = count(1)

    def numbered(mark: re.Match[str]) -> str:
        return mark[0] if mark[0].startswith("'") else f"${next(numbers)}"

    if any(mark[1] for mark in _MARK.finditer(sql)):
        return ("a numbered placeholder",)
    try:
        tree = pg_query.parse(_MARK.sub(numbered, sql))
    except pg_query.PgQueryError as error:
        return (str(error),)
    return tuple(fault for _, node in pg_query.walk(tree) for fault in _faults(type(node).DESCRIPTOR.name, node))


def _faults(kind: str, node: Any) -> Iterator[str]:
    if kind == "SQLValueFunction":
        yield "a word that is a value in PostgreSQL: quote it"
    elif kind == "RangeSubselect" and not node.HasField("alias"):
        yield "a query in FROM without a name"
    elif kind == "ColumnRef" and node.fields[-1].string.sval in {"rowid", "_rowid_", "oid"}:
        yield "a column that only SQLite has"
    elif kind == "FuncCall":
        yield from _faults_of_call(node.funcname[-1].string.sval, node.args)
    elif kind == "OnConflictClause" and node.action == pg.ONCONFLICT_UPDATE:
        yield from _faults_of_upsert(node)
    if not all(map(_is_condition, _conditions(kind, node))):
        yield "a value as a condition"


def _faults_of_call(name: str, args: Sequence[Any]) -> Iterator[str]:
    if name not in OURS | COMMON:
        yield f"the function {name}"
    if name in {"max", "min"} and len(args) != 1:
        yield f"{name} of several values"
    if name == "sum" and _is_condition(args[0]):
        yield "a sum of conditions"


def _faults_of_upsert(node: Any) -> Iterator[str]:
    if not node.HasField("infer"):
        yield "ON CONFLICT without its columns"
    for value in (*(each.res_target.val for each in node.target_list), node.where_clause):
        if any(len(column.fields) < len(("table", "column")) for column in _columns(value)):
            yield "a column that may be either row's"


def _conditions(kind: str, node: Any) -> list[Any]:
    """Return what a node takes for true or false."""
    if kind == "BoolExpr":
        return list(node.args)
    if kind == "CaseWhen":  # of `CASE x WHEN value` it is a value
        return [node.expr] if node.expr.WhichOneof("node") == "column_ref" else []
    names = ("where_clause", "having_clause", "quals")
    return [getattr(node, name) for name in names if name in node.DESCRIPTOR.fields_by_name and node.HasField(name)]


def _columns(node: Any) -> list[Any]:
    return [each for _, each in pg_query.walk(node) if type(each).DESCRIPTOR.name == "ColumnRef"]


def _is_condition(node: Any) -> bool:
    inner = getattr(node, node.WhichOneof("node"))
    kind = type(inner).DESCRIPTOR.name
    if kind == "A_Expr":
        return inner.kind != pg.AEXPR_OP or inner.name[0].string.sval in {"=", "<>", "<", ">", "<=", ">="}
    return kind in _CONDITIONS
