"""OpenDP: chains of transformations and measurements."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tacit.audit.attack_suite.system import (
    Bounds,
    InstalledLibrary,
    NotOfferedError,
    Rows,
    refuse_texts,
)


def _prelude() -> Any:
    found = importlib.import_module("opendp.prelude")
    found.enable_features("contrib")
    return found


class OpenDP(InstalledLibrary):
    """The framework of ``opendp.prelude``, with noise from ``then_laplace``."""

    name = "opendp"
    distribution = "opendp"
    modules = ("opendp.prelude",)

    def statistic(
        self,
        kind: str,
        rows: Rows,
        *,
        bounds: Bounds | None = None,
        edges: Sequence[float] | None = None,
        epsilon: float = 1.0,
    ) -> Any:
        """Chain a clamp, a sum or a count, and Laplace noise at epsilon for one row."""
        dp, (chain, values) = _prelude(), _chained(kind, rows, bounds, edges)
        noisy = dp.binary_search_chain(lambda s: chain >> dp.m.then_laplace(scale=s), 1, epsilon)
        found = noisy(values)
        return [float(x) for x in found][1:-1] if isinstance(found, list) else float(found)

    def sum_sensitivity(self, rows: Rows, bounds: Bounds) -> float:
        """Return its stability map of one row, which allows for the rounding of floats."""
        chain, _ = _chained("sum", rows, bounds, None)
        return float(chain.map(1))

    def noise(self, kind: str, value: float, scale: float) -> float:
        """Add noise to a number."""
        dp = _prelude()
        metric = dp.absolute_distance(T=float)
        space = dp.atom_domain(T=float, nan=False), metric
        make = {"laplace": dp.m.then_laplace, "gaussian": dp.m.then_gaussian}[kind]
        return float((space >> make(scale=scale))(float(value)))


def _chained(
    kind: str, rows: Rows, bounds: Bounds | None, edges: Sequence[float] | None
) -> tuple[Any, Rows]:
    """Return the chain without noise, and the rows as it takes them."""
    refuse_texts(rows)
    dp = _prelude()
    whole = bool(rows) and all(isinstance(value, int) for value in rows)
    atom = int if whole else float
    values = [float("nan") if value is None else atom(value) for value in rows]
    nan = {} if whole else {"nan": True}
    domain = dp.vector_domain(dp.atom_domain(T=atom, **nan))
    space = domain, dp.symmetric_distance()
    if kind == "count":
        chain = space >> dp.t.then_count()
    elif kind == "sum" and bounds is not None:
        limits = tuple(atom(b) for b in bounds)
        known = () if whole else (dp.t.then_impute_constant(0.0),)
        chain = space
        for step in (*known, dp.t.then_clamp(bounds=limits), dp.t.then_sum()):
            chain = chain >> step
    elif kind == "histogram" and edges is not None:
        chain = space >> dp.t.then_find_bin(edges=[atom(e) for e in edges])
        cells = list(range(len(edges) + 1))
        chain = chain >> dp.t.then_count_by_categories(categories=cells, null_category=False)
    else:
        raise NotOfferedError(f"a {kind} in its framework of chains, asked in this way")
    return chain, values


SYSTEM = OpenDP
