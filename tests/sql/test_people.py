"""Totals per person in SQL have one form."""

from __future__ import annotations

from tacit.sql.relation import PEOPLE


def test_people_have_a_form() -> None:
    assert set(PEOPLE) == {"people"}
