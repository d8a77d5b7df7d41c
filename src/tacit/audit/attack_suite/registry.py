"""The systems that can be attacked, and the cases."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from tacit.audit.attack_suite.case import Case, all_cases
from tacit.audit.attack_suite.system import System
from tacit.errors import UsageError, did_you_mean

__all__ = ["OURS", "SYSTEMS", "load_cases", "system_named"]

_MODULES = (
    *("numbers", "hostile_values", "domain", "people", "errors", "leaks", "budget"),
    *("answers", "certificates", "local_model", "claims"),
)
_HOME = "tacit.audit.attack_suite"

SYSTEMS = {
    "tacit": ("tacit_session", ""),
    "tacit-postgresql": ("tacit_postgres", "psycopg"),
    "tacit-spark": ("tacit_spark", "pyspark"),
    "tacit-service": ("tacit_service", "fastapi"),
    "tacit-framework": ("tacit_framework", ""),
    "tacit-local": ("tacit_local", ""),
    "opendp": ("peers.opendp", "opendp"),
    "tumult-analytics": ("peers.tumult", "tmlt"),
    "diffprivlib": ("peers.diffprivlib", "diffprivlib"),
    "pydp": ("peers.pydp", "pydp"),
    "pipeline-dp": ("peers.pipeline_dp", "pipeline_dp"),
    "smartnoise-sql": ("peers.smartnoise_sql", "snsql"),
    "pure-ldp": ("peers.pure_ldp", "pure_ldp"),
    "multi-freq-ldpy": ("peers.multi_freq_ldpy", "multi_freq_ldpy"),
    "dp-accounting": ("peers.dp_accounting", "dp_accounting"),
}
"""Each system by its name: the module of its adapter, and the package that it needs."""

OURS = tuple(name for name, (_, package) in SYSTEMS.items() if not package)
"""The systems that need nothing but Tacit."""


def load_cases() -> tuple[Case, ...]:
    """Return all cases, class by class.

    >>> len({case.attack for case in load_cases()}) >= 30
    True
    """
    for module in _MODULES:
        importlib.import_module(f"{_HOME}.cases.{module}")
    place = {f"{_HOME}.cases.{module}": number for number, module in enumerate(_MODULES)}
    return tuple(sorted(all_cases(), key=lambda case: place[case.program.__module__]))


def system_named(name: str) -> System:
    """Return a system by its name, ready to be attacked.

    Raises:
        UsageError: there is no system of this name.
        ImportError: its package is not installed for this interpreter.
    """
    if name not in SYSTEMS:
        raise UsageError(f"there is no system {name!r}; {did_you_mean(name, list(SYSTEMS))}")
    module = importlib.import_module(f"{_HOME}.systems.{SYSTEMS[name][0]}")
    found: Sequence[type[System]] = [module.SYSTEM]
    return found[0]()
