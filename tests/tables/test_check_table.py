"""The curator's own look at a table: exact, marked as not private, and run by nothing else."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tacit as tc
from tables.statistics.released import enough
from tacit import noise
from tacit.errors import DataSourceWarning, UsageError
from tacit.expressions.dialect import read_cell
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.noise import (
    Band,
    Estimate,
    GridNoise,
    _inversion,
    _laplace_quantile,
    _partial_fractions,
    half_widths,
)
from tacit.tables.open_source import open_source

TEXT = (
    'age,day,flag,site\n31,2024-01-31,true,a\nforty,05.01.2024,no,b\n52,2024-02-01\n1,2,3,4,5\n"\n'
)


def test_it_counts_what_would_be_missing_and_says_where(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT)
    found = tc.check(path)
    assert found.rows == 5
    assert found.wrong == {"spoiled": 1, "short": 1, "long": 1}
    assert found.where["long"] == (("people.csv", 5),)
    assert found.where["spoiled"] == (("people.csv", 6),)
    assert dict(found.columns["age"].missing_as) == {
        "integer": 1,
        "float": 1,
        "date": 3,
        "timestamp": 3,
        "boolean": 3,
    }
    assert found.types == {"age": "text", "day": "text", "flag": "boolean", "site": "text"}
    told = str(found)
    assert told.startswith("NOT PRIVATE")
    assert "--types age=text,day=text,flag=boolean,site=text" in told
    assert not any(value in told for value in ("forty", "05.01", "31"))


def test_only_the_columns_that_are_named_are_reported(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT)
    whole, part = tc.check(path), tc.check(path, columns=["site", "age"])
    assert list(part.columns) == ["site", "age"]
    assert part.columns == {name: whole.columns[name] for name in ("site", "age")}
    assert part.types == {"age": "text", "site": "text"}
    # rows and lines are those of the whole table
    assert (part.rows, part.wrong, part.where) == (whole.rows, whole.wrong, whole.where)
    frame = pd.DataFrame({"n": [1, 2], "x": [0.5, None]})
    assert {name: c.filled for name, c in tc.check(frame, columns=["x"]).columns.items()} == {
        "x": 1
    }
    with pytest.raises(UsageError, match="no column 'sight'; did you mean 'site'"):
        tc.check(path, columns=["sight"])
    with pytest.raises(UsageError, match="a list of names"):
        tc.check(path, columns="site")


def test_a_declared_column_is_held_against_its_kind(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT)
    found = tc.check(path, types={"age": "integer", "day": "date"}, date_format="%d.%m.%Y")
    assert dict(found.columns["age"].missing_as) == {"integer": 1}
    assert dict(found.columns["day"].missing_as) == {"date": 2}


def test_what_it_suggests_can_be_declared(tmp_path):
    path = tmp_path / "people.csv"
    lines = "".join(f"{i},{i / 4},2024-01-{i % 28 + 1:02},{i % 2 == 0},s{i}\n" for i in range(40))
    path.write_text("a,b,c,d,e\n" + lines)
    types = tc.check(path).types
    assert types == {"a": "integer", "b": "float", "c": "date", "d": "boolean", "e": "text"}
    with open_source(path, types=types) as source:
        assert source.columns == types


def test_objects_of_a_frame_are_looked_at_too():
    found = tc.check(pd.DataFrame({"age": [31, "x", None], "n": [1, 2, 3]}))
    assert found.columns["age"].missing_as["integer"] == 1
    assert (found.columns["n"].kind, found.columns["n"].filled) == ("integer", 3)


def test_nothing_else_runs_it():
    source = Path(tc.__file__).parent
    users = [p for p in source.rglob("*.py") if "tables.check" in p.read_text(encoding="utf-8")]
    assert {str(p.relative_to(source)) for p in users} == {"__init__.py", "cli/release/files.py"}


def checked(tmp_path, cells, **options):
    path = tmp_path / "t.csv"
    path.write_text("c\n" + "".join(f"{cell}\n" for cell in cells), encoding="utf-8")
    return tc.check(path, **options)


SUGGESTED = {
    "19 digits": ("text", [str(10**18 + i) for i in range(20)]),
    "20 digits": ("text", [str(10**19 + i) for i in range(20)]),
    "17 digits": ("integer", [str(10**16 + i) for i in range(20)]),
    "place codes": ("text", ["01001", "1001", "10115"]),
    "one place code": ("text", [*map(str, range(1000, 1100)), "01001"]),
    "disease codes": ("text", ["250.0", "250.00", "401.9"]),
    "disease codes of two lengths": ("text", ["250", "250.0", "401.9"]),
    "letters of disease codes": ("text", [*map(str, range(100, 199)), "V58"]),
    "powers": ("text", ["12E3", "14E2"]),
    "power": ("text", ["12E3"]),
    "only NO": ("text", ["NO"] * 9),
    "only f": ("text", ["f"] * 9),
    "only true": ("text", ["true"] * 9),
    "true and false": ("boolean", ["true", "false", "true"]),
    "yes and no": ("boolean", ["YES", "NO", "NO"]),
    "true in two writings": ("text", ["true", "false", "True"]),
    "no in two writings": ("text", ["YES", "NO", "no"]),
    "three truths": ("text", ["y", "n", "no"]),
    "signs": ("text", ["+1", "1"]),
    "minus nothing": ("text", ["-0", "0"]),
    "whole": ("integer", ["-3", "0", "12"]),
    "padded": ("integer", [" 3", "12"]),
    "whole, some unknown": ("integer", ["1", "NA", "7"]),
    "only unknown": ("text", ["NA", "NA"]),
    "shortest": ("float", ["0.25", "1.0", "1e-05"]),
    "general": ("float", ["0.25", "1", "-3"]),
    "money": ("float", ["12.50", "3.00", "0.99"]),
    "far money": ("text", ["12345678901234567.50", "3.00"]),
    "17 places": ("float", ["0.1234567890123457", "0.30000000000000004"]),
    "whole with a point": ("float", ["12.0", "3.0"]),
    "no zero": ("text", [".5", "0.5"]),
    "days": ("date", ["2024-01-31", "2024-02-01"]),
    "times": ("timestamp", ["2024-01-31 10:00", "2024-02-01 11:30"]),
    "days and times": ("text", ["2024-01-31", "2024-02-01 11:30:05"]),
    "thousandths": ("text", ["2024-01-31 10:00:00.25", "2024-01-31 10:00:00.75"]),
    "hours of a zone": ("timestamp", ["2024-01-31 10:00+01:00", "2024-07-31 10:00+02:00"]),
    "thousandths of a zone": ("timestamp", ["2024-01-31 10:00:05.000+01:00"]),
    "one hour of two zones": ("text", ["2024-01-31 10:00+01:00", "2024-01-31 09:00+00:00"]),
    "seconds or an offset": ("text", ["2024-01-31 10:00+01", "2024-01-31 09:00:00"]),
    "an offset or a letter": ("text", ["2024-01-31 09:00:00.00Z", "2024-01-31 09:00:00.000"]),
    "another space": ("text", ["\u00a012", "12"]),
    "nine spaces": ("text", [" " * 9 + "12", "13"]),
    "words": ("text", ["a", "b"]),
    "nothing": (None, ["", ""]),
}


@pytest.mark.few(14)
@pytest.mark.parametrize("name", SUGGESTED)
def test_no_kind_is_suggested_that_changes_what_cells_say(tmp_path, name):
    kind, cells = SUGGESTED[name]
    assert checked(tmp_path, [*cells, ""]).columns["c"].suggestion == kind


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("date", ["1.2.2024", "2.2.2024"]),
        ("text", ["1.2.2024", "01.02.2024"]),
        ("timestamp", ["1.2.2024 9:05", "2.2.2024 9:05"]),
        ("text", ["1.2.2024 9:05", "01.02.2024 09:05"]),
    ],
)
def test_days_and_times_in_a_format_of_their_own_stay_apart(tmp_path, kind, cells):
    formats = {"date_format": "%d.%m.%Y", "time_format": "%d.%m.%Y %H:%M"}
    assert checked(tmp_path, cells, **formats).columns["c"].suggestion == kind


_READ = {
    "integer": "read_integer",
    "float": "read_number",
    "date": "read_date",
    "timestamp": "read_seconds",
    "boolean": "read_boolean",
}


_ALIKE = ("1", "01", "1.0", "1.50", "1.5", "2024-01-01", "2024-01-01 00:00")
_MORE_ALIKE = (
    *("1.00", "+1", "1e0", "12E3", "true", "t", "no", "f", "yes", "0", "-0", "0.1", "0.10"),
    *("2024-01-01 01:00+01", "2024-01-01 00:00:00", "True", "\u00a01", " " * 9 + "1"),
    *("2024-01-01T00:00:00.5", "2024-01-01T00:00", "9007199254740993", "123456789012345678901"),
)


@pytest.mark.full
@pytest.mark.parametrize(
    "texts", [_ALIKE, pytest.param((*_ALIKE, *_MORE_ALIKE), marks=pytest.mark.full)]
)
def test_two_texts_never_become_one_value(tmp_path, texts):
    pairs = list(itertools.combinations(texts, 2))
    path = tmp_path / "pairs.csv"
    lines = [",".join(f"c{i}" for i in range(len(pairs)))]
    lines += [",".join(pair[place] for pair in pairs) for place in (0, 1)]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = tc.check(path).columns
    for i, pair in enumerate(pairs):
        kind = found[f"c{i}"].suggestion
        if kind != "text":
            values = [read_cell(_READ[kind], cell) for cell in pair]
            assert None not in values, (pair, kind)
            assert values[0] != values[1], (pair, kind)


def test_it_says_what_would_change(tmp_path):
    found = checked(tmp_path, ["01001", "1001", "10115"])
    assert found.columns["c"].changed_as == {"integer": 1, "float": 1}
    assert "integer 0 (1 change)" in str(found)
    assert found.to_json()["columns"]["c"]["changed_as"] == {"integer": 1, "float": 1}


MISFITS = {
    "a comma": ({"c": "float"}, ["12,5", "13,5"], {"delimiter": ";"}),
    "a date format": ({"c": "date"}, ["2024-01-31"], {"date_format": "%d.%m.%Y"}),
    "a time format": ({"c": "timestamp"}, ["31.01.2024 10:00"], {}),
    "truths": ({"c": "boolean"}, ["ja", "nein"], {}),
    "letters": ({"c": "integer"}, ["a", "b"], {}),
}


@pytest.mark.parametrize("name", MISFITS)
def test_a_declared_kind_that_fits_no_cell_is_reported(tmp_path, name):
    types, cells, options = MISFITS[name]
    found = checked(tmp_path, cells, types=types, **options)
    assert f"NONE of them is read as {types['c']}" in str(found)


def test_a_declared_kind_that_fits_some_cells_or_all_is_reported_as_well(tmp_path):
    some = str(checked(tmp_path, ["1", "x"], types={"c": "integer"}))
    assert "2 cells filled; 1 missing as integer" in some
    every = str(checked(tmp_path, ["1", "2"], types={"c": "integer"}))
    assert "missing" not in every
    assert "NONE" not in every
    assert "NONE" not in str(checked(tmp_path, ["", ""], types={"c": "integer"}))


def test_a_wide_table_is_counted_by_as_many_statements_as_a_narrow_one(tmp_path, monkeypatch):
    asked = []
    rows = DuckEngine.rows
    monkeypatch.setattr(DuckEngine, "rows", lambda self, sql: asked.append(sql) or rows(self, sql))
    counted = {}
    for width in (2, 20, 100):
        path = tmp_path / "wide.parquet"
        pq.write_table(pa.table({f"c{i}": [1.5, None] for i in range(width)}), path)
        asked.clear()
        found = tc.check(path)
        assert [c.filled for c in found.columns.values()] == [1] * width
        counted[width] = len(asked), sum(map(len, asked)) / width
    assert counted[2][0] == counted[20][0] == counted[100][0]
    assert counted[100][1] < counted[20][1]  # and the text of all of them is linear in the columns
    assert counted[100][1] < 400  # no words that may be codes are sought in numbers


def test_columns_that_may_have_codes_are_looked_at_together(tmp_path, monkeypatch):
    asked = []
    rows = DuckEngine.rows
    monkeypatch.setattr(DuckEngine, "rows", lambda self, sql: asked.append(sql) or rows(self, sql))
    path = tmp_path / "wide.parquet"
    numbers = {"like codes": [1, 2, 3, 99], "scale": [6, 7, 8, 9], "normal": [-0.5, 1.5, 2.5, -1.0]}
    pq.write_table(
        pa.table({f"{name} {i}": x for i in range(40) for name, x in numbers.items()}), path
    )
    found = tc.check(path)
    assert {name: c.codes for name, c in found.columns.items() if c.codes} == {
        f"like codes {i}": {"99": 1} for i in range(40)
    }
    assert len(asked) < 15  # and not some for each column


def test_a_wrong_delimiter_warns_by_the_name_of_the_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1;2\n")
    with pytest.warns(DataSourceWarning, match="delimiter=';'"):
        tc.check(path)


# What the noise does to weighted sums: against exact laws, and against draws.


LAWS = {
    "fine": GridNoise("laplace", 2.0, 2.0**-20),
    "coarse": GridNoise("laplace", 2.0, 1.0),
    "coarser": GridNoise("laplace", 0.3, 1.0),
    "gaussian": GridNoise("gaussian", 3.0, 2.0**-20),
    "gaussian, coarse": GridNoise("gaussian", 1.5, 1.0),
    "gaussian, coarser": GridNoise("gaussian", 0.2, 1.0),
}


def exact_law(law):
    units = Fraction(law.scale) / Fraction(law.grid)
    return (noise.DiscreteLaplace if law.kind == "laplace" else noise.DiscreteGaussian)(units)


def draws(law, size):
    return exact_law(law).draw_many(size).astype(float) * law.grid


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_variance_is_the_exact_one_or_just_above(law):
    exact = float(exact_law(law).variance()) * law.grid**2
    assert law.variance >= exact * (1 - 1e-9)
    if law.kind == "laplace" or law.scale / law.grid > 1:
        assert law.variance == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("law", [LAWS["coarse"], LAWS["coarser"]], ids=["coarse", "coarser"])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_one_coordinate_has_the_least_half_width_on_the_grid(law, level):
    exact = exact_law(law)
    t = int(law.half_width((1.0,), level))
    inside = exact.cdf(t).lower - exact.cdf(-t - 1).upper
    assert inside >= Fraction(level) - Fraction(1, 10**9)
    if t:
        assert exact.cdf(t - 1).upper - exact.cdf(-t).lower < level


@pytest.mark.few(8)
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize(
    "weights",
    [(1.0,), (1.0, 1.0), (1.0, -0.5), (0.3, 0.3, 0.3), (1.0, 0.999, 0.01), (1.0,) * 4, (0.2,) * 9],
)
def test_half_widths_cover(law, weights):
    runs = 20_000
    total = draws(law, (runs, len(weights))) @ np.array(weights)
    half = law.half_width(weights)
    assert (np.abs(total) <= half * (1 + 1e-12)).sum() >= enough(runs)


def test_half_widths_are_tight_where_the_grid_is_fine():
    law = LAWS["fine"]
    runs = 100_000
    for weights in [(1.0, 1.0), (1.0, 0.5, 0.25), (1.0,) * 5]:
        total = np.abs(draws(law, (runs, len(weights))) @ np.array(weights))
        assert np.quantile(total, 0.95) == pytest.approx(law.half_width(weights), rel=0.03)


def test_no_weight_no_width():
    assert LAWS["fine"].half_width((0.0, 0.0)) == 0.0


def test_a_scale_far_below_the_grid_is_no_noise_and_no_error():
    law = GridNoise("laplace", 1e-6, 1.0)
    assert law.variance == 0.0
    assert law.half_width((1.0,)) == 0.0


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 0.5), (1.0, 0.9, 0.2), (1.0, 1.0, 1.0)])
def test_both_ways_to_the_tail_agree(weights):
    # Nearly equal weights are spread upwards, so the closed form may be above by as much.
    closed = _partial_fractions(tuple(sorted(weights)))
    numeric = _inversion((*sorted(weights), 1e-9, 1e-9))
    for t in (0.5, 1.0, 2.0, 5.0, 9.0):
        assert closed(t) >= numeric(t) - 2e-5
        assert closed(t) == pytest.approx(numeric(t), rel=0.02, abs=2e-5)


def test_the_tail_of_two_equal_laplaces_is_the_known_one():
    # P(|X + Y| > t) = (1 + t / 2) e^-t
    t = _laplace_quantile((1.0, 1.0), 0.95)
    assert (1 + t / 2) * np.exp(-t) <= 0.05
    assert t == pytest.approx(4.1128, rel=3e-3)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_rows_of_weights_have_the_half_width_of_each(law):
    rows = ((1.0, 0.0), (0.25, -0.75), (0.0, 0.0), (0.0, -2.0), (0.1, 0.2))
    assert law.half_widths(rows, 0.9).tolist() == [law.half_width(row, 0.9) for row in rows]
    assert law.half_width((0.0, 0.0)) == 0


# Half-widths of many weighted sums at once: never narrower than the exact ones, hardly wider.


WEIGHTS = [
    (1.0, 0.0, 0.0),
    (1.0, 1.0, 0.0),
    (1.0, 0.5, 0.01),
    (3.0, -2.0, 1.0),
    (1e-6, 5e-7, 0.0),
    (0.0, 0.0, 0.0),
]


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999, 1 - 1e-5])
def test_no_narrower_than_the_exact_quantiles_and_hardly_wider(kind, level):
    law = GridNoise(kind, 2.0, 2.0**-60)
    found = half_widths(law, np.array(WEIGHTS), level)
    for wide, weights in zip(found, WEIGHTS, strict=True):
        exact = law.half_width(weights, level)
        assert exact * (1 - 2e-3) <= wide <= exact * 1.02 + 1e-12, weights


@pytest.mark.full
@pytest.mark.parametrize("weights", [(1.0,) * 8, (2.0, 1.0, 1.0, -1.0, 0.1), (1.0, 1e-9)])
def test_draws_are_within_them_as_often_as_they_say(weights):
    drawn = noise.discrete_laplace(1 << 20, 40_000 * len(weights)).astype(float) / (1 << 20)
    sums = drawn.reshape(-1, len(weights)) @ np.array(weights)
    law = GridNoise("laplace", 1.0, 2.0**-20)
    for level in (0.8, 0.95, 0.995):
        (wide,) = half_widths(law, np.array([weights]), level)
        assert (np.abs(sums) <= wide).sum() >= enough(len(sums), level)
        assert (np.abs(sums) <= wide).mean() <= level + 0.02


def test_the_grid_is_allowed_for():
    fine, coarse = (GridNoise("laplace", 2.0, step) for step in (0.0, 1.0))
    weights = np.array([[1.0, 2.0]])
    assert half_widths(coarse, weights, 0.95) == half_widths(fine, weights, 0.95) + 3.0


def test_shapes_are_kept():
    law = GridNoise("laplace", 1.0, 2.0**-30)
    weights = np.arange(24.0).reshape(2, 3, 4)
    found = half_widths(law, weights, 0.9)
    assert found.shape == (2, 3)
    assert found[1, 2] == half_widths(law, weights[1, 2:], 0.9)[0]


def test_bands_hold_what_numbers_within_them_make():
    ends = [(-2.0, 1.0), (0.5, 0.75), (-3.0, -1.0)]
    for first, second in itertools.product(ends, repeat=2):
        a, b = (Band.between(*map(np.array, end)) for end in (first, second))
        inner = [[low, (low + high) / 2, high] for low, high in (first, second)]
        made = [(a + b, np.add), (a - b, np.subtract), (a * b, np.multiply)]
        for band, combine in made:
            for x, y in itertools.product(*inner):
                assert band.low - 1e-12 <= combine(x, y) <= band.high + 1e-12
        assert (-a).low == -first[1]
        assert a.scaled(-2).most == 2 * max(map(abs, first))
        assert a.within(-1, 1).high <= 1


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_weights_that_many_have_are_as_if_they_were_listed(kind):
    law = GridNoise(kind, 3.0, 2.0**-20)
    listed = half_widths(law, np.array([[0.3] * 5 + [0.7] * 8, [0.1] * 13]), 0.95)
    counted = half_widths(
        law, np.array([[0.3, 0.7], [0.1, 0.2]]), 0.95, np.array([[5, 8], [13, 0]])
    )
    assert counted == pytest.approx(listed, rel=1e-12)


@pytest.mark.parametrize("times", [None, 3.0])
def test_what_is_remembered_for_few_weights_is_what_many_are_worked_out_to(times):
    few = np.array([[1.0, 0.25, 0.5], [0.0, 1.0, 1.0]])
    many = np.tile(few, (2000, 1))
    for scale in (0.7, 40.0):
        law = GridNoise("laplace", scale, 1.0)
        found = [
            half_widths(law, rows, 0.9, None if times is None else np.full(rows.shape, times))
            for rows in (few, few, many)
        ]
        assert found[0].tolist() == found[1].tolist() == found[2][:2].tolist()


# An interval that was cut at zero is stretched to hold its value, and never shrinks.


def test_intervals_hold_their_values():
    value, error = np.array([-2.0, 5.0, 9.0]), np.ones(3)
    cut = Estimate(value, error, np.array([0.0, 4.0, 8.0]), np.array([3.0, 6.0, 8.5]))
    made = cut.coherent()
    assert made.lower.tolist() == [-2.0, 4.0, 8.0]
    assert made.upper.tolist() == [3.0, 6.0, 9.0]
    assert made.value is value
    assert made.standard_error is error
    assert (made.lower <= cut.lower).all()
    assert (made.upper >= cut.upper).all()


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("scale", [0.2, 0.5, 1.0, 2.0, 7.3, 50.0, 4095.0, 4097.0, 20_000.0])
def test_one_gaussian_count_has_the_least_whole_half_width(scale, level):
    reach = math.ceil(12 * scale) + 2
    mass = np.exp(-((np.arange(-reach, reach + 1) / scale) ** 2) / 2)
    mass /= mass.sum()
    half = GridNoise("gaussian", scale, 1.0).half_width((1.0,), level)
    assert half == int(half)

    def within(t):
        return math.fsum(mass[reach - t : reach + t + 1]) if t >= 0 else 0.0

    assert within(int(half)) >= level
    assert within(int(half) - (1 if scale < 4096 else 2)) < level


def test_a_sum_of_gaussian_counts_has_the_half_width_of_its_own_distribution():
    law = GridNoise("gaussian", 1.0, 1.0)  # rho 1/2
    assert [law.half_width((1.0,) * n) for n in (1, 2, 10, 50)] == [2, 3, 6, 14]
    assert law.half_width((0.25,) * 50) == 14 / 4
