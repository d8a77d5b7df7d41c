"""What a page shows of answers: charts while they can be read, tables beyond, and refusals."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.report.page import answers

pytest.importorskip("jinja2")


def column(label: str = "n", kind: str = "count", groups: int = 1, **more: Any) -> dict[str, Any]:
    plain = {"value": [5] * groups, "standard_error": [1.5] * groups, "low": [2] * groups,
             "high": [8] * groups, "bins": None, "refused": None}  # fmt: skip
    return {"label": label, "kind": kind, **plain, **more}


def body(*columns: dict[str, Any], by: tuple[str, ...] = (), groups: int = 1, **told: Any) -> Any:
    asked = [[c["label"], told.get(c["label"], {"kind": c["kind"]})] for c in columns]
    keys = [[f"k{i}"] * len(by) for i in range(groups)]
    return {
        "question": {"query": {"aggregates": asked, "by": list(by)}},
        "answer": {"keys": keys, "columns": list(columns)},
    }


def test_groups_that_were_not_found_are_said() -> None:
    assert answers(body(column(), groups=0)) == {"none": "group was above the threshold"}
    counted = {"kind": "count_over_time", "periods": 5}
    assert answers(body(column(), groups=0, n=counted)) == {"none": "period is over yet"}


@pytest.mark.parametrize(("groups", "drawn"), [(1, True), (60, True), (61, False)])
def test_so_many_marks_are_drawn_as_can_be_read(groups: int, drawn: bool) -> None:
    found = answers(body(column(groups=groups), by=("site",), groups=groups))
    (one,) = found["columns"]
    assert (one["chart"] is not None) == drawn
    assert one["words"] == "the number of rows, by site"
    assert len(found["table"]) == groups
    assert found["labels"] == ["n"]


def test_a_key_that_is_missing_says_so() -> None:
    given = body(column(), by=("site",))
    given["answer"]["keys"] = [[None]]
    ((keys, cells),) = answers(given)["table"]
    assert list(keys) == ["missing"]
    assert cells[0] == {
        "value": "5", "low": "2", "high": "8", "refused": False, "unknown": False,
    }  # fmt: skip


def test_refusals_and_unknown_intervals_are_marked() -> None:
    refused = column(value=[None], standard_error=[None], low=[None], high=[None], refused=[True])
    ((_, (cell,)),) = answers(body(refused))["table"]
    assert (cell["refused"], cell["unknown"], cell["value"]) == (True, True, "–")


def histogram(groups: int, bins: int) -> dict[str, Any]:
    rows = {part: [[value] * bins] * groups for part, value in
            (("value", 5), ("standard_error", 1.5), ("low", 2), ("high", 8))}  # fmt: skip
    return column("h", "histogram", **rows, bins=[f"b{i}" for i in range(bins)])


@pytest.mark.parametrize(
    ("groups", "bins", "by", "shape"),
    [
        (1, 5, (), "chart"),
        (1, 61, (), "bins"),
        (3, 5, ("site",), "panels"),
        (13, 5, ("site",), "bins"),
        (3, 21, ("site",), "bins"),
    ],
)
def test_a_histogram_is_a_chart_panels_or_a_table(
    groups: int, bins: int, by: tuple[str, ...], shape: str
) -> None:
    asked = {"kind": "histogram", "column": "age", "edges": [str(i) for i in range(bins + 1)]}
    found = answers(body(histogram(groups, bins), by=by, groups=groups, h=asked))
    (one,) = found["columns"]
    shown = [name for name in ("chart", "panels", "bins") if one[name] is not None]
    assert shown == list(dict.fromkeys([shape, "bins"]))
    assert found["table"] is None  # it has lines of its own, below any chart
    assert len(one["bins"]) == groups * bins
    if shape == "panels":
        assert [title for title, _ in one["panels"]] == [f"site k{i}" for i in range(groups)]


def test_what_auto_chose_is_told_with_the_errors_that_it_compared() -> None:
    chosen = {"asked": "auto", "used": "smooth", "rows": 10_000,
              "errors": {"global": 2.0, "smooth": 0.5}}  # fmt: skip
    (one,) = answers(body(column(method=chosen)))["columns"]
    assert one["choice"].startswith(
        "Answered by the method smooth: of the expected errors on 10,000"
    )
    (other,) = answers(body(column(method={"asked": "smooth"})))["columns"]
    assert other["choice"] == ""


def test_more_than_two_answers_have_a_line_each_so_that_a_page_holds_them() -> None:
    two = answers(body(column("a"), column("b"), by=("site",)))
    assert (two["tidy"], [len(cells) for _, cells in two["table"]]) == (False, [2])
    four = answers(body(*map(column, "abcd"), by=("site",)))
    assert four["tidy"]
    assert [(keys, len(cells)) for keys, cells in four["table"]] == [
        (["k0", label], 1) for label in "abcd"
    ]


def test_a_wide_chart_comes_with_a_narrow_one_for_phones() -> None:
    (one,) = answers(body(column(), by=("site",)))["columns"]
    assert 'viewBox="0 0 720 ' in one["chart"]
    assert 'viewBox="0 0 360 ' in one["narrow"]
    (one,) = answers(body(column(), by=("site",)), width=360)["columns"]
    assert one["narrow"] is None
