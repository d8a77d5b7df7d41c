"""A table in PostgreSQL, published from the terminal."""

import pytest


@pytest.fixture
def visits(postgres):
    postgres.run(
        "create table visits (patient int, ward text, cost float8)",
        "insert into visits select i % 100, 'w' || i % 3, i from generate_series(1, 1000) i",
    )
    return postgres


def test_a_release_from_a_server(tacit, visits):
    asked = ["release", visits.dsn(), "--table", "visits", "--person", "patient", "--rows", "10"]
    rest = ["--by", "ward", "--keys", "w0,w1,w2", "--count", "--mean", "cost:0:1000"]
    paid = ["--epsilon", "0.5", "--budget-epsilon", "1", "--ledger", "visits.ledger"]
    done = tacit(*asked, *rest, *paid)
    assert done.code == 0, done.err
    assert "epsilon 0.5 is left" in done.out + done.err
    assert visits.server.password not in done.out + done.err


def test_without_a_ledger_the_refusal_shows_no_password(tacit, visits):
    done = tacit(
        "release", visits.dsn(), "--table", "visits", "--one-row-each", "--count", "--epsilon", "1"
    )
    assert done.code == 2
    assert "--ledger" in done.err
    assert visits.server.password not in done.out + done.err
