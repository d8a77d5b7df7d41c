"""The method that is chosen: the least expected error, from public facts alone."""

import numpy as np
import pandas as pd
import pytest

import tacit as tc

BOTH = tc.epsilon_delta(100, "1e-3")
EVEN = pd.DataFrame({"x": (np.arange(4000) + 0.5) / 40, "site": [1, 2] * 2000})


def session(table=EVEN, budget=BOTH, unit=tc.one_row_each, **given):
    return tc.Session(table, budget=budget, unit=unit, **given)


@pytest.mark.full
def test_auto_takes_the_least_expected_error_and_records_them_all():
    price = {"epsilon": 9, "delta": "1e-6"}
    question = session().agg(
        v=tc.median("x", 0, 100, method="auto", rows=10_000),
        m=tc.mean("x", 0, 100, method="auto", rows=500),
        p=tc.median("x", 0, 100, method="auto", bound="1/2", rows=500),
    )
    preview = question.preview(**price)
    answer = question.release(**price)
    for column in answer.certificate.body["answer"]["columns"]:
        told = column["method"]
        assert told["asked"] == "auto"
        assert told["errors"][told["used"]] == min(told["errors"].values())
        assert set(told["errors"]) | set(told["left_out"]) == {
            "global", "smooth", "ptr", "sample_and_aggregate"
        }  # fmt: skip
        assert preview.methods[column["label"]].startswith(told["used"])
    methods = {c["label"]: c["method"] for c in answer.certificate.body["answer"]["columns"]}
    assert methods["v"]["used"] == "smooth"
    assert methods["v"]["shapes"] == ["even", "bell", "low", "high"]
    assert methods["m"]["rows"] == 500
    assert answer.certificate.verify()


@pytest.mark.full
def test_auto_reads_public_facts_alone():
    tables = [EVEN, EVEN.assign(x=3.0), EVEN.iloc[:2]]
    told = [
        session(t)
        .agg(x=tc.std("x", 0, 100, method="auto", rows=500))
        .release(epsilon=1)
        .certificate.body["answer"]["columns"][0]["method"]
        for t in tables
    ]
    assert told[0] == told[1] == told[2]


@pytest.mark.full
@pytest.mark.parametrize("rows", [20_190, 32_561])
def test_auto_does_not_take_evenly_spread_rows_for_the_only_ones(rows):
    question = session().agg(x=tc.std("x", 0, 100, method="auto", rows=rows))
    answer = question.release(epsilon=1, delta="1e-6")
    assert answer.certificate.body["answer"]["columns"][0]["method"]["used"] == "global"


@pytest.mark.full
def test_auto_without_a_delta_says_why_a_test_is_left_out():
    preview = session(budget=tc.epsilon(1)).agg(x=tc.median("x", 0, 100, method="auto"))
    answer = preview.release(epsilon="1/2")
    told = answer.certificate.body["answer"]["columns"][0]["method"]
    assert "delta" in told["left_out"]["ptr"]


def test_a_count_comes_with_the_moments_that_auto_leaves_global():
    answer = session().agg(m=tc.mean("x", 0, 100, method="auto"), n=tc.count()).release(epsilon=9)
    assert len(answer.certificate.body["chains"]) == 1
    assert abs(answer.value("n") - 4000) < 30
