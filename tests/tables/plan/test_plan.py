"""A release builds each of its chains once: for the price, the noise and the certificate."""

import pyarrow
import pytest

import tacit as tc
from tacit.tables.plan.plan import Plan

PEOPLE = pyarrow.table({"site": ["a", "b", "b"], "age": [31, 45, 52]})


@pytest.fixture
def built(monkeypatch):
    ends = []
    chains = Plan._whole

    def counted(plan, given, people):
        ends.extend(given)
        return chains(plan, given, people)

    monkeypatch.setattr(Plan, "_whole", counted)
    return ends


def test_with_public_keys(built):
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon(1))
    asked = session.group_by("site", keys=["a", "b"]).agg(n=tc.count(), age=tc.median("age", 0, 99))
    asked.release(epsilon=1)
    assert len(built) == len(set(built)) > 2


def test_with_keys_that_are_found(built):
    session = tc.Session(PEOPLE, unit=tc.one_row_each, budget=tc.epsilon_delta(50, "1e-3"))
    answer = session.group_by("site").agg(age=tc.sum("age", 0, 99)).release(50, "1e-3")
    # the chain of the keys once, the sum's for the price, and again for the groups that came out
    assert len(built) == 2 + (len(answer.keys) != 1)
