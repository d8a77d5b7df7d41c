"""The gallery has every figure; the page of benchmarks has every run that is kept."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GALLERY = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
RESULTS = ROOT / "benchmarks" / "results"
PLOTS = {
    "Answer.plot": {"answer", "histogram"},
    "PeriodAnswer.plot": {"over-time"},
    "Sensitivity.plot": {"sensitivity"},
    "SensitivityTable.plot": {"table"},
    "Profile.plot": {"profile"},
    "Measurement.plot": {"outputs"},
    "Measurement.plot_privacy_loss": {"losses"},
    "Measurement.plot_tradeoff": {"tradeoff"},
    "TradeoffFunction.plot": {"guarantee"},
    "plot_accuracy": {"accuracy"},
    "Comparison.plot": {"compare"},
    "EpsilonChoice.plot": {"epsilon"},
    "PlannedQuestions.plot": {"plan"},
    "History.plot": {"budget"},
    "Choice.plot": {"choose"},
    "Estimate.plot": {"estimate"},
}
"""What draws, and its pictures in the gallery."""


def drawing() -> set[str]:
    """Every method and function of Tacit that gives a figure to whoever asks for it."""
    found = set()
    for path in (ROOT / "src" / "tacit").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body if "-> Figure:" in text else ():
            inside = node.body if isinstance(node, ast.ClassDef) else [node]
            owner = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
            found |= {
                f"{owner}{one.name}"
                for one in inside
                if isinstance(one, ast.FunctionDef)
                and re.fullmatch(r"plot(_\w+)?", one.name)
                and one.returns is not None
                and ast.unparse(one.returns) == "Figure"
            }
    return found


def test_the_gallery_has_every_figure() -> None:
    assert drawing() == set(PLOTS)
    saved = re.findall(r'\.savefig\("([\w-]+)\.svg"\)', GALLERY)
    assert sorted(saved) == sorted(name for names in PLOTS.values() for name in names)


def test_every_call_stands_under_a_sentence_that_describes_its_picture() -> None:
    blocks = re.findall(r"^([^\n]*)\n\n```python[^\n]*\n(.*?)^```$", GALLERY, re.M | re.S)
    drawn = [said for said, code in blocks if ".savefig(" in code]
    assert len(drawn) == sum(map(len, PLOTS.values()))
    assert all(said.endswith(":") and len(said) > 20 for said in drawn)


def test_the_page_of_benchmarks_draws_every_run_that_is_kept() -> None:
    kept = {path.stem for path in RESULTS.glob("*.json")}
    marks = re.findall(r"^<!-- drawn: (\w+) -->$", BENCHMARKS, flags=re.MULTILINE)
    assert set(marks) - {"pairs"} == kept
    for path in RESULTS.glob("*.json"):
        run = json.loads(path.read_text(encoding="utf-8"))
        assert {"date", "python"} <= set(run), path.name


@pytest.mark.full
def test_the_errors_of_ranges_are_those_of_the_run() -> None:
    from tacit import workload
    from tacit.workload.strategies import block_tree, identity, wavelet

    run = json.loads((RESULTS / "plans.json").read_text(encoding="utf-8"))
    asked = workload.ranges(run["cells"])
    others = [identity(run["cells"], "L2"), wavelet(run["cells"], "L2")]
    others += [block_tree(run["cells"], branching, "L2") for branching in (2, 16)]
    found = {one.name: float(asked.error_of(one, rho="1/2")) for one in others}
    found["lower bound"] = float(asked.lower_bound(rho="1/2"))
    found["Tacit"] = float(asked.expected_error(rho="1/2"))
    stated = {name: errors["rho 1/2"] for name, errors in run["ranges"].items()}
    assert stated == pytest.approx(found, rel=1e-3)
    assert found["lower bound"] <= found["Tacit"] <= min(found[one.name] for one in others)
