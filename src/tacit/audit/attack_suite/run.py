"""Attacks run: every case on every system, as a table."""

from __future__ import annotations

import contextlib
import html
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import tacit
from tacit.arithmetic.exact import positive
from tacit.audit.attack_suite.system import (
    FALLS,
    HOLDS,
    NOT_APPLICABLE,
    UNDECIDED,
    Case,
    CaseOutcome,
    NotReadyError,
    System,
    all_cases,
)
from tacit.calls import public
from tacit.display.card import Shown
from tacit.errors import UsageError, did_you_mean

# The systems that can be attacked, and the cases.


_MODULES = ("values", "outputs", "claims")
_HOME = "tacit.audit.attack_suite"

# Each system of Tacit by its name: the module of its adapter, and the package that it needs.
SYSTEMS = {
    "tacit": ("tacit_session", ""),
    "tacit-postgresql": ("tacit_postgres", "psycopg"),
    "tacit-spark": ("tacit_spark", "pyspark"),
    "tacit-service": ("tacit_service", "fastapi"),
    "tacit-framework": ("tacit_framework", ""),
    "tacit-local": ("tacit_local", ""),
}

# The systems that need nothing but Tacit.
OURS = tuple(name for name, (_, package) in SYSTEMS.items() if not package)

# The adapters of other libraries: they come with the source code, not with the installed package.
_PEERS = Path(tacit.__file__).parents[2] / "benchmarks" / "peers" / "attacked"


def adapters() -> dict[str, Path]:
    """Return the files of the adapters of other libraries that come with Tacit, by name."""
    return {_label(str(file)): file for file in sorted(_PEERS.glob("*.py"))}


def _label(given: str) -> str:
    """Return the name of a system that is given by its name or by the file of its adapter."""
    return Path(given).stem.replace("_", "-") if given.endswith(".py") else given


def check_system(given: str) -> None:
    """Raise if this is neither the name of a system nor the file of an adapter."""
    if given.endswith(".py"):
        if not Path(given).is_file():
            raise UsageError(f"there is no adapter {given}")
    elif given not in (names := [*SYSTEMS, *adapters()]):
        raise UsageError(
            f"there is no system {given!r}; {did_you_mean(given, names)}; "
            "a library with an adapter of your own is given by its file, such as adapter.py"
        )


def load_cases() -> tuple[Case, ...]:
    """Return all cases, class by class.

    >>> len({case.attack for case in load_cases()}) >= 30
    True
    """
    for module in _MODULES:
        importlib.import_module(f"{_HOME}.cases.{module}")
    order = {f"{_HOME}.cases.{module}": number for number, module in enumerate(_MODULES)}
    return tuple(sorted(all_cases(), key=lambda case: order[case.program.__module__]))


def system_named(given: str) -> System:
    """Return a system by its name or the file of its adapter, ready to be attacked."""
    check_system(given)
    if given in SYSTEMS:
        module = importlib.import_module(f"{_HOME}.systems.{SYSTEMS[given][0]}")
    else:
        path = adapters().get(given, Path(given))
        # A name of its own: the file is often called as the library that it imports.
        spec = spec_from_file_location(f"attacked_{path.stem}", path)
        assert spec is not None  # the file ends in .py
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    classes: Sequence[type[System]] = [module.SYSTEM]
    return classes[0]()


# All cases on all systems, as a table: for a terminal, as JSON, as a page.


_MARKS = {HOLDS: "holds", FALLS: "FALLS", UNDECIDED: "undecided"}
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:90rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.25rem .5rem;"
    "text-align:left;vertical-align:top}.falls{background:#fbe3d6;font-weight:600}"
    ".holds{background:#e3f1ea}.none{color:#666}"
)


@dataclass(frozen=True)
class AttackResult:
    """Outcomes of one system under the cases."""

    system: str
    version: str  # its version; empty where it is not installed
    outcomes: Mapping[str, CaseOutcome]  # by the id of a case; empty where it is not installed
    absent: str = ""  # why nothing was run, where nothing was

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        outcomes = {name: [o.verdict, o.evidence] for name, o in self.outcomes.items()}
        return {
            "system": self.system,
            "version": self.version,
            "absent": self.absent,
            "outcomes": outcomes,
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> AttackResult:
        """Return a result from its plain values."""
        outcomes = {name: CaseOutcome(*outcome) for name, outcome in fields["outcomes"].items()}
        return cls(fields["system"], fields["version"], outcomes, fields["absent"])


@public
@dataclass(frozen=True)
class AttackTable(Shown):
    """The attack cases, and their outcome on each system.

    Attributes:
        cases: all cases that were asked for, in order.
        results: one for each system.

    Iterating gives the cases; ``len`` is their number.
    """

    cases: Sequence[Case]
    results: Sequence[AttackResult] = ()

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def __len__(self) -> int:
        return len(self.cases)

    @property
    def classes(self) -> list[str]:
        """The classes of attack, each once."""
        return list(dict.fromkeys(case.attack for case in self.cases))

    def fallen(self, system: str) -> list[str]:
        """Return the ids of the cases that succeed against a system.

        Args:
            system: its name, such as ``"tacit"``.
        """
        outcomes = next(r.outcomes for r in self.results if r.system == system)
        return [name for name, outcome in outcomes.items() if outcome.verdict == FALLS]

    def cell(self, attack: str, result: AttackResult) -> str:
        """Return how many cases of a class a system withstands, of those that apply.

        Args:
            attack: the class of attacks.
            result: what was found of a system.
        """
        if result.absent:
            return "not installed" if result.absent.startswith("not installed") else "not run"
        names = [case.id for case in self.cases if case.attack == attack]
        verdicts = Counter(result.outcomes[n].verdict for n in names if n in result.outcomes)
        applied = verdicts[HOLDS] + verdicts[FALLS]
        if not applied:
            return "undecided" if verdicts[UNDECIDED] else "-"
        open_cases = f", {verdicts[UNDECIDED]} undecided" if verdicts[UNDECIDED] else ""
        return f"{'FALLS' if verdicts[FALLS] else 'holds'} {verdicts[HOLDS]}/{applied}{open_cases}"

    def rows(self) -> list[list[str]]:
        """Return the table: one row per class of attack that applies, one column per system."""
        every = [[a, *(self.cell(a, r) for r in self.results)] for a in self.classes]
        return [row for row in every if set(row[1:]) != {"-"}]

    @property
    def legend(self) -> list[str]:
        """Sentences that say how to read the rows, and which classes have none."""
        shown = {row[0] for row in self.rows()}
        others = [name for name in self.classes if name not in shown]
        lines = ["Each cell: cases withstood, of those that apply; - where none applies."]
        if others:
            names = ", ".join(others)
            lines.append(f"Aimed at what none of these systems offers: {names}.")
        return [*lines, *(f"{r.system}: {r.absent}." for r in self.results if r.absent)]

    @property
    def header(self) -> list[str]:
        """The names of the columns, with versions."""
        return ["attack", *(f"{r.system} {r.version}".strip() for r in self.results)]

    def __str__(self) -> str:
        if not self.results:
            names = "\n".join(f"{case.id}: {case.question}" for case in self.cases)
            return f"{len(self.cases)} cases of {len(self.classes)} attacks\n{names}"
        rows = [self.header, *self.rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, "", *self.legend])

    def to_json(self) -> str:
        """Return the cases and every outcome with its evidence, as JSON."""
        rows = [
            {"id": case.id, "question": case.question, "source": case.source} for case in self.cases
        ]
        results = [result.as_dict() for result in self.results]
        return json.dumps({"cases": rows, "results": results}, indent=1)

    def to_html(self) -> str:
        """Return a page of its own: the table, then every outcome with its evidence."""
        say = html.escape
        head = "".join(f"<th>{say(name)}</th>" for name in self.header)
        body = "".join(
            f"<tr><th>{say(row[0])}</th>{''.join(map(_html_cell, row[1:]))}</tr>"
            for row in self.rows()
        )
        details = "".join(
            f"<h2>{say(r.system)} {say(r.version)}</h2>"
            + (f"<p>{say(r.absent)}</p>" if r.absent else _details(self.cases, r))
            for r in self.results
        )
        return (
            "<!doctype html><html lang='en'><meta charset='utf-8'><title>Attacks</title>"
            f"<style>{_STYLE}</style><h1>Attacks</h1><table><tr>{head}</tr>{body}</table>"
            f"{''.join(f'<p>{say(line)}</p>' for line in self.legend)}{details}</html>"
        )


def _html_cell(text: str) -> str:
    kind = {"F": "falls", "h": "holds"}.get(text[:1], "none")
    return f"<td class='{kind}'>{html.escape(text)}</td>"


def _details(cases: Sequence[Case], result: AttackResult) -> str:
    rows = "".join(
        f"<tr><td>{html.escape(case.id)}</td>"
        f"{_html_cell(_MARKS[result.outcomes[case.id].verdict])}"
        f"<td>{html.escape(result.outcomes[case.id].evidence)}</td>"
        f"<td>{html.escape(case.source)}</td></tr>"
        for case in cases
        if case.id in result.outcomes and result.outcomes[case.id].verdict != NOT_APPLICABLE
    )
    head = "<tr><th>case</th><th>verdict</th><th>seen</th><th>source</th></tr>"
    return f"<table>{head}{rows}</table>"


# Run the cases on systems: each in a process of its own, with its own interpreter.


_WORKER = "from tacit.audit.attack_suite.run import answer_request; answer_request()"


def under_attack(
    given: str, ids: set[str], tell: Callable[[AttackResult], object] = repr
) -> AttackResult:
    """Run cases on a system in this process.

    >>> found = under_attack("tacit-framework", {"sums in a tree/4 leaves in L2"})
    >>> [outcome.verdict for outcome in found.outcomes.values()]
    ['holds']
    """
    system, label = system_named(given), _label(given)
    try:
        system.refuse_unready()
    except NotReadyError as error:
        return AttackResult(label, "", {}, str(error))
    with contextlib.closing(system):
        version = system.version()
        result = AttackResult(label, version, {})
        for case in load_cases():
            if case.id in ids:
                result = replace(result, outcomes={**result.outcomes, case.id: case.run(system)})
                tell(result)
    return result


def answer_request() -> None:
    """Run the cases whose ids are on stdin on the system that the command line names."""
    # What a library prints goes to stderr.  After each case a line of stdout is the result so far:
    # what was found is known also where the process does not come to its end.
    ids = set(json.load(sys.stdin))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(result: AttackResult) -> None:
        print(json.dumps(result.as_dict()), file=answers, flush=True)

    with contextlib.redirect_stdout(sys.stderr):
        tell(under_attack(sys.argv[1], ids, tell))


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
        systems: the names of systems, such as ``"tacit"``, or the files of adapters, such as
            ``"benchmarks/peers/attacked/opendp.py"`` in the source code of Tacit, where its name
            is enough (``"opendp"``); none to list the cases.
        only: classes of attack, or ids of cases; all where none is given.
        pythons: interpreters by the names of systems; that of an adapter is the name of its file.
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
    labels = {_label(given) for given in systems}
    for given in (*systems, *(name for name in pythons or {} if name not in labels)):
        check_system(given)
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
    package = SYSTEMS.get(name, ("", ""))[1]  # an adapter says itself what it needs
    return sys.executable if not package or find_spec(package) is not None else None


def _result(
    given: str, cases: Sequence[Case], pythons: Mapping[str, str], timeout: float
) -> AttackResult:
    name = _label(given)
    python = interpreter_of(name, pythons)
    if python is None:
        package = SYSTEMS[name][1]
        return AttackResult(
            name, "", {}, f"not installed: no module {package} for {sys.executable}"
        )
    root = str(Path(tacit.__file__).parents[1])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        process = subprocess.Popen(
            [python, "-W", "ignore", "-c", _WORKER, given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            text=True,
            start_new_session=True,  # what a system starts, such as a service, ends with it
        )
    except OSError as error:
        return AttackResult(name, "", {}, f"it could not be run: {type(error).__name__}")
    try:
        out, messages = process.communicate(json.dumps([case.id for case in cases]), timeout)
        why = (messages.strip().splitlines() or ["no message"])[-1]
    except subprocess.TimeoutExpired:
        end_group(process)
        out, _ = process.communicate()
        why = f"it was stopped after {timeout:g} seconds"
    except BaseException:
        end_group(process)
        raise
    lines = out[: out.rfind("\n") + 1].splitlines()  # the last one may have been cut
    if not lines:
        return AttackResult(name, "", {}, f"it could not be run: {why:.200}")
    try:
        result = AttackResult.from_dict(json.loads(lines[-1]))
    except (ValueError, TypeError, KeyError, AttributeError):
        return AttackResult(name, "", {}, f"it could not be run: {python} printed something else")
    missing = [] if result.absent else [case for case in cases if case.id not in result.outcomes]
    undecided = {case.id: CaseOutcome(UNDECIDED, f"it was not run: {why:.200}") for case in missing}
    return replace(result, outcomes={**result.outcomes, **undecided})


def end_group(process: subprocess.Popen[Any], patience: float = 20.0) -> None:
    """End a process that leads a group, and all that it started there."""
    # patience: the seconds after which what has not ended on its own is killed.
    last = time.monotonic() + patience
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        while time.monotonic() < last:
            process.poll()  # the group is there until its leader was waited for
            os.killpg(process.pid, 0)
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
