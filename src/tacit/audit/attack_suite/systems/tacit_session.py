"""Tacit as a system under attack: its sessions."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import logging
import math
import os
import secrets
import shutil
import tempfile
import time
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from tacit.accounting import epsilon, epsilon_delta
from tacit.accounting.open_ledger import in_memory
from tacit.audit.attack_suite.system import (
    Bounds,
    NotOfferedError,
    Rows,
    SystemBudget,
    TacitSystem,
    forked_numbers,
    seed_everything,
)
from tacit.errors import WeakGuaranteeWarning
from tacit.noise import discrete_laplace
from tacit.report import Certificate
from tacit.report.issued import digest
from tacit.tables import Session, col, count, histogram, mean, median, one_row_each, unit, var
from tacit.tables import sum as total
from tacit.tables.dataset.declaration import open_dataset


class TacitAccount(SystemBudget):
    """A session over a CSV file with its ledger in a file."""

    def __init__(
        self, session: Session, folder: Path, source: Path, opens: Callable[[Path], Any]
    ) -> None:
        self._session, self._folder, self._source = session, folder, source
        self._opens = opens

    @classmethod
    def fresh(cls, budget: float, opens: Callable[[Path], Any] = Path) -> TacitAccount:
        """Return an account whose files go when it goes."""
        folder = Path(tempfile.mkdtemp())
        source = folder / "rows.csv"
        source.write_text("x\n" + "".join(f"{i % 10}\n" for i in range(100)))
        ledger = folder / "own.ledger"
        session = Session(
            opens(source), one_row_each, epsilon(repr(budget)), ledger, name=source.name
        )
        made = cls(session, folder, source, opens)
        weakref.finalize(made, shutil.rmtree, folder, ignore_errors=True)
        return made

    def ask(self, epsilon: float, label: str) -> float:
        return self.ask_session(self._session, epsilon, label)

    @staticmethod
    def ask_session(session: Any, epsilon: float, label: str) -> float:
        """Ask a session, or what is asked as one, for a sum or a count of its column x."""
        if label.startswith("bounds "):
            low, high = (float(word) for word in label.split()[1::2])
            answer = session.agg(s=total("x", low, high)).release(epsilon=epsilon).value("s")
            return float(answer)
        tag = None if label == "same" else label
        return float(session.agg(n=count()).release(epsilon=repr(epsilon), tag=tag).value("n"))

    def spent(self) -> float:
        return float(self._session.spent.amount)

    def again(self) -> SystemBudget:
        return self.opened_at(str(self._folder / "own.ledger"))

    def files(self) -> Sequence[str]:
        return [str(self._folder / "own.ledger")]

    def opened_at(self, path: str) -> SystemBudget:
        source = self._opens(self._source)
        opened = Session(source, one_row_each, ledger=path, name=self._source.name)
        other = TacitAccount(opened, self._folder, self._source, self._opens)
        other._lifetime = self  # the folder lives as long as someone has a handle
        return other

    _lifetime: SystemBudget | None = None

    def fail(self, epsilon: float, label: str) -> None:
        hidden = self._source.with_suffix(".hidden")
        question = self._session.agg(n=count())
        os.replace(self._source, hidden)
        try:
            question.release(epsilon=repr(epsilon), tag=label)
        finally:
            os.replace(hidden, self._source)


# Columns of the attacks as a table of DuckDB, and from there as a Parquet file.


TABLE = "rows_of_people"

Column = tuple[Sequence[Any], str]  # the values of a column, and its type as DuckDB names it


def columns_of(columns: Mapping[str, Rows]) -> dict[str, Column]:
    """Return columns with their types: integers, floats or texts, None for what is missing.

    >>> columns_of({"x": [1, None], "y": [0.5, 2]})
    {'x': ([1, None], 'bigint'), 'y': ([0.5, 2.0], 'double')}
    """
    return {name: _column(rows) for name, rows in columns.items()}


def _column(rows: Rows) -> Column:
    kinds = {type(value) for value in rows if value is not None}
    if kinds <= {int, bool} and kinds:
        wide = max(abs(v) for v in rows if v is not None)
        if wide < 2**63:
            return [None if v is None else int(v) for v in rows], "bigint"
        return [None if v is None else float(v) for v in rows], "double"
    if kinds <= {int, float}:
        return [None if v is None else float(v) for v in rows], "double"
    return [None if v is None else str(v) for v in rows], "varchar"


def duckdb_table(columns: Mapping[str, Column]) -> Any:
    """Return a connection to a database in memory with one table."""
    connection = duckdb.connect(config={"threads": 1})
    names = ", ".join(f'"{name}" {kind}' for name, (_, kind) in columns.items())
    connection.execute(f"create table {TABLE} ({names})")
    arrays = {}
    for name, (values, kind) in columns.items():
        made = np.empty(len(values), dtype=object)
        made[:] = values
        if kind != "varchar" and None not in values:
            made = np.array(values, dtype=np.int64 if kind == "bigint" else np.float64)
        arrays[name] = made
    if all(len(array) for array in arrays.values()):
        _insert(connection, arrays)
    return connection


def _insert(connection: Any, arrays: Mapping[str, Any]) -> None:
    if all(array.dtype != object for array in arrays.values()):
        connection.register("given", dict(arrays))
        connection.execute(f"insert into {TABLE} select * from given")
        return
    marks = ", ".join("?" for _ in arrays)
    rows = list(zip(*(array.tolist() for array in arrays.values()), strict=True))
    connection.executemany(f"insert into {TABLE} values ({marks})", rows)


def write_parquet(columns: Mapping[str, Column], path: Path) -> None:
    """Write columns into a Parquet file."""
    with duckdb_table(columns) as connection:
        connection.execute(f"copy {TABLE} to '{path}' (format parquet)")


# Tacit: a session on a table in DuckDB, with its ledger and its certificates.


_STATISTICS = {"sum": total, "mean": mean, "median": median, "variance": var}
UNBOUNDED_EPSILON = 10**30  # the epsilon of a budget that no case uses up


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Show no warnings about epsilon: loud releases are meant."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakGuaranteeWarning)
        yield


class TacitSession(TacitSystem):
    """Questions of a session, as analysts ask them."""

    name = "tacit"

    def session(
        self, columns: Mapping[str, Column], each: Any, budget: Any
    ) -> contextlib.AbstractContextManager[Any]:
        """Return a session on a fresh table, closed at the end of its block."""
        return Session(duckdb_table(columns), each, budget, in_memory, table=TABLE)

    def repeated(
        self, columns: Mapping[str, Column], price: float
    ) -> contextlib.AbstractContextManager[Any]:
        """Return a session for one of many equal releases, on rows that are a person each."""
        # It may be the same for all of them, and each has a tag: without one, all are the first.
        return self.session(columns, one_row_each, budget_for(price))

    def statistic(
        self,
        kind: str,
        rows: Rows,
        *,
        bounds: Bounds | None = None,
        edges: Sequence[float] | None = None,
        epsilon: float = 1.0,
    ) -> Any:
        ask: Any
        if kind == "count":
            ask = count()
        elif kind == "histogram":
            # without edges, as who forgets them asks
            ask = histogram("x") if edges is None else histogram("x", list(edges))
        elif bounds is None:
            ask = _STATISTICS[kind]("x")  # type: ignore[operator]
        else:
            ask = _STATISTICS[kind]("x", *bounds)  # type: ignore[operator]
        with quiet(), self.repeated(columns_of({"x": rows}), epsilon) as session:
            answer = session.agg(answer=ask).release(epsilon=epsilon, tag=secrets.token_hex(8))
            if kind == "histogram":
                bars: Any = answer.value("answer")
                return [float(v) for v in np.ravel(bars)]
            return _value(answer, "answer")

    def group_counts(
        self,
        keys: Sequence[Any],
        public: Sequence[Any] | None,
        *,
        epsilon: float,
        delta: float = 0.0,
    ) -> Mapping[Any, float]:
        budget = epsilon_delta(epsilon, repr(delta)) if delta else budget_for(epsilon)
        column: Column = [str(key) for key in keys], "varchar"  # texts, also where there are none
        with quiet(), self.session({"g": column}, one_row_each, budget) as session:
            grouped = session.group_by("g", keys=None if public is None else list(public))
            price = {"delta": repr(delta)} if delta else {}
            answer = grouped.agg(n=count()).release(epsilon=epsilon, **price)
            columns: Any = answer.to_dict()
            return dict(zip(columns["g"], map(float, columns["n"]), strict=True))

    def planned_counts(
        self, keys: Sequence[str], public: Sequence[str], copies: int, *, epsilon: float
    ) -> Sequence[float]:
        column: Column = [*keys], "varchar"
        with quiet(), self.session({"g": column}, one_row_each, budget_for(epsilon)) as session:
            questions = [session.agg(**{f"n{i}": count()}) for i in range(copies)]
            if public:
                questions.append(session.group_by("g", keys=list(public)).agg(n=count()))
            answers: Any = session.plan(questions).release(epsilon=epsilon)
            values = [_value(answer, f"n{i}") for i, answer in enumerate(answers[:copies])]
            return [*values, *(float(n) for a in answers[copies:] for n in a.to_dict()["n"])]

    def derived(
        self, ask: str, keys: Sequence[str], public: Sequence[str], *, epsilon: float
    ) -> tuple[Sequence[float], float | None, float]:
        column: Column = [*keys], "varchar"
        table = {"g": column, **columns_of({"x": [1.0] * len(keys)})}
        with quiet(), self.session(table, one_row_each, budget_for(epsilon)) as session:
            grouped = session.group_by("g", keys=list(public))
            columns: Any = grouped.agg(n=count()).release(epsilon=epsilon).to_dict()
            question = {
                "total": lambda: session.filter(col("g").is_in(public)).agg(n=count()),
                "other group": lambda: session.filter(col("g") == "z").agg(n=count()),
                "filter": lambda: session.filter((col("g") == public[0]) & (col("x") > 0)).agg(
                    n=count()
                ),
            }[ask]()
            before = session.spent
            answer = question.free_answer()
            given = None if answer is None else _value(answer, "n")
            return [float(n) for n in columns["n"]], given, float((session.spent - before).amount)

    def people_keys(
        self, rows: Sequence[tuple[int, str]], groups_each: int, *, epsilon: float, delta: float
    ) -> Sequence[str]:
        people, keys = [person for person, _ in rows], [key for _, key in rows]
        table: dict[str, Column] = {"person": (people, "bigint"), "g": (keys, "varchar")}
        each = unit("person", rows=groups_each, groups=groups_each)
        with quiet(), self.session(table, each, epsilon_delta(epsilon, repr(delta))) as session:
            question = session.group_by("g").agg(n=count())
            columns: Any = question.release(epsilon=epsilon, delta=repr(delta)).to_dict()
            return [str(key) for key in columns["g"]]

    def people_sum(
        self,
        rows: Sequence[tuple[int, str, float]],
        public: Sequence[str],
        *,
        rows_each: int,
        groups_each: int,
        upper: float,
        epsilon: float,
    ) -> Mapping[str, float]:
        person, group, value = zip(*rows, strict=True)
        table = columns_of({"person": person, "g": group, "x": value})
        each = unit("person", rows=rows_each * groups_each, groups=groups_each)
        with quiet(), self.session(table, each, budget_for(epsilon)) as session:
            question = session.group_by("g", keys=list(public)).agg(s=total("x", 0, upper))
            columns: Any = question.release(epsilon=epsilon).to_dict()
            return dict(zip(columns["g"], map(float, columns["s"]), strict=True))

    def joined_count(self, keys: Rows, public_keys: Rows, *, epsilon: float) -> float:
        with tempfile.TemporaryDirectory() as folder:
            directory = Path(folder)
            for name, head, rows in (("visits", "v", keys), ("sites", "region", public_keys)):
                cells = "\n".join("," if key is None else f"{key},1" for key in rows)
                (directory / f"{name}.csv").write_text(f"site,{head}\n{cells}\n")
            (directory / "visits.toml").write_text(
                'name = "visits"\nunit = "row"\n'
                f"budget = {{ epsilon = {UNBOUNDED_EPSILON} }}\n"
                '[tables.visits]\npath = "visits.csv"\n[tables.visits.columns]\n'
                'site = { kind = "integer" }\n'
                '[tables.sites]\npath = "sites.csv"\npublic = true\nkey = "site"\n'
                '[tables.sites.columns]\nsite = { kind = "integer" }\n'
                'region = { kind = "integer", keys = [1] }\n'
            )
            with quiet(), open_dataset(directory / "visits.toml") as session:
                question = session.join("sites").filter(col("region") == 1).agg(n=count())
                return _value(question.release(epsilon=epsilon), "n")

    def filtered_count(
        self, predicate: str, rows: Rows, *, epsilon: float, other: Rows = ()
    ) -> float:
        x = col("x")
        aggregates: dict[str, Any] = {
            "quotient": lambda: 1 / x > 0,
            "equal": lambda: x == other[0],
        }
        if predicate not in aggregates:
            raise NotOfferedError(f"the predicate {predicate}")
        with quiet(), self.repeated(columns_of({"x": rows}), epsilon) as session:
            question = session.filter(aggregates[predicate]()).agg(n=count())
            return _value(question.release(epsilon=epsilon, tag=secrets.token_hex(8)), "n")

    def read_sum(
        self, text: str, column: str, kind: str, bounds: Bounds, *, epsilon: float
    ) -> float:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.csv"
            path.write_text(text)
            with (
                quiet(),
                Session(
                    *(path, one_row_each, budget_for(epsilon), in_memory), types={column: kind}
                ) as session,
            ):
                question = session.agg(s=total(column, *bounds))
                return _value(question.release(epsilon=epsilon), "s")

    def changing_source(self, rows_each: int, *, epsilon: float) -> float:
        connection = duckdb.connect(config={"threads": 1})
        connection.execute(
            "create view drawn as select 7 as person, 1.0 as x from range(1000) "
            "where random() < 0.5"
        )
        each = unit("person", rows=rows_each, groups=1)
        opened = Session(connection, each, budget_for(epsilon), in_memory, table="drawn")
        with quiet(), opened as session:
            return _value(session.agg(s=total("x", 0, 1)).release(epsilon=epsilon), "s")

    def account(self, budget: float) -> SystemBudget:
        return TacitAccount.fresh(budget)

    def noise(self, kind: str, value: float, scale: float) -> float:
        raise NotOfferedError(f"{kind} noise on a number")

    def noise_costs(self, count: int) -> Sequence[tuple[float, float]]:
        costs = []
        for _ in range(count):
            started = time.thread_time_ns()
            drawn = discrete_laplace(1000)
            costs.append((float(abs(int(drawn))), float(time.thread_time_ns() - started)))
        return costs

    def seeded(self, seed: int) -> Sequence[float]:
        seed_everything(seed)
        return [self.statistic("count", [1.0] * 50, epsilon=0.01) for _ in range(3)]

    def forked(self) -> tuple[Sequence[float], Sequence[float]]:
        discrete_laplace(10**6)
        return forked_numbers(lambda: [float(discrete_laplace(10**6)) for _ in range(8)])

    def written(self, where: str, rows: Rows) -> str:
        log, warned = io.StringIO(), io.StringIO()
        handler = logging.StreamHandler(log)
        root = logging.getLogger()
        before = root.level
        root.addHandler(handler)
        root.setLevel(1)
        try:
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                text = self._released(where, rows)
            warned.write("\n".join(str(warning.message) for warning in seen))
        finally:
            root.removeHandler(handler)
            root.setLevel(before)
        if where.startswith("log"):
            return log.getvalue()
        return warned.getvalue() if where == "warning" else text

    def _released(self, where: str, rows: Rows) -> str:
        with self.session(columns_of({"x": rows}), one_row_each, epsilon(1)) as session:
            if where == "session":
                return f"{session!r}{session}"
            if where == "log of a failure":
                _fails(session)
                return ""
            answer = session.agg(n=count(), s=total("x", 0, 10)).release(epsilon="1/10000")
            if where == "certificate":
                return json.dumps(answer.certificate.body)
            if where == "history":
                return "\n".join(map(str, session.history()))
            if where == "repr":
                return repr(session.agg(n=count())) + repr(answer.certificate)
            if where == "pickle":
                return _pickled(session) + _pickled(session.agg(n=count()))
            return json.dumps(answer.to_dict(), default=str)

    def certificate(self) -> str:
        return json.dumps(self._certified())

    def _certified(self) -> dict[str, Any]:
        with self.session(columns_of({"x": [1.0, 2.0]}), one_row_each, epsilon(1)) as session:
            answer = session.agg(s=total("x", 0, 10)).release(epsilon="1/2")
            return dict(answer.certificate.body)

    def forgeries(self) -> Mapping[str, str]:
        body = self._certified()

        def changed(change: Any) -> str:
            other = copy.deepcopy(body)
            change(other)
            return json.dumps({**other, "digest": digest(other)})

        def steps(page: Any, name: str) -> Any:
            (step,) = [s for chain in page["chains"] for s in chain["steps"] if s["step"] == name]
            return step

        return {
            "smaller epsilon": changed(lambda b: b["composition"].update(loss="1/100")),
            "narrower bound": changed(lambda b: steps(b, "sum_by_group").update(upper="1")),
            "larger noise": changed(lambda b: b["question"]["request"].update(epsilon="1/100")),
            "other statistic": changed(
                lambda b: b["question"]["query"]["aggregates"][0][1].update(kind="mean")
            ),
            "other unit": changed(lambda b: b["protects"]["unit"].update(rows=100)),
        }

    def verifies(self, certificate: str) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.json"
            path.write_text(certificate)
            return bool(Certificate.load(path).verify())


def _value(answer: Any, name: str) -> float:
    return float(answer.value(name))


def budget_for(amount: float) -> Any:
    """Return a budget that pays for one release, or for none where the amount is no price."""
    return epsilon(max(1, 2 * amount)) if math.isfinite(amount) and amount > 0 else epsilon(1)


def _pickled(thing: Any) -> str:
    """Return a pickle as text; what refuses to be pickled holds nothing."""
    try:
        return bytes(ForkingPickler.dumps(thing)).decode("latin-1")
    except Exception as error:
        return type(error).__name__


def _fails(session: Session) -> None:
    """Ask while the table is taken away."""
    with contextlib.suppress(Exception):
        session.filter(col("absent") > 1).agg(n=count()).release(epsilon="1/100")


SYSTEM = TacitSession
