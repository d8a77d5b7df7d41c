"""Declared codes are missing: on every engine, in every kind of column, for every question.

The truth is a second table in which whoever wrote it put nothing where the first has a code."""

from __future__ import annotations

import datetime
import json
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tacit as tc
from support.tables.column_questions import of_column, plain
from support.tables.engine_tables import ENGINES
from tacit.errors import UsageError
from tacit.expressions.expression import col
from tacit.tables.check_table import _codes as codes_in
from tacit.tables.missing_codes import missing_codes
from tacit.tables.open_source import open_source
from tacit.tables.privacy_unit import OneRowEach, PersonUnit
from tacit.tables.query.integer_query import IntegerQuery
from tacit.tables.query.requests import Rows
from tacit.tables.question import charge_of

CODES: dict[str, Any] = {
    "whole": [98, 99.0, (-9, -1)],
    "number": [99.9, Decimal("-1"), [900, 999]],
    "exact": [Fraction(995, 10), -9],
    "word": ["refused", "no answer", 99],
    "day": ["1900-01-01", datetime.date(9999, 12, 31)],
    "p": [-1],
}
TYPES = {
    "whole": "bigint",
    "number": "double",
    "exact": "decimal(9,2)",
    "word": "varchar",
    "day": "date",
    "p": "bigint",
}
DAY = datetime.date
# Of each column values, and after them those that are codes.
VALUES: dict[str, tuple[list[Any], list[Any]]] = {
    "whole": ([0, 5, 97, -10, 1 << 62, -(1 << 62)], [98, 99, -9, -5, -1]),
    "number": (
        [0.0, 1.0, 5.0, 99.0, -1.5, 899.5, 1e300, -1e300],
        [99.9, -1.0, 900.0, 950.5, 999.0],
    ),
    "exact": (
        [Decimal(0), Decimal("5"), Decimal("99.51"), Decimal(-8)],
        [Decimal("99.5"), Decimal(-9)],
    ),
    "word": (
        ["", "a", "é", "Refused", "refuse", "9", "099a", "9 9", "1,000", "x" * 70000],
        ["refused", " refused ", "no answer", "99", "99.0", " 99", "99,0", "+99", "9.9e1", "099"],
    ),
    "day": (
        [DAY(1970, 1, 1), DAY(1900, 1, 2), DAY(2023, 11, 14)],
        [DAY(1900, 1, 1), DAY(9999, 12, 31)],
    ),
}
KINDS = {"whole": "integer", "number": "float", "exact": "decimal", "word": "text", "day": "date"}


def integers(source: Any) -> dict[Any, Any]:
    """Return what questions of every column add up, before noise."""
    found = {}
    for unit in (OneRowEach(), PersonUnit("p", rows=2)):
        for name, kind in KINDS.items():
            questions = of_column(name, kind)
            for number in (0, 1, len(questions) - 1):  # numbers, what is missing, and groups
                way, requests = questions[number]
                query = IntegerQuery(source, unit, **way)
                answer = query.run(requests)
                found[name, number, type(unit)] = [plain(answer.of(r)) for r in requests]
                query.forget()
    return found


def random_rows(
    draw: random.Random, size: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return rows with codes, and the same with NULL in their place."""
    coded, true = [], []
    for number in range(size):
        person = draw.choice([number // 2, number // 2, None, -1])  # at most two rows each
        row, known = {"p": person}, {"p": None if person == -1 else person}
        for name, (values, codes) in VALUES.items():
            value = draw.choice([None, *values, *codes])
            row[name], known[name] = value, None if value in codes else value
        coded.append(row)
        true.append(known)
    return coded, true


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", [1])
def test_integers_before_noise_are_those_of_a_table_with_nulls(engine, seed, request):
    load = ENGINES[engine](request)
    coded, true = random_rows(random.Random(seed), 60)
    with load(coded, TYPES, missing=CODES) as source:
        found = integers(source)
    with load(true, TYPES) as source:
        assert found == integers(source)
    with load(coded, TYPES) as source:
        assert found != integers(source)


def test_a_condition_finds_what_a_table_with_nulls_has(request):
    load = ENGINES["duckdb"](request)
    coded, true = random_rows(random.Random(4), 60)
    counts = []
    for rows, options in ((coded, {"missing": CODES}), (true, {}), (coded, {})):
        with load(rows, TYPES, **options) as source:
            empty = [
                IntegerQuery(source, OneRowEach(), where=col(name).is_null()) for name in CODES
            ]
            counts.append([int(query.run([Rows()]).of(Rows())[0]) for query in empty])
    assert counts[0] == counts[1]
    assert all(less < more for less, more in zip(counts[2], counts[0], strict=True))


@pytest.mark.full
@pytest.mark.parametrize("engine", ENGINES)
def test_neighbours_meet_the_same_fate(engine, request):
    # A row more changes a count by at most its weight, whatever is in it: no value raises, and no
    # row changes how another is read.
    load = ENGINES[engine](request)
    rows, _ = random_rows(random.Random(2), 20)
    hostile = [
        {**rows[0], "word": word}
        for word in ("", " ", "refused" * 9000, "9" * 400, "1e400", "-,0", "٩٩", "99\n", "'", "NaN")
    ]

    def counts(table: list[dict[str, Any]]) -> list[int]:
        with load(table, TYPES, missing=CODES) as source:
            tests = [col(name).is_null() for name in CODES if name != "p"]
            return [
                int(IntegerQuery(source, OneRowEach(), where=test).run([Rows()]).of(Rows())[0])
                for test in tests
            ]

    before = counts(rows)
    for row in hostile:
        for more, less in zip(counts([*rows, row]), before, strict=True):
            assert more - less in (0, OneRowEach.one)


# ---- files, as other programs write them: the truth is the frame that they were given


def written(frame: pd.DataFrame, path: Any, writer: str) -> None:
    if writer == "pandas":
        frame.to_csv(path, index=False)
    elif writer == "polars":
        pl.from_pandas(frame).write_csv(path)
    elif writer == "like R":
        frame.to_csv(path, index=False, quoting=2, na_rep="NA")
    elif writer == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, decimal=",", sep=";")


WRITERS = {
    "pandas": "a.csv",
    "polars": "a.csv",
    "like R": "a.csv",
    "parquet": "a.parquet",
    "a decimal comma": "a.csv",
}


@pytest.mark.parametrize("writer", WRITERS)
def test_files_of_other_writers(writer, tmp_path):
    draw = random.Random(writer)
    ages = [draw.choice([-9, 98, 99, 31, 45, 60, None]) for _ in range(200)]
    said = [draw.choice(["yes", "no", "refused", None]) for _ in range(200)]
    frame = pd.DataFrame({"age": pd.array(ages, "Float64"), "said": pd.array(said, "string")})
    path = tmp_path / WRITERS[writer]
    written(frame, path, writer)
    options: dict[str, Any] = {"null": ["NA"]} if writer == "like R" else {}
    options |= {"delimiter": ";"} if "comma" in writer else {}
    missing = {"age": [98, 99, -9], "said": "refused"}

    def count(where: Any, opened: Any) -> int:
        rows = IntegerQuery(opened, OneRowEach(), where=where).run([Rows()]).of(Rows())
        return int(rows[0]) // OneRowEach.one

    with open_source(path, missing=missing, **options) as source:
        assert count(col("age").is_null(), source) == sum(a in (None, -9, 98, 99) for a in ages)
        assert count(col("said").is_null(), source) == sum(s in (None, "refused") for s in said)
        assert count(col("said") == "refused", source) == 0
    with open_source(frame, missing=missing) as source:
        assert count(col("age").is_null(), source) == sum(a in (None, -9, 98, 99) for a in ages)


CELLS = {
    "-9": True, "-9.0": True, "-9,0": True, " -9": True, "-9 ": True, "-09": True, "-9e0": True,
    "-9,00": True, "-9.": True, "9": False, "-9,5": False, "-9,000": False, "--9": False,
    "-9a": False, "": True, "−9": False, "-9\t": False, "(9)": False, "-9,": False,
}  # fmt: skip


def test_equal_as_numbers_is_what_the_docs_say(tmp_path):
    frame = pl.DataFrame({"x": list(CELLS)})
    frame.write_csv(tmp_path / "x.csv", quote_style="always")
    for source in (tmp_path / "x.csv", frame):
        with open_source(source, missing={"x": [-9]}) as opened:
            named = IntegerQuery(opened, OneRowEach(), by={"x": col("x")}, keys=list(CELLS)).run(
                [Rows()]
            )
            held = {cell: bool(n) for cell, n in zip(CELLS, named.of(Rows()), strict=True)}
        empty = {"": False} if source is not frame else {"": True}
        assert held == {cell: not code for cell, code in CELLS.items()} | empty


def test_single_precision_and_wide_integers():
    table = pa.table({
        "f": pa.array([99.9, 1.5, -0.1], pa.float32()),
        "u": pa.array([2**64 - 1, 2**64 - 2, 7], pa.uint64()),
    })  # fmt: skip
    with open_source(table, missing={"f": [99.9, (-0.1, 0)], "u": [2**64 - 1]}) as source:
        for name, number in (("f", 2), ("u", 1)):
            rows = (
                IntegerQuery(source, OneRowEach(), where=col(name).is_null())
                .run([Rows()])
                .of(Rows())
            )
            assert rows[0] == number * OneRowEach.one


def test_a_person_with_a_code_is_no_person_and_a_join_key_with_one_has_no_match(tmp_path):
    (tmp_path / "v.csv").write_text("person,site\n" + "1,a\n2,b\n-1,a\n-1,a\n3,99\n" * 3)
    (tmp_path / "s.csv").write_text("site,region\na,N\nb,S\n99,X\n")
    (tmp_path / "d.toml").write_text(
        'name = "d"\nunit = { person = "person", rows = 3 }\nbudget = { epsilon = 1e6 }\n'
        '[tables.v]\npath = "v.csv"\nmissing = { person = [-1], site = [99] }\n'
        '[tables.s]\npath = "s.csv"\npublic = true\nkey = "site"\nmissing = { region = ["S"] }\n'
    )
    with tc.open(tmp_path / "d.toml") as session:
        people = session.agg(n=tc.count_people()).release(epsilon=10000)
        assert people.value("n") == 3
        joined = session.join("s").group_by("region", keys=["N", "S", "X"])
        found = joined.agg(n=tc.count()).release(epsilon=10000)
        assert [found.value("n", region) for region in "NSX"] == [3, 0, 0]


# ---- the reading is part of the question


@pytest.fixture(name="table")
def _table(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,site\n" + "31,a\n99,b\n-9,refused\n" * 20)
    return path


def asked(path, **options):
    return tc.Session(path, tc.one_row_each, tc.epsilon(9), tc.in_memory, **options)


def key(session):
    return charge_of(session.agg(age=tc.mean("age", 0, 99)), epsilon=1).key


def test_codes_are_part_of_the_question_that_reads_the_column(table):
    variants = [None, {"age": [99]}, {"age": [99, -9]}, {"age": [[-9, 99]]}, {"age": ["99"]}]
    keys = [key(asked(table, missing=missing)) for missing in variants]
    assert len({*keys}) == len(variants)
    assert key(asked(table, missing={"site": ["refused"]})) == keys[0]
    assert key(asked(table, missing={})) == keys[0]
    # the same codes are the same question, however they are written
    for same in ([-9, 99], {99.0, -9}, [99, -9, Decimal("99")], [[99, 99], -9]):
        assert key(asked(table, missing={"age": same, "site": "x"})) == keys[2]


def test_the_certificate_and_the_preview_state_the_codes(table):
    session = asked(table, missing={"age": [98, 99, (-9, -1)], "site": ["refused"]})
    question = session.agg(age=tc.mean("age", 0, 90))
    assert "age: 98, 99, -9 to -1 read as missing" in str(question.preview(epsilon=1))
    certificate = question.release(epsilon=1).certificate
    read = json.loads(certificate.to_json())["question"]["query"]["reading"]
    assert read == {"missing": {"age": [98, 99, [-9, -1]]}}
    assert "age: 98, 99, -9 to -1 read as missing" in str(certificate)
    assert "site: " not in str(certificate)
    assert certificate.verify()
    for wrong in ({"missing": {}}, {"missing": {"age": 98}}, {"missing": {"age": [[1]]}}):
        body = json.loads(certificate.to_json())
        body["question"]["query"]["reading"] = wrong
        assert not tc.Certificate(body).verify()


def test_the_keys_of_a_joined_table_are_read_in_the_question(tmp_path):
    for name in ("v", "w"):
        (tmp_path / f"{name}.csv").write_text("person,x\n1,2\n-1,3\n")
    keys = set()
    for codes in ("", "missing = { person = [-1] }", "missing = { x = [2] }"):
        (tmp_path / "d.toml").write_text(
            'name = "d"\nunit = { person = "person", rows = 3 }\nbudget = { epsilon = 9 }\n'
            f'[tables.v]\npath = "v.csv"\n[tables.w]\npath = "w.csv"\n{codes}\n'
        )
        with tc.open(tmp_path / "d.toml") as session:
            keys.add(charge_of(session.join("w").agg(n=tc.count()), epsilon=1).key)
    assert len(keys) == 3


# ---- errors


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ({"aeg": [9]}, "no such column; did you mean 'age'"),
        ({"age": [(9, 1)]}, "wrong way round: write [1, 9]"),
        ({"age": [(1, 2, 3)]}, "two ends"),
        ({"age": [float("nan")]}, "finite number"),
        ({"age": [True]}, "finite number"),
        ({"age": None}, "finite number"),
        ({"age": [("a", "b")]}, "finite number"),
        ({"age": [""]}, "not empty"),
        ({"age": []}, "no code"),
        ({"age": ["refused"]}, "a column of numbers"),
        ({"age": [98.5]}, "a column of integers"),
        ({"site": [1 << 60]}, "declare it as an integer"),
        ([98, 99], "by column"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_opened(table, missing, message):
    with pytest.raises(UsageError) as refused:
        open_source(table, types={"age": "integer"}, missing=missing)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [
        ("boolean", 9, "true and false"),
        ("date", 9, "dates"),
        ("date", "x", "write a code as a day"),
        ("blob", 9, "BLOB"),
    ],
)
def test_kinds_without_codes_are_refused(kind, code, message):
    connection = duckdb.connect()
    connection.execute(f"create table data (x {kind})")
    with pytest.raises(UsageError, match=message):
        open_source(connection, "data", missing={"x": [code]})


def test_a_key_that_is_missing_is_refused_in_a_declaration():
    for codes, key in (([9], 9), ([[7, 9]], 8), (["dk"], "dk")):
        table = {"path": "a.csv", "missing": {"x": codes}, "columns": {"x": {"keys": [1, key]}}}
        if isinstance(key, str):
            table["columns"]["x"]["keys"] = ["yes", key]
        with pytest.raises(UsageError, match=f"the key {key!r} of 'x' of .* is a code for a miss"):
            tc.Dataset("a", "row", {"a": table})


def test_a_key_that_is_missing_is_refused_before_it_is_paid_for(table):
    codes = {"age": [98, (-9, -1)], "site": ["refused"]}
    session = asked(table, missing=codes)
    for name, keys in (("age", [31, 98]), ("age", [-9]), ("site", ["a", "refused"])):
        with pytest.raises(UsageError, match=f"the key .* of '{name}' is a code for a missing"):
            session.group_by(name, keys=keys)
    with pytest.raises(UsageError, match="the key 98 of 'age' is a code for a missing value"):
        session.group_by("site", "age", keys=[("a", 31), ("a", 98)])
    answer = session.group_by("site", keys=["a", None]).agg(n=tc.count()).release(epsilon=9)
    assert answer.keys == [("a",), (None,)]


def test_a_declaration_is_read_back_as_it_was_written(tmp_path):
    table = {"path": "a.csv", "missing": {"age": [98.5, (-9, -1)], "b": ["?"]}}
    dataset = tc.Dataset("a", "row", {"a": table}, {"epsilon": 1}, folder=tmp_path)
    dataset.save(tmp_path / "a.toml")
    assert tc.Dataset.load(tmp_path / "a.toml") == dataset
    assert dataset.tables["a"].missing == {"age": [98.5, [-9, -1]], "b": ["?"]}
    assert dataset.open_fields() == []


def test_plain_codes_are_sorted_and_each_once():
    given = {"b": {3, 1}, "a": ("x", 2, [1, 2], datetime.date(1900, 1, 1), 2.0, Fraction(1, 2))}
    assert missing_codes(given) == {"a": [0.5, 2, [1, 2], "1900-01-01", "x"], "b": [1, 3]}
    assert missing_codes(None) == {}


def test_people_are_read_alike_in_all_ways(tmp_path):
    table = pa.table({"p": [1, 1, 2, 999], "x": [5, 7, 9, 11]})
    with open_source(table, missing={"p": 999}) as source:
        query = IntegerQuery(source, PersonUnit("p", rows=2, most_groups=1))
        assert query.run([Rows()]).of(Rows())[0] == 3 * PersonUnit.one


# ---- what looks like a code


def test_check_asks_about_values_that_look_like_codes(tmp_path):
    draw = random.Random(3)
    rows = [
        {
            "age": draw.choice([*range(18, 91), *[98, 99] * 9]),
            "kids": draw.choice([0, 1, 2, 3, -1, -9]),
            "pay": draw.choice([draw.uniform(0, 5000), 99999.0]),
            "temperature": round(draw.gauss(0, 200), 1),
            "share": draw.choice([0.25, 0.5, float("inf"), -float("inf")]),
        }
        for _ in range(500)
    ]
    codes = {"age": [98, 99], "kids": [-9, -1], "pay": [99999]}
    frame = pd.DataFrame(rows)
    asked = tc.check(frame)
    assert asked.missing == codes
    assert asked.columns["kids"].codes["-9"] == sum(row["kids"] == -9 for row in rows)
    assert tc.check(frame, missing=codes).missing == {}
    frame["pay"] = frame["pay"].astype(object).where(frame["pay"] != 99999, "Refused")
    frame["name"] = "Eve"
    frame.to_csv(tmp_path / "a.csv", index=False)
    asked = tc.check(tmp_path / "a.csv")
    assert asked.missing == {**codes, "pay": ["Refused"]}
    assert asked.to_json()["missing"] == asked.missing
    assert "--missing 'age=98,99' --missing 'kids=-9,-1' --missing 'pay=Refused'" in str(asked)
    assert "Eve" not in str(asked)


def test_a_table_that_is_open_takes_no_more_codes(table):
    with open_source(table) as source, pytest.raises(UsageError, match="this one is open"):
        open_source(source, missing={"age": [9]})


def test_a_pair_in_parentheses_alone_is_refused():
    """It would be two codes, and is written as a range is."""
    with pytest.raises(UsageError, match=r"\[\(-9, -1\)\] is a range"):
        missing_codes({"income": (-9, -1)})


def test_a_time_with_codes_is_not_counted_over_time(tmp_path):
    (tmp_path / "a.csv").write_text("day,x\n2024-01-01,1\n1900-01-01,2\n")
    codes = {"day": ["1900-01-01"], "x": [9]}
    session = tc.Session(
        tmp_path / "a.csv", tc.one_row_each, tc.epsilon(9), tc.in_memory,
        types={"day": "date"}, missing=codes,
    )  # fmt: skip
    with pytest.raises(UsageError, match="codes for missing values are declared of 'day'"):
        session.count_over_time("day", start="2024-01-01", every="1d", periods=3, epsilon=1)


@pytest.mark.parametrize("engine", ENGINES)
def test_values_that_may_be_codes_are_found_on_every_engine(request, engine):
    """In one statement for many columns, whatever their number is."""
    rows = [{f"c{i}": v for i in range(60)} | {"y": float(v)} for v in (31, -9, 40, -9, 35)]
    types = {f"c{i}": "bigint" for i in range(60)} | {"y": "double"}
    with ENGINES[engine](request)(rows, types) as source:
        found = codes_in(source.schema, source.relation, source.engine)
    assert found == {name: {"-9": 2} for name in types}
