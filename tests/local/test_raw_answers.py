"""The container and the scalar type that an answer comes in do not change which item it is."""

from __future__ import annotations

import datetime
import decimal
import enum
import time
import uuid
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from local.every_mechanism import CASES, ORACLES
from tacit.errors import UsageError
from tacit.local import (
    AttributeSplitting,
    CountMeanSketch,
    DirectEncoding,
    Duchi,
    HybridMean,
    Items,
    KeyValue,
    LaplaceMean,
    PaddedSets,
    Piecewise,
    PrefixExtending,
    RandomizedResponse,
    Rappor,
    SquareWave,
    UnaryEncoding,
)
from tacit.local.hashing import digests
from tacit.local.items import is_missing, plain, text_of

TEXTS = ["a", "b", None, "z"]
COLUMNS = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "dict view": lambda v: dict(enumerate(v)).values(),
    "numpy": lambda v: np.array(v, object),
    "Arrow": pa.array,
    "Arrow, chunks": lambda v: pa.chunked_array(
        [pa.array(v[:2]), pa.array(v[2:], pa.array(v).type)]
    ),
    "Arrow, dictionary": lambda v: pa.array(v).dictionary_encode(),
    "Arrow, scalars": lambda v: list(pa.array(v)),
    "pandas": pd.Series,
    "pandas, index": pd.Index,
    "pandas, object": lambda v: pd.Series(v, dtype=object),
    "pandas, categories": lambda v: pd.Series(v, dtype="category"),
    "pandas, Arrow": lambda v: pd.Series(pa.array(v), dtype=pd.ArrowDtype(pa.array(v).type)),
    "pandas, array": lambda v: pd.Series(v).convert_dtypes().array,
    "polars": pl.Series,
}
every_column = pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)


@every_column
def test_text_in_every_column(column):
    items = Items(["a", "b"], other="other", missing="missing")
    assert items.places(column(TEXTS)).tolist() == [0, 1, 3, 2]
    assert digests(column(TEXTS)).tolist() == digests(TEXTS).tolist()


@every_column
def test_whole_numbers_in_every_column(column):
    for labels in (range(1, 3), ["1", "2"], [1.0, 2.0]):
        items = Items(labels, other="other", missing="missing")
        assert items.places(column([1, 2, None, 5])).tolist() == [0, 1, 3, 2]
    assert Items(3, other=4, missing=5).places(column([1, 2, None, 7])).tolist() == [1, 2, 4, 3]
    for oracle in (Duchi, Piecewise, HybridMean, LaplaceMean, SquareWave):
        mean = oracle(0, 8, epsilon=1, missing=5)
        assert mean.read(column([1, 2, None, 9])).tolist() == mean.read([1, 2, 5, 9]).tolist()
    words = PrefixExtending(4, epsilon=1, step=2)
    assert words.read(column([1, 2, None])).tolist() == words.read([1, 2, "odd"]).tolist()
    assert digests(column([1, 2, None])).tolist() == digests(["1", "2", None]).tolist()


@every_column
def test_booleans_in_every_column(column):
    for labels in ([False, True], [0, 1], ["false", "true"], ["False", "True"]):
        items = Items(labels, missing="missing")
        assert items.places(column([True, False, None])).tolist() == [1, 0, 2]
    assert Duchi(0, 1, epsilon=1, missing=0).read(column([True, False, None])).tolist() == [
        1 << 32,
        0,
        0,
    ]


@every_column
@pytest.mark.parametrize("hours", [0, None])
def test_dates_in_every_column(column, hours):
    kind = datetime.date if hours is None else datetime.datetime
    days = [kind(2024, 1, 31), None, kind(2024, 2, 1)]
    items = Items(["2024-01-31"], other="other", missing="missing")
    assert items.places(column(days)).tolist() == [0, 2, 1]
    assert digests(column(days)).tolist() == digests(["2024-01-31", None, "2024-02-01"]).tolist()


@every_column
def test_decimals_in_every_column(column):
    given = [decimal.Decimal("1.00"), decimal.Decimal("2.00"), None, decimal.Decimal("7.50")]
    assert Items(range(1, 3), other=9, missing=8).places(column(given)).tolist() == [0, 1, 3, 2]
    mean = Duchi(0, 8, epsilon=1, missing=5)
    assert mean.read(column(given)).tolist() == mean.read([1, 2, 5, 7.5]).tolist()
    assert digests(column(given)).tolist() == digests([1, 2, None, 7.5]).tolist()


@pytest.mark.parametrize("kind", ["D", "h", "s", "ms", "us", "ns"])
def test_times_of_every_unit(kind):
    for days in (
        np.array(["2024-01-31", "NaT"], f"datetime64[{kind}]"),
        [*np.array(["2024-01-31", "NaT"], f"datetime64[{kind}]")],
    ):
        items = Items(["2024-01-31"], other="other", missing="missing")
        assert items.places(days).tolist() == [0, 2]
    moment = np.array(["2024-01-31T10:11:12.123456789"], "datetime64[ns]")
    written = Items(["2024-01-31T10:11:12.123456789", "x"])
    assert written.places(moment).tolist() == [0]
    assert Items([int(moment.astype(np.int64)[0]), 1], other=2).places(moment).tolist() == [2]


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("answer", "label"),
    [
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), "a"),
        (b"a", "a"),
        (bytearray(b"a"), "a"),
        (np.array("a"), "a"),
        (pa.scalar("a"), "a"),
        (pa.scalar(b"a"), "a"),
        (np.int8(1), 1),
        (np.uint64(1), 1),
        (np.float16(1), 1),
        (np.longdouble(1), 1),
        (Fraction(1), 1),
        (decimal.Decimal("1.0"), 1),
        (np.float32(0.1), 0.1),
        (decimal.Decimal("0.1"), 0.1),
        (np.bool_(True), True),
        (np.bool_(True), "true"),
        ("TRUE", True),
        ("1", 1),
        (pa.scalar(1.0), "1"),
        (datetime.time(10), "10:00:00"),
        (pd.Timestamp("2024-01-31"), "2024-01-31"),
        (pl.Series(["a"])[0], "a"),
        (uuid.UUID(int=1), str(uuid.UUID(int=1))),
        (Colour.RED, "red"),
        (np.array(1), 1),
    ],
    ids=lambda value: f"{type(value).__name__}",
)
def test_scalars(answer, label):
    assert Items([label, "x"]).place(answer) == 0
    assert Items(["x", label]).index(answer) == 1
    assert not is_missing(answer)


@pytest.mark.parametrize(
    "value",
    [
        None,
        np.nan,
        np.float16("nan"),
        pd.NA,
        pd.NaT,
        np.datetime64("NaT", "ns"),
        np.timedelta64("NaT", "s"),
        np.ma.masked,
        decimal.Decimal("NaN"),
        decimal.Decimal("sNaN"),
        pa.scalar(None),
        pa.scalar(None, pa.int64()),
    ],
    ids=repr,
)
def test_what_is_missing_in_every_library(value):
    assert is_missing(value)
    assert Items(["a", "b"], missing="none").place(value) == 2
    assert Items(["a", "b"], missing="none").places([value]).tolist() == [2]
    assert Duchi(0, 4, epsilon=1, missing=2).read([value]).tolist() == [1 << 31]
    assert digests([value]).tolist() == digests([None]).tolist()
    assert (
        KeyValue(["k", "l"], 0, 1, epsilon=1).read([{"k": value}, value]).tolist() == [[-1, -1]] * 2
    )
    goods = PaddedSets(UnaryEncoding(Items(["a", "b"], other="o"), epsilon=1), 1)
    assert goods.members(value) == []


class Hostile:
    """An answer whose class does all that it can to fail."""

    def __getattr__(self, name):
        raise ValueError("secret")

    def __hash__(self):
        raise ValueError("secret")

    def __eq__(self, other):
        raise ValueError("secret")


def test_an_answer_of_any_class_is_another_one():
    assert Items(["a", "b"], other="o").place(Hostile()) == 2
    assert Items(5, other=9).place(Hostile()) == 5


def test_masked_answers_are_missing():
    masked = np.ma.array([0, 1, 1], mask=[False, False, True])
    assert Items(3, missing=7).places(masked).tolist() == [0, 1, 3]
    numbers = np.ma.array([0.0, 1.0, 1.0], mask=[False, False, True])
    assert Duchi(0, 1, epsilon=1, missing=0).read(numbers).tolist() == [0, 1 << 32, 0]


@pytest.mark.parametrize("name", CASES)
def test_a_table_or_a_mapping_is_no_column(name):
    oracle = ORACLES[name]
    several = isinstance(oracle, (AttributeSplitting, KeyValue))
    for odd in ("text", b"text", {"a": 1}, 5):
        with pytest.raises(UsageError):
            oracle.perturb_many(odd)
    frame = pd.DataFrame({"x": [1, 2], "y": [1, 2]})
    for table in (frame, pl.DataFrame(frame), pa.table(frame)):
        with pytest.raises(UsageError, match="column"):
            oracle.perturb_many(table)
    if not several and name not in ("sets", "sampling", "key-value"):
        with pytest.raises(UsageError, match="dimension"):
            oracle.perturb_many(np.zeros((2, 2), int))


@pytest.mark.parametrize(
    "table", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "Arrow"]
)
def test_rows_of_a_table_are_read_by_the_names_of_columns(table):
    both = AttributeSplitting({"a": RandomizedResponse(p="3/4"), "b": DirectEncoding(5, epsilon=1)})
    columns = {"other": [7, 7], "b": [4, 2], "a": [True, False]}
    expected = both.read([(True, 4), (False, 2)]).tolist()
    assert both.read(table(columns)).tolist() == expected
    pairs = KeyValue(["a", "b"], 0, 1, epsilon=1)
    wide = table({"b": [1.0, None], "a": [None, 0.5]})
    assert pairs.read(wide).tolist() == [[-1, 1 << 32], [1 << 31, -1]]
    with pytest.raises(UsageError, match="no column 'a'"):
        both.read(table({"A": [True], "b": [1]}))
    if table is pd.DataFrame:
        assert both.read([row for _, row in table(columns).iterrows()]).tolist() == expected
    if table is pa.table:
        assert both.read(pa.table(columns).to_struct_array()).tolist() == expected
    if table is pl.DataFrame:
        assert both.read(pl.DataFrame(columns).to_struct("x")).tolist() == expected


def test_sets_and_mappings_of_arrow_and_polars():
    goods = PaddedSets(UnaryEncoding(Items(["a", "b"], other="o"), epsilon=1), 1)
    sets = [["a"], None, ["b", "a"], []]
    for column in (pa.array(sets), pl.Series(sets), list(pa.array(sets)), pd.Series(sets)):
        assert len(goods.read(column)) == 4
        members = [goods.members(answer) for answer in column]
        assert members == [[0], [], [0, 1], []]
    pairs = KeyValue(["k", "l"], 0, 1, epsilon=1)
    mapped = pa.array([[("k", 1.0)], None], pa.map_(pa.string(), pa.float64()))
    assert pairs.read(mapped).tolist() == [[1 << 32, -1], [-1, -1]]
    assert pairs.read(list(mapped)).tolist() == [[1 << 32, -1], [-1, -1]]


def test_labels_and_candidates_of_every_library():
    for column in (pa.array(["a", "b"]), pd.Series(["a", "b"]), pl.Series(["a", "b"])):
        assert Items(column, other=np.str_("o")) == Items(["a", "b"], other="o")
        for sketch in (CountMeanSketch(epsilon=8), Rappor()):
            found = sketch.estimate(sketch.perturb_many(column), column)
            assert found.items == ("a", "b")
            assert found[pa.scalar("a")] == found["a"] == found[np.str_("a")]
    assert Items(np.array([1, 2]), other=np.int64(3)).describe()["other"] == 3
    with pytest.raises(UsageError, match="items are text"):
        Items(np.array(["2024-01-01", "2024-01-02"], "datetime64[ns]"))
    with pytest.raises(UsageError, match="list"):
        CountMeanSketch(epsilon=1).estimate([], "abc")


@pytest.mark.parametrize(
    "reports",
    [
        pa.array([1, 0, 1]),
        pa.chunked_array([[1, 0], [1]]),
        pa.array([1, 0, 1]).dictionary_encode(),
        pa.array([True, False, True]),
        pd.Series([1, 0, 1], dtype="Int64"),
        pd.Series([1, 0, 1], dtype="category"),
        pd.Series([True, False, True], dtype="boolean"),
        pl.Series([1, 0, 1]),
        [True, False, True],
        [decimal.Decimal(1), decimal.Decimal(0), 1],
        list(pa.array([1, 0, 1])),
        np.ma.array([1, 0, 1]),
    ],
    ids=lambda x: type(x).__name__,
)
def test_reports_of_every_library(reports):
    coins = RandomizedResponse(p="3/4")
    assert coins.aggregate(reports) == coins.aggregate([1, 0, 1])
    assert coins.estimate(reports)[True] == coins.estimate([1, 0, 1])[True]


def test_rows_of_reports_of_every_library():
    unary = UnaryEncoding(11, epsilon=1)
    rows = unary.perturb_many([3, 4, 5])
    for given in (
        rows.tolist(),
        pd.DataFrame(rows),
        pl.DataFrame(rows),
        pa.array(rows.tolist()),
        pl.Series(rows.tolist()),
        pa.FixedSizeListArray.from_arrays(rows.ravel(), 2),
    ):
        assert unary.aggregate(given) == unary.aggregate(rows)


@pytest.mark.parametrize(
    "reports",
    [
        np.ma.array([1, 0], mask=[False, True]),
        pa.array([1, None]),
        pd.Series([1, None], dtype="Int64"),
        pl.Series([1, None]),
        [1, None],
        [1.5, 1],
        ["1", "0"],
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_missing_report_is_refused(reports):
    with pytest.raises(UsageError, match=r"missing|whole numbers"):
        RandomizedResponse(p="3/4").aggregate(reports)


def test_a_place_in_a_long_range_is_not_searched_for():
    items = Items(1 << 32, other=7)
    started = time.perf_counter()
    for odd in ("abc", 0.5, decimal.Decimal("1e999999"), np.int64(5), decimal.Decimal(5)):
        items.place(odd)
    assert time.perf_counter() - started < 1
    assert items.place(np.int64(5)) == items.place(decimal.Decimal(5)) == items.place("5") == 5


def test_plain_values_and_their_texts():
    assert plain(np.array([1, 2])).tolist() == [1, 2]
    assert plain(b"\xff") == b"\xff"
    assert [text_of(v) for v in (1.5, decimal.Decimal("1.50"), "1.50", True)] == [
        "1.5",
        "1.5",
        "1.50",
        "True",
    ]
    assert len(text_of(decimal.Decimal("1e999999"))) < 20
    assert len(text_of(1e300)) < 20
    assert text_of(datetime.datetime(2024, 1, 31, 10)) == "2024-01-31 10:00:00"
    assert Duchi(0, 4, epsilon=1).read([decimal.Decimal("-Infinity"), "1"]).tolist() == [0, 1 << 30]
