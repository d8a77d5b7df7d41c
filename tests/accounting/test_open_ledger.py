"""What holds for every place that outlives its process: a file, or tables in PostgreSQL."""

import threading

import pytest

from accounting.ledger.ledger_edit import edit
from tacit.accounting import create_ledger, epsilon, open_ledger, restore_ledger, rho
from tacit.accounting.ledger_chain import appended
from tacit.accounting.open_ledger import has_ledger
from tacit.errors import LedgerError, UsageError

TERMS = {"unit": "one row each", "relation": "add or remove one unit"}
COST = epsilon("1/8")


@pytest.fixture
def ledger_place(place):
    with create_ledger(place, dataset="clinic", budget=epsilon(1), terms=TERMS) as ledger:
        ledger.charge("first", COST, {})
    return place


def test_it_is_there_again_after_closing(ledger_place):
    assert has_ledger(ledger_place)
    with open_ledger(ledger_place, dataset="clinic", budget=epsilon(1.0), terms=TERMS) as ledger:
        assert ledger.spent == COST
        assert (ledger.dataset, ledger.terms) == ("clinic", TERMS)
    with open_ledger(str(ledger_place)) as ledger:  # to look at it, nothing more need be known
        assert [entry.key for entry in ledger.history()] == ["first"]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"dataset": "school"}, "belongs to the data set 'clinic', not to 'school'"),
        ({"budget": epsilon(2)}, r"has the budget epsilon\(1\), not epsilon\(2\)"),
        ({"budget": epsilon("1/2")}, r"extend\(\.\.\.\)"),
        ({"budget": rho(1)}, r"not rho\(1\)"),
        ({"terms": {}}, "other terms: relation is add or remove one unit, not none"),
        ({"terms": TERMS | {"unit": "person_id"}}, "unit is one row each, not person_id"),
    ],
)
def test_a_ledger_of_something_else_is_refused(ledger_place, asked, reason):
    arguments = {"dataset": "clinic", "budget": epsilon(1), "terms": TERMS} | asked
    with pytest.raises(LedgerError, match=reason):
        open_ledger(ledger_place, **arguments)
    with open_ledger(ledger_place) as ledger:
        assert ledger.spent == COST


def test_a_budget_is_the_same_in_decimal_and_in_float(place):
    create_ledger(place, dataset="d", budget=rho("0.1")).close()
    with open_ledger(place, dataset="d", budget=rho(0.1)) as ledger:
        assert ledger.total == rho("0.1")


def test_an_extended_budget_is_the_one_to_ask_for(ledger_place):
    with open_ledger(ledger_place) as ledger:
        ledger.extend(epsilon(2), "approved")
    with pytest.raises(LedgerError, match=r"has the budget epsilon\(2\)"):
        open_ledger(ledger_place, dataset="clinic", budget=epsilon(1))
    open_ledger(ledger_place, dataset="clinic", budget=epsilon(2)).close()


def test_create_refuses_what_exists(ledger_place):
    with pytest.raises(LedgerError, match="exists already"):
        create_ledger(ledger_place, dataset="clinic", budget=epsilon(1))


@pytest.mark.parametrize("arguments", [{}, {"dataset": "d"}, {"budget": epsilon(1)}])
def test_a_new_ledger_needs_a_budget_and_a_data_set(place, arguments):
    with pytest.raises(LedgerError, match="does not exist"):
        open_ledger(place, **arguments)
    with pytest.raises(LedgerError, match="give a budget and a data set"):
        open_ledger(None, **arguments)
    assert not has_ledger(place)


def test_nothing_is_made_where_that_was_not_asked(place):
    with pytest.raises(LedgerError, match="does not exist"):
        open_ledger(place, dataset="d", budget=epsilon(1), create=False)
    with pytest.raises(LedgerError, match="does not exist"):
        restore_ledger(place)
    assert not has_ledger(place)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"budget": epsilon(1) - epsilon(1)}, "above zero"),
        ({"dataset": ""}, "identity"),
        ({"terms": {"unit": object()}}, "terms must be plain JSON"),
    ],
)
def test_a_beginning_that_cannot_be_is_refused(place, changed, reason):
    arguments = {"dataset": "d", "budget": epsilon(1)}
    for where in (None, place):
        with pytest.raises(UsageError, match=reason):
            open_ledger(where, **(arguments | changed))
    with open_ledger(place, **arguments) as ledger:
        assert [event.event for event in ledger.events()] == ["create"]


def test_a_closed_ledger_is_told(ledger_place):
    ledger = open_ledger(ledger_place)
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.charge("k", COST, {})


def test_two_openings_of_one_ledger_in_one_process_see_each_other(ledger_place):
    with open_ledger(ledger_place) as first, open_ledger(ledger_place) as second:
        first.record(first.charge("k", COST, {}), {"n": 1})
        assert second.charge("k", COST, {}).answer == {"n": 1}
        assert first.spent == second.spent == epsilon("1/4")


def test_an_old_state_put_back_is_refused_while_the_process_lives(ledger_place, new_process):
    with open_ledger(ledger_place) as ledger:
        old = edit(ledger_place, "SELECT sequence, hash, total, spent FROM {head}")[0]
        entry = ledger.charge("second", COST, {})
        edit(ledger_place, "DELETE FROM {event} WHERE sequence = {}", entry.sequence)
        set_back = "UPDATE {head} SET sequence = {}, hash = {}, total = {}, spent = {}"
        edit(ledger_place, set_back, *old)
        for use in (lambda: ledger.charge("third", COST, {}), lambda: ledger.spent):
            with pytest.raises(LedgerError, match="shows less than was already spent"):
                use()
    # What the documentation says is not detected: the next process has only this to go by.
    # A hash from outside tells the two histories apart.
    new_process()
    with open_ledger(ledger_place) as ledger:
        ledger.charge("third", COST, {})
        assert not ledger.contains(entry.sequence, entry.hash)


def test_a_reader_beside_a_writer_of_the_same_process_sees_no_step_back(ledger_place):
    done, read = threading.Event(), threading.Semaphore(0)

    def write():
        with open_ledger(ledger_place, dataset="clinic") as ledger:
            for k in range(60):
                ledger.charge(f"k{k}", epsilon("1/1000"), {})
                if k % 10 == 9:  # a busy machine may let the reader wait otherwise
                    read.acquire(timeout=60)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    reads, last = 0, COST
    with open_ledger(ledger_place) as reader:
        while not done.is_set():
            spent = reader.spent
            assert spent.covers(last)
            reads, last = reads + 1, spent
            read.release()
        writer.join()
        assert reads > 5
        assert reader.spent == COST + epsilon("60/1000")


def test_a_key_may_be_of_any_length_and_in_any_script(ledger_place):
    keys = ["k" * 10_000, "médecin", "患者", "'; DROP TABLE head; --", "%s {} ?"]
    with open_ledger(ledger_place) as ledger:
        for key in keys:
            ledger.record(ledger.charge(key, epsilon("1/100"), {"of": key}), {"n": key})
        assert [ledger.find(key).answer for key in keys] == [{"n": key} for key in keys]
        assert ledger.verify_chain() == 2 + 2 * len(keys)


@pytest.mark.full
def test_a_long_history_is_read_whole(ledger_place):
    with open_ledger(ledger_place) as ledger:
        with ledger.chain.write() as (transaction, head):
            for k in range(2100):
                body = {"question": {}, "cost": epsilon("1/10000").to_json()}
                appended(transaction, head, "charge", f"k{k}", body)
                head = transaction.head()
        assert [entry.key for entry in ledger.history()] == [
            "first",
            *(f"k{k}" for k in range(2100)),
        ]
        assert ledger.verify_chain() == 2102
