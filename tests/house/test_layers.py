"""Layers: a package imports from lower layers, never from its own or from above.

The same holds for the folders of a package, and no modules import each other in a circle.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from house.project import ROOT, circles, graph, modules

LAYERS = (
    ("errors",),
    ("calls", "plotting", "outside", "postgres", "data", "display"),
    ("arithmetic",),
    ("noise",),
    ("expressions",),
    ("statistics",),
    ("core",),
    ("local",),
    ("transformations",),
    ("accounting",),
    ("mechanisms", "workload"),
    ("report",),
    ("tables",),
    ("framework", "sql", "sklearn", "learn"),
    ("client", "service"),
    ("audit",),
    ("cli",),
)
"""The packages by layer, the lowest first; those of one layer do not import each other."""

FOLDERS: dict[str, tuple[str, ...]] = {
    "accounting": (
        "budget",
        "choose_epsilon",
        "gaussian_filter",
        "odometer",
        "ledger_chain",
        "ledger",
        "ledger_postgres",
        "ledger_sqlite",
        "open_ledger",
    ),
    "audit": (
        "compared_mechanisms",
        "comparison",
        "exact",
        "features",
        "bets",
        "events",
        "replay",
        "sampled",
        "attack_suite",
        "search",
        "verify",
    ),
    "audit.attack_suite": ("system", "cases", "systems", "run"),
    "audit.attack_suite.systems": (
        "tacit_framework",
        "tacit_local",
        "tacit_session",
        "tacit_postgres",
        "tacit_service",
        "tacit_spark",
    ),
    "cli": ("shared", "sensitivity", "release", "local", "service", "audit", "app"),
    "client": ("transport", "remote_question", "connection"),
    "core": (
        "divergences",
        "losses",
        "measures",
        "domains",
        "metrics",
        "outputs",
        "renyi",
        "conversions",
        "space",
        "tradeoff",
        "transformation",
        "measurement",
        "composition",
    ),
    "core.losses": (
        "base",
        "lattice",
        "summands",
        "contour",
        "tilted_sum",
        "composition",
        "distribution",
        "ranges",
        "two_outcomes",
        "best_run",
        "additive_noise",
        "sampling",
        "groups",
    ),
    "data": (),
    "expressions": (
        "dialect",
        "schema",
        "functions",
        "operations",
        "expression",
        "value_range",
        "grid",
        "timeline",
    ),
    "local": (
        "items",
        "estimate",
        "hashing",
        "oracle",
        "random_bits",
        "frequency",
        "numeric",
        "planning",
        "attributes",
        "poisoning",
        "ranges_and_sets",
        "wire",
        "batch_file",
        "collector",
        "device",
        "rappor",
    ),
    "mechanisms": (
        "adaptive_composition",
        "local_statistic",
        "output_distribution",
        "grid_noise",
        "additive",
        "calibration",
        "continual_counting",
        "noisy_max",
        "partition_selection",
        "private_quantile",
        "aggregators",
        "private_selection",
        "randomized_response",
        "smooth_distributions",
        "smooth",
        "sparse_vector",
        "propose_test_release",
        "staircase",
        "subsampling",
        "user_defined",
        "worker_process",
        "sample_and_aggregate",
    ),
    "report": ("text", "registry", "issued", "derived", "odds", "page", "verify", "certificate"),
    "service": (
        "problem",
        "access",
        "settings",
        "pages",
        "database",
        "folder",
        "telemetry",
        "hosting",
        "tokens",
        "login",
        "audit_log",
        "jobs",
        "refresh",
        "checkup",
        "wire",
        "web",
        "demo",
    ),
    "service.pages": ("frame", "views", "declare_view", "live_view", "schedule_view"),
    "service.wire": ("statements", "catalog", "queries", "server"),
    "service.web": ("problems", "guard", "state", "routing", "routes", "page_routes", "server"),
    "statistics": (
        "samples",
        "domains",
        "prefix_moments",
        "dispersion_candidates",
        "question",
        "rank_pairs",
        "result",
        "statistic",
        "quantiles",
        "means",
        "spread",
        "search",
        "counts_and_sums",
        "dispersion",
        "variances",
        "global_sensitivity",
        "lower_bounds",
        "profile",
        "smooth",
        "table",
    ),
    "tables": (
        "reading",
        "engines",
        "missing_codes",
        "codebook",
        "open_source",
        "export",
        "check_table",
        "cell_axis",
        "noise",
        "privacy_unit",
        "query",
        "steps",
        "statistics",
        "joint",
        "plan",
        "publish",
        "release",
        "streaming",
        "derived",
        "question",
        "joint_plans",
        "session",
        "replan",
        "dataset",
        "question_formats",
    ),
    "tables.engines": (
        "base",
        "files",
        "fixed_width",
        "csv",
        "duckdb",
        "postgres",
        "spark_parquet",
        "spark",
    ),
    "transformations": (
        "rows",
        "metric_conversions",
        "from_function",
        "counts",
        "grid",
        "sums",
    ),
}
"""The folders and modules of each package with folders, in their order."""


def upward_imports(package: str, layers: Sequence[Sequence[str]]) -> set[tuple[str, str]]:
    """Return the imports inside of a package from the same layer or a higher one."""
    base = f"tacit.{package}." if package else "tacit."
    layer_of = {part: number for number, layer in enumerate(layers) for part in layer}
    imports = set()
    for module, others in graph().items():
        for other in others:
            if module.startswith(base) and other.startswith(base):
                here, there = (m.removeprefix(base).split(".")[0] for m in (module, other))
                unlisted = {here, there} - layer_of.keys()  # another test reports those
                if here != there and not unlisted and layer_of[there] >= layer_of[here]:
                    imports.add((module, other))
    return imports


def parts_of(package: str) -> set[str]:
    """Return the folders and modules of a package."""
    base = f"tacit.{package}." if package else "tacit."
    parts = {m.removeprefix(base).split(".")[0] for m in modules() if m.startswith(base)}
    return parts - {"__main__"}


def test_every_package_has_a_layer() -> None:
    assert parts_of("") == {package for layer in LAYERS for package in layer}


@pytest.mark.parametrize("package", FOLDERS)
def test_every_folder_of_a_package_is_listed(package: str) -> None:
    assert parts_of(package) == set(FOLDERS[package])


def test_every_package_with_folders_has_an_order() -> None:
    inits = {m for m, path in modules().items() if path.name == "__init__.py" and "." in m}
    inner = {m.rpartition(".")[0].removeprefix("tacit.") for m in inits if m.count(".") > 1}
    assert inner <= set(FOLDERS)


def test_no_module_imports_from_above() -> None:
    upward = upward_imports("", (*LAYERS, ("__main__",)))
    for package, parts in FOLDERS.items():
        upward |= upward_imports(package, [(part,) for part in parts])
    assert upward == set()


def test_there_are_no_circles() -> None:
    assert circles(graph()) == []


def test_no_module_imports_from_its_own_package_init() -> None:
    """An ``__init__`` is for other packages: inside, a module names the module it needs."""
    inside = [
        f"{module} imports {other}"
        for module, others in graph().items()
        for other in others
        if module.startswith(f"{other}.") and other != "tacit"
    ]
    assert inside == []


def test_the_page_for_contributors_lists_the_layers() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", text, flags=re.MULTILINE)
    listed = [tuple(re.findall(r"`(\w+)`", names)) for _, names in reversed(rows)]
    assert listed == list(LAYERS)
    assert [int(number) for number, _ in reversed(rows)] == list(range(1, len(LAYERS) + 1))
