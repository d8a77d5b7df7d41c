"""All cases on all systems, as a table: for a terminal, as JSON, as a page."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.audit.attack_suite.case import FALLS, HOLDS, NOT_APPLICABLE, UNDECIDED, Case, Outcome
from tacit.calls import public
from tacit.display.card import Shown

__all__ = ["AttackTable", "Result"]

_MARKS = {HOLDS: "holds", FALLS: "FALLS", UNDECIDED: "undecided"}
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:90rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.25rem .5rem;"
    "text-align:left;vertical-align:top}.falls{background:#fbe3d6;font-weight:600}"
    ".holds{background:#e3f1ea}.none{color:#666}"
)


@dataclass(frozen=True)
class Result:
    """What one system did under the cases.

    Attributes:
        system: its name.
        version: its version; empty where it is not installed.
        outcomes: by the id of a case; empty where it is not installed.
        absent: why nothing was run, where nothing was.
    """

    system: str
    version: str
    outcomes: Mapping[str, Outcome]
    absent: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        told = {name: [o.verdict, o.evidence] for name, o in self.outcomes.items()}
        return {
            "system": self.system,
            "version": self.version,
            "absent": self.absent,
            "outcomes": told,
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Result:
        """Return a result from its plain values."""
        outcomes = {name: Outcome(*told) for name, told in found["outcomes"].items()}
        return cls(found["system"], found["version"], outcomes, found["absent"])


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
    results: Sequence[Result] = ()

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

    def cell(self, attack: str, result: Result) -> str:
        """Return how many cases of a class a system withstands, of those that apply.

        Args:
            attack: the class of attacks.
            result: what was found of a system.
        """
        if result.absent:
            return "not installed" if result.absent.startswith("not installed") else "not run"
        names = [case.id for case in self.cases if case.attack == attack]
        found = Counter(result.outcomes[n].verdict for n in names if n in result.outcomes)
        applied = found[HOLDS] + found[FALLS]
        if not applied:
            return "undecided" if found[UNDECIDED] else "-"
        open_cases = f", {found[UNDECIDED]} undecided" if found[UNDECIDED] else ""
        return f"{'FALLS' if found[FALLS] else 'holds'} {found[HOLDS]}/{applied}{open_cases}"

    def rows(self) -> list[list[str]]:
        """Return the table: one row per class of attack that applies, one column per system."""
        every = [[a, *(self.cell(a, r) for r in self.results)] for a in self.classes]
        return [row for row in every if set(row[1:]) != {"-"}]

    @property
    def legend(self) -> list[str]:
        """Sentences that say how to read the rows, and which classes have none."""
        shown = {row[0] for row in self.rows()}
        others = [name for name in self.classes if name not in shown]
        told = ["Each cell: cases withstood, of those that apply; - where none applies."]
        if others:
            names = ", ".join(others)
            told.append(f"Aimed at what none of these systems offers: {names}.")
        return [*told, *(f"{r.system}: {r.absent}." for r in self.results if r.absent)]

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
        told = [
            {"id": case.id, "question": case.question, "source": case.source} for case in self.cases
        ]
        results = [result.as_dict() for result in self.results]
        return json.dumps({"cases": told, "results": results}, indent=1)

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


def _details(cases: Sequence[Case], result: Result) -> str:
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
