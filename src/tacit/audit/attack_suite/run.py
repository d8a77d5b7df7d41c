"""Run the cases on systems: each in a process of its own, with its own interpreter."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import tacit
from tacit.arithmetic.exact import positive
from tacit.audit.attack_suite.case import UNDECIDED, Case, Outcome
from tacit.audit.attack_suite.registry import SYSTEMS, load_cases
from tacit.audit.attack_suite.table import AttackTable, Result
from tacit.calls import public
from tacit.errors import UsageError, did_you_mean

__all__ = ["attacks", "end_group", "interpreter_of"]

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
        timeout: the seconds after which a system is stopped; the cases that it did not come to are
            undecided.

    Raises:
        UsageError: an unknown system, class or case; one text in place of a list of them; a
            timeout that is not above 0.

    Example:
        >>> found = attacks(only=["float gaps"])
        >>> found.classes, len(found)
        (['float gaps'], 4)
    """
    for given, example in ((systems, "tacit"), (only, "float gaps")):
        if isinstance(given, str) or not all(isinstance(name, str) for name in given):
            raise UsageError(f"systems and only are lists of names, for example [{example!r}]")
    if not isinstance(pythons or {}, Mapping):
        raise UsageError("pythons names interpreters, for example {'opendp': '/venv/bin/python'}")
    for name in (*systems, *(pythons or {})):
        if name not in SYSTEMS:
            raise UsageError(f"there is no system {name!r}; {did_you_mean(name, list(SYSTEMS))}")
    seconds = float(positive(timeout, "timeout"))
    cases = _chosen(only)
    results = [_result(name, cases, dict(pythons or {}), seconds) for name in systems]
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
        process = subprocess.Popen(
            [python, "-W", "ignore", "-m", _WORKER, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            text=True,
            start_new_session=True,  # what a system starts, such as a service, ends with it
        )
    except OSError as error:
        return Result(name, "", {}, f"it could not be run: {type(error).__name__}")
    try:
        out, said = process.communicate(json.dumps([case.id for case in cases]), timeout)
        why = (said.strip().splitlines() or ["no message"])[-1]
    except subprocess.TimeoutExpired:
        end_group(process)
        out, _ = process.communicate()
        why = f"it was stopped after {timeout:g} seconds"
    except BaseException:
        end_group(process)
        raise
    whole = out[: out.rfind("\n") + 1].splitlines()  # the last one may have been cut
    if not whole:
        return Result(name, "", {}, f"it could not be run: {why:.200}")
    try:
        found = Result.from_dict(json.loads(whole[-1]))
    except (ValueError, TypeError, KeyError, AttributeError):
        return Result(name, "", {}, f"it could not be run: {python} printed something else")
    missing = [] if found.absent else [case for case in cases if case.id not in found.outcomes]
    undecided = {case.id: Outcome(UNDECIDED, f"it was not run: {why:.200}") for case in missing}
    return replace(found, outcomes={**found.outcomes, **undecided})


def end_group(process: subprocess.Popen[Any], patience: float = 20.0) -> None:
    """End a process that leads a group, and all that it started there.

    Args:
        process: begun with ``start_new_session``.
        patience: the seconds after which what has not ended by itself is killed.
    """
    last = time.monotonic() + patience
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        while time.monotonic() < last:
            process.poll()  # the group is there until its leader was waited for
            os.killpg(process.pid, 0)
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
