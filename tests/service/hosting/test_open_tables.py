"""The data sets whose tables are open: those asked last."""

from __future__ import annotations

from tacit.service.hosting.datasets import OpenTables


class Held:
    def __init__(self) -> None:
        self.let = 0

    def let_go(self) -> None:
        self.let += 1


def test_those_asked_longest_ago_are_let_go_of() -> None:
    tables, held = OpenTables(4), [Held() for _ in range(3)]
    for k in (0, 1, 0, 2, 2, 0):
        tables.asked(held[k], 2)
    assert [one.let for one in held] == [0, 1, 0]
    tables.asked(held[1], 3)
    assert [one.let for one in held] == [1, 1, 1]


def test_a_data_set_with_more_tables_than_fit_keeps_its_own() -> None:
    tables, held = OpenTables(1), [Held(), Held()]
    tables.asked(held[0], 0)
    tables.asked(held[1], 5)
    assert [one.let for one in held] == [1, 0]
