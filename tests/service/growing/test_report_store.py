"""Reports in the store: each counts once, whatever arrives, and however often."""

from __future__ import annotations

import base64
import itertools
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import local
from tacit.errors import LedgerError, UsageError
from tacit.service.database import Database
from tacit.service.growing.collection import MOST_REPORTS, Collection, ReportStore

ORACLE = local.DirectEncoding(["red", "green", "blue"], epsilon=1)
COLOUR = Collection("colour", ORACLE)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path}/service.db")
    made.create()
    yield made
    made.close()


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
    assert store.post(COLOUR, b"".join(sent[:20])).accepted == 20
    assert store.post(COLOUR, [base64.b64encode(one).decode() for one in sent[20:]]).accepted == 10
    assert store.post(COLOUR, text).accepted == 1
    assert store.post(COLOUR, [text, text]).refused == {"replay": 2}
    expected = totals(sent)
    expected.add_json(json.dumps(text))
    state, refused = store.state(COLOUR)
    assert state == expected.state
    assert refused == {"replay": 2}


def test_reports_survive_a_restart(tmp_path: Path) -> None:
    address, sent = f"sqlite:///{tmp_path}/service.db", wires(["red"] * 5)
    for half in (sent[:3], sent[2:]):
        database = Database(address)
        database.create()
        ReportStore(database).post(COLOUR, b"".join(half))
        database.close()
    database = Database(address)
    assert ReportStore(database).state(COLOUR)[0] == totals(sent).state
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
        done = list(pool.map(lambda part: store.post(COLOUR, b"".join(part)), jobs))
    assert sum(one.accepted for one in done) == 40
    state, refused = store.state(COLOUR)
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
    posted = ReportStore(database).post(COLOUR, [base64.b64encode(s).decode() for s in sent])
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


@pytest.mark.parametrize("sent", [3, None, "text", b"x" * 39 * (MOST_REPORTS + 1)])
def test_what_is_no_list_of_reports_is_refused(database: Database, sent: Any) -> None:
    with pytest.raises(UsageError):
        ReportStore(database).post(COLOUR, sent)


def test_changed_questions_are_not_mixed(database: Database) -> None:
    store = ReportStore(database)
    store.post(COLOUR, wires(["red"])[0])
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
        found = {t: run.exec_driver_sql(f"select * from {t}").all() for t in tables}
    assert [t for t, rows in found.items() if "device 7" in str(rows)] == ["collection_token"]
    assert found["collection_token"] == [("colour", "device 7", 2)]
