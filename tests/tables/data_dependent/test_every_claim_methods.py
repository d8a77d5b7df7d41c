"""Releases by ``method=``, end to end: small tables, people with several rows, unknown keys.

The joint law of the keys and of all groups' answers, by hand, on every pair of neighbouring tables,
against what the session is charged.
"""

from __future__ import annotations

from typing import Any

import pytest

import tacit as tc
from support.by_hand.methods_by_hand import (
    CONCENTRATED,
    GROUPS,
    HOWS,
    UNITS,
    Release,
    renyi,
    rows_of,
    table_of,
    tables,
    worst,
)
from tacit.tables import privacy_unit as contributions


@pytest.fixture(autouse=True)
def one_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim holds for every salt, so for their mixture: neighbours are compared under one."""
    monkeypatch.setattr(contributions, "new_salt", lambda: "salt of this test")


FEW = [  # all of them in tests/slow
    (HOWS[0], UNITS[1], False),
    (HOWS[1], tc.one_row_each, True),
    (HOWS[2], UNITS[2], True),
    (HOWS[3], UNITS[1], False),
    (HOWS[4], UNITS[0], True),
    (HOWS[5], tc.one_row_each, False),
    (HOWS[5], UNITS[1], False),
]


@pytest.mark.full
@pytest.mark.few(7)
@pytest.mark.parametrize(("how", "unit", "known"), FEW)
def test_no_pair_of_tables_exceeds_what_is_charged(
    how: dict[str, Any], unit: Any, known: bool
) -> None:
    release = Release("median", tuple(how.items()), unit, known)
    cost = release.plan.cost
    assert cost.amount <= 4
    assert cost.delta <= tc.epsilon_delta(1, "1/5").delta
    assert worst(release) <= 1e-12


@pytest.mark.full
@pytest.mark.parametrize(
    ("unit", "distribution"), [(UNITS[1], CONCENTRATED[2]), (UNITS[2], CONCENTRATED[1])]
)
def test_no_pair_of_tables_exceeds_the_rho_that_is_charged(distribution: str, unit: Any) -> None:
    how = (("method", "smooth"), ("distribution", distribution))
    release = Release("median", how, unit, known=True, budget=tc.rho(1))
    for pair in tables(unit)[::3]:
        laws = [release.counted(rows)[1][GROUPS] for rows in pair]
        for one, other in (laws, laws[::-1]):
            for order in (1.01, 2.0, 8.0, 32.0):
                loss = sum(
                    renyi(release.law(p), release.law(q), order)
                    for p, q in zip(one, other, strict=True)
                )
                assert loss <= float(release.plan.cost.amount) * order + 1e-9


def test_the_engine_counts_every_row_of_people_within_the_limit() -> None:
    release = Release("median", tuple(HOWS[0].items()), UNITS[1])
    rows = rows_of((("a", 4), ("b", 0)), (("a", 0), ("a", 4)), (("b", 4),))
    people, found = release.counted(rows)
    assert people == {("a",): 2, ("b",): 2}
    assert found[GROUPS] == [((0, 4, 4),), ((0, 4),)]
    assert found[GROUPS[:1]] == [((0, 4, 4),)]


@pytest.mark.full
def test_noise_that_is_too_small_exceeds_what_is_charged() -> None:
    for how, sharp in ((HOWS[1], 0.6), (HOWS[5], 0.4)):
        release = Release("median", tuple(how.items()), tc.one_row_each, True, tc.epsilon(4), sharp)
        assert worst(release) > 1e-3


@pytest.mark.few(4)
@pytest.mark.parametrize("how", HOWS, ids=lambda how: "-".join(map(str, how.values())))
def test_where_no_key_passes_the_answer_has_no_groups(how: dict[str, Any]) -> None:
    release = Release("median", tuple(how.items()), UNITS[1])
    session = tc.Session(table_of(()), unit=UNITS[1], budget=release.budget)
    asked = session.group_by("g").agg(x=release.aggregate)
    assert asked.release(epsilon=4, delta="1/5").keys == []
