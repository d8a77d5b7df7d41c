"""The page for a reviewer: complete, self-contained, escaped, and honest about failures."""

from __future__ import annotations

import copy
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

import tacit as tc
from support.page_reader import Page
from tacit.cli.shared.output import check_files
from tacit.data import health_insurance
from tacit.display.card import _templates, render
from tacit.errors import MissingExtraError, UsageError
from tacit.report.text import distance_words, number, question_words

EVIL = "<script>alert('x')</script>&\"'"


def released(budget: Any, unit: Any = tc.one_row_each, **loss: Any) -> tc.Certificate:
    session = tc.Session(health_insurance(), unit=unit, budget=budget)
    session.agg(n=tc.count()).release(**loss)
    question = session.filter((tc.col("age") >= 18) & ~tc.col("health").is_in(["poor"]))
    question = question.group_by("site", keys=[1, 2, 3]).agg(
        visits=tc.mean("visits", 0, 20),
        people=tc.count_people(),
        ages=tc.histogram("age", [18, 40, 65]),
    )
    return question.release(**loss).certificate


@pytest.fixture(scope="module")
def certificate() -> tc.Certificate:
    return released(tc.epsilon(2), tc.unit("person", rows=5, groups=1), epsilon="1/2")


def test_the_page_tells_everything(certificate: tc.Certificate) -> None:
    page = Page(certificate.to_html())
    body = certificate.body
    for text in (
        "health_insurance.parquet",
        "for each site: 1, 2, 3",
        "only rows where age >= 18 and not health in ('poor')",
        "values clamped to [0, 20]",
        "at most 5 rows per person count",
        "15.5%",  # 10% at epsilon 1/2
        "spent before: epsilon 0.5",
        "this release: epsilon 0.5",
        "left: epsilon 1",
        "bound_contributions(rows=5, groups=1)",
        "Add random noise: discrete Laplace of scale",
        "The privacy loss was derived again",
        body["digest"],
        body["ledger"]["hash"],
        body["versions"]["tacit"],
    ):
        assert text in page.text, text
    verification = certificate.verify()
    for claim in [*verification.checked, *verification.unchecked]:
        assert claim in page.text
    for column in body["answer"]["columns"]:
        values = column["value"]
        if "bins" not in column:
            for value, error in zip(values, column["standard_error"], strict=True):
                assert number(value, error) in page.text


def test_a_distance_is_in_the_units_of_the_statistic(certificate: tc.Certificate) -> None:
    """Five rows of a person, each of at most 20 visits, move the sum of visits by 100."""
    text = Page(certificate.to_html()).text
    assert "5 rows in all, and the sum of visits by 100" in text
    assert "1 person in all" in text
    moments = {"step": "moments", "column": "x", "lower": "-10", "upper": "30", "norm": "L1"}
    squares = {**moments, "degree": 2, "distance": "3"}
    told = "3 rows in all, and the sum of x by 90, that of squares above -10 by 4800"
    assert distance_words(squares, "PureDP", False) == told
    lone = {"step": "sum_by_group", "column": "x", "norm": "L2", "distance": "150"}
    assert distance_words(lone, "ZeroConcentratedDP", False) == "150 in the sum of x, in all (L2)"


def test_every_step_stands_with_its_distance(certificate: tc.Certificate) -> None:
    page = certificate.to_html()
    rows = re.findall(r'<table class="chain">.*?</table>', page, re.DOTALL)
    assert len(rows) == len(certificate.body["chains"])
    for drawn, chain in zip(rows, certificate.body["chains"], strict=True):
        assert drawn.count("<tr>") == len(chain["steps"]) + 2  # the head, and the start


def test_nothing_comes_from_outside(certificate: tc.Certificate) -> None:
    page = Page(certificate.to_html())
    assert not {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "object"}
    for _, given in page.tags:
        assert not {"src", "href", "onclick", "onload"} & set(given)
    style = re.search(r"<style>(.*?)</style>", certificate.to_html(), re.DOTALL)
    assert style is not None
    assert "url(" not in style[1].replace("url(#tacit-hatch)", "")
    assert "@import" not in style[1]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "place",
    [
        ("dataset",), ("ledger", "when"), ("ledger", "hash"), ("versions", "tacit"), ("digest",),
        ("question", "tag"), ("question", "query", "by", 0), ("chains", 0, "title"),
        ("chains", 0, "steps", 2, "column"), ("chains", 0, "steps", -1, "scale"),
        ("chains", 0, "steps", -1, "step"), ("answer", "keys", 0, 0),
        ("answer", "columns", 2, "bins", 0), ("protects", "unit", "column"), ("chains", 0, "d_in"),
    ],
)  # fmt: skip
def test_what_a_certificate_says_is_escaped(certificate: tc.Certificate, place: Any) -> None:
    body = copy.deepcopy(certificate.body)
    part: Any = body
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = EVIL
    page = tc.Certificate(body).to_html()
    assert "<script" not in page
    assert "alert" in page
    assert "does not hold" in Page(page).text


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("budget", "loss", "said"),
    [
        (tc.rho("1/5"), {"rho": "1/10"}, "stated here as an epsilon at a delta of 1e-06"),
        (tc.epsilon_delta(1, "1e-6"), {"epsilon": "1/4"}, "have a probability of at most 1 in"),
        (tc.epsilon(1), {"epsilon": "1/2"}, "each row of the table"),
    ],
)
def test_every_kind_of_loss_has_a_page(budget: Any, loss: dict[str, str], said: str) -> None:
    assert said in Page(released(budget, **loss).to_html()).text


def test_unknown_keys_and_quantiles_have_a_page() -> None:
    budget = tc.epsilon_delta(4, "1e-6")
    session = tc.Session(
        health_insurance(), unit=tc.unit("person", rows=5, groups=1), budget=budget
    )
    question = session.group_by("health").agg(middle=tc.median("spending", 0, 5000))
    page = Page(question.release(epsilon=4, delta="1e-6").certificate.to_html()).text
    for text in (
        "only groups above a threshold",
        "rows in rank",
        "median of spending, 1 of",
        "excellent",
    ):
        assert text in page


@pytest.mark.parametrize(
    "body",
    [{}, {"format": "tacit certificate 1"}, {"dataset": 3, "spent": []}],
)
def test_a_certificate_that_is_not_whole_has_no_page(body: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="is incomplete"):
        tc.Certificate(body).to_html()


def test_numbers_that_are_none_have_no_page(certificate: tc.Certificate) -> None:
    body = copy.deepcopy(certificate.body)
    body["chains"][0]["steps"][-1]["distance"] = "1/0"
    with pytest.raises(UsageError, match="is incomplete"):
        tc.Certificate(body).to_html()


@pytest.mark.parametrize("name", ["spent", "answer", "question", "chains", "ledger", "versions"])
def test_a_page_is_refused_where_a_part_is_missing(certificate: tc.Certificate, name: str) -> None:
    body = {key: value for key, value in certificate.body.items() if key != name}
    with pytest.raises(UsageError, match="is incomplete"):
        tc.Certificate(body).to_html()


def test_saving_by_ending(certificate: tc.Certificate, tmp_path: Path) -> None:
    certificate.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == certificate.to_html()


def test_long_lists_of_keys_are_counted() -> None:
    query = {"aggregates": [["n", {"kind": "count"}]], "by": ["k"], "where": [], "derived": []}
    told = question_words({"query": {**query, "keys": [[i] for i in range(40)]}})
    assert "40 groups that were listed beforehand" in told


def test_without_jinja2_the_error_names_the_extra(
    certificate: tc.Certificate, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _templates.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'tacit-dp\[page\]'"):
        certificate.to_html()
    with pytest.raises(MissingExtraError, match="jinja2 is not installed"):
        check_files(None, [str(tmp_path / "page.html")])
    check_files(None, [str(tmp_path / "page.json")])
    assert certificate._repr_html_() is None


def test_a_template_says_nothing_that_it_was_not_given() -> None:
    with pytest.raises(UndefinedError):
        render("tacit.report", "certificate.html", {})
