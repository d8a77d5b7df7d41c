"""Answers of a CSV file, as each kind of local question takes them."""

import pytest

from tacit.cli.local import answers_of, reader_of
from tacit.errors import DataSourceError, UsageError
from tacit.local import (
    AttributeSplitting,
    DirectEncoding,
    Duchi,
    HierarchicalRanges,
    Items,
    KeyValue,
    PaddedSets,
    RandomizedResponse,
    UnaryEncoding,
)
from tacit.tables import open_source


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,job,likes\n31,craft,tea; milk\n\n,,\n07,care,\n", encoding="utf-8")
    with open_source(path) as table:
        yield table


GOODS = Items(["tea", "milk"], other="nothing")


@pytest.mark.parametrize(
    ("column", "oracle", "answers"),
    [
        ("job", DirectEncoding(["craft", "care"], epsilon=1), ["craft", None, "care"]),
        ("age", DirectEncoding(100, epsilon=1), ["31", None, "07"]),
        ("age", HierarchicalRanges(100, epsilon=1), ["31", None, "07"]),
        ("age", Duchi(0, 99, epsilon=1), ["31", None, "07"]),
        ("likes", PaddedSets(UnaryEncoding(GOODS, epsilon=1), 2), [["tea", "milk"], [], []]),
        (None, KeyValue(["age", "likes"], 0, 99, epsilon=1), 3),
    ],
    ids=lambda x: type(x).__name__,
)
def test_one_answer_a_line(people, column, oracle, answers):
    found = list(answers_of(people, column, oracle))
    assert found == answers or len(found) == answers
    if column is None:
        assert found == [
            {"age": "31", "likes": "tea; milk"},
            {"age": None, "likes": None},
            {"age": "07", "likes": None},
        ]


def test_attributes_are_read_each_by_its_own_question(people):
    parts = {
        "age": DirectEncoding(100, epsilon=1),
        "job": RandomizedResponse(["care", "craft"], p="3/4"),
    }
    oracle = AttributeSplitting(parts)
    assert list(answers_of(people, None, oracle)) == [["31", "craft"], [None, None], ["07", "care"]]
    with pytest.raises(UsageError, match="leave out --column"):
        answers_of(people, "age", oracle)
    with pytest.raises(UsageError, match="several answers"):
        reader_of(oracle)


def test_what_is_missing_or_broken_is_said(people, tmp_path):
    oracle = DirectEncoding(["craft", "care"], epsilon=1)
    with pytest.raises(UsageError, match="--column COL"):
        answers_of(people, None, oracle)
    with pytest.raises(DataSourceError, match="did you mean 'job'"):
        list(answers_of(people, "jab", oracle))
    (tmp_path / "odd.csv").write_bytes(b"a,job\n1,craft\n2\n3,\xff\n4,care\n5,a,b\n")
    with open_source(tmp_path / "odd.csv") as table:  # as every other command reads these lines
        assert list(answers_of(table, "job", oracle)) == ["craft", None, None, "care", None]
