"""Declarations are written as TOML that reads back as it was."""

import tomllib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import UsageError
from tacit.tables.dataset.table import OPEN, read_toml, toml_of, write_new

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUES = st.one_of(
    TEXTS,
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.lists(st.one_of(TEXTS, st.integers(-5, 5)), max_size=3),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
)


@given(st.dictionaries(TEXTS.filter(lambda name: name != "tables"), VALUES, max_size=4))
def test_any_fields_read_back(fields):
    assert tomllib.loads(toml_of(fields)) == fields


@given(TEXTS, st.dictionaries(TEXTS, st.dictionaries(TEXTS, VALUES, max_size=2), max_size=3))
def test_tables_and_columns_of_any_name_read_back(name, columns):
    said = {"tables": {name: {"path": "a.csv", "columns": columns}}}
    found = tomllib.loads(toml_of(said))["tables"][name]
    assert found.get("columns", {}) == columns


def test_numbers_stay_exact_and_open_questions_are_signs():
    text = toml_of({"a": Fraction(1, 3), "b": Fraction(7), "c": OPEN})
    assert text == 'a = "1/3"\nb = 7\nc = "?"\n'


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"name = ", "not TOML"),
        (b"name = '\xff'", "not TOML"),
        (b"a = " + b"9" * 5000, "thousands of digits"),
        (b"a = " + b"[" * 100_000, "nested"),
        (b"#" * 10_000_001, "megabytes"),
    ],
)
def test_what_is_no_declaration_is_refused_soon(tmp_path, content, says):
    path = tmp_path / "visits.toml"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=says):
        read_toml(path, str(path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_toml(tmp_path / "none.toml", "it")
    with pytest.raises(UsageError, match="cannot be written"):
        write_new(tmp_path / "none" / "x.toml", "")
