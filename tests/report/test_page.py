"""The page for a reviewer: complete, self-contained, escaped, and honest about failures."""

from __future__ import annotations

import copy
import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

import tacit as tc
from support.page_reader import Page
from support.servers.left_out import reason
from tacit.cli.shared.output import check_files
from tacit.data import health_insurance
from tacit.display.card import _templates, render
from tacit.errors import MissingExtraError, UsageError
from tacit.report.text import (
    answer_words,
    bins_words,
    budget_words,
    column_words,
    condition_words,
    declared_words,
    distance_words,
    join_words,
    number,
    people_words,
    person_words,
    question_words,
    step_words,
    unit_words,
    value_words,
    words_of_step,
)

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
        "Draw 2 values at random, below and above each rank",
        "median of spending",
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


# A certificate on paper: nothing is cut off, and no heading is parted from its chart.


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PDFTOTEXT = shutil.which("pdftotext")
SITES = [1, 2, 3, 4, 5, 6]
ANSWERS = ("first", "second", "third", "fourth", "fifth", "sixth")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    ledger = tmp_path_factory.mktemp("paper") / "ledger"
    unit = tc.unit("person", rows=5, groups=1)
    session = tc.Session(health_insurance(), unit=unit, budget=tc.epsilon(1), ledger=ledger)
    asked = {name: tc.mean("visits", 0, 20 + i) for i, name in enumerate(ANSWERS)}
    answer = session.group_by("site", keys=SITES).agg(**asked).release(epsilon=1)
    return answer.certificate.to_html()


def printed(page: str, folder: Path) -> list[list[str]]:
    """Return the lines of every page of paper."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    assert CHROMIUM is not None
    assert PDFTOTEXT is not None
    flags = (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *("--no-pdf-header-footer", f"--user-data-dir={folder / 'profile'}"),
    )
    paper, source = folder / "page.pdf", (folder / "page.html").as_uri()
    done = [CHROMIUM, *flags, f"--print-to-pdf={paper}", source]
    subprocess.run(done, check=True, capture_output=True, timeout=120)
    text = subprocess.run(
        [PDFTOTEXT, "-layout", str(paper), "-"], check=True, capture_output=True, text=True
    ).stdout
    pages = [
        [line.strip() for line in one.splitlines() if line.strip()] for one in text.split("\f")
    ]
    return [lines for lines in pages if lines]


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(PDFTOTEXT is None, reason=reason("pdftotext", "apt-get install poppler-utils"))
@pytest.mark.parametrize("lines", [0, 3, 6, 9, 12, 15])
def test_a_heading_stays_with_its_chart(page: str, lines: int, tmp_path: Path) -> None:
    """Wherever on the paper it comes to stand: what is above it is made longer."""
    pushed = page.replace("<h2>The answers</h2>", "<p>more</p>" * lines + "<h2>The answers</h2>")
    assert (pushed == page) == (lines == 0)
    pages = printed(pushed, tmp_path)
    for one in pages:
        assert one[-1] not in ANSWERS
        assert not one[-1].startswith("the mean of visits")
        if "All values" in one:
            assert one.index("All values") < len(one) - 2


@pytest.mark.full
@pytest.mark.xdist_group("browser")
@pytest.mark.skipif(CHROMIUM is None, reason=reason("chromium", "apt-get install chromium"))
@pytest.mark.skipif(PDFTOTEXT is None, reason=reason("pdftotext", "apt-get install poppler-utils"))
def test_all_values_of_many_answers_are_on_the_paper(page: str, tmp_path: Path) -> None:
    words = [line.split() for lines in printed(page, tmp_path) for line in lines]
    rows = [line for line in words if len(line) >= 5 and line[1:2] and line[1] in ANSWERS]
    assert len(rows) == len(SITES) * len(ANSWERS)
    assert all(line[-2] == "to" for line in rows)


# A release in words: digits that the error allows, and sentences of what was asked of whom.


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (-4385, None, "−4,385"),
        (0.0, None, "0"),
        (0.0, 0.02, "0.000"),
        (3.14159, 0.5, "3.14"),
        (-3.14159, 0.05, "−3.142"),
        (1234567.891, 1000.0, "1,234,568"),
        (1e-12, 1e-13, "1e−12"),
        (math.inf, 1.0, "inf"),
        (2.5, math.inf, "2.5000"),
        (12, 1000.0, "12"),  # whole numbers keep their digits
    ],
)
def test_a_number_has_two_digits_of_its_error(value: Any, error: Any, shown: str) -> None:
    assert number(value, error) == shown


def test_whole_counts_have_whole_ends_outside_of_the_interval() -> None:
    assert value_words(10, 4.0, 2.5, 17.2) == ("10", "2", "18")
    assert value_words(10, 4.0, None, None) == ("10", "–", "–")
    assert value_words(10.0, 4.0, 2.5, 17.2) == ("10", "2", "18")
    assert value_words(10.0, 0.5, 9.1, 10.9) == ("10.00", "9.10", "10.90")
    assert value_words(10.5, 4.0, 2.5, 17.2) == ("10.5", "2.5", "17.2")
    assert value_words(None, None, None, None) == ("–", "–", "–")


def query(**more: Any) -> dict[str, Any]:
    plain = {"aggregates": [["n", {"kind": "count"}]], "by": [], "keys": None, "where": []}
    return {"query": {**plain, "derived": [], **more}}


def test_groups_are_listed_while_they_are_few() -> None:
    few = query(by=["site", "sex"], keys=[["a", "f"], [None, "m"]])
    assert question_words(few) == "The number of rows; for each site and sex: a / f, None / m"
    many = query(by=["site"], keys=[[i] for i in range(13)])
    assert question_words(many).endswith("for each site (13 groups that were listed beforehand)")
    found = query(by=["site"], keys=None)
    assert question_words(found).endswith("(only groups above a threshold of people)")


def test_filters_columns_tables_and_weights_are_told() -> None:
    asked = query(
        where=[(tc.col("age") >= 18).to_json()],
        derived=[["double", (tc.col("pay") * 2).to_json()]],
        tables=[["visits", "person"], ["patients", "id"]],
        table="visits",
        weights=[["n", "1/3"]],
    )
    assert question_words(asked) == (
        "The number of rows; of the table visits; only rows where age >= 18; double is pay * 2; "
        "the privacy loss is split by the weights n 1/3"
    )


def test_people_made_of_rows_are_told() -> None:
    inner = {"where": [], "derived": [], "aggregates": [["cost", {"kind": "count"}]]}
    asked = query(inner=inner, where=[(tc.col("cost") > 1).to_json()])
    assert question_words(asked) == (
        "The number of rows; of people, one row each; cost is the number of the person's rows; "
        "only people where cost > 1"
    )
    mean = {"kind": "mean", "column": "cost", "lower": "0", "upper": "9"}
    assert person_words(mean) == "the person's mean of cost (values clamped to [0, 9])"


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (
            (tc.col("a") > 1) & ((tc.col("b") < 2) | (tc.col("c") == 3)),
            "a > 1 and (b < 2 or c == 3)",
        ),
        (~(tc.col("a") > 1), "not a > 1"),
        (~((tc.col("a") > 1) & (tc.col("b") < 2)), "not (a > 1 and b < 2)"),
        (tc.col("a").is_in(["x", "y"]), "a in ('x', 'y')"),
        (tc.col("a").cut([0, 1, 2]), "a cut into [0, 1), [1, 2]"),
        (tc.col("a") + 1, "a + 1"),
    ],
    ids=str,
)
def test_a_condition_is_written_with_words(condition: Any, words: str) -> None:
    assert condition_words(condition) == words


def test_a_unit_says_what_counts_of_a_person() -> None:
    told = unit_words({"column": "person", "rows": 5, "groups": 1})
    assert "at most 5 rows per person count" in told
    assert "present in at most one group" in told
    assert "one row per person" in unit_words({"column": "p", "rows": 1, "groups": 2})


def test_joins_say_by_what_and_who_is_left_out() -> None:
    join = {"table": "patients", "how": "left", "on": [["person", "id"]], "most": 3}
    assert join_words(join) == (
        "patients by the person (person = id; a person with more than 3 rows there has no match); "
        "rows without a match are kept"
    )


def test_bounds_and_methods_are_told_and_nothing_where_there_are_none() -> None:
    assert column_words("the mean", {}) == "the mean"
    asked = {"lower": "-1/2", "upper": "3", "method": {"name": "ptr"}}
    assert column_words("the mean", asked).endswith(", after a private test, which may refuse")
    assert bins_words("{column}: {bins}", {"column": "a", "edges": ["0", "1"]}) == "a: 1: [0, 1]"


def test_what_goes_beyond_a_declaration_is_told_once() -> None:
    asked = {
        "by": ["site"],
        "aggregates": [["x", {"column": "cost", "lower": "-1", "upper": "5"}]] * 2,
    }
    declared = {"cost": {"bounds": ["0", "9"]}, "site": {"keys_beyond": list(range(15))}}
    beyond, keys = declared_words(declared, asked)
    assert beyond == "cost is clamped to [-1, 5], beyond the declared [0, 9]"
    assert keys.endswith("10, 11 and 3 more are not among the declared categories")
    within = {"by": [], "aggregates": [["x", {"column": "cost", "lower": "1", "upper": "9"}]]}
    assert declared_words({"cost": {"bounds": ["0", "9"]}}, within) == []


def test_budgets_and_people_are_told_without_what_they_lack() -> None:
    assert budget_words(tc.epsilon("1/2")) == "epsilon 0.5"
    assert "1e-06" in budget_words(tc.epsilon_delta(1, "1e-6")) or "delta" in budget_words(
        tc.epsilon_delta(1, "1e-6")
    )
    assert people_words([["visits", None]]) == "visits by the row"


# Words of answers and steps: found where they are made, loaded when they are asked for.


ALONE = """
import json, sys
from tacit.report.text import question_words
from tacit.report.text import step_words
before = "tacit.tables.statistics" in sys.modules
asked = {"aggregates": [["x", {"kind": "median", "column": "x", "lower": "0", "upper": "9"}]]}
asked |= {"by": [], "keys": None, "where": [], "derived": []}
print(json.dumps([before, question_words({"query": asked}), step_words({"step": "count_rows"})]))
"""


@pytest.mark.full
def test_words_are_there_before_any_table_was_opened() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, check=True, text=True)
    before, question, step = json.loads(done.stdout)
    assert not before
    assert question.startswith("The median of x")
    assert step == "Count the rows"


def test_what_nobody_has_words_for() -> None:
    assert words_of_step("nothing") is None
    assert step_words({"step": "nothing"}) == "nothing"
    assert distance_words({"step": "nothing", "distance": "1"}, "PureDP", False) == "1 row in all"
    with pytest.raises(LookupError):
        answer_words("nothing")
