"""The judge of the stores' SQL refuses what PostgreSQL would refuse, or read otherwise than SQLite."""

from __future__ import annotations

import pytest

pytest.importorskip("pg_query")

from tests.portable_sql import faults_of

REFUSED = {
    "INSERT OR IGNORE INTO a (b) VALUES (?)": "syntax error",
    "SELECT b FROM a WHERE b IS ?": "syntax error",
    "SELECT b FROM a WHERE b GLOB 'x*'": "syntax error",
    "SELECT b FROM a CROSS JOIN c ON a.b = c.b": "syntax error",
    "SELECT b FROM a WHERE b = ?1": "numbered placeholder",
    "SELECT b FROM a WHERE user = ?": "quote it",
    "SELECT b FROM (SELECT b FROM a)": "without a name",
    "SELECT rowid FROM a": "only SQLite has",
    "SELECT total(b) FROM a": "the function total",
    "SELECT value FROM json_each(?)": "the function json_each",
    "SELECT max(b, ?) FROM a": "max of several values",
    "SELECT sum(b = ?) FROM a": "sum of conditions",
    "SELECT b FROM a WHERE b": "value as a condition",
    "SELECT b FROM a WHERE b = ? AND NOT c": "value as a condition",
    "SELECT CASE WHEN b THEN 1 ELSE 0 END FROM a": "value as a condition",
    "INSERT INTO a (b) VALUES (?) ON CONFLICT DO UPDATE SET b = 1": "without its columns",
    "INSERT INTO a (b) VALUES (?) ON CONFLICT (b) DO UPDATE SET c = c + 1": "either row's",
}
TAKEN = (
    """INSERT INTO a ("user") VALUES (?) ON CONFLICT ("user") DO UPDATE SET c = a.c + excluded.c""",
    "SELECT b FROM a WHERE +owner = ? AND b IN (SELECT value FROM texts(?)) ORDER BY b LIMIT ?",
    "SELECT t.b FROM (SELECT b FROM a) AS t WHERE t.b != '?' AND EXISTS (SELECT 1 FROM c WHERE c.b = t.b)",
)


@pytest.mark.parametrize("sql", REFUSED)
def test_what_one_engine_would_not_take_is_refused(sql: str) -> None:
    assert REFUSED[sql] in "; ".join(faults_of(sql))


@pytest.mark.parametrize("sql", TAKEN)
def test_what_both_engines_take_is_taken(sql: str) -> None:
    assert faults_of(sql) == ()
