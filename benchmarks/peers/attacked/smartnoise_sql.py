"""SmartNoise SQL: private answers to SQL over a data frame."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.audit.attack_suite.system import (
    Bounds,
    InstalledLibrary,
    NotOfferedError,
    Rows,
    seed_everything,
)

_WORDS = {"count": "COUNT(*)", "sum": "SUM(x)", "mean": "AVG(x)", "variance": "VAR(x)"}
_FILTERS = {
    "quotient": "1 / x > 0",
    "logarithm": "LN(x) > 0",
    "number": "CAST(x AS FLOAT) > 0",
}
_SMALL_DELTA = 1e-9


class SmartNoiseSql(InstalledLibrary):
    """``snsql.from_df`` with one row a person, at the epsilon that the whole answer costs."""

    name = "smartnoise-sql"
    distribution = "smartnoise-sql"
    modules = ("pandas", "snsql")

    def statistic(
        self,
        kind: str,
        rows: Rows,
        *,
        bounds: Bounds | None = None,
        edges: Sequence[float] | None = None,
        epsilon: float = 1.0,
    ) -> Any:
        """Ask one aggregate in SQL."""
        if kind not in _WORDS:
            raise NotOfferedError(f"a {kind}")
        column: dict[str, Any] = {"type": _kind(rows)}
        if bounds is not None:
            column |= {"lower": bounds[0], "upper": bounds[1]}
        answer = self._answer_of(f"SELECT {_WORDS[kind]} AS a FROM d.rows", rows, column, epsilon)
        return float(answer[0][0])

    def group_counts(
        self,
        keys: Sequence[Any],
        public: Sequence[Any] | None,
        *,
        epsilon: float,
        delta: float = 0.0,
    ) -> Mapping[Any, float]:
        """Count by group; rare groups are left out at delta."""
        if public is not None:
            raise NotOfferedError("counts of public keys")
        sql = "SELECT x, COUNT(*) AS n FROM d.rows GROUP BY x"
        found = self._answer_of(
            sql, keys, {"type": "string"}, epsilon, delta=delta, censor_dims=True
        )
        return {key: float(count) for key, count in found}

    def filtered_count(
        self, predicate: str, rows: Rows, *, epsilon: float, other: Rows = ()
    ) -> float:
        """Count under WHERE."""
        if predicate not in _FILTERS:
            raise NotOfferedError(f"the predicate {predicate}")
        sql = f"SELECT COUNT(*) AS a FROM d.rows WHERE {_FILTERS[predicate]}"
        return float(self._answer_of(sql, rows, {"type": _kind(rows)}, epsilon)[0][0])

    def seeded(self, seed: int) -> Sequence[float]:
        """Seed Python's and numpy's generators, and ask for sums."""
        seed_everything(seed)
        return [self.statistic("sum", [1.0] * 9, bounds=(0, 1), epsilon=0.1) for _ in range(3)]

    def _answer_of(
        self,
        sql: str,
        rows: Rows,
        column: Mapping[str, Any],
        epsilon: float,
        *,
        delta: float = _SMALL_DELTA,
        censor_dims: bool = False,
    ) -> list[tuple[Any, ...]]:
        pandas, snsql = (importlib.import_module(name) for name in self.modules)
        table = {
            "row_privacy": True,
            "censor_dims": censor_dims,
            "clamp_counts": False,
            "x": dict(column),
        }
        frame = pandas.DataFrame({"x": list(rows)})

        def reader(size: float) -> Any:
            privacy = snsql.Privacy(epsilon=size, delta=delta)
            return snsql.from_df(frame, metadata={"": {"d": {"rows": table}}}, privacy=privacy)

        # The epsilon of a reader is that of one noisy column, and an answer has up to four.  A case
        # claims the epsilon of the answer.
        price, _ = reader(1.0).get_privacy_cost(sql)
        return [tuple(row) for row in reader(epsilon / price).execute(sql)[1:]]


def _kind(rows: Rows) -> str:
    kinds = {type(value) for value in rows if value is not None}
    return "string" if str in kinds else "int" if kinds == {int} and None not in rows else "float"


SYSTEM = SmartNoiseSql
