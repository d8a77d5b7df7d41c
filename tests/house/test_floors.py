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
    ("sql", "sklearn", "learn"),
    ("client", "service"),
    ("audit",),
    ("cli",),
)
"""The rooms, from the ground up; those of one floor do not import each other."""

FOLDERS = {
    "accounting": ("budgets", "ledger", "open_ledger", "epsilon_choice"),
    "accounting.ledger": (
        *("accounts", "hash_chain", "store", "open_files", "sqlite_errors", "sqlite_store"),
        *("open_release", "keyed_lock"),
        *("entry", "checked_chain", "ledger", "installments", "shared_budget", "postgres"),
    ),
    "audit": ("comparison", "claims", "sampling", "replaying", "attack_suite"),
    "audit.attack_suite": (
        *("system", "case", "rare_events", "looking", "cases", "systems", "registry", "table"),
        *("run", "worker"),
    ),
    "audit.attack_suite.systems": (
        *("forking", "peers", "tacit_account", "tacit_columns", "tacit_framework", "tacit_local"),
        *("tacit_session", "tacit_postgres", "tacit_service", "tacit_spark"),
    ),
    "cli": ("shared", "sensitivity", "release", "local", "service", "audit", "app"),
    "client": (
        *("address", "refusal", "transport", "job", "remote_dataset", "remote_question"),
        *("remote_table", "connection"),
    ),
    "core": ("spaces", "divergences", "losses", "measures", "chain"),
    "core.losses": (
        *("base", "own_lattice", "cells", "noise_in_floats", "contour", "tilted_sum"),
        *("lattice_sums", "summed"),
        *("additive_renyi", "additive_noise", "bounds", "distribution", "bounded_range"),
        *("few_losses", "output_pair", "sampling"),
    ),
    "data": (),
    "expressions": (
        *("node", "dialect", "schema", "bin_labels", "bin_sql", "float_digest", "integer_sql"),
        *("cell_grammar", "functions", "column_sql", "operations", "undeclared_columns"),
        *("expression", "value_range", "grid", "timeline"),
    ),
    "local": (
        *("base", "kernels", "frequency", "numeric", "structured", "planning", "collecting"),
        "repeated",
    ),
    "mechanisms": (
        *("shared", "additive", "selection", "smooth", "propose_test_release"),
        *("sample_and_aggregate", "combine"),
    ),
    "report": ("text", "check", "page", "registry", "certificate"),
    "service": (
        *("problem", "store", "access", "settings", "folder", "login", "seeing", "hosting", "jobs"),
        *("growing", "pages", "web", "checkup", "demo"),
    ),
    "service.pages": (
        *("templating", "frame", "dataset_view", "ask_view", "release_view", "admin_view"),
        *("explorer_view", "declare_view", "budget_view", "live_view"),
    ),
    "service.web": (
        *("schemas", "ask_body", "problems", "guard", "forms", "failures", "readiness"),
        *("gauges", "state", "routing"),
        *("routes", "page_routes", "openapi", "app", "server"),
    ),
    "statistics": (
        *("samples", "base", "sums", "quantiles", "means", "variances", "search"),
        "ask",
    ),
    "tables": (
        *("ledger_place", "reading", "engines", "open_source", "spec", "query", "chain", "answers"),
        *("data_dependent", "together", "plan", "export", "release", "live", "asking", "earlier"),
        *(
            "question",
            "planned",
            "described",
            "session",
            "paid_session",
            "replan",
            "check_table",
            "dataset",
            "written",
        ),
    ),
    "tables.engines": (
        "base",
        "interruptible",
        "spill",
        "file_kinds",
        "files",
        "csv",
        "duckdb",
        "postgres",
        "spark",
    ),
    "transformations": ("rows", "aggregates", "top_code", "metric_conversions", "from_function"),
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
