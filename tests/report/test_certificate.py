"""A certificate and the answers that are computed from it."""

from __future__ import annotations

import pandas as pd

import tacit as tc
from tacit.report.certificate import deriving


def test_a_certificate_states_what_is_computed_and_keeps_the_rest() -> None:
    table = pd.DataFrame({"x": range(50)})
    with tc.Session(table, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="r") as session:
        plain = session.agg(n=tc.count()).release(epsilon=1).certificate
        made = deriving(plain, [("half", tc.col("n") / 2)])
        assert made.verify(session.ledger)
    assert made.body["digest"] != plain.body["digest"]
    assert {n: p for n, p in made.body.items() if n not in ("derived", "digest")} == {
        n: p for n, p in plain.body.items() if n != "digest"
    }
