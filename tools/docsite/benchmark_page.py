"""The page of benchmarks: tables and figures made from the runs in ``benchmarks/results``."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docsite.stage import Stage
from tacit import plotting

__all__ = ["DRAWN", "draw_benchmarks"]

_MARK = re.compile(r"^<!-- drawn: (\w+) -->$", re.MULTILINE)
_FOLDER = "benchmark-figures"
_WORDS = {"epsilon_for_an_error": "epsilon for an error", "mean_by_group": "a mean by group"}


def draw_benchmarks(staged: Stage) -> None:
    """Put each table and figure where the page has its mark.

    Raises:
        KeyError: a mark that nothing is drawn for.
    """
    results = staged.root / "benchmarks" / "results"

    def drawn(mark: re.Match[str]) -> str:
        return DRAWN[mark[1]](results, staged)

    staged.write("benchmarks.md", _MARK.sub(drawn, staged.pages["benchmarks.md"]))


def _read(results: Path, name: str) -> dict[str, Any]:
    return dict(json.loads((results / f"{name}.json").read_text(encoding="utf-8")))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _ten_tasks(results: Path, staged: Stage) -> str:
    run = _read(results, "ten_tasks")
    libraries = run["libraries"]
    tasks = list(next(iter(libraries.values()))["tasks"])
    made = plotting.figure(7.5, 4.6)
    left, right = plotting.axes(made, 1, 2, share_y=True)[0]
    high = 0.8 / len(libraries)
    for index, (name, one) in enumerate(libraries.items()):
        colour = plotting.series(index).colour
        positions = [n + high * (index - (len(libraries) - 1) / 2) for n in range(len(tasks))]
        for panel, field in ((left, "lines"), (right, "seconds")):
            sizes = [one["tasks"][task].get(field, 0) for task in tasks]
            panel.barh(positions, sizes, height=high, color=colour, label=name)
    left.set_yticks(range(len(tasks)), [_WORDS.get(t, t.replace("_", " ")) for t in tasks])
    left.invert_yaxis()
    left.set_xlabel("lines")
    right.set_xlabel("seconds of CPU")
    right.legend(frameon=False, fontsize=9)
    rows = []
    for task in tasks:
        cells = [one["tasks"][task] for one in libraries.values()]
        caption = [
            f"{c['lines']} lines, {c['seconds']:.2f} s" if "seconds" in c else "not offered"
            for c in cells
        ]
        rows.append([_WORDS.get(task, task.replace("_", " ")), *caption])
    heads = [f"{name} {one['version']}" for name, one in libraries.items()]
    alt = "Lines and seconds of CPU of each task, in three libraries"
    return "\n\n".join(
        [
            _picture(made, "ten-tasks.svg", alt, staged),
            _table(["task", *heads], rows),
            f"Run on {run['date']}, Python {run['python']}, {run['cores']} cores.",
        ]
    )


def _plans(results: Path, staged: Stage) -> str:
    run = _read(results, "plans")
    ranges: Mapping[str, Mapping[str, float]] = run["ranges"]
    made = plotting.figure(7, 3)
    for index, (panel, budget) in enumerate(
        zip(plotting.axes(made, 1, 2, share_y=True)[0], next(iter(ranges.values())), strict=True)
    ):
        sizes = [errors[budget] for errors in ranges.values()]
        ours = [plotting.ACCENT if name == "Tacit" else plotting.MUTED for name in ranges]
        panel.barh(range(len(ranges)), sizes, color=ours)
        panel.set_xlabel("root mean square error")
        plotting.title(panel, budget)
        if index == 0:
            panel.set_yticks(range(len(ranges)), list(ranges))
            panel.invert_yaxis()
    rows = [[name, *(f"{e:.3f}" for e in errors.values())] for name, errors in ranges.items()]
    head = [f"all ranges of {run['cells']} cells", *next(iter(ranges.values()))]
    alt = "Errors of all ranges by strategy: Tacit is next to the lower bound at rho 1/2"
    caption = f"Run on {run['date']}, Python {run['python']}, Tacit {run['tacit']}."
    return "\n\n".join([_picture(made, "plans.svg", alt, staged), _table(head, rows), caption])


def _pairs(results: Path, staged: Stage) -> str:
    pairs = _read(results, "plans")["pairs"]
    head = ["attributes of 10 cells", "error", "lower bound"]
    row = [str(pairs["attributes"]), f"{pairs['error']:.2f}", f"{pairs['bound']:.2f}"]
    return _table(head, [row])


_MARGINALS: dict[str, tuple[str | None, str | None]] = {
    "Tacit, a plan": ("Tacit, a plan of a session", "the same, one release"),
    "Tacit, one by one, best split": ("one by one, best split", None),
    "Tacit, a plan of complete rows": (
        "without rows of unlisted values",
        "the same, one release without them",
    ),
    "Tacit, the same, none below zero": (None, "the same, none below zero"),
    "Workload of complete rows (the optimum at rho 0.1)": ("optimum for listed values", None),
}
"""Names of the lines of the run on the page: expected, and of one release."""


def _marginals(results: Path, staged: Stage) -> str:
    run = _read(results, "marginals")
    tacit, peers = run["tacit"], run["peers"]
    shown = [
        [name, *(_or_dash(tacit[b][k] if k else None) for b in tacit for k in keys)]
        for name, keys in _MARGINALS.items()
    ]
    named = {
        "opendp": "OpenDP {}, even split",
        "tumult": "Tumult Analytics {}, even split",
        "mbi": "mbi {}, complete rows",
    }
    for name, label in named.items():
        of = [peers[b].get(name) for b in peers]
        evenly = [None if name == "mbi" else tacit[b]["one by one, even split"] for b in tacit]
        pairs = zip(evenly, of, strict=True)
        cells = [_or_dash(c) for even, one in pairs for c in (even, one and one["error"])]
        shown.append([label.format(run["versions"].get(name, "")), *cells])
    budgets = list(tacit)
    heads = [f"{b}, {what}" for b in budgets for what in ("expected", "one release")]
    caption = f"Run on {run['date']}, Python {run['python']}, Tacit {run['versions']['Tacit']}."
    head = [f"{run['marginals']} marginals, {run['cells']:,} cells", *heads]
    return f"{_table(head, shown)}\n\n{caption}"


def _or_dash(error: float | None) -> str:
    return "-" if error is None else f"{error:.2f}"


def _accounting(results: Path, staged: Stage) -> str:
    run = _read(results, "accounting")
    rows = []
    for name, one in run["rows"].items():
        shown = f"{one['lower']:.6f} to {one['upper']:.6f}"
        other, took = one["dp_accounting"], one["dp_accounting seconds"]
        cells = ["-", "-"] if other is None else [f"{other:.6f}", f"{took:.2f} s"]
        rows.append([name, shown, f"{one['seconds']:.2f} s", *cells])
    head = ["composition", "Tacit, proven", "seconds", "dp_accounting", "seconds"]
    caption = f"Epsilon at delta {run['delta']}. Run on {run['date']}, Python {run['python']}."
    return f"{_table(head, rows)}\n\n{caption}"


_NAMES = {
    "tacit": "Tacit",
    "opendp": "OpenDP",
    "diffprivlib": "diffprivlib",
    "pydp": "PyDP",
    "pipelinedp": "PipelineDP",
    "smartnoise": "SmartNoise SQL",
    "tumult": "Tumult Analytics",
}


def _side_by_side(results: Path, staged: Stage) -> str:
    run = _read(results, "side_by_side")
    tasks = list(run["exact"])
    rows = []
    for name, errors in run["figures"].items():
        about = run["libraries"].get(name)
        label = f"{_NAMES[name]} {about['version']}" if about else "least known, add or remove"
        counts = sorted(set(run["runs"].get(name, {}).values()))
        runs = " to ".join(map(str, [counts[0], counts[-1]][: len(counts)])) if counts else ""
        rows.append([label, *(_error(errors.get(task)) for task in tasks), runs])
    relations = [[_NAMES[n], one["relation"]] for n, one in run["libraries"].items()]
    caption = (
        f"Run on {run['date']}, Python {run['python']}, {run['rows']:,} rows, epsilon "
        f"{run['epsilon']:g} for each answer."
    )
    return "\n\n".join(
        [
            _table(["library", *(t.replace("_", " ") for t in tasks), "runs"], rows),
            _table(["library", "neighbours"], relations),
            caption,
        ]
    )


def _error(value: float | None) -> str:
    # Far below what any run can show, a median's error is that of no run.
    return "-" if value is None else "0" if value < 1e-9 else f"{value:.3g}"


def _audit_power(results: Path, staged: Stage) -> str:
    run = _read(results, "audit_power")
    rows = [
        [name, one["true"] or "-", *(f"{one[k]:.3g}" if k in one else "-" for k in _POWER)]
        for name, one in run["rows"].items()
    ]
    head = ["mechanism", "true epsilon", "published", "best bet", "no test above", "ours"]
    caption = (
        f"{run['runs on each side']:,} runs on each side. Run on {run['date']}, "
        f"Python {run['python']}."
    )
    return f"{_table(head, rows)}\n\n{caption}"


_POWER = ("published", "best bet", "no test", "ours")


def _picture(made: Any, name: str, alt: str, staged: Stage) -> str:
    out = io.BytesIO()
    made.savefig(out, format="svg", metadata={"Date": None})
    staged.put(f"{_FOLDER}/{name}", out.getvalue())
    return f"![{alt}]({_FOLDER}/{name})"


DRAWN = {
    "ten_tasks": _ten_tasks,
    "plans": _plans,
    "pairs": _pairs,
    "marginals": _marginals,
    "accounting": _accounting,
    "side_by_side": _side_by_side,
    "audit_power": _audit_power,
}
"""Legend of the marks of the page."""
