"""Names and values written as SQL text: nothing in them is read as SQL."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import UsageError
from tacit.expressions.dialect import is_unicode
from tacit.tables.engines.duckdb.engine import DUCKDB
from tacit.tables.engines.postgres import POSTGRES

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@given(TEXTS)
def test_a_text_is_itself_as_a_literal_and_as_a_name(text):
    with duckdb.connect() as connection:
        written = f"select {DUCKDB.literal(text)} as {DUCKDB.identifier(text)}"
        found = connection.execute(written)
        assert found.fetchall() == [(text,)]


def test_a_name_that_an_engine_cuts_off_is_refused():
    for name in ("é" * 31, "x" * 63):
        assert POSTGRES.identifier(name) == f'"{name}"'
    for name in ("é" * 32, "x" * 64):
        assert DUCKDB.identifier(name) == f'"{name}"'
        with pytest.raises(UsageError, match="63 bytes that PostgreSQL allows for a name"):
            POSTGRES.identifier(name)


@pytest.mark.parametrize("value", [True, False, None, 0, -(2**63), 2**63 - 1, 0.1, -1e300, 5e-324])
def test_a_value_is_itself_as_a_literal(value):
    with duckdb.connect() as connection:
        ((found,),) = connection.execute(f"select {DUCKDB.literal(value)}").fetchall()
    assert found == value


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_half_of_a_character_is_no_text(text):
    assert not is_unicode(text)
    assert is_unicode("\U0001f600")
    with pytest.raises(UsageError):
        DUCKDB.literal(text)
