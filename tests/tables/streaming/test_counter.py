"""A count over time from end to end: one charge, numbers that stay, certificates that hold."""

from __future__ import annotations

import copy
import datetime
import itertools
import json
import math
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from scipy import special

import tacit as tc
from support.tables import live_streams as streams
from tacit.accounting import open_ledger
from tacit.accounting.ledger import parts_of
from tacit.cli import run
from tacit.errors import BudgetError, DataSourceError, UsageError
from tacit.report import Certificate
from tacit.report.text import question_words
from tacit.tables.noise import GridNoise, sum_half_width
from tacit.tables.streaming import counter as time_counter
from tacit.tables.streaming import periods as period_counts
from tacit.tables.streaming.counter import answer_of_blocks, law_of, periods_of, published

UNITS = {"rows": tc.one_row_each, "people": tc.unit("who", rows=2)}
BUDGETS = {"epsilon": tc.epsilon(10**6), "rho": tc.rho(10**10)}
CHANCE = 1e-7


@pytest.fixture(name="live")
def _live():
    """A table in DuckDB that grows: whole numbers as times."""
    connection = duckdb.connect()
    connection.execute("create table visits (hour bigint, who bigint, site varchar)")
    return connection


def add(connection, rows):
    if rows:
        connection.executemany("insert into visits values (?, ?, ?)", [[*r, "a"] for r in rows])


def session(connection, unit=UNITS["people"], budget=BUDGETS["epsilon"], ledger=None):
    return tc.Session(connection, unit=unit, budget=budget, ledger=ledger, table="visits")


def counter(opened, **changes):
    kind = opened.budget.kind
    amount = {"rho": opened.budget.amount} if kind == "concentrated" else {"epsilon": 10**6}
    asked = {"start": 0, "every": 10, "periods": 12, "branching": 3, **amount, **changes}
    return opened.count_over_time("hour", **asked)


@pytest.mark.few(3)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_without_noise_to_speak_of_the_numbers_are_those_of_each_read(live, unit, budget):
    """Rows come late too: a period keeps what it showed, longer blocks hold more."""
    waves = [
        [(5, 1), (5, 2), (17, 1), (119, 9)],  # the last is ahead of its time
        [(3, 3), (15, 1), (25, 1), (25, 4), (29, 4), (28, 4)],  # the first comes late
        [(31, 1), (45, 5), (80, 2), (88, 6), (14, 7), (-1, 1), (None, 1), (120, 1)],
        [(100, 2), (101, 8), (99, 3)],
    ]
    k = None if unit == "rows" else 2
    with session(live, UNITS[unit], BUDGETS[budget]) as opened:
        count, rows, expected = counter(opened), [], []
        for wave, now in zip(waves, (25, 31, 90, 500), strict=True):
            add(live, wave)
            rows += [(who, hour) for hour, who in wave]
            told = [(who, None if hour is None else hour // 10) for who, hour in rows]
            answer = count.update(now=now)
            closed = min(now // 10, 12)
            expected += streams.counted(told, k, closed)[len(expected) :]
            assert answer.column("count")["value"] == expected
            assert answer.keys == [(10 * place,) for place in range(closed)]
            assert not answer.replayed
        assert opened.remaining.amount < opened.budget.amount / 10**9  # but for rounding
        nine = streams.counted(told[: len(told) - 3], k, 9)  # as read by the third update
        blocks = [*nine[:9], *expected[9:]]
        first_three = sum(streams.counted(told[:10], k, 3))
        assert answer.value("total", 20) == first_three
        assert answer.value("total", 80) == sum(nine)
        assert answer.value("total", 110) == sum(blocks)
        assert answer.certificate.verify(opened.ledger), answer.certificate.verify(opened.ledger)


def test_it_is_charged_once_and_a_published_number_never_changes(live, tmp_path):
    path, shown = tmp_path / "visits.ledger", {}
    for now in (0, 9, 10, 35, 20, 35, 90, 1000):
        add(live, [(now, 1), (now - 1, 2), (now + 3, 3)])
        with session(live, budget=tc.epsilon(1), ledger=path) as opened:
            answer = counter(opened, epsilon="1/2", branching=None).update(now=now)
            assert opened.remaining == tc.epsilon("1/2")
            (charge,) = opened.history()
            assert charge.state == "answered"
            opened.ledger.verify_chain()
        assert len(answer) >= len(shown)
        for place, (key,) in enumerate(answer.keys):
            line = [v for column in answer.to_dict().values() for v in [column[place]]]
            assert shown.setdefault(key, line) == line
    assert len(shown) == 12
    with session(live, budget=tc.epsilon(1), ledger=path) as opened:
        count = counter(opened, epsilon="1/2", branching=None)
        assert count.answer().to_dict() == answer.to_dict()
        assert count.update(now=2000).replayed
        assert count.cost == tc.epsilon("1/2")
        again = counter(opened, epsilon="1/2", branching=None, tag="again").update(now=2000)
        assert opened.remaining.is_nothing
        assert len(again) == 12
        with pytest.raises(BudgetError):
            counter(opened, epsilon="1/4").update(now=2000)
        assert len(opened.history()) == 2


def test_a_budget_that_is_spent_stays_open_to_its_counter(live):
    with session(live, budget=tc.epsilon(1)) as opened:
        counter(opened, epsilon=1).update(now=30)
        assert len(counter(opened, epsilon=1).update(now=50)) == 5


def test_nothing_is_read_or_spent_before_an_update(live, monkeypatch):
    def never(source, *_):
        assert source.relation.endswith("where 1 = 0)"), "nobody asked for rows"

    monkeypatch.setattr("tacit.tables.streaming.counter.counts_of_periods", never)
    with session(live, budget=tc.epsilon(1)) as opened:
        count = counter(opened, epsilon="1/2")
        shown = count.preview()
        assert shown.affordable
        assert shown.cost == count.cost == tc.epsilon("1/2")
        assert f"off by {shown.count_error:.3g} " in str(shown)
        assert not counter(opened, epsilon=2).preview().affordable
        with pytest.raises(UsageError, match="update"):
            count.answer()
        assert opened.spent.is_nothing
        answer = count.update(now=9)  # no period is over: paid, and nothing is read
        assert len(answer) == 0
        assert opened.spent == tc.epsilon("1/2")
        assert answer.certificate.verify(opened.ledger)
        assert "No period is over yet" in answer.certificate.to_html()
        with pytest.raises(UsageError, match="nothing to draw"):
            answer.plot()


def test_exact_counts_are_written_nowhere(live, tmp_path):
    live.execute("insert into visits select 5, range, 'a' from range(77777)")
    little = "1/1000000"  # so much noise that no block is published as it is, but for bad luck
    path = tmp_path / "visits.ledger"
    with session(live, UNITS["rows"], tc.epsilon(1), path) as opened:
        count = counter(opened, epsilon=little)
        answer = count.update(now=40)
        told = "".join(event.text for event in opened.ledger.events())
        assert str(answer.value("count", 0)) in told
        for shown in (told, repr(count), str(answer), answer.certificate.to_json()):
            assert "77777" not in shown
        assert live.execute("select count(*) from duckdb_temporary_files()").fetchone() == (0,)
        with pytest.raises(UsageError, match="cannot be pickled"):
            pickle.dumps(count)


def test_the_certificate_says_what_was_published_and_is_hard_to_bend(live, tmp_path):
    add(live, [(hour, hour % 7) for hour in range(120)])
    with session(live, budget=tc.rho(1)) as opened:
        question = opened.filter(tc.col("who") > 2)
        count = question.count_over_time("hour", start=0, every=10, periods=12, rho="1/2")
        early = count.update(now=40).certificate
        late = count.update(now=120).certificate
        for certificate, periods in ((early, 4), (late, 12)):
            certificate.save(tmp_path / "c.json")
            loaded = Certificate.load(tmp_path / "c.json")
            assert len(loaded.body["answer"]["keys"]) == periods
            assert loaded.verify(opened.ledger), loaded.verify(opened.ledger)
            page = loaded.to_html()
            assert "12 periods of hour, from 0, 10 each" in page
            assert "the table was only added to" in page
            assert "the first 2 rows by time" in page
        changes = {
            "fewer periods": lambda b: _aggregate(b).update(periods=3),
            "another branching": lambda b: _aggregate(b).update(branching=50),
            "another column": lambda b: _aggregate(b).update(column="who"),
            "fewer levels": lambda b: _recipe(b).update(branching=50),
            "fewer rows": lambda b: _recipe(b).update(rows=1),
            "less noise": lambda b: b["chains"][0]["steps"][-1].update(scale="1"),
            "another filter": lambda b: b["question"]["query"].update(where=[]),
            "another number": lambda b: b["answer"]["columns"][1]["value"].__setitem__(3, 7777),
        }
        for name, change in changes.items():
            body = copy.deepcopy(late.body)
            change(body)
            body["digest"] = _sealed(body)
            assert not Certificate(body).verify(opened.ledger), name


def _sealed(body):
    from tacit.report.issued import digest

    return digest(body)


def _aggregate(body):
    return body["question"]["query"]["aggregates"][0][1]


def _recipe(body):
    return next(s for s in body["chains"][0]["steps"] if s["step"] == "counts_over_time")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("moments", "48 periods of moment, from 2026-03-01T00:00:00, 86400 seconds each"),
        ("dates", "48 periods of moment, from 2026-03-01, 1 days each"),
    ],
)
def test_the_ledger_says_what_is_counted(live, table, told, tmp_path, capsys):
    live.execute("create table moments as select timestamp '2026-03-01' as moment")
    live.execute("create table dates as select date '2026-03-01' as moment")
    path = tmp_path / "a.ledger"
    with tc.Session(
        live, unit=tc.one_row_each, budget=tc.epsilon(1), table=table, ledger=path
    ) as opened:
        asked = {"start": "2026-03-01", "every": "1d", "periods": 48}
        opened.count_over_time("moment", **asked, epsilon=1).update("2026-03-03")
        (entry,) = opened.history()
    assert told in question_words(entry.question)
    assert run(["ledger", "show", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["releases"][0]["state"] == "answered"
    assert run(["ledger", "verify", str(path)]) == 0
    assert run(["ledger", "show", str(path)]) == 0


def test_the_answer_is_a_table_and_a_figure(live):
    live.execute("create table moments as select timestamp '2026-03-01' as moment")
    with tc.Session(live, unit=tc.one_row_each, budget=tc.epsilon(1), table="moments") as opened:
        count = opened.count_over_time(
            "moment", start="2026-03-01", every="1h", periods=48, epsilon=1
        )
        answer = count.update(datetime.datetime(2026, 3, 1, 6, 30))
        table = answer.to_pandas()
        assert pd.to_datetime(table["period"])[5] == pd.Timestamp("2026-03-01 05:00")
        assert list(table)[:3] == ["period", "count", "count_error"]
        assert "total_high" in table
        figure = answer.plot()
        assert [axes.get_title(loc="left") for axes in figure.axes] == ["count", "total"]
        assert len(figure.axes[0].lines[0].get_ydata()) == 6
        assert "period" in str(answer)
        assert "period" in answer._repr_html_()


def test_periods_close_by_the_clock_and_wait_for_their_grace(live, monkeypatch):
    live.execute("create table moments as select timestamp '2026-03-01' as moment, 1 as n")
    live.execute("create table dates as select date '2026-03-01' as moment")
    clock = datetime.datetime(2026, 3, 2, 2, 30, tzinfo=datetime.UTC).timestamp()
    monkeypatch.setattr("tacit.expressions.timeline.time.time", lambda: clock)
    with tc.Session(live, unit=tc.one_row_each, budget=tc.epsilon(9), table="moments") as opened:
        asked = {"start": "2026-03-01 12:00", "every": "1h", "periods": 500, "epsilon": 1}
        assert len(opened.count_over_time("moment", **asked).update()) == 14
        assert len(opened.count_over_time("moment", **asked, grace="90min").update()) == 14
        late = {**asked, "tag": "late"}
        assert len(opened.count_over_time("moment", **late, grace="90min").update()) == 13
        wide = datetime.timedelta(days=1)
        assert len(opened.count_over_time("moment", **{**asked, "every": wide}).update()) == 0
        zone = {**asked, "start": "2026-03-01T13:00:00+01:00"}  # the same instant
        assert opened.count_over_time("moment", **zone).update().replayed
        with pytest.raises(UsageError, match="say how far"):
            opened.count_over_time("n", start=0, every=1, periods=2, epsilon=1).update()
    with tc.Session(live, unit=tc.one_row_each, budget=tc.epsilon(9), table="dates") as opened:
        asked = {"start": "2026-02-27", "every": "1d", "periods": 500, "epsilon": 1}
        answer = opened.count_over_time("moment", **asked).update()
        assert [key for (key,) in answer.keys] == ["2026-02-27", "2026-02-28", "2026-03-01"]
        assert len(opened.count_over_time("moment", **asked, tag="t", grace="1d").update()) == 2


def test_the_clock_says_when_periods_are_due(live):
    live.execute("create table dates as select date '2026-03-01' as day")
    with tc.Session(live, unit=tc.one_row_each, budget=tc.epsilon(9), table="dates") as opened:
        asked = {"start": "2026-01-01", "every": "1w", "periods": 3, "epsilon": 1}
        weekly = opened.count_over_time("day", **asked, grace="2d")
        due = datetime.datetime(2026, 1, 17, tzinfo=datetime.UTC)
        assert weekly.due(2) == due.timestamp()
        assert [weekly.closed(now) for now in ("2026-01-16", "2026-01-17")] == [1, 2]
    assert counter(session(live)).due(2) is None


def test_an_answer_may_leave_out_the_latest_periods(live):
    with session(live) as opened:
        count = counter(opened)
        count.update(now=50)
        whole = count.update(now=100)
        assert [len(count.answer(periods=n)) for n in (0, 4, 5, 9, 10)] == [0, 0, 5, 5, 10]
        some = count.answer(periods=5)
        assert some.keys == whole.keys[:5]
        assert some.column("count")["value"] == whole.column("count")["value"][:5]
        assert some.certificate.verify(opened.ledger)


def test_what_is_asked_wrongly_is_refused_before_anything_is_spent(live):
    with session(live, budget=tc.epsilon(1)) as opened:
        for changes, told in [
            ({"column": "our"}, "did you mean 'hour'"),
            ({"column": "site"}, "not times"),
            ({"start": "2026-01-01"}, "start"),
            ({"every": "1h"}, "every"),
            ({"every": 0}, "every"),
            ({"periods": 0}, "periods"),
            ({"periods": 2.5}, "periods"),
            ({"periods": (1 << 20) + 1}, "at most 1048576"),
            ({"start": 2**61}, "too far"),
            ({"branching": 1}, "branching"),
            ({"grace": -1}, "grace"),
            ({"epsilon": None}, "may spend"),
            ({"epsilon": 0}, "above zero"),
            ({"rho": 1, "epsilon": None}, "rho|concentrated"),
        ]:
            asked = {"column": "hour", "start": 0, "every": 1, "periods": 5, "epsilon": 1}
            with pytest.raises(UsageError, match=told):
                opened.count_over_time(**{**asked, **changes})
        with pytest.raises(UsageError, match="without groups"):
            opened.group_by("site").count_over_time("hour", start=0, every=1, periods=5, epsilon=1)
        with pytest.raises(UsageError, match="now"):
            counter(opened, epsilon=1).update(now="soon")
        assert opened.history() == []
    live.execute("create table moments as select timestamp '2026-03-01' as moment")
    live.execute("create table dates as select date '2026-03-01' as moment")
    for table, changes, told in [
        ("moments", {"start": 5}, "such as '2026-01-31"),
        ("moments", {"start": "tomorrow"}, "such as '2026-01-31"),
        ("moments", {"every": "1 month"}, "differ in length"),
        ("moments", {"every": 3600}, "differ in length"),
        ("moments", {"every": datetime.timedelta(microseconds=5)}, "whole number of seconds"),
        ("moments", {"start": "9999-12-31", "periods": 900}, "year 9999"),
        ("dates", {"every": "36h"}, "whole number of days"),
        ("dates", {"start": "2026-01-01 12:00"}, "start at a date"),
    ]:
        with tc.Session(live, unit=tc.one_row_each, budget=tc.epsilon(1), table=table) as opened:
            asked = {"start": "2026-01-01", "every": "1d", "periods": 5, "epsilon": 1, **changes}
            with pytest.raises(UsageError, match=told):
                opened.count_over_time("moment", **asked)


@pytest.mark.few(2)
@pytest.mark.parametrize("budget", [tc.epsilon(1), tc.rho("1/10")], ids=str)
def test_an_hourly_dashboard_over_a_year_errs_as_predicted(live, budget):
    """On an empty table the published numbers are the noise itself."""
    hours = 24 * 365
    amount = {"epsilon": 1} if budget.kind == "pure" else {"rho": "1/10"}
    with session(live, UNITS["rows"], budget) as opened:
        count = opened.count_over_time("hour", start=0, every=1, periods=hours, **amount)
        shown = count.preview()
        for now in (1, 2, 100, 101, 5000, hours):
            answer = count.update(now=now)
        assert opened.remaining.amount < budget.amount / 10**9
        (charge,) = opened.history()
        assert charge.cost.amount <= budget.amount
    counts = np.array(answer.column("count")["value"], dtype=float)
    totals = np.array(answer.column("total")["value"], dtype=float)
    # counts are independent: the mean of their squares, with its own standard deviation
    kurtosis = 6 if budget.kind == "pure" else 3
    far = -special.ndtri(CHANCE / 2) * math.sqrt((kurtosis - 1) / hours)
    assert abs((counts**2).mean() / shown.count_error**2 - 1) < 1.1 * far
    errors = np.array(answer.column("total")["standard_error"])
    assert math.isclose((errors**2).mean(), shown.total_error**2, rel_tol=1e-9)
    assert errors.max() == shown.largest_total_error
    # totals share blocks; those that share none are independent: the shortest blocks of each
    tree = period_counts.PeriodTree(hours, shown.branching)
    levels = [np.array([totals[(i + 1) * w - 1] for i in range(hours // w)]) for w in tree.widths]
    for level, width in zip(levels, tree.widths, strict=True):
        steps = np.diff(level, prepend=0.0)
        inner = steps[[i for i in range(len(level)) if (i + 1) % tree.branching]]
        if len(inner) > 100:
            spread = -special.ndtri(CHANCE / 2) * math.sqrt((kurtosis - 1) / len(inner))
            assert abs((inner**2).mean() / shown.count_error**2 - 1) < 1.3 * spread, width
    held = (np.array(answer.column("count")["low"]) <= 0) & (
        np.array(answer.column("count")["high"]) >= 0
    )
    assert held.sum() >= 2 * special.gammaincinv(0.95 * hours, CHANCE) / 2 - 100
    assert held.mean() > 0.94


@pytest.mark.few(8)
@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [0.05, 0.7, 3.0, 21.5])
@pytest.mark.parametrize("terms", [1, 2, 7, 58])
def test_intervals_of_sums_are_the_least_that_hold(kind, scale, terms):
    law = GridNoise(kind, scale, 1.0)
    draw = tc.noise.discrete_laplace if kind == "laplace" else tc.noise.discrete_gaussian
    runs = 40_000
    sums = np.abs(draw(scale, runs * terms).reshape(runs, terms).sum(axis=1))
    half = sum_half_width(law, terms)
    slack = -special.ndtri(CHANCE) * math.sqrt(0.95 * 0.05 / runs)
    assert (sums <= half).mean() >= 0.95 - slack
    if half > 0:
        assert (sums <= half - 1).mean() <= 0.95 + slack
    assert half <= law.half_width((1.0,) * terms) + 1e-6


def test_noise_too_wide_for_a_window_has_intervals_too():
    law = GridNoise("laplace", 1e6, 1.0)
    assert sum_half_width(law, 9) == law.half_width((1.0,) * 9)
    assert sum_half_width(law, 0) == 0.0


# A count over time survives its processes: killed ones, many at once, and one that was slow.


WORKER = Path(__file__).with_name("live_worker.py")


@pytest.fixture(name="files")
def _files(tmp_path):
    source = tmp_path / "visits.csv"
    lines = ["hour,who", *(f"{n % 60},{n % 17}" for n in range(400))]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return source, tmp_path / "visits.ledger"


def start(files, way, *ends):
    command = [sys.executable, str(WORKER), *map(str, files), way, *map(str, ends)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if process.stdout.readline() != "ready\n":
        pytest.fail(process.communicate()[1])
    return process


def finish(process):
    out, err = process.communicate("go\n", timeout=300)
    return process.returncode, [json.loads(line) for line in out.splitlines()], err


def crashes_run(files, way, *ends):
    return finish(start(files, way, *ends))


def recorded(files):
    with open_ledger(files[1]) as ledger:
        ledger.verify_chain()
        charges = ledger.history()
        assert len(charges) == 1
        assert ledger.spent == tc.epsilon(1)
        return parts_of(ledger, charges[0])


@pytest.mark.full
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
@pytest.mark.parametrize(
    ("way", "parts"),
    [("die after the charge", 0), ("die before the part", 1), ("die after the part", 2)],
)
def test_what_is_killed_is_continued_at_no_cost(files, way, parts):
    """Killed at its worst moments it has shown nothing that the next one contradicts."""
    shown = []
    if way != "die after the charge":  # which the first update alone can do
        code, shown, err = crashes_run(files, "finish", 10)
        assert code == 0, err
    code, out, err = crashes_run(files, way, 20)
    assert (code, out) == (-signal.SIGKILL, []), err
    before = recorded(files)
    assert len(before) == parts
    code, out, err = crashes_run(files, "finish", 10, 20, 40)
    assert code == 0, err
    assert [len(table["period"]) for table in out] == [max(10, 10 * parts), 20, 40]
    for table in [*shown, *out]:
        for name, column in table.items():
            assert out[2][name][: len(column)] == column
    after = recorded(files)
    assert after[:parts] == before
    assert out[2]["count"] == [n for part in after for n in part["blocks"][: _size(part)]]


def _size(part):
    """How many of a part's blocks are periods: they stand first."""
    first, end = part["periods"]
    return end - first


@pytest.mark.full
def test_many_at_once_publish_the_same_numbers(files):
    ends = [1, 2, 7, 13, 14, 30, 31, 59, 60]
    processes = [start(files, "finish", *ends[i % 2 :: 1 + i % 2]) for i in range(3)]
    done = [finish(process) for process in processes]
    for code, _, err in done:
        assert code == 0, err
    last = [out[-1] for _, out, _ in done]
    longest = max(last, key=lambda table: len(table["period"]))
    assert len(longest["period"]) == 60
    for _, out, _ in done:
        for table in out:
            for name, column in table.items():
                assert longest[name][: len(column)] == column
    parts = recorded(files)
    ends = [part["periods"] for part in parts]
    assert [first for first, _ in ends] == [0, *(end for _, end in ends[:-1])]


def opened(files):
    return tc.Session(files[0], unit=tc.unit("who", rows=3), budget=tc.epsilon(1), ledger=files[1])


def asked(session):
    return session.count_over_time("hour", start=0, every=1, periods=60, epsilon=1)


@pytest.mark.full
def test_a_slow_update_throws_its_part_away_and_reads_again(files, monkeypatch):
    """What it read is older than what was published meanwhile, which the proof forbids."""
    read = time_counter.counts_of_periods
    reads = []
    with opened(files) as slow, opened(files) as quick:
        asked(slow).update(now=5)

        def interrupted(source, query, step, first, closed):
            found = read(source, query, step, first, closed)
            reads.append((source is slow.source, first, closed))
            if len(reads) == 1:
                other.append(asked(quick).update(now=20))  # reads later, and is published first
            return found

        other = []
        monkeypatch.setattr(time_counter, "counts_of_periods", interrupted)
        answer = asked(slow).update(now=30)
        mine = [(first, closed) for is_slow, first, closed in reads if is_slow]
        assert [closed for _, closed in mine] == [30, 30]  # read twice
        assert mine[0][0] < mine[1][0]  # the second time less was left
        assert answer.column("count")["value"][:20] == other[0].column("count")["value"]
        assert asked(quick).update(now=30).to_dict() == answer.to_dict()
        assert [part["periods"] for part in recorded(files)] == [[0, 5], [5, 20], [20, 30]]
        # and one that comes too late altogether returns what stands, though it saw another now
        assert asked(quick).update(now=8).replayed


def test_a_table_that_cannot_be_read_costs_nothing_more(files):
    with opened(files) as session:
        asked(session).update(now=5)
        kept = files[0].read_text(encoding="utf-8")
        files[0].unlink()
        with pytest.raises(DataSourceError):
            asked(session).update(now=20)
        files[0].write_text(kept, encoding="utf-8")
        answer = asked(session).update(now=20)
        assert len(answer) == 20
    assert [part["periods"] for part in recorded(files)] == [[0, 5], [5, 20]]


# Counts over time from recorded parts: numbers that stay, totals of few blocks, intervals.


QUESTION: dict[str, Any] = {
    "query": {
        "aggregates": [
            [
                "visits",
                {"column": "n", "reads": "integers", "start": 10, "every": 5, "periods": 8,
                 "branching": 2},
            ]
        ]
    },
    "noise": {"step": "laplace", "scale": "3"},
}  # fmt: skip


def blocks_of(counts: list[int]) -> list[list[int]]:
    """Every level that is over, without noise."""
    line, tree = periods_of(QUESTION)
    assert line.periods == 8
    return [
        [sum(counts[i : i + w]) for i in range(0, len(counts) // w * w, w)] for w in tree.widths
    ]


@pytest.mark.parametrize("closed", range(9))
def test_without_noise_totals_are_the_running_sums(closed: int) -> None:
    counts = [3, 0, 7, 1, 1, 9, 2, 4][:closed]
    found = answer_of_blocks(QUESTION, blocks_of(counts))
    assert found["keys"] == [[10 + 5 * i] for i in range(closed)]
    count, total = found["columns"]
    assert count["value"] == counts
    assert total["value"] == [sum(counts[: i + 1]) for i in range(closed)]
    for column in (count, total):
        for value, low, high in zip(column["value"], column["low"], column["high"], strict=True):
            assert 0 <= low <= value <= high


def test_errors_grow_with_the_blocks_that_a_total_is_made_of() -> None:
    _, tree = periods_of(QUESTION)
    count, total = answer_of_blocks(QUESTION, blocks_of([5] * 8))["columns"]
    law = law_of(QUESTION)
    assert set(count["standard_error"]) == {math.sqrt(law.variance)}
    assert total["standard_error"] == [
        pytest.approx(math.sqrt(terms * law.variance)) for terms in tree.terms[1:9]
    ]


def test_an_interval_holds_a_count_that_noise_made_negative() -> None:
    count, _ = answer_of_blocks(QUESTION, blocks_of([-40]))["columns"]
    assert (count["low"], count["high"][0] >= 0) == ([-40], True)


def test_what_was_published_does_not_depend_on_when_it_was() -> None:
    counts = [3, 0, 7, 1, 1, 9]
    _, tree = periods_of(QUESTION)
    blocks = blocks_of(counts)

    def parts(cuts: list[int]) -> list[dict[str, Any]]:
        made = []
        for before, after in itertools.pairwise(cuts):
            listed = [
                blocks[level][place]
                for level, first, end in tree.closing(before, after)
                for place in range(first, end)
            ]
            made.append({"periods": [before, after], "blocks": listed})
        return made

    at_once = published(QUESTION, parts([0, 6]))
    assert at_once == published(QUESTION, parts([0, 1, 2, 5, 6])) == answer_of_blocks(
        QUESTION, blocks
    )  # fmt: skip
    assert published(QUESTION, [])["keys"] == []
    assert published(QUESTION, parts([0, 6]), most=3)["keys"] == at_once["keys"][:3]
