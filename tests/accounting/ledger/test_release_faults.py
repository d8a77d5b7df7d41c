"""A release that fails at any of its steps: spent at most once, and asked again it goes on."""

import threading
from fractions import Fraction

import pyarrow as pa
import pytest

import tacit as tc
from tacit.accounting.ledger import Ledger
from tacit.errors import BudgetError, DataSourceError, LedgerError
from tacit.tables import question
from tacit.tables.engines.duckdb.engine import DuckEngine
from tacit.tables.release.release import Collector, Rehearsed
from tacit.tables.session import Session

TABLE = pa.table({"x": [1.0, 2.0, 3.0] * 10, "site": ["a", "b", "c"] * 10})
HALF = Fraction(1, 2)


@pytest.fixture
def session(place):
    budget = tc.epsilon_delta(1, "1e-6")
    with Session(
        TABLE, unit=tc.one_row_each, budget=budget, ledger=place, name="clinic"
    ) as session:
        yield session


def asked(session):
    return session.group_by("site").agg(m=tc.mean("x", 0, 10))


def release(session):
    return asked(session).release(epsilon="1/2", delta="1e-7")


# Where a fault can be put: the object, its method, whether the fault comes before or after the
# work of the method, and whether the charge stands by then.
STEPS = {
    "rehearsal": (Rehearsed, "rehearse", "before", False),
    "charge": (Ledger, "charge", "before", False),
    "charged": (Ledger, "charge", "after", True),
    "read": (Collector, "collect", "before", True),
    "drawn": (question, "release_answer", "before", True),
    "made": (question, "release_answer", "after", True),
    "record": (Ledger, "_record", "before", True),
}
FAULTS = {
    "engine": lambda: DataSourceError("the cable broke"),
    "ledger": lambda: LedgerError("the disk is full"),
    "keyboard": KeyboardInterrupt,
    "memory": MemoryError,
}


def put(monkeypatch, step, fault):
    where, name, moment, _ = STEPS[step]
    real = getattr(where, name)

    def faulty(*given):
        if moment == "after":
            real(*given)
        raise FAULTS[fault]()

    monkeypatch.setattr(where, name, faulty)


CASES = [("sqlite", step, fault) for step in STEPS for fault in ("engine", "keyboard")]
CASES += [("postgres", step, fault) for step, fault in zip(STEPS, 2 * [*FAULTS], strict=False)]


@pytest.mark.few(4)
@pytest.mark.parametrize(("place", "step", "fault"), CASES, indirect=["place"])
def test_a_fault_at_any_step(session, step, fault, monkeypatch):
    charged = STEPS[step][3]
    with monkeypatch.context() as patched:
        put(patched, step, fault)
        for _ in range(2):  # and again: it is paid once however often it fails
            with pytest.raises(type(FAULTS[fault]())) as caught:
                release(session)
    assert session.spent.epsilon == (HALF if charged else 0)
    assert [entry.state for entry in session.history()] == ["open"] * charged
    assert asked(session).is_charged(epsilon="1/2", delta="1e-7") is charged
    assert not asked(session).is_answered(epsilon="1/2", delta="1e-7")
    told = str(caught.value) + "".join(getattr(caught.value, "__notes__", ()))
    if charged and step != "charged":
        assert (
            told.count("stays open: ask the same again, and it is answered at no further cost") == 1
        )
        assert caught.value.__context__ is None
    else:
        assert "charged" not in told
    first = release(session)
    assert not first.replayed
    assert session.spent.epsilon == HALF
    again = release(session)
    assert again.replayed
    assert again.to_dict() == first.to_dict()
    assert first.certificate.verify(session.ledger)
    session.ledger.verify_chain()


def test_an_answer_that_was_recorded_before_the_fault_is_given_out(session, monkeypatch):
    real = Ledger._record

    def recorded(*given):
        real(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "_record", recorded)
        with pytest.raises(KeyboardInterrupt):
            release(session)
    assert release(session).replayed
    assert session.spent.epsilon == HALF


def test_attempts_at_once_in_sessions_of_their_own_pay_once(place, session):
    """Sessions of other processes take no turns: all read, and one answer is published."""
    told, gate = [], threading.Barrier(3)

    def ask():
        with Session(TABLE, unit=tc.one_row_each, ledger=place, name="clinic") as own:
            own.ledger._id = threading.current_thread().name  # turns are by the id: none is taken
            gate.wait()
            told.append(str(release(own).to_dict()))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 3
    assert len(set(told)) == 1
    assert session.spent.epsilon == HALF


def test_an_open_release_takes_nothing_from_what_others_may_spend(session, monkeypatch):
    with monkeypatch.context() as patched:
        put(patched, "read", "engine")
        with pytest.raises(DataSourceError):
            release(session)
    asked(session).release(epsilon="1/2", delta="1e-7", tag="other")
    with pytest.raises(BudgetError):
        asked(session).release(epsilon="1/2", delta="1e-7", tag="third")
    assert session.remaining.epsilon == 0
    release(session)  # nothing remains, and it goes on
    assert session.remaining.epsilon == 0


def test_an_open_release_whose_price_was_rounded_goes_on(monkeypatch):
    """Ten float tenths pass 1 by rounding: the last is fitted to what remained at its charge."""
    with Session(TABLE, unit=tc.one_row_each, budget=tc.epsilon(1)) as session:
        counted = session.agg(n=tc.count())
        for k in range(9):
            counted.release(epsilon=0.1, tag=str(k))
        with monkeypatch.context() as patched:
            put(patched, "read", "engine")
            with pytest.raises(DataSourceError):
                counted.release(epsilon=0.1, tag="9")
        assert session.remaining.is_nothing
        assert not counted.release(epsilon=0.1, tag="9").replayed


def test_no_statement_reads_a_row_before_the_charge(monkeypatch):
    with Session(TABLE, budget=tc.epsilon_delta(9, "1e-3"), unit=tc.one_row_each) as session:
        before, after = [], []
        real = DuckEngine._run

        def spy(engine, sql, fetch, **how):
            (after if session.history() else before).append(sql)
            return real(engine, sql, fetch, **how)

        monkeypatch.setattr(DuckEngine, "_run", spy)
        release(session)
        relation = session.source.relation
        tried = [sql for sql in before if relation in sql]
        assert tried  # the very statements are tried,
        assert all(f"{relation} as tacit_all where 1 = 0" in sql for sql in tried)  # on no rows
        assert all(sql.count(relation) == sql.count("where 1 = 0") for sql in tried)
        assert any(relation in sql and "1 = 0" not in sql for sql in after)


def test_what_the_engine_refuses_whatever_the_rows_costs_nothing(monkeypatch):
    """A statement that cannot be run on this table, found out on no rows."""
    from tacit.tables.query.integer_query import Query

    with Session(TABLE, unit=tc.one_row_each, budget=tc.epsilon_delta(9, "1e-3")) as session:
        monkeypatch.setattr(Query, "_places", lambda self, request: ["no_such_function(1)"])
        with pytest.raises(DataSourceError, match="nothing was spent"):
            release(session)  # with unknown keys, whose answers are computed last
        assert session.spent.is_nothing
