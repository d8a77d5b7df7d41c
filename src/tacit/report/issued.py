"""Certificates: their format, their content when issued, and the result of a verification."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

from tacit import __version__
from tacit.accounting import Budget, Entry, Ledger
from tacit.errors import TacitError, UsageError
from tacit.report.text import load_tables

# What is in a certificate: its two formats, and the parts that each has.


FORMAT = "tacit certificate 2"
# Without the kinds of the columns, and without the released numbers.
FIRST_FORMAT = "tacit certificate 1"
# Of an answer that follows from earlier releases, whose certificates it holds.
FOLLOWING = "tacit free answer 1"
ACCURACY = "errors and 95% intervals count the noise, which is known without the data"

_NEIGHBOURS = {
    "unbounded": "data sets that differ by one unit, with all its rows, added or removed"
}
APART = "teams apart"
# What the terms of a ledger may assume of those who are answered, and what that means.
ASSUMED = {
    APART: "each team has a budget of its own, and teams do not compare their answers: of those "
    "that do, the losses add up"
}
_PARTS = (
    *("format", "dataset", "protects", "question", "table", "chains", "composition", "spent"),
    *("answer", "accuracy", "ledger", "versions", "digest"),
)


def fields_of(format: str) -> dict[str, tuple[str, ...]]:
    """Return the names in a certificate of a format, and in two of its parts."""
    first = {FORMAT: False, FIRST_FORMAT: True}[format]
    return {
        "": tuple(name for name in _PARTS if not (first and name == "table")),
        "answer": ("keys", "columns") if first else ("keys", "columns", "released"),
        "ledger": ("id", "sequence", "hash", "when"),
    }


def protects(terms: Mapping[str, Any]) -> dict[str, Any]:
    """Return whom a certificate protects, from the terms of a ledger."""
    neighbours = str(terms.get("neighbours", "unbounded"))
    meaning = _NEIGHBOURS.get(neighbours, neighbours)
    fields = {"unit": terms.get("unit"), "neighbours": neighbours, "meaning": meaning}
    assumes = terms.get("assumes")
    if assumes is not None:
        fields["assumes"] = {"analysts": assumes, "meaning": ASSUMED.get(assumes, assumes)}
    return fields


def canonical_text(value: Any) -> bytes:
    """Return a part of a certificate as text, in one certain way."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def digest(body: Mapping[str, Any], lists: Mapping[str, Sequence[bytes]] | None = None) -> str:
    """Return the SHA-256 of a certificate without its own digest.

    >>> digest({"a": [1], "b": 2}) == digest({"b": 2, "a": None}, {"a": [b"1"]})
    True
    """
    # lists: those of its parts that are lists whose members were written before, by
    #   :func:`canonical_text`: the same long certificate may be in many others.
    hasher, known = hashlib.sha256(b"{"), {} if lists is None else lists
    for index, name in enumerate(sorted(name for name in body if name != "digest")):
        hasher.update(b"," * bool(index) + canonical_text(name) + b":")
        if name not in known:
            hasher.update(canonical_text(body[name]))
            continue
        for number, text in enumerate(known[name]):
            hasher.update(b"," if number else b"[")
            hasher.update(text)
        hasher.update(b"]")
    hasher.update(b"}")
    return hasher.hexdigest()


def sealed(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a certificate with its digest."""
    return {**body, "digest": digest(body)}


def issued_body(entry: Entry, ledger: Ledger) -> dict[str, Any]:
    """Return the body of the certificate of an answered charge, without its digest."""
    if entry.answer is None:
        raise UsageError("only an answered release has a certificate")
    answer = entry.answer
    is_table = "table" in answer
    shown = ("keys", "columns", "released") if is_table else ("keys", "columns")
    dataset, terms = ledger.about(entry)
    return {
        "format": FORMAT if is_table else FIRST_FORMAT,
        "dataset": dataset,
        "protects": protects(terms),
        "question": entry.question,
        **({"table": answer["table"]} if is_table else {}),
        "chains": answer["chains"],
        "composition": answer["composition"],
        "spent": {
            "cost": entry.cost.charged_json(),
            "budget": answer.get("budget") or ledger.total.to_json(),
            "remaining": answer["remaining"],
        },
        "answer": {name: answer[name] for name in shown},
        **({"declared": answer["declared"]} if answer.get("declared") else {}),
        **({"intervals": answer["intervals"]} if "intervals" in answer else {}),
        "accuracy": ACCURACY,
        "ledger": {"id": ledger.id, **_position(entry), "when": entry.when},
        "versions": answer.get("versions") or versions(),
    }


def _position(entry: Entry) -> dict[str, Any]:
    """Return where in its chain a charge stands; nothing where it is on somebody's account."""
    # Answers are in the chain too, from the moment when the engine was done.  Who asks small
    # questions while a large one is at work would read in their places, or in their hashes, when
    # that moment was; such a charge is found by its question.
    is_first = entry.balance is None
    return {
        "sequence": entry.sequence if is_first else None,
        "hash": entry.hash if is_first else None,
    }


def versions() -> dict[str, str]:
    """Return the versions of what a release is made with."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    """Return the versions; read once, for what is loaded stays what it is."""
    versions = {
        "python": platform.python_version(),
        "openssl": ssl.OPENSSL_VERSION,
        "tacit": __version__,  # of the code that runs: the index has another project named tacit
    }
    for package in ("numpy", "duckdb"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "unknown"
    return versions


# Where two pieces of JSON first differ, in words.


# Machines may differ in the last digits of what is computed in floating point, and no more.
_NEAR = 1e-9


def difference(claimed: Any, derived: Any, path: str = "", *, close: bool = False) -> str | None:
    """Return where what is claimed differs from what was derived; None where it does not.

    >>> difference({"a": [1, 2]}, {"a": [1, 3]})
    'at a[1] it says 2, and 3 is right'
    >>> difference(0.1 + 0.2, 0.3, close=True) is None
    True
    """
    # Kinds of values are distinguished: 1 is neither 1.0 nor true.
    if isinstance(claimed, dict) and isinstance(derived, dict):
        return _of_parts(claimed, derived, path, close)
    if isinstance(claimed, (list, tuple)) and isinstance(derived, (list, tuple)):
        if len(claimed) != len(derived):
            return f"{_at(path)}it has {len(claimed)} parts, and {len(derived)} are right"
        pairs = enumerate(zip(claimed, derived, strict=True))
        differences = (difference(c, d, f"{path}[{i}]", close=close) for i, (c, d) in pairs)
        return next((one for one in differences if one is not None), None)
    if type(claimed) is type(derived):
        same = claimed == derived or (isinstance(claimed, float) and _same(claimed, derived, close))
        if same:
            return None
    return f"{_at(path)}it says {_shown(claimed)}, and {_shown(derived)} is right"


def _of_parts(
    claimed: dict[Any, Any], derived: dict[Any, Any], path: str, close: bool
) -> str | None:
    for name in [*derived, *claimed]:
        if name not in claimed or name not in derived:
            more = "lacks" if name in derived else "has"
            return f"{_at(path)}it {more} {_shown(name)}"
        inner = f"{path}.{name}" if path else str(name)
        message = difference(claimed[name], derived[name], inner, close=close)
        if message is not None:
            return message
    return None


def _same(claimed: float, derived: float, close: bool) -> bool:
    if math.isnan(claimed) or math.isnan(derived):
        return math.isnan(claimed) and math.isnan(derived)
    return close and math.isclose(claimed, derived, rel_tol=_NEAR)


def _at(path: str) -> str:
    return f"at {path[:200]} " if path else ""


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list, tuple)):
        return f"a list of {len(value)}" if not isinstance(value, dict) else "an object"
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**40 else "a huge number"
    return text if len(text) <= 80 else f"{text[:80]}..."


@dataclass(repr=False)
class Verification:
    """Result of verifying a certificate: what was checked, what could not be, what failed.

    Truthy when something was checked and nothing failed.
    """

    checked: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.checked) and not self.failures

    def __repr__(self) -> str:
        counted = f"{len(self.checked)} checked, {len(self.unchecked)} unchecked"
        return f"<Verification: {'; '.join([counted, *(f'FAILED {t}' for t in self.failures)])}>"

    def __str__(self) -> str:
        lines = [f"FAILED    {text}" for text in self.failures]
        lines += [f"ok        {text}" for text in self.checked]
        lines += [f"unchecked {text}" for text in self.unchecked]
        return "\n".join(lines)

    def check(self, claim: str, check: Callable[[], str | None]) -> None:
        """Run one check: None means that the claim holds, text says how it fails."""
        try:
            trouble = check()
        except _CANNOT as error:
            missing = isinstance(error, KeyError) and f"it lacks {short(str(error))}"
            why = missing or f"{type(error).__name__}: {short(str(error))}"
            trouble = f"cannot be derived ({why})"
        if trouble is None:
            self.checked.append(claim)
        else:
            self.failures.append(f"{claim}: {trouble}")


_CANNOT = (
    TacitError,
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    AssertionError,
)


def short(text: str) -> str:
    """Return the beginning of a long text.

    >>> short("spent")
    'spent'
    """
    return text if len(text) <= 300 else f"{text[:300]}..."


# Who plans the question of a certificate again: the room of tables, which stands above this one.
#
# It makes itself known when it is loaded, and is loaded when the first certificate is checked.


_KNOWN: list[Planner] = []


class ReplannedQuestion(Protocol):
    """Values derived from a question, its request and the released numbers."""

    grows: bool

    @property
    def joins_public(self) -> bool:
        """True if rows of a public table are joined to the private ones."""

    @property
    def unknown_keys(self) -> bool:
        """True if the groups come from the data."""

    @property
    def chooses(self) -> bool:
        """True if a method, or an option of one, was chosen by expected errors."""

    @property
    def cost(self) -> Budget:
        """The privacy loss of the release."""

    @property
    def steps(self) -> int:
        """Total number of steps of all chains."""

    def describe(self) -> dict[str, Any]:
        """Return the chains and their privacy loss, as the release recorded them."""

    def answer(self, keys: Any, released: Any, level: float = ...) -> dict[str, Any]:
        """Return the answer that released numbers make, with intervals of a level."""

    def columns(self, keys: Any) -> list[dict[str, Any]]:
        """Return what is known of the answer's columns without the numbers."""


@dataclass(frozen=True)
class Planner:
    """Interface to the package of tables for checks."""

    identity: Callable[[str, Any], str]  # the digest of a data set, from its name and its columns
    # the release that a certificate's body describes, planned again
    replan: Callable[[Mapping[str, Any]], ReplannedQuestion]
    # the keys and columns of a count over time, from its question, the recorded parts and the most
    # periods to state
    published: Callable[[Mapping[str, Any], Sequence[Mapping[str, Any]], int], dict[str, Any]]
    # the answer to a question from the certificates of earlier releases, and of each label the
    # place of its release; from the description of the question, the columns of the table, and the
    # certificates.  None where it does not follow.
    follow: Callable[
        [Mapping[str, Any], Any, Sequence[Mapping[str, Any]]],
        tuple[dict[str, Any], dict[str, int]] | None,
    ]


def register_planner(planner: Planner) -> None:
    """Make the planner known."""
    _KNOWN[:] = [planner]


def planner() -> Planner:
    """Return the planner, loaded where it is not yet."""
    if not _KNOWN:
        load_tables()
    return _KNOWN[0]
