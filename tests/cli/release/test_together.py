"""Questions of a plan file that are answered together."""

from pathlib import Path

import pytest

from tacit.cli.release.plan_file import read_plan
from tacit.errors import UsageError

PLAN = """
unit = "row"

[source]
path = "rows.csv"
types = {{ sex = "text", age = "integer" }}

[budget]
rho = 1000
ledger = "rows.ledger"

[together]
rho = 100
weights = {{ n = 2 }}
unlisted = "drop"
certificate = "all.json"
{more}

[[question]]
name = "all"
[question.answers]
n = {{ statistic = "count" }}

[[question]]
name = "by sex"
by = "sex"
keys = ["f", "m"]
{own}
[question.answers]
m = {{ statistic = "count" }}
age = {{ statistic = "mean", column = "age", lower = 0, upper = 100 }}
"""


@pytest.fixture(autouse=True)
def table(folder: Path) -> None:
    rows = [f"{'fmx'[i % 3]},{i}" for i in range(90)]
    (folder / "rows.csv").write_text("sex,age\n" + "\n".join(rows) + "\n")


def plan_in(folder, more="", own=""):
    (folder / "plan.toml").write_text(PLAN.format(more=more, own=own))
    return str(folder / "plan.toml")


def test_they_have_one_price_one_certificate_and_near_answers(tacit, folder):
    plan = plan_in(folder)
    assert tacit("preview", "--plan", plan).code == 0
    told = tacit("release", "--plan", plan, "--yes", "--json").json
    whole, by_sex = told["releases"]
    assert [whole["name"], by_sex["name"]] == ["all", "by sex"]
    assert whole["digest"] == by_sex["digest"]
    assert abs(whole["answers"][0]["n"]["value"] - 60) < 3
    for place, record in enumerate(by_sex["answers"]):
        assert abs(record["m"]["value"] - 30) < 3
        assert abs(record["age"]["value"] - (43.5 + place)) < 3
    assert tacit("verify", str(folder / "all.json")).code == 0
    again = tacit("release", "--plan", plan, "--yes", "--json").json
    assert all(each["replayed"] for each in again["releases"])
    assert again["remaining"] == told["remaining"]
    assert "by sex" in tacit("release", "--plan", plan, "--yes").out
    assert tacit("release", "--plan", plan, "--yes", "--csv").code == 2


@pytest.mark.parametrize(
    ("more", "own", "said"),
    [
        ("", "rho = 1", r"leave epsilon, delta, rho, total, tag out of the \[\[question\]\]"),
        ("weight = 1", "", "weight"),
        ("epsilon = { n = 1 }", "", "one epsilon or rho"),
    ],
)
def test_what_does_not_go_together_is_refused(folder, more, own, said):
    with pytest.raises(UsageError, match=said):
        read_plan(plan_in(folder, more, own))


def test_a_price_is_needed(folder):
    text = PLAN.format(more="", own="").replace("rho = 100\n", "")
    (folder / "plan.toml").write_text(text)
    with pytest.raises(UsageError, match="says what all questions may spend"):
        read_plan(str(folder / "plan.toml"))
