"""Refreshes in the store: one each time, by whichever process, and what is said of them."""

from __future__ import annotations

import base64
import itertools
import json
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit as tc
from support.service.clock import Clock
from tacit import local
from tacit.errors import DataSourceError, LedgerError, UsageError
from tacit.service.audit_log import AuditLog
from tacit.service.database import Database
from tacit.service.refresh.collection import MAX_REPORTS, Collection, ReportStore, collections_of
from tacit.service.refresh.refreshes import BY_CALL, BY_CLOCK, FIRST, Refreshes, Schedule, Scheduler

HOURLY = Schedule(3600)


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


@pytest.fixture
def refreshes(database: Database, clock: Clock) -> Refreshes:
    made = Refreshes(database, AuditLog(database), clock)
    made.begin("visits")
    return made


def test_calls_are_numbered_and_audited(
    refreshes: Refreshes, clock: Clock, database: Database
) -> None:
    clock.now = 2000
    assert refreshes.ask("visits", "ada", token="t1").number == 1
    assert refreshes.ask("visits", "ada").number == 2
    assert [one.way for one in refreshes.history("visits")] == [FIRST, BY_CALL, BY_CALL]
    refreshes.begin("visits")
    assert refreshes.current("visits").number == 2
    event = AuditLog(database).read()[0]
    assert (event.action, event.who, event.token, event.dataset) == (
        *("refreshed", "ada", "t1", "visits"),
    )
    assert event.details == {"way": "call", "number": 1}


def test_the_clock_refreshes_once_each_time(refreshes: Refreshes, clock: Clock) -> None:
    assert refreshes.when_due("visits", HOURLY) is None  # opened after the last time
    clock.now = 3600
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: refreshes.when_due("visits", HOURLY), range(16)))
    assert [one.number for one in done if one is not None] == [1]
    clock.now = 3600 * 5 + 7  # no process ran for hours: once is enough
    assert refreshes.when_due("visits", HOURLY) is not None
    assert refreshes.when_due("visits", HOURLY) is None
    clock.now = 3601  # set back: nothing until the times are new ones again
    assert refreshes.when_due("visits", HOURLY) is None
    assert [one.way for one in refreshes.history("visits")] == [FIRST, BY_CLOCK, BY_CLOCK]


def test_in_postgresql_the_clock_refreshes_once_each_time(postgres: Any, clock: Clock) -> None:
    database = Database(postgres.dsn())
    database.create()
    refreshes = Refreshes(database, AuditLog(database), clock)
    refreshes.begin("visits")
    clock.now = 3600
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: refreshes.when_due("visits", HOURLY), range(16)))
    assert [one.number for one in done if one is not None] == [1]
    assert refreshes.ask("visits", "ada").number == 2
    assert AuditLog(database).verify() == 2
    database.close()


def test_many_begin_at_once_and_each_once(refreshes: Refreshes, clock: Clock) -> None:
    refreshes.begin("births")
    first = refreshes.current("births").at
    clock.now += 60
    refreshes.begin("births", "deaths", "moves")
    assert refreshes.current("births").at == first
    assert [one.number for one in refreshes.history("moves")] == [0]


def test_data_sets_are_apart(refreshes: Refreshes) -> None:
    refreshes.begin("births")
    refreshes.ask("births", "ada")
    assert [refreshes.current(name).number for name in ("visits", "births")] == [0, 1]


def test_an_answer_is_from_the_refresh_before_it(refreshes: Refreshes, clock: Clock) -> None:
    for now in (2000, 3000):
        clock.now = now
        refreshes.ask("visits", "ada")
    result = [refreshes.as_of("visits", when).number for when in (0, 1999, 2000, 2999, 9999)]
    assert result == [0, 0, 1, 1, 2]


def test_what_refreshes_mean_is_said(refreshes: Refreshes, clock: Clock) -> None:
    assert refreshes.describe("visits", None).startswith(
        "The data set was not refreshed since 1970"
    )
    for now in (90_000, 180_000):
        clock.now = now
        refreshes.ask("visits", "ada")
    assert refreshes.describe("visits", tc.epsilon(1)) == (
        "Since 1970-01-01 the data set was refreshed 2 times, last on 1970-01-03 at 02:00 UTC. "
        "All releases, before and after a refresh, share one budget of epsilon 1: what was spent "
        "on rows that stay is not given back."
    )


# What is due is done, whatever else fails.


class Boards:
    """Stands for the dashboards: counts the looks, and fails where it is told to."""

    def __init__(self) -> None:
        self.looks, self.broken, self.looked = 0, False, threading.Event()

    def update_due(self) -> int:
        self.looks += 1
        self.looked.set()
        if self.broken:
            raise RuntimeError("4711")
        return 0


def test_each_schedule_is_kept_and_a_failure_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(f"sqlite:///{tmp_path}/service.db")
    database.create()
    now = [0.0]
    refreshes = Refreshes(database, AuditLog(database), lambda: now[0])
    for name in ("births", "visits"):
        refreshes.begin(name)
    boards: Any = Boards()
    schedules = {"births": Schedule(3600), "visits": Schedule(7200)}
    told: list[str] = []
    scheduler = Scheduler(lambda: schedules, refreshes, boards, told.append)
    for hour in range(5):
        now[0] = hour * 3600.0
        scheduler.look()
        scheduler.look()
    assert [refreshes.current(name).number for name in schedules] == [5, 3]
    assert told.count("births") == 5

    due = refreshes.when_due

    def away(name: str, schedule: Schedule, allowed: Any) -> Any:
        if name == "births":
            raise DataSourceError("4711")
        return due(name, schedule, allowed)

    monkeypatch.setattr(refreshes, "when_due", away)
    boards.broken, now[0] = True, 6 * 3600.0
    scheduler.look()
    assert refreshes.current("visits").number == 4
    assert boards.looks == 11
    assert "4711" not in str([getattr(r, "tacit_fields", None) for r in caplog.records])
    database.close()


def test_what_was_counted_is_noted_by_the_clock_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tacit.service.refresh.refreshes._TICK_SECONDS", 0.001)
    boards: Any = Boards()
    noted: list[int] = []
    twice = threading.Event()

    def note() -> None:
        noted.append(boards.looks)
        if len(noted) == 2:
            twice.set()
        if len(noted) == 1:
            raise OSError("4711")

    none: Any = Refreshes(None, None, None)  # type: ignore[arg-type]
    scheduler = Scheduler(dict, none, boards, print, note=note)
    scheduler.start()
    assert twice.wait(10)
    scheduler.stop()
    assert noted[:2] == [5, 10]
    assert noted[-1] == boards.looks


def test_it_looks_until_it_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.service.refresh.refreshes._TICK_SECONDS", 0.01)
    boards: Any = Boards()
    scheduler = Scheduler(dict, Refreshes(None, None, None), boards, print)  # type: ignore[arg-type]
    scheduler.stop()  # before it began
    scheduler = Scheduler(dict, Refreshes(None, None, None), boards, print)  # type: ignore[arg-type]
    scheduler.start()
    assert boards.looked.wait(10)
    scheduler.stop()
    looks = boards.looks
    assert not boards.looked.clear()
    assert not boards.looked.wait(0.05)
    assert boards.looks == looks


def test_releases_do_not_wait_for_a_dashboard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.service.refresh.refreshes._TICK_SECONDS", 0.001)
    working, ended, released = threading.Event(), threading.Event(), threading.Event()

    class Slow:
        def update_due(self) -> int:
            working.set()
            assert ended.wait(30)
            return 0

    def release() -> None:
        if working.is_set():
            released.set()
        raise OSError("4711")  # and it goes on

    boards: Any = Slow()
    none: Any = Refreshes(None, None, None)  # type: ignore[arg-type]
    scheduler = Scheduler(dict, none, boards, print, release=release)
    scheduler.start()
    assert released.wait(10)
    ended.set()
    scheduler.stop()


def test_a_refresh_since_a_time_is_made_once(refreshes: Refreshes, clock: Clock) -> None:
    clock.now = 5000
    assert [refreshes.since("visits", 900) is not None for _ in range(2)] == [True, False]
    assert refreshes.since("visits", 4999) is None
    clock.now = 6000
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: refreshes.since("visits", 5500), range(16)))
    assert len([one for one in done if one is not None]) == 1
    clock.now = 4000  # set back: what was read at a time that has not come is no refresh
    assert refreshes.since("visits", 3999) is not None
    assert refreshes.when_due("visits", HOURLY) is None  # 3600 is before the one of 5500


# Schedules: which text is one, and which times it means.


@pytest.mark.parametrize(
    ("said", "every", "offset"),
    [
        ("every 6 hours", 21600, 0),
        ("every hour", 3600, 0),
        ("every 1 day", 86400, 0),
        ("every 30 minutes", 1800, 0),
        ("daily 03:00", 86400, 10800),
        ("daily at 23:59", 86400, 86340),
    ],
)
def test_schedules_are_read(said: str, every: int, offset: int) -> None:
    assert Schedule.parse(said) == Schedule(every, offset)


@pytest.mark.parametrize(
    "said", ["", "every 0 hours", "daily", "daily 24:00", "every second", "every 6 hours\n", "6h"]
)
def test_other_text_is_refused(said: str) -> None:
    with pytest.raises(UsageError, match="not a schedule"):
        Schedule.parse(said)


@given(now=st.floats(0, 4e9), every=st.integers(60, 10**6), offset=st.integers(0, 86399))
def test_the_last_time_is_the_latest_one_up_to_now(now: float, every: int, offset: int) -> None:
    last = Schedule(every, offset).last(now)
    assert last <= now < last + every
    assert (last - offset) % every == 0


def test_daily_means_that_hour_in_utc() -> None:
    last = Schedule.parse("daily 03:00").last(datetime(2026, 3, 5, 2, 59, tzinfo=UTC).timestamp())
    assert datetime.fromtimestamp(last, UTC) == datetime(2026, 3, 4, 3, 0, tzinfo=UTC)


# Collections: what their fields may be.


COLOUR: dict[str, Any] = {"mechanism": "UnaryEncoding", "items": ["red", "blue"], "epsilon": "1"}


def test_the_mechanism_is_the_one_of_the_devices() -> None:
    made = Collection.from_fields("colour", {**COLOUR, "other": "none of them"}, Path())
    items = local.Items(["red", "blue"], other="none of them")
    assert made.oracle == local.UnaryEncoding(items, epsilon="1")
    assert json.loads(json.dumps(made.describe()))["fingerprint"] == made.oracle.fingerprint


def test_a_file_beside_the_settings_states_the_whole_question(tmp_path: Path) -> None:
    oracle = local.Duchi(0, 100, epsilon=2)
    (tmp_path / "age.json").write_text(json.dumps(oracle.describe()))
    said = {"age": {"question": "age.json", "per_token": 1}}
    assert collections_of(said, tmp_path)["age"].oracle == oracle


def test_a_number_is_asked_between_bounds() -> None:
    said = {"mechanism": "Piecewise", "bounds": [0, 100], "epsilon": 1}
    assert Collection.from_fields("age", said, Path()).oracle == local.Piecewise(0, 100, epsilon=1)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({}, "mechanism = '...' names it"),
        ({**COLOUR, "mechanism": "UnaryEncodin"}, "did you mean 'UnaryEncoding'"),
        ({**COLOUR, "mechanism": "os"}, "mechanism = "),
        ({**COLOUR, "mechanism": ["a"]}, "mechanism = "),
        ({**COLOUR, "epsilom": 1}, "cannot be made from these fields"),
        ({**COLOUR, "items": ["red"]}, "."),
        ({**COLOUR, "replay": 1}, "replay is true or false"),
        ({**COLOUR, "per_token": 0}, "per_token"),
        ({**COLOUR, "purpose": 3}, "purpose is text"),
        ({"question": "../x.json"}, "name of a file next to"),
        ({"question": ".hidden"}, "name of a file next to"),
        ({"question": "a.json", "items": ["a"]}, "states everything"),
        ({"mechanism": "Duchi", "bounds": [1]}, "a lower and an upper bound"),
    ],
)
def test_other_fields_are_refused(said: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        Collection.from_fields("colour", said, tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataSourceError, match=r"a\.json cannot be read"):
        Collection.from_fields("colour", {"question": "a.json"}, tmp_path)


def test_a_collection_is_a_table() -> None:
    with pytest.raises(UsageError, match=r"collections\.x"):
        collections_of({"x": 3}, Path())


# Reports in the store: each counts once, whatever arrives, and however often.


ORACLE = local.DirectEncoding(["red", "green", "blue"], epsilon=1)
REPORT_STORE_COLOUR = Collection("colour", ORACLE)


def wires(answers: list[str], oracle: Any = ORACLE) -> list[bytes]:
    return [local.Wire(oracle).encode(oracle.perturb(answer)) for answer in answers]


def totals(sent: list[bytes], oracle: Any = ORACLE) -> Any:
    collector = local.Collector(oracle, replay="exact")
    for one in sent:
        collector.add_report(one)
    return collector


def test_all_ways_to_send_a_report_add_up_as_in_a_collector(database: Database) -> None:
    store, sent = ReportStore(database), wires(["red", "green", "blue"] * 10)
    text = json.loads(local.Wire(ORACLE).to_json(ORACLE.perturb("red")))
    assert store.post(REPORT_STORE_COLOUR, b"".join(sent[:20])).accepted == 20
    assert (
        store.post(
            REPORT_STORE_COLOUR, [base64.b64encode(one).decode() for one in sent[20:]]
        ).accepted
        == 10
    )
    assert store.post(REPORT_STORE_COLOUR, text).accepted == 1
    assert store.post(REPORT_STORE_COLOUR, [text, text]).refused == {"replay": 2}
    expected = totals(sent)
    expected.add_json(json.dumps(text))
    state, refused = store.state(REPORT_STORE_COLOUR)
    assert state == expected.state
    assert refused == {"replay": 2}


def test_reports_survive_a_restart(tmp_path: Path) -> None:
    address, sent = f"sqlite:///{tmp_path}/service.db", wires(["red"] * 5)
    for half in (sent[:3], sent[2:]):
        database = Database(address)
        database.create()
        ReportStore(database).post(REPORT_STORE_COLOUR, b"".join(half))
        database.close()
    database = Database(address)
    assert ReportStore(database).state(REPORT_STORE_COLOUR)[0] == totals(sent).state
    database.close()


@pytest.mark.parametrize("where", ["sqlite", "postgresql"])
def test_of_racing_replays_one_counts(
    where: str, database: Database, request: pytest.FixtureRequest
) -> None:
    if where == "postgresql":
        database = Database(request.getfixturevalue("postgres").dsn())
        database.create()
    store, sent = ReportStore(database), wires(["red", "blue"] * 20)
    jobs = [sent[i : i + 10] for i in range(0, 40, 10)] * 3
    random.Random(1).shuffle(jobs)
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda part: store.post(REPORT_STORE_COLOUR, b"".join(part)), jobs))
    assert sum(one.accepted for one in done) == 40
    state, refused = store.state(REPORT_STORE_COLOUR)
    assert state == totals(sent).state
    assert refused == {"replay": 80}
    if where == "postgresql":
        database.close()


JUNK = st.lists(st.binary(max_size=60) | st.text() | st.integers() | st.none(), max_size=5)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path_factory.mktemp('store')}/service.db")
    made.create()
    yield made
    made.close()


NUMBERS = itertools.count()


@pytest.mark.full
@given(batches=st.lists(JUNK, min_size=1, max_size=5))
def test_junk_is_counted_and_disturbs_no_report(batches: list[list[Any]], shared: Database) -> None:
    store, asked = ReportStore(shared), Collection(f"colour {next(NUMBERS)}", ORACLE)
    good = wires(["red", "blue"] * len(batches))
    texts = [base64.b64encode(one).decode() for one in good]
    for n, junk in enumerate(batches):
        mixed = [one.decode("latin-1") if isinstance(one, bytes) else one for one in junk]
        sent = [texts[2 * n], *mixed, texts[2 * n + 1]]
        posted = store.post(asked, sent)
        assert posted.accepted == 2
        assert sum(posted.refused.values()) == len(junk)
    assert store.state(asked)[0] == totals(good).state


def test_poisoned_reports_of_another_question_are_refused(database: Database) -> None:
    other = local.DirectEncoding(["red", "green", "blue"], epsilon=5)
    kind = local.UnaryEncoding(["red", "green", "blue"], epsilon=1)
    sent = [*wires(["red"] * 3, other), *wires(["red"] * 2, kind)]
    posted = ReportStore(database).post(
        REPORT_STORE_COLOUR, [base64.b64encode(s).decode() for s in sent]
    )
    assert posted.accepted == 0
    assert posted.refused == {"schema": 3, "mechanism": 2}


def test_a_token_sends_no_more_than_it_may(database: Database) -> None:
    one_each = Collection("colour", ORACLE, per_token=2)
    store, sent = ReportStore(database), wires(["red"] * 6)
    assert store.post(one_each, b"".join(sent[:3]), "t1").refused == {"limit": 1}
    assert store.post(one_each, sent[2], "t1").refused == {"limit": 1}
    assert store.post(one_each, sent[2], "t2").accepted == 1
    assert store.post(one_each, sent[2], "t2").refused == {"replay": 1}
    assert store.post(one_each, sent[3], "t2").accepted == 1
    assert store.state(one_each)[0].n == 4


def test_a_collection_may_take_replays(database: Database) -> None:
    store, sent = ReportStore(database), wires(["red"])
    open_to_all = Collection("colour", ORACLE, replay=False)
    assert [store.post(open_to_all, sent[0]).accepted for _ in range(2)] == [1, 1]


@pytest.mark.parametrize("sent", [3, None, "text", b"x" * 39 * (MAX_REPORTS + 1)])
def test_what_is_no_list_of_reports_is_refused(database: Database, sent: Any) -> None:
    with pytest.raises(UsageError):
        ReportStore(database).post(REPORT_STORE_COLOUR, sent)


def test_changed_questions_are_not_mixed(database: Database) -> None:
    store = ReportStore(database)
    store.post(REPORT_STORE_COLOUR, wires(["red"])[0])
    changed = Collection("colour", local.DirectEncoding(["red", "green"], epsilon=1))
    with pytest.raises(LedgerError, match="another name"):
        store.state(changed)
    with pytest.raises(LedgerError, match="another name"):
        store.post(changed, wires(["red"], changed.oracle)[0])


@pytest.mark.parametrize(
    "oracle", [local.UnaryEncoding(["a", "b"], epsilon=1), local.Duchi(0, 10, epsilon=1)]
)
def test_reports_of_other_shapes_add_up(oracle: Any, database: Database) -> None:
    answers: Any = ["a", "b", "b"] if oracle.layout.kind == "bits" else [1, 5, 10]
    sent = wires(answers, oracle)
    ReportStore(database).post(Collection("other", oracle), b"".join(sent))
    state = ReportStore(database).state(Collection("other", oracle))[0]
    assert state == totals(sent, oracle).state
    assert np.array_equal(state.sums, totals(sent, oracle).state.sums)


def test_who_sent_what_is_not_kept(database: Database) -> None:
    limited = Collection("colour", ORACLE, per_token=5)
    ReportStore(database).post(limited, b"".join(wires(["red"] * 2)), "device 7")
    with database.read() as run:
        tables = [
            row[0]
            for row in run.exec_driver_sql("select name from sqlite_master where type = 'table'")
        ]
        result = {t: run.exec_driver_sql(f"select * from {t}").all() for t in tables}
    assert [t for t, rows in result.items() if "device 7" in str(rows)] == ["collection_token"]
    assert result["collection_token"] == [("colour", "device 7", 2)]
