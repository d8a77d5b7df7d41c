"""Releases by ``method=``, end to end: every method, unit and kind of keys, and real sessions."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import tacit as tc
from support.by_hand.methods_by_hand import (
    CONCENTRATED,
    EDGES,
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
from support.by_hand.noise_by_hand import too_far
from tacit.tables import privacy_unit as contributions

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("known", [True, False], ids=["public keys", "unknown keys"])
@pytest.mark.parametrize("unit", [tc.one_row_each, *UNITS], ids=str)
@pytest.mark.parametrize("how", HOWS, ids=lambda how: "-".join(map(str, how.values())))
def test_no_pair_of_tables_exceeds_what_is_charged(
    how: dict[str, Any], unit: Any, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for statistic, salt in (("median", "one"), ("mean", "another")):
        monkeypatch.setattr(contributions, "new_salt", lambda salt=salt: salt)
        assert worst(Release(statistic, tuple(how.items()), unit, known)) <= 1e-12


@pytest.mark.parametrize("unit", [tc.one_row_each, *UNITS], ids=str)
@pytest.mark.parametrize("distribution", CONCENTRATED)
def test_no_pair_of_tables_exceeds_the_rho_that_is_charged(
    distribution: str, unit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contributions, "new_salt", lambda: "salt of this test")
    how = (("method", "smooth"), ("distribution", distribution))
    release = Release("mean", how, unit, known=True, budget=tc.rho(1))
    for pair in tables(unit):
        laws = [release.counted(rows)[1][GROUPS] for rows in pair]
        for one, other in (laws, laws[::-1]):
            for order in (1.01, 1.5, 2.0, 4.0, 8.0, 16.0, 32.0):
                loss = sum(
                    renyi(release.law(p), release.law(q), order)
                    for p, q in zip(one, other, strict=True)
                )
                assert loss <= float(release.plan.cost.amount) * order + 1e-9


ROWS = rows_of((("a", 0), ("a", 4)), (("a", 0),), (("a", 4), ("a", 4)))
"""Whatever the salt, all of them are kept."""


@pytest.mark.parametrize("how", [HOWS[0], HOWS[1], HOWS[3]], ids=lambda how: how["method"])
def test_answers_of_real_sessions_have_the_law_by_hand(how: dict[str, Any]) -> None:
    """With unknown keys, people of several rows, the salt and the noise of the session itself.

    Answers are held within the range, so the outer cells are told together.
    """
    release = Release("median", tuple(how.items()), UNITS[1])
    laws = release.joint(ROWS)
    law = laws[GROUPS[:1]]
    drawn: Counter[Any] = Counter()
    for _ in range(250):
        session = tc.Session(table_of(ROWS), unit=UNITS[1], budget=release.budget)
        asked = session.group_by("g").agg(x=release.aggregate)
        answer = asked.release(epsilon=4, delta="1/5")
        if not answer.keys:
            drawn["no key"] += 1
            continue
        value = answer.value("x", "a")
        drawn["refused" if value is None else cell_of(value)] += 1
    chances: dict[Any, float] = {"no key": float(laws[()].sum())}
    refused = how["method"] == "ptr"
    if refused:
        chances["refused"] = float(law[0])
    for i, chance in enumerate(law[int(refused) :].tolist()):
        place = min(max(i, cell_of(0.0)), cell_of(4.0))
        chances[place] = chances.get(place, 0.0) + chance
    assert too_far(drawn, chances) > 1e-9


def cell_of(value: float) -> int:
    """The place of the cell of an answer within the range."""
    return int(np.searchsorted(EDGES, value, side="right"))
