"""Heavy hitters: found in a large domain, with intervals that hold although they were chosen."""

from __future__ import annotations

import datetime
import decimal
import enum
import math
import time
import uuid
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from local.every_mechanism import CASES, ORACLES
from local.local_laws import coverage, reproducible
from tacit.errors import UsageError
from tacit.local import (
    AttributeSplitting,
    CountMeanSketch,
    DirectEncoding,
    Duchi,
    HierarchicalRanges,
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
    SubsetSelection,
    UnaryEncoding,
)
from tacit.local.hashing import (
    bucket,
    columns_to_rows,
    count_matches,
    digests,
    full_column,
    nested_sets,
    nonnegative_least_squares,
    single_bits,
)
from tacit.local.items import is_missing, plain, text_of
from tacit.noise.bits import injected


@pytest.mark.full
def test_intervals_of_heavy_hitters_hold_although_they_were_chosen():
    """The five largest of some thousands of words: all intervals hold at once, with 90%."""
    oracle = PrefixExtending(16, epsilon=4, step=8, functions=64, buckets=256)
    source = np.random.default_rng(34)
    together, errors = 0, []
    with reproducible(34):
        for _ in range(60):
            heavy = source.choice(1 << 16, 3, replace=False)
            people = np.concatenate(
                [np.repeat(heavy, [1500, 1000, 600]), source.integers(0, 1 << 16, 3000)]
            )
            values, counts = np.unique(people, return_counts=True)
            true = dict(zip(values.tolist(), counts.tolist(), strict=True))
            e = oracle.heaviest(oracle.perturb_many(people), 5)
            assert e.n == len(people)
            assert e.method == "the largest of many"
            assert e.chosen_from == 20 * 256
            asked = np.array([true.get(item, 0) for item in e.items])
            low, high = e.interval("0.9")
            together += bool(np.all((low <= asked) & (asked <= high)))
            assert np.array_equal(low, e.simultaneous("0.9")[0])
            chosen = {item: i for i, item in enumerate(e.items)}
            errors += [
                (e.counts[chosen[h]] - true[h]) / e.standard_error[chosen[h]]
                for h in heavy.tolist()
                if h in chosen
            ]
    assert together >= 60 * 0.9 - 5 * math.sqrt(60 * 0.09)
    assert len(errors) > 100
    assert 0.6 < np.std(errors) < 1.4
    assert e.plot().axes


@pytest.mark.full
def test_heavy_hitters_of_a_large_domain_are_found():
    oracle = PrefixExtending(32, epsilon=4, step=8)
    heavy = [0xCAFEBABE, 0xDEADBEEF, 7]
    people = [h for i, h in enumerate(heavy) for _ in range(6000 - 1000 * i)]
    people += [(i * 2654435761) % 2**32 for i in range(5000)]
    with reproducible(26):
        state = oracle.aggregate(oracle.perturb_many([*people, None, "x", 2**40]))
    assert set(oracle.heaviest(state, 3).items) == set(heavy)
    with pytest.raises(UsageError):
        oracle.estimate(state)


# Items of a question: missing and other answers are items, and no answer is repeated.


def test_missing_and_other_answers_are_items_and_stay_counted():
    items = Items(["a", "b"], other="other", missing="missing")
    grr = DirectEncoding(items, epsilon=4)
    answers = ["a", "b", None, float("nan"), np.nan, "c", 3, object(), [1], ("a",)]
    assert items.indices(answers).tolist() == [0, 1, 3, 3, 3, 2, 2, 2, 2, 2]
    assert grr.aggregate(grr.perturb_many(answers)).n == len(answers)
    plain = DirectEncoding(["a", "b"], epsilon=1)
    for odd in ("c", None, [1]):
        with pytest.raises(UsageError, match="not one of the listed items") as caught:
            plain.perturb(odd)
        assert repr(odd) not in str(caught.value)


def test_whole_numbers_outside_a_range_are_refused_or_other():
    with pytest.raises(UsageError):
        DirectEncoding(4, epsilon=1).perturb_many(np.array([0, 4]))
    with pytest.raises(UsageError):
        DirectEncoding(4, epsilon=1).perturb_many(np.array([0, -1]))
    items = Items(range(4), other=9)
    assert items.indices(np.array([0, 7, 3])).tolist() == [0, 4, 3]


# The container and the scalar type that an answer comes in do not change which item it is.


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
    assert items.indices_of(column(TEXTS)).tolist() == [0, 1, 3, 2]
    assert digests(column(TEXTS)).tolist() == digests(TEXTS).tolist()


@every_column
def test_whole_numbers_in_every_column(column):
    for labels in (range(1, 3), ["1", "2"], [1.0, 2.0]):
        items = Items(labels, other="other", missing="missing")
        assert items.indices_of(column([1, 2, None, 5])).tolist() == [0, 1, 3, 2]
    assert Items(3, other=4, missing=5).indices_of(column([1, 2, None, 7])).tolist() == [1, 2, 4, 3]
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
        assert items.indices_of(column([True, False, None])).tolist() == [1, 0, 2]
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
    assert items.indices_of(column(days)).tolist() == [0, 2, 1]
    assert digests(column(days)).tolist() == digests(["2024-01-31", None, "2024-02-01"]).tolist()


@every_column
def test_decimals_in_every_column(column):
    given = [decimal.Decimal("1.00"), decimal.Decimal("2.00"), None, decimal.Decimal("7.50")]
    assert Items(range(1, 3), other=9, missing=8).indices_of(column(given)).tolist() == [0, 1, 3, 2]
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
        assert items.indices_of(days).tolist() == [0, 2]
    moment = np.array(["2024-01-31T10:11:12.123456789"], "datetime64[ns]")
    written = Items(["2024-01-31T10:11:12.123456789", "x"])
    assert written.indices_of(moment).tolist() == [0]
    assert Items([int(moment.astype(np.int64)[0]), 1], other=2).indices_of(moment).tolist() == [2]


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
    assert Items([label, "x"]).index_of(answer) == 0
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
    assert Items(["a", "b"], missing="none").index_of(value) == 2
    assert Items(["a", "b"], missing="none").indices_of([value]).tolist() == [2]
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
    assert Items(["a", "b"], other="o").index_of(Hostile()) == 2
    assert Items(5, other=9).index_of(Hostile()) == 5


def test_masked_answers_are_missing():
    masked = np.ma.array([0, 1, 1], mask=[False, False, True])
    assert Items(3, missing=7).indices_of(masked).tolist() == [0, 1, 3]
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
        items.index_of(odd)
    assert time.perf_counter() - started < 1
    assert (
        items.index_of(np.int64(5))
        == items.index_of(decimal.Decimal(5))
        == items.index_of("5")
        == 5
    )


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


# Ranges: sums of few intervals, with errors that hold.


@pytest.mark.full
def test_ranges_have_errors_that_hold():
    oracle = HierarchicalRanges(64, epsilon=1)
    values = (np.arange(6000) ** 2 // 7) % 50
    ranges = [(0, 63), (0, 0), (10, 20), (3, 58), (50, 63)]
    true = np.array([np.sum((values >= a) & (values <= b)) for a, b in ranges])
    z, held = [], []
    with reproducible(32):
        for _ in range(100):
            e = oracle.estimate_ranges(oracle.perturb_many(values), ranges)
            low, high = e.interval("0.9")
            z.append((e.counts - true) / e.standard_error)
            held.append((low <= true) & (true <= high))
    assert e.items == tuple(ranges)
    assert np.abs(np.mean(z, axis=0)).max() < 5 / math.sqrt(100)
    assert 0.6 < np.std(z, axis=0).min() <= np.std(z, axis=0).max() < 1.3
    coverage(held, 0.9)
    state = oracle.aggregate(oracle.perturb_many(values))
    assert oracle.share(state, 10, 20) == oracle.estimate_ranges(state, [(10, 20)]).frequencies[0]
    with pytest.raises(UsageError, match="at least one range"):
        oracle.estimate_ranges(state, [])


def test_ranges_are_sums_of_few_intervals():
    oracle = HierarchicalRanges(100, epsilon=2, branching=3)
    for low in range(0, 100, 7):
        for high in range(low + 1, 101, 3):
            leaves = []
            for level, place in oracle._cover(low, high):
                step = 3 ** int(level)
                leaves += range(place * step, min((place + 1) * step, 100))
            assert sorted(leaves) == list(range(low, high))
    values = [i % 50 for i in range(40_000)]
    with reproducible(25):
        state = oracle.aggregate(oracle.perturb_many(values))
    assert oracle.share(state, 0, 24) == pytest.approx(0.5, abs=0.08)
    assert oracle.share(state, 50, 99) == pytest.approx(0, abs=0.08)
    with pytest.raises(UsageError):
        oracle.share(state, 3, 2)


# Sets of items, padded to one length.


GOODS = Items(["milk", "bread", "tea"], other="nothing")


@pytest.mark.full
def test_sets_are_estimated_within_their_errors():
    oracle = PaddedSets(UnaryEncoding(GOODS, epsilon=2), 2)
    people = [{"milk", "tea"}, {"milk"}, set(), {"bread", "milk"}] * 1000
    true = np.array([3000, 1000, 1000])
    with reproducible(24):
        runs = [oracle.estimate(oracle.perturb_many(people)) for _ in range(40)]
    z = np.array([(e.counts[:3] - true) / e.standard_error[:3] for e in runs])
    assert np.abs(z.mean(axis=0)).max() < 5 / math.sqrt(40)
    assert 0.8 < z.std() < 1.2


# Sets of one size: every order of the elements equally likely, and time that tells nothing.


PLANES = 3
AT_ONCE = 4096
"""Words that one request to the generator covers."""


def strings(k):
    """The first bits of k elements, in every possible way: (planes, ways) words of k bits."""
    ways = np.arange(1 << k * PLANES, dtype=np.uint64)
    return np.array([ways >> np.uint64(k * i) & np.uint64((1 << k) - 1) for i in range(PLANES)])


def drawn(k, w, planes):
    """What comes out for these first bits, followed by others of a reproducible stream."""
    later, found = np.random.default_rng(0), ([], [])
    for part in np.array_split(planes, -(-planes.shape[1] // AT_ONCE), axis=1):
        given = [plane.tobytes() for plane in part]

        def take(n, given=given):
            return given.pop(0) if given else later.bytes(n)

        with injected(take):
            drawn = nested_sets(np.repeat(full_column(k)[:, None], part.shape[1], axis=1), w)
        assert not given
        for kept, columns in zip(found, drawn, strict=True):
            kept.extend(columns[0].tolist())
    return found


@pytest.mark.few(4)
@pytest.mark.parametrize(("k", "w"), [(2, 1), (3, 2), (4, 1), (4, 3), (5, 2)])
def test_every_way_the_bits_can_fall(k, w):
    """The element of rank w is told by its bits as soon as no other element shares them."""
    planes = strings(k)
    first, following = drawn(k, w, planes)
    values = sum(
        (planes[i][:, None] >> np.arange(k, dtype=np.uint64) & np.uint64(1)) << np.uint64(2 - i)
        for i in range(PLANES)
    )
    settled = Counter()
    for bits, before, own in zip(values.tolist(), first, following, strict=True):
        edge = sorted(bits)[-w]
        if bits.count(edge) > 1:
            continue
        assert own == 1 << bits.index(edge)
        assert before == sum(1 << i for i in range(k) if bits[i] > edge)
        read = next(
            j for j in range(PLANES + 1) if sum(b >> 3 - j == edge >> 3 - j for b in bits) == 1
        )
        settled[before, own, read] += 1
    ends = {read for *_, read in settled}
    assert len(ends) > 1
    outcomes = {
        (sum(1 << i for i in order[: w - 1]), 1 << order[w - 1]) for order in permutations(range(k))
    }
    for read in ends:
        law = {outcome: settled[*outcome, read] for outcome in outcomes}
        assert len(set(law.values())) == 1, "the outcome and the time must be independent"


@pytest.mark.parametrize("k", [1, 2, 63, 64, 65, 130, 1000])
def test_sets_are_nested_of_their_size_and_within(k):
    n = 2500
    for w in sorted({1, (k + 1) // 2, k}):
        elements = np.repeat(full_column(k)[:, None], n, axis=1)
        first, following = nested_sets(elements, w)
        assert not (first & following).any()
        assert set(np.bitwise_count(first).sum(axis=0).tolist()) == {w - 1}
        assert set(np.bitwise_count(following).sum(axis=0).tolist()) == {1}
        assert not ((first | following) & ~elements).any()
        assert np.array_equal(elements, np.repeat(full_column(k)[:, None], n, axis=1))


def test_columns_of_different_sets():
    words = np.array([[0b1011, 0b1110, 0b11111]], np.uint64)
    for _ in range(50):
        first, following = nested_sets(words, 3)
        both = first | following
        assert np.bitwise_count(both).tolist() == [[3, 3, 3]]
        assert not (both & ~words).any()
        assert both[0, :2].tolist() == [0b1011, 0b1110]


@pytest.mark.full
def test_all_sets_of_many_elements_are_as_likely(chi_square):
    """Pairs among 70 elements, which two words hold: all 2,415 come equally often."""
    n, k = 200_000, 70
    with reproducible(11):
        first, following = nested_sets(np.repeat(full_column(k)[:, None], n, axis=1), 2)
    rows = np.unpackbits(columns_to_rows(first | following, k), axis=1, bitorder="little")
    pairs = Counter(map(tuple, np.nonzero(rows)[1].reshape(n, 2).tolist()))
    seen = [pairs[pair] for pair in combinations(range(k), 2)]
    assert sum(seen) == n
    assert chi_square(seen, [n / len(seen)] * len(seen)) > 1e-5


@pytest.mark.few(4)
@pytest.mark.parametrize("value", [0, 63, 64, 129])
def test_places_of_a_long_report_are_as_likely_as_told(value, chi_square):
    oracle, n = SubsetSelection(130, epsilon=1), 40_000
    with reproducible(value):
        reports = oracle.perturb_many([value] * n)
    assert oracle.valid(reports).all()
    counts = oracle.aggregate(reports).sums
    own, other = oracle.support
    assert chi_square([counts[value], n - counts[value]], [n * own, n - n * own]) > 1e-5
    spread = float(n * other * (1 - other)) ** 0.5
    assert max(abs(np.delete(counts, value) - float(n * other))) < 6 * spread


def test_places_and_rows_agree():
    for k in (1, 8, 64, 65, 200):
        places = np.arange(k)
        rows = columns_to_rows(single_bits(places, k), k)
        assert np.array_equal(
            np.unpackbits(rows, axis=1, count=k, bitorder="little"), np.eye(k, dtype=np.uint8)
        )
        assert np.bitwise_count(full_column(k)).sum() == k


def test_the_coin_and_the_answer_change_no_work():
    """As many random bytes are taken, whichever of two coins falls: it comes last."""
    oracle, taken = SubsetSelection(20, p="1/2", size=5), []

    def counted(coin):
        stream = np.random.default_rng(3)
        sizes = []

        def take(n):
            sizes.append(n)
            return stream.bytes(n) if n != 1 else bytes([coin])

        with injected(take):
            report = oracle.perturb(7)
        taken.append(sizes)
        return bool(report[0] >> 7 & 1)

    assert counted(0)
    assert not counted(255)
    assert taken[0] == taken[1]


# Matches of hashed reports are counted as the hash says.


@pytest.mark.parametrize("g", [2, 4, 7, 4096])
@pytest.mark.parametrize(
    ("n", "items"), [(0, 5), (1, 1), (2, 300), (1007, 129), (1008, 2), (1009, 129), (4100, 65)]
)
def test_matches_are_counted_as_the_hash_says(g, n, items):
    generator = np.random.default_rng(n + g)
    seeds, sent = generator.integers(0, 2**32, n, np.uint32), generator.integers(0, g, n)
    plain = [
        int(np.count_nonzero(bucket(seeds, np.full(n, item, np.uint32), g) == sent))
        for item in range(items)
    ]
    assert count_matches(seeds, sent.astype(np.uint32), g, items).tolist() == plain


# Non-negative least squares against scipy.


def test_nonnegative_least_squares_is_optimal():
    scipy_nnls = pytest.importorskip("scipy.optimize").nnls
    source = np.random.default_rng(2)
    for rows, columns in ((5, 3), (30, 12), (60, 40)):
        for _ in range(20):
            design = source.integers(0, 3, (rows, columns)).astype(float)
            target = source.normal(size=rows)
            ours = nonnegative_least_squares(design, target)
            _, length = scipy_nnls(design, target)
            assert ours.min() >= 0
            assert np.linalg.norm(design @ ours - target) <= length + 1e-9
