"""Local times are those of the zone's own rules, around every change, on every engine."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pytest

import tacit as tc
from support.tables.engine_tables import ENGINES
from tacit.errors import UsageError
from tacit.expressions.expression import col, from_json
from tacit.expressions.functions import offsets_of
from tacit.tables.written import condition

NAMES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "UTC"]
FIRST = offsets_of("UTC")[0][0]
EPOCH = datetime.datetime(1970, 1, 1)


def moments(zone: str) -> list[datetime.datetime]:
    """In UTC, a second before and after each change of the offset, and at odd times."""
    near = [s + shift for s, _ in offsets_of(zone)[1:] for shift in (-1, 0, 1)] + list(
        range(0, 4 * 10**9, 10**8)
    )
    found = [EPOCH + datetime.timedelta(seconds=s) for s in near]
    return [t for t in found if 1900 <= t.year < 2050]


@pytest.mark.parametrize("zone", NAMES)
def test_a_local_time_is_that_of_the_zone(zone):
    local, day = col("t").in_zone(zone), col("t").in_zone(zone).date()
    for moment in moments(zone):
        there = moment.replace(tzinfo=datetime.UTC).astimezone(ZoneInfo(zone))
        row = {"t": moment}
        expected = int((there.replace(tzinfo=None) - EPOCH).total_seconds())
        assert local.evaluate(row) == expected, moment
        assert local.hour().evaluate(row) == there.hour
        assert day.evaluate(row) == there.date()


@pytest.mark.slow
def test_spark_computes_many_offsets(request):
    moment = {"t": datetime.datetime(2024, 7, 7, 23, 30)}
    local = col("t").in_zone("Europe/Berlin")
    with ENGINES["spark"](request)([moment], {"t": "timestamp"}) as source:
        sql = local.sql(source.schema, source.engine.dialect)
        (found,) = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    assert found == (local.evaluate(moment),)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_computes_what_python_does(engine, request):
    times = [*moments("Europe/Berlin")[::7], datetime.datetime(2049, 12, 31, 23, 59, 59)]
    times += [datetime.datetime(2050, 1, 1), datetime.datetime(1, 1, 1), datetime.datetime.max]
    local, near = col("t").in_zone("Europe/Berlin"), col("t").in_zone("Asia/Kolkata")
    asked = [near.minute(), near.date().weekday()]
    if engine == "spark":
        times = times[::9]  # and few offsets: it plans many of them for seconds
    else:
        asked.append(local)
    rows = [{"t": t} for t in times]
    with ENGINES[engine](request)(rows, {"t": "timestamp"}) as source:
        sql = ", ".join(e.sql(source.schema, source.engine.dialect) for e in asked)
        found = source.engine.rows(f"select {sql} from {source.relation} as tacit_rows")
    for row, values in zip(rows, found, strict=True):
        assert list(values) == [e.evaluate(row) for e in asked], row


def test_the_offsets_are_part_of_the_question(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text("at\n2024-07-07 23:30\n2024-07-07 21:30\n", encoding="utf-8")
    with tc.Session(path, unit=tc.one_row_each, budget=tc.epsilon(100)) as session:
        asked = session.with_column("hour", tc.col("at").in_zone("Europe/Berlin").hour())
        answer = asked.group_by("hour", keys=[1, 23]).agg(n=tc.count()).release(epsilon=90)
        assert answer.to_dict()["n"] == [1, 1]
        report = answer.certificate.verify(session.ledger)
        assert report, report.failures
    written = col("at").in_zone("Europe/Berlin").to_json()
    assert from_json(written).to_json() == written
    assert condition("hour(in_zone(at, 'Europe/Berlin')) = 1").columns() == {"at"}


@pytest.mark.parametrize("zone", ["", "Nowhere/At_All", "../../etc/passwd", "/etc/passwd", "a\0b"])
def test_a_zone_that_is_none_is_refused(zone):
    with pytest.raises(UsageError, match="no time zone is called"):
        col("at").in_zone(zone)


@pytest.mark.parametrize(
    "parameters",
    [
        ["Europe/Berlin", []],
        ["Europe/Berlin", [[0, 0]]],
        ["Europe/Berlin", [[FIRST, 0], [3, 60], [2, 0]]],
        ["Europe/Berlin", [[FIRST, 0], [3, 86400]]],
        ["Europe/Berlin", [[FIRST, 0], [3, True]]],
        ["Europe/Berlin", [[FIRST, 0, 0]]],
        [3, [[FIRST, 0]]],
        ["Europe/Berlin"],
    ],
)
def test_offsets_that_cannot_be_are_refused(parameters):
    assert from_json(["in_zone", [["col", [], ["at"]]], ["UTC", [[FIRST, 0]]]]) is not None
    with pytest.raises(UsageError):
        from_json(["in_zone", [["col", [], ["at"]]], parameters])
