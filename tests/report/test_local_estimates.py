"""What is reported of the answers to a local question: every kind, as cells and as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from local.local_laws import reproducible
from tacit import local
from tacit.errors import UsageError
from tacit.report.odds import Result, Wanted, results_of


def records(oracle: Any, answers: list[Any], **wanted: Any) -> list[dict[str, Any]]:
    state = oracle.aggregate(oracle.perturb_many(answers))
    return [one.record for one in results_of(oracle, state, Wanted(**wanted))]


def test_counts_have_intervals_around_them() -> None:
    oracle = local.UnaryEncoding(["a", "b"], epsilon=2)
    state = oracle.aggregate(oracle.perturb_many(["a"] * 60 + ["b"] * 40))
    (record,) = (one.record for one in results_of(oracle, state, Wanted()))
    assert record["n"] == 100
    assert [row["item"] for row in record["items"]] == ["a", "b"]
    assert all(row["low"] < row["count"] < row["high"] for row in record["items"])
    (together,) = (one.record for one in results_of(oracle, state, Wanted(together=True)))
    width = [one["items"][0]["high"] - one["items"][0]["low"] for one in (record, together)]
    assert width[0] < width[1]
    json.dumps(record)


def test_ranges_are_as_asked_or_equal_parts() -> None:
    oracle = local.HierarchicalRanges(64, epsilon=4)
    (record,) = records(oracle, [3] * 50, ranges="0..9,10..63")
    assert [row["item"] for row in record["items"]] == [[0, 9], [10, 63]]
    (parts,) = records(oracle, [3] * 50)
    assert len(parts["items"]) == 8
    with pytest.raises(UsageError, match="write ranges as"):
        records(oracle, [3], ranges="0-9")


def test_each_attribute_has_its_own() -> None:
    parts = {
        "site": local.DirectEncoding(["a", "b"], epsilon=1),
        "ill": local.DirectEncoding(["yes", "no"], epsilon=1),
    }
    oracle = local.AttributeSampling(parts)
    answers = [{"site": "a", "ill": "no"}] * 20
    state = oracle.aggregate(oracle.perturb_many(answers))
    assert [one.name for one in results_of(oracle, state, Wanted())] == ["site", "ill"]


@pytest.mark.parametrize(
    ("option", "value"), [("candidates", ["a"]), ("ranges", "0..1"), ("heaviest", 3)]
)
def test_what_a_question_has_no_use_for_is_refused(option: str, value: Any) -> None:
    oracle = local.DirectEncoding(["a", "b"], epsilon=1)
    with pytest.raises(UsageError, match=f"^--{option} is not for DirectEncoding"):
        records(oracle, ["a"], **{option: value}, flag="--")
    with pytest.raises(UsageError, match=f"^{option} is not for DirectEncoding"):
        records(oracle, ["a"], **{option: value})


def wanted(**more: Any) -> Wanted:
    plain: dict[str, Any] = dict.fromkeys(("candidates", "ranges", "heaviest"))
    return Wanted(**{"level": "0.95", "together": False, "flag": "--", **plain, **more})


def shown(oracle: Any, answers: list[Any], **more: Any) -> list[Result]:
    with reproducible(4):
        state = oracle.aggregate(oracle.perturb_many(answers))
    return list(results_of(oracle, state, wanted(**more)))


def test_answers_come_by_their_size_and_the_record_keeps_their_order() -> None:
    (one,) = shown(local.DirectEncoding(["a", "b", "c"], epsilon=8), ["b"] * 90 + ["c"] * 10)
    assert one.cells[0][0] == "b"
    assert one.header == ["answer", "people", "95% range", "share"]
    assert [item["item"] for item in one.record["items"]] == ["a", "b", "c"]
    for item in one.record["items"]:
        assert 0 <= item["low"] <= max(item["count"], 0) <= item["high"] <= 100
    assert one.record["n"] == 100


def test_only_the_hundred_largest_are_printed() -> None:
    (one,) = shown(local.UnaryEncoding(130, epsilon=4), [7] * 50)
    assert (len(one.cells), len(one.record["items"])) == (100, 130)
    assert one.notes == ["the 100 largest of 130 answers; all of them with --json"]


def test_a_mean_has_its_range() -> None:
    (one,) = shown(local.Duchi(0, 10, epsilon=4), [3] * 500)
    assert one.header == ["mean", "95% range"]
    assert one.record["low"] <= one.record["mean"] <= one.record["high"]


def test_keys_have_shares_and_means_and_none_where_nobody_has_the_key() -> None:
    (one,) = shown(local.KeyValue(["a", "b"], 0, 1, epsilon=8), [{"a": 1}] * 400)
    assert one.header == ["key", "share", "95% range", "mean", "95% range"]
    assert [item["item"] for item in one.record["items"]] == ["a", "b"]
    assert one.record["items"][0]["share"] == pytest.approx(1, abs=0.3)


def test_words_are_looked_for_among_candidates_alone() -> None:
    sketch = local.CountMeanSketch(epsilon=4, functions=8, buckets=64)
    with pytest.raises(UsageError, match="--candidates a,b"):
        shown(sketch, ["red"] * 5)
    (one,) = shown(sketch, ["red"] * 200, candidates=["red", "blue"])
    assert [row[0] for row in one.cells] == ["red", "blue"]
