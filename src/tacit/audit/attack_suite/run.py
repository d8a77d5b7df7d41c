"""Run the cases on systems: each in a process of its own, with its own interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import tacit
from tacit.audit.attack_suite.case import Case
from tacit.audit.attack_suite.registry import SYSTEMS, load_cases
from tacit.audit.attack_suite.table import AttackTable, Result
from tacit.calls import public
from tacit.errors import UsageError, did_you_mean

__all__ = ["attacks", "interpreter_of"]

_WORKER = "tacit.audit.attack_suite.worker"


@public
def attacks(
    systems: Sequence[str] = (),
    *,
    only: Sequence[str] = (),
    pythons: Mapping[str, str] | None = None,
    timeout: float = 3600.0,
) -> AttackTable:
    """List the known attacks on software for differential privacy, or run them on systems.

    A case is a small program with a source, which ends in a verdict: the system holds, or falls, or
    the case does not apply to it.  Each system runs in a process of its own.  One that is not
    installed for this interpreter is run by the interpreter that ``pythons`` names, or the
    environment variable ``TACIT_PYTHON_`` with its name (``TACIT_PYTHON_OPENDP``); without one the
    table says that it is not installed.

    A verdict that rests on random answers is wrong with probability 1e-5 at most where it says that
    a system falls.  That a system holds is not a proof.

    Args:
        systems: the names of systems, such as ``"tacit"`` or ``"opendp"``; none to list the cases.
        only: classes of attack, or ids of cases; all where none is given.
        pythons: interpreters by the names of systems.
        timeout: the seconds after which a system is stopped.

    Raises:
        UsageError: an unknown system, class or case.

    Example:
        >>> found = attacks(only=["float gaps"])
        >>> found.classes, len(found)
        (['float gaps'], 4)
    """
    for name in systems:
        if name not in SYSTEMS:
            raise UsageError(f"there is no system {name!r}; {did_you_mean(name, list(SYSTEMS))}")
    cases = _chosen(only)
    results = [_result(name, cases, dict(pythons or {}), timeout) for name in systems]
    return AttackTable(cases, results)


def _chosen(only: Sequence[str]) -> tuple[Case, ...]:
    cases = load_cases()
    names = {case.attack for case in cases} | {case.id for case in cases}
    for name in only:
        if name not in names:
            raise UsageError(f"there is no attack {name!r}; {did_you_mean(name, sorted(names))}")
    return tuple(c for c in cases if not only or c.attack in only or c.id in only)


def interpreter_of(name: str, pythons: Mapping[str, str]) -> str | None:
    """Return the interpreter that runs a system, or None where there is none.

    >>> interpreter_of("tacit", {}) == sys.executable
    True
    """
    named = pythons.get(name) or os.environ.get(f"TACIT_PYTHON_{name.upper().replace('-', '_')}")
    if named:
        return named
    package = SYSTEMS[name][1]
    return sys.executable if not package or find_spec(package) is not None else None


def _result(name: str, cases: Sequence[Case], pythons: Mapping[str, str], timeout: float) -> Result:
    python = interpreter_of(name, pythons)
    if python is None:
        package = SYSTEMS[name][1]
        return Result(name, "", {}, f"not installed: no module {package} for {sys.executable}")
    root = str(Path(tacit.__file__).parents[1])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        found = subprocess.run(
            [python, "-W", "ignore", "-m", _WORKER, name],
            input=json.dumps([case.id for case in cases]),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Result(name, "", {}, f"it could not be run: {type(error).__name__}")
    lines = found.stdout.splitlines()
    if found.returncode or not lines:
        last = (found.stderr.strip().splitlines() or ["no message"])[-1]
        return Result(name, "", {}, f"it could not be run: {last:.200}")
    return Result.from_dict(json.loads(lines[-1]))
