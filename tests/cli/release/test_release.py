"""``tacit release`` and ``tacit preview``: what they print, write, spend and replay."""

from __future__ import annotations

import csv
import io
import os
import shlex
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from support.servers.left_out import reason
from tacit import Certificate
from tacit.accounting import open_ledger
from tacit.display.card import _templates

ENDS = ("error", "low", "high")
RELEASE = "release people.csv --one-row-each --count --mean age:0:100 --epsilon 0.5"


def test_release_prints_the_answer_and_keeps_the_budget(tacit, folder: Path) -> None:
    done = tacit(f"{RELEASE} --budget-epsilon 2")
    assert done.code == 0
    assert "count" in done.out
    assert "mean_age" in done.out
    assert "spent epsilon 0.5; epsilon 1.5 is left of epsilon 2" in done.err
    with open_ledger(folder / "people.ledger") as ledger:
        assert str(ledger.remaining) == "epsilon 1.5"


def test_the_same_release_is_free_and_the_same(tacit) -> None:
    first = tacit(f"{RELEASE} --json").json
    again = tacit(f"{RELEASE} --json").json
    assert again["releases"][0]["replayed"]
    assert again["releases"][0]["answers"] == first["releases"][0]["answers"]
    assert again["remaining"] == first["remaining"]
    assert first["remaining"] == {"kind": "pure", "epsilon": 0, "exact": {"epsilon": "0"}}


@pytest.mark.full
def test_a_tag_makes_another_release(tacit) -> None:
    assert tacit(f"{RELEASE} --budget-epsilon 1").code == 0
    assert tacit(f"{RELEASE} --tag july --json").json["remaining"]["exact"]["epsilon"] == "0"


def test_json_has_one_record_a_group(tacit) -> None:
    done = tacit(f"{RELEASE} --by site --keys a,b,c --json").json
    records = done["releases"][0]["answers"]
    assert [record["key"] for record in records] == [{"site": s} for s in "abc"]
    for record in records:
        for label in ("count", "mean_age"):
            part = record[label]
            assert part["low"] <= part["value"] <= part["high"]
            assert part["standard_error"] > 0


def test_the_formats_of_official_statistics(tacit, folder: Path) -> None:
    groups = f"{RELEASE} --by site --keys a,b"
    done = tacit(f"{groups} --json").json["releases"][0]["answers"]
    counts = [record["count"]["value"] for record in done]
    sdmx = tacit(
        f"{groups} --format sdmx-csv --structure ME:S(1.0) --ids site=REF_AREA,statistic=IND "
        "--constants FREQ=A --labels count"
    )
    rows = list(csv.DictReader(io.StringIO(sdmx.out)))
    assert [int(row["OBS_VALUE"]) for row in rows] == counts
    assert [row["REF_AREA"] for row in rows] == ["a", "b"]
    assert (rows[0]["FREQ"], rows[0]["IND"]) == ("A", "count")
    data = tacit(f"{groups} --format json-stat --time site").json
    assert data["value"][::8] == counts
    assert data["role"]["time"] == ["site"]
    assert tacit(f"{groups} --format px").out.startswith('CHARSET="ANSI";\n')
    wrote = tacit(f"{groups} --format csvw --output sites.csv")
    assert "wrote sites.csv\nwrote sites.csv-metadata.json" in wrote.err
    assert (folder / "sites.csv").read_text() == tacit(f"{groups} --csv").out
    assert '"url": "sites.csv"' in (folder / "sites.csv-metadata.json").read_text()


@pytest.mark.full
@pytest.mark.skipif(
    shutil.which("Rscript") is None, reason=reason("R", "apt-get install r-cran-haven")
)
def test_r_reads_the_csv(tacit, folder: Path) -> None:
    # As docs/how-to/r-and-the-command-line.md reads it.
    sites = ["0101", "NA", "T", 'a "b", c', "été"]
    rows = [f"{place},{site}" for site in sites for place in range(400)]
    quoted = [row.replace('a "b", c', '"a ""b"", c"') for row in rows]
    (folder / "sites.csv").write_text("\n".join(["n,site", *quoted]), encoding="utf-8")
    (folder / "keys.csv").write_text(
        "\n".join(["site", *(q.partition(",")[2] for q in quoted[::400])]), encoding="utf-8"
    )
    done = tacit(
        "release sites.csv --one-row-each --count --by site --keys-file keys.csv --epsilon 9 --csv"
    )
    (folder / "out.csv").write_text(done.out, encoding="utf-8")
    (folder / "read.R").write_text(
        'x <- read.csv("out.csv", colClasses = c(site = "character"), na.strings = "",\n'
        '  check.names = FALSE, encoding = "UTF-8")\n'
        'for (i in seq_len(nrow(x))) cat(x$site[i], x$count[i], x$count_error[i], sep = "|",\n'
        "  fill = TRUE)\n"
        "cat(names(x))\n",
        encoding="utf-8",
    )
    read = subprocess.run(
        ["Rscript", "read.R"], cwd=folder, capture_output=True, text=True, timeout=60,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    assert read.returncode == 0, read.stderr
    *lines, names = read.stdout.splitlines()
    table = list(csv.DictReader(io.StringIO(done.out)))
    assert names.split() == list(table[0]) == ["site", "count", *(f"count_{x}" for x in ENDS)]
    assert sorted(line.split("|")[0] for line in lines) == sorted(sites)
    for line, row in zip(lines, table, strict=True):
        site, count, error = line.split("|")
        assert (site, count) == (row["site"], row["count"])
        assert float(error) == pytest.approx(float(row["count_error"]), rel=1e-6)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--format sdmx-csv", "--structure 'AGENCY:ID(1.0)'"),
        ("--format sdmx", "did you mean 'sdmx-csv'"),
        ("--format px --csv", "print --csv or a --format"),
        ("--format px --names", "names is an option of sdmx-csv"),
        ("--format csvw", "--output t.csv"),
        ("--format px --output no/t.px", "there is no folder no"),
        ("--structure ME:S(1.0)", "an option of --format"),
        ("--format sdmx-csv --structure ME:S(1.0) --ids site", "--ids: write NAME=VALUE"),
    ],
)
def test_a_format_that_cannot_be_written_costs_nothing(tacit, folder, flags, words) -> None:
    refused = tacit(f"{RELEASE} --by site --keys a,b {flags}")
    assert refused.code == 2
    assert words in refused.err
    assert not (folder / "people.ledger").exists()


def test_csv_is_a_table(tacit) -> None:
    done = tacit(f"{RELEASE} --by site --keys a,b --csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["site"] for row in rows] == ["a", "b"]
    assert {"count", "count_error", "mean_age_low", "mean_age_high"} <= set(rows[0])


def test_unknown_keys_take_a_delta(tacit) -> None:
    refused = tacit("release people.csv --one-row-each --count --by site --epsilon 1")
    assert refused.code == 2
    assert "--keys" in refused.err
    assert "--delta" in refused.err
    done = tacit(
        "release people.csv --one-row-each --count --by site --epsilon 5 --delta 1e-6 --json"
    )
    assert [r["key"]["site"] for r in done.json["releases"][0]["answers"]] == ["a", "b", "c"]


def test_rho_pays_from_a_rho_budget(tacit) -> None:
    done = tacit("release people.csv --one-row-each --count --rho 0.1 --budget-rho 1/5 --json").json
    assert done["remaining"]["kind"] == "concentrated"
    # The scale is rational, so a little may be left over.
    left = Fraction(done["remaining"]["exact"]["rho"])
    assert 0 <= left - Fraction(1, 10) < Fraction(1, 10**12)


@pytest.mark.full
def test_certificates_and_plots_are_written(tacit, folder: Path) -> None:
    done = tacit(f"{RELEASE} --certificate c.json --certificate c.html --plot p.png")
    assert done.code == 0
    assert Certificate.load(folder / "c.json").verify()
    assert (folder / "c.html").read_text().startswith("<!DOCTYPE html>")
    assert (folder / "p.png").read_bytes().startswith(b"\x89PNG")
    assert done.err.count("wrote ") == 3


def test_what_was_paid_for_is_printed_where_no_plot_can_be_drawn(tacit, folder: Path) -> None:
    done = tacit(f"{RELEASE} --by age --keys 0..99 --plot p.png --csv")
    assert done.code == 0
    assert len(done.out.splitlines()) == 101
    assert "No plot was drawn: a figure shows 1 to 80 groups" in done.err
    assert not (folder / "p.png").exists()


# ``--method`` and its options, as flags and in a plan.


DELTA = "--epsilon 4 --delta 1e-6"


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "how",
    [
        "--method smooth",
        "--method smooth --distribution cauchy",
        "--method ptr --bound 10",
        pytest.param("--method ptr --bound search", marks=pytest.mark.full),
        "--method sample_and_aggregate --bins 20",
        pytest.param("--method auto", marks=pytest.mark.full),
        pytest.param("--method auto --bins 20 --bound 1/2", marks=pytest.mark.full),
    ],
)
def test_a_release_by_each_method(tacit, folder: Path, how: str) -> None:
    asked = (
        f"release people.csv --one-row-each --count --median age:0:100 --percentile "
        f"age:75:0:100 {how} {DELTA}"
    )
    done = tacit(f"{asked} --certificate c.json --certificate c.html")
    assert done.code == 0, done.err
    assert "median_age" in done.out
    certificate = Certificate.load("c.json")
    assert certificate.verify()
    asked_by = [c["method"]["asked"] for c in certificate.body["answer"]["columns"][1:]]
    assert asked_by == [how.split()[1]] * 2
    again = tacit(f"{asked} --json").json["releases"][0]
    assert again["replayed"]


def test_what_the_test_refuses_is_told_and_paid_for(tacit) -> None:
    asked = (
        "release people.csv --one-row-each --mean age:0:100 --by site --keys a,none "
        "--method ptr --bound 0.01"
    )
    done = tacit(f"{asked} {DELTA}")
    assert done.code == 0
    assert done.out.count("refused") == 2
    told = tacit(f"{asked} {DELTA} --json").json
    cell = told["releases"][0]["answers"][0]["mean_age"]
    assert cell == {
        "value": None, "standard_error": None, "low": None, "high": None, "refused": True
    }  # fmt: skip
    assert told["remaining"]["exact"]["epsilon"] == "0"


@pytest.mark.full
def test_a_preview_names_the_choice(tacit) -> None:
    done = tacit(f"preview people.csv --one-row-each --std age:0:100 --method auto {DELTA}")
    assert "std_age: smooth, by the expected error at 10000 rows of 4 shapes: global" in done.out


@pytest.mark.full
def test_a_preview_names_the_refusals(tacit) -> None:
    done = tacit(
        f"preview people.csv --one-row-each --std age:0:100 --method ptr --bound 1 {DELTA}"
    )
    assert "std_age: refused with probability" in done.out
    told = tacit(
        f"preview people.csv --one-row-each --std age:0:100 --method ptr --bound 1 {DELTA} --json"
    ).json
    assert told["previews"][0]["methods"] == {"std_age": "ptr, bound 1"}
    assert 0 < told["previews"][0]["refusals"]["std_age"][0] <= 1


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("--median age:0:100 --method smoth", "did you mean 'smooth'"),
        ("--median age:0:100 --method ptr", "bound"),
        ("--median age:0:100 --bound 1", "method='ptr'"),
        ("--count --method smooth", "none is asked"),
        ("--sum age:0:100 --bins 10", "none is asked"),
        ("--median age:0:100 --method sample_and_aggregate --bins 1", "at least 2"),
        ("--median age:0:100 --method ptr --bound 1", "delta"),
    ],
)
def test_bad_methods_are_refused_before_a_ledger_is_begun(
    tacit, folder: Path, asked: str, hint: str
) -> None:
    done = tacit(f"release people.csv --one-row-each {asked} --epsilon 1")
    assert done.code == 2
    assert hint in done.err
    assert not (folder / "people.ledger").exists()


@pytest.mark.full
def test_a_plan_has_methods_too(tacit, folder: Path) -> None:
    plan = """
unit = "row"
[source]
path = "people.csv"
[budget]
epsilon = 9
delta = "1e-4"
[[question]]
epsilon = 9
delta = "1e-5"
certificate = "c.json"
[question.answers]
mid = { statistic = "median", column = "age", lower = 0, upper = 9, method = "auto", rows = 600 }
tested = { statistic = "mean", column = "age", lower = 0, upper = 100, method = "ptr", bound = 20 }
"""
    (folder / "plan.toml").write_text(plan)
    done = tacit("release --plan plan.toml")
    assert done.code == 0, done.err
    body = Certificate.load("c.json").body
    assert body["answer"]["columns"][0]["method"]["rows"] == 600
    (folder / "plan.toml").write_text(plan.replace("method", "methods"))
    assert "did you mean 'method'" in tacit("release --plan plan.toml").err
    (folder / "plan.toml").write_text(plan.replace('"mean"', '"sum"'))
    assert "has a field 'method'" in tacit("release --plan plan.toml").err


# How a CSV file is written, said in flags and in a plan with the same words as in Python.


FLAGS = shlex.split(
    "release odd.csv --delimiter ';' --header age,day --null - --types day=date --date-format "
    "%d.%m.%Y --encoding latin-1 --one-row-each --count --epsilon 100000 --yes --json --where"
)
WHERE = "day >= '2024-01-01'"


@pytest.mark.parametrize(
    "words", [[*FLAGS, WHERE], ["release", "--plan", "plan.toml", "--yes", "--json"]]
)
def test_flags_and_a_plan_say_the_same(tacit, odd, words):
    done = tacit(*words)
    assert done.code == 0, done.err
    (answer,) = done.json["releases"][0]["answers"]
    assert round(answer["n" if "--plan" in words else "count"]["value"]) == 3


def test_a_record_in_the_place_of_the_names_is_said(tacit, odd):
    done = tacit("preview odd.csv --count --epsilon 1")
    assert "--delimiter ';'" in done.err or "may be a record" in done.err


# A table in PostgreSQL, published from the terminal.


@pytest.fixture
def visits(postgres):
    postgres.run(
        "create table visits (patient int, ward text, cost float8)",
        "insert into visits select i % 100, 'w' || i % 3, i from generate_series(1, 1000) i",
    )
    return postgres


def test_a_release_from_a_server(tacit, visits):
    asked = ["release", visits.dsn(), "--table", "visits", "--person", "patient", "--rows", "10"]
    rest = ["--by", "ward", "--keys", "w0,w1,w2", "--count", "--mean", "cost:0:1000"]
    paid = ["--epsilon", "0.5", "--budget-epsilon", "1", "--ledger", "visits.ledger"]
    done = tacit(*asked, *rest, *paid)
    assert done.code == 0, done.err
    assert "epsilon 0.5 is left" in done.out + done.err
    assert visits.server.password not in done.out + done.err


def test_without_a_ledger_the_refusal_shows_no_password(tacit, visits):
    done = tacit(
        "release", visits.dsn(), "--table", "visits", "--one-row-each", "--count", "--epsilon", "1"
    )
    assert done.code == 2
    assert "--ledger" in done.err
    assert visits.server.password not in done.out + done.err


# ``tacit demo``: quick, complete, and the same again at no cost.


@pytest.mark.full
def test_demo_writes_all_that_it_says(tacit, folder: Path) -> None:
    done = tacit("demo --out show")
    assert done.code == 0, done.err
    names = {path.name for path in (folder / "show").iterdir()}
    for stem in ("by-site", "by-plan"):
        assert {f"{stem}.json", f"{stem}.html", f"{stem}.png"} <= names
        assert Certificate.load(folder / "show" / f"{stem}.json").verify()
    for text in ("visits", "spending", "site", "plan", "Left of the budget: epsilon 0.5"):
        assert text in done.out
    again = tacit("demo --out show")
    assert again.code == 0
    assert again.out.count("the same answer again, free") == 2
    with open_ledger(folder / "show" / "health.ledger") as ledger:
        assert str(ledger.spent) == "epsilon 1.5"


@pytest.mark.full
def test_demo_without_matplotlib(tacit, folder: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = tacit("demo")
    assert (done.code, done.err) == (0, "")
    assert ".png" not in done.out
    assert not list((folder / "tacit-demo").glob("*.png"))
    for page in ("by-site.html", "by-plan.html"):
        assert "<svg" in (folder / "tacit-demo" / page).read_text(encoding="utf-8")


@pytest.mark.full
def test_demo_without_jinja2(tacit, folder: Path, monkeypatch) -> None:
    _templates.cache_clear()
    monkeypatch.setitem(sys.modules, "jinja2", None)
    done = tacit("demo")
    assert (done.code, done.err) == (0, "")
    assert "by-site.html" not in done.out
    assert not list((folder / "tacit-demo").glob("*.html"))


def test_demo_where_nothing_can_be_written(tacit, folder: Path) -> None:
    (folder / "file").touch()
    done = tacit("demo --out file")
    assert done.code == 2
    assert "--out" in done.err


@pytest.mark.full
def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom tacit.cli import run\nrun(['--help'])\n"
        "heavy = {'duckdb', 'numpy', 'matplotlib', 'pandas', 'sqlite3'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
