"""Patterns of text: the language is that of the definition, and time is linear."""

from __future__ import annotations

import itertools

import pytest

from support.tables.engine_tables import ENGINES
from tacit.errors import UsageError
from tacit.expressions.expression import col, from_json
from tacit.expressions.functions import fits


def defined(text: str, pattern: str) -> bool:
    """By the definition: ``%`` is no character, or one more of them; ``_`` is one."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return defined(text, pattern[1:]) or (bool(text) and defined(text[1:], pattern))
    return bool(text) and pattern[0] in ("_", text[0]) and defined(text[1:], pattern[1:])


def words(letters: str, longest: int) -> list[str]:
    sizes = range(longest + 1)
    return ["".join(word) for n in sizes for word in itertools.product(letters, repeat=n)]


def test_a_text_fits_a_pattern_by_the_definition():
    texts = words("ab", 4)
    for pattern in words("ab%_", 4):
        assert [t for t in texts if fits(t, pattern)] == [t for t in texts if defined(t, pattern)]


HOSTILE = ["a", "a\nb", "a.b", "[a]", "a\\b", "(a", "a{2}", "^a$", "é\U0001f600", "\t|", "%", "_"]
PATTERNS = ["a_b", "%.b", "[%]", "%\\%", "(%", "a{2}", "^a%", "é_", "_\U0001f600", "%|", "%$", "_"]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_matches_what_python_matches(engine, request):
    long = "a" * (1 << 20)
    rows = [{"t": t} for t in [*HOSTILE, None, "ab" * 3, long, long + "b", long + "a"]]
    # a matcher that goes back tries 2^100 ways and more before it says no
    slow = "%a_" * 15 + "%b"
    asked = [col("t").like(p) for p in [*PATTERNS, "%b", "a%", "%ab_%", slow]]
    with ENGINES[engine](request)(rows, {"t": "varchar"}) as source:
        sql = ", ".join(e.sql(source.schema, source.engine.dialect) for e in asked)
        found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    short = [i for i, row in enumerate(rows) if row["t"] is None or len(row["t"]) < 99]
    for i in short:
        assert list(found[i]) == [e.evaluate(rows[i]) for e in asked], rows[i]
    # of a text only the first 2^20 characters are looked at, so a b behind them is none
    assert [list(found[i])[-4:] for i in range(len(rows) - 3, len(rows))] == [
        [False, True, False, False]
    ] * 3


@pytest.mark.parametrize("pattern", ["a" * 101, "a\0", "\ud800", 3, None])
def test_a_pattern_that_cannot_be_is_refused(pattern):
    for ask in (col("t").like, col("t").contains, col("t").ends_with):
        with pytest.raises(UsageError, match="cannot take"):
            ask(pattern)
    with pytest.raises(UsageError):
        from_json(["like", [["col", [], ["t"]]], [pattern]])


@pytest.mark.parametrize("place", [0, -1, 1.5, True, "1", (1 << 20) + 1])
def test_a_place_that_cannot_be_is_refused(place):
    with pytest.raises(UsageError, match="substring cannot take"):
        col("t").substring(place, 1)
    with pytest.raises(UsageError, match="substring cannot take"):
        col("t").substring(1, place)
