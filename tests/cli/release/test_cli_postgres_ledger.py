"""A ledger in PostgreSQL, for ``tc.Session`` and in the terminal."""

import pytest

import tacit as tc
from tacit.errors import BudgetError, LedgerError, UsageError


@pytest.fixture
def address(postgres):
    return f"{postgres.dsn()}?ledger=people"


@pytest.fixture
def place(postgres):
    """The address as it may be shown."""
    return f"postgresql://curator@127.0.0.1:{postgres.server.port}/{postgres.name}?ledger=people"


def test_two_sessions_share_one_budget(folder, address):
    with (
        tc.Session(
            "people.csv", unit=tc.one_row_each, budget=tc.epsilon(1), ledger=address
        ) as here,
        tc.Session("people.csv", unit=tc.one_row_each, ledger=address) as there,
    ):
        n = here.agg(n=tc.count()).release(epsilon="1/2")
        again = there.agg(n=tc.count()).release(epsilon="1/2")
        assert (again.value("n"), again.replayed) == (n.value("n"), True)
        assert here.remaining == there.remaining == tc.epsilon("1/2")
        assert here.agg(n=tc.count()).is_answered(epsilon="1/2")
        with pytest.raises(BudgetError):
            there.agg(a=tc.mean("age", 0, 100)).release(epsilon="3/4")
        assert n.certificate.verify(there.ledger)


def test_a_session_refuses_before_it_reads_a_row(folder, address, postgres):
    with pytest.raises(UsageError, match="say how much may be spent in all"):
        tc.Session("people.csv", unit=tc.one_row_each, ledger=address)
    tc.Session("people.csv", unit=tc.one_row_each, budget=tc.epsilon(1), ledger=address).close()
    with pytest.raises(LedgerError, match=r"has the budget epsilon\(1\)"):
        tc.Session("people.csv", unit=tc.one_row_each, budget=tc.epsilon(2), ledger=address)
    reader = f"{postgres.dsn(postgres.server.role('reviewer'))}?ledger=people"
    with pytest.raises(LedgerError, match="lacks a right"):
        tc.Session("people.csv", unit=tc.one_row_each, budget=tc.epsilon(1), ledger=reader)


def test_the_terminal_takes_an_address_for_a_ledger(tacit, address, place, postgres):
    created = tacit(
        f"ledger create people.csv --one-row-each --budget-epsilon 1 --ledger {address}"
    )
    assert created.code == 0
    assert f"{place} begins with epsilon 1" in created.err
    ask = (
        f"release people.csv --one-row-each --count --epsilon 1/2 --ledger {address} "
        f"--certificate n.json"
    )
    first, again = tacit(ask), tacit(ask)
    assert (first.code, again.code) == (0, 0), first.err
    assert place in first.out + first.err
    assert first.out.split()[:8] == again.out.split()[:8]
    released = tacit(
        f"release people.csv --one-row-each --count --epsilon 1/2 --ledger {address} --json"
    )
    assert released.json["ledger"] == place
    shown = tacit(f"ledger show {address}")
    assert "epsilon 0.5" in shown.out
    assert tacit(f"ledger show {address} --json").json["remaining"]["exact"]["epsilon"] == "1/2"
    assert "ok: 3 events" in tacit(f"ledger verify {address}").out
    assert tacit(f"verify n.json --ledger {address}").code == 0
    assert (
        tacit(f"preview people.csv --one-row-each --count --epsilon 1/4 --ledger {address}").code
        == 0
    )
    refused = tacit(f"release people.csv --one-row-each --count --epsilon 3/4 --ledger {address}")
    assert refused.code == 1
    extended = tacit("ledger", "extend", address, "--budget-epsilon", "2", "--reason", "more")
    assert "The budget is epsilon 2" in extended.out
    restored = tacit(f"ledger restore {address}")
    assert f"{place} stays here" in restored.out
    for done in (created, first, again, released, shown, refused, extended, restored):
        assert postgres.server.password not in done.out + done.err


def test_a_first_release_begins_the_ledger_and_shows_no_password(tacit, address, place, postgres):
    done = tacit(f"release people.csv --one-row-each --count --epsilon 1/2 --ledger {address}")
    assert done.code == 0, done.err
    assert f"{place} is created with the price of this release" in " ".join(done.err.split())
    assert postgres.server.password not in done.out + done.err


def test_a_plan_may_name_an_address(tacit, folder, address, postgres):
    (folder / "plan.toml").write_text(f"""
        unit = "row"
        [source]
        path = "people.csv"
        [budget]
        epsilon = 1
        ledger = "{address}"
        [[question]]
        answers = {{ n = {{ statistic = "count" }} }}
        epsilon = "1/2"
    """)
    done = tacit("release --plan plan.toml")
    assert done.code == 0, done.err
    assert postgres.server.password not in done.out + done.err
    with tc.Session("people.csv", unit=tc.one_row_each, ledger=address) as session:
        assert session.spent == tc.epsilon("1/2")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("ledger show {}", "does not exist"),
        ("ledger verify {}", "does not exist"),
        ("ledger restore {}", "does not exist"),
        ("ledger show postgresql://ann:hidd/en@h/d", "the address of the ledger cannot be read"),
        ("release people.csv --one-row-each --count --epsilon 1 --ledger "
        "postgresql://a:hidd/en@h/d", "cannot be"),
        ("ledger show postgresql://ann:hidden@127.0.0.1:1/d", "cannot be reached"),
        ("release people.csv --one-row-each --count --epsilon 1 --ledger "
        "postgresql://a:hidden@127.0.0.1:1/d",
         "cannot be reached"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_without_a_password(tacit, address, postgres, command, told):
    done = tacit(command.format(address))
    assert (done.code, done.out) == (2, "")
    assert told in " ".join(done.err.split())
    for secret in ("hidd", postgres.server.password):
        assert secret not in done.err
