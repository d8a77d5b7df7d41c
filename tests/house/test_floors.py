"""The floors of the house: a room imports from those before it, never from those after it.

The same holds inside of a room for its folders, and no modules import each other in a circle.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from house.import_graph import circles, graph, modules
from house.project import ROOT

ROOMS = (
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
"""The rooms, from the ground up; those of one floor do not import each other."""

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
    "audit.attack_suite": ("system", "cases", "systems", "run", "worker"),
    "audit.attack_suite.systems": (
        "peers",
        "tacit_framework",
        "tacit_local",
        "tacit_session",
        "tacit_postgres",
        "tacit_service",
        "tacit_spark",
    ),
    "cli": ("shared", "sensitivity", "release", "local", "service", "audit", "app"),
    "client": ("transport", "remote_session", "connection"),
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
        "additive_noise",
        "sampling",
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
        "browser",
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
        "telemetry",
        "hosting",
        "tokens",
        "login",
        "checkup",
        "audit_log",
        "jobs",
        "refresh",
        "web",
        "demo",
    ),
    "service.pages": ("frame", "views", "declare_view", "live_view"),
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
        "search",
        "counts_and_sums",
        "dispersion",
        "variances",
        "function_at_distance",
        "global_sensitivity",
        "lower_bounds",
        "profile",
        "smooth",
        "table",
    ),
    "tables": (
        "reading",
        "engines",
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
    "tables.engines": ("base", "files", "csv", "duckdb", "postgres", "spark_parquet", "spark"),
    "transformations": (
        "rows",
        "top_code",
        "metric_conversions",
        "from_function",
        "counts",
        "grid",
        "sums",
    ),
}
"""Of each room with folders: its folders and the modules beside them, in their order."""


def climbing(room: str, floors: Sequence[Sequence[str]]) -> set[tuple[str, str]]:
    """The imports inside of a room from the same floor or a higher one."""
    base = f"tacit.{room}." if room else "tacit."
    place = {part: number for number, floor in enumerate(floors) for part in floor}
    found = set()
    for module, others in graph().items():
        for other in others:
            if module.startswith(base) and other.startswith(base):
                here, there = (m.removeprefix(base).split(".")[0] for m in (module, other))
                if here != there and place[there] >= place[here]:
                    found.add((module, other))
    return found


def parts_of(room: str) -> set[str]:
    """The folders of a room and the modules beside them."""
    base = f"tacit.{room}." if room else "tacit."
    found = {m.removeprefix(base).split(".")[0] for m in modules() if m.startswith(base)}
    return found - {"__main__"}


def test_every_room_has_a_floor() -> None:
    assert parts_of("") == {room for floor in ROOMS for room in floor}


@pytest.mark.parametrize("room", FOLDERS)
def test_every_folder_of_a_room_has_a_place(room: str) -> None:
    assert parts_of(room) == set(FOLDERS[room])


def test_every_room_with_folders_has_an_order() -> None:
    packages = {m for m, path in modules().items() if path.name == "__init__.py" and "." in m}
    inner = {m.rpartition(".")[0].removeprefix("tacit.") for m in packages if m.count(".") > 1}
    assert inner <= set(FOLDERS)


def test_no_module_imports_from_above() -> None:
    upward = climbing("", (*ROOMS, ("__main__",)))
    for room, parts in FOLDERS.items():
        upward |= climbing(room, [(part,) for part in parts])
    assert upward == set()


def test_there_are_no_circles() -> None:
    found = circles(graph())
    assert found == []


def test_a_room_takes_nothing_from_its_own_face() -> None:
    """What an ``__init__`` gathers is for others: inside, a module names the module it needs."""
    inside = [
        f"{module} imports {other}"
        for module, others in graph().items()
        for other in others
        if module.startswith(f"{other}.") and other != "tacit"
    ]
    assert inside == []


def test_the_page_for_contributors_tells_the_floors() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", text, flags=re.MULTILINE)
    told = [tuple(re.findall(r"`(\w+)`", names)) for _, names in reversed(rows)]
    assert told == list(ROOMS)
    assert [int(number) for number, _ in reversed(rows)] == list(range(1, len(ROOMS) + 1))
