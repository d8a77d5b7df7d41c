"""Amounts in JSON: decimals on the safe side, and the exact fractions beside."""

from __future__ import annotations

import json
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import epsilon, epsilon_delta
from tacit.arithmetic.exact import decimal
from tacit.cli.shared.options import amounts

AMOUNTS = st.fractions(0, 1000, max_denominator=10**30)


@given(AMOUNTS)
def test_what_is_read_is_never_better_than_what_is_meant(amount: Fraction) -> None:
    below, above = (Fraction(json.dumps(decimal(amount, up=up))) for up in (False, True))
    assert below <= amount <= above
    assert above - below <= amount / 2**50


def test_a_loss_is_rounded_up_and_what_is_left_down() -> None:
    third = epsilon_delta("1/3", "1e-7")
    assert amounts(third, left=True) == {
        "kind": "approximate",
        "epsilon": 0.3333333333333333,
        "delta": 1e-7,
        "exact": {"epsilon": "1/3", "delta": "1/10000000"},
    }
    assert Fraction(repr(amounts(third)["epsilon"])) > Fraction(1, 3)
    assert json.dumps(amounts(epsilon("0.1"))["epsilon"]) == "0.1"
