"""``tacit demo``: quick, complete, and the same again at no cost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tacit import Certificate
from tacit.accounting import open_ledger
from tacit.display.card import _templates


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
