"""Tacit: a session on a table in PostgreSQL, with its ledger in PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tacit.accounting import epsilon as epsilon_budget
from tacit.accounting.open_ledger import in_memory
from tacit.audit.attack_suite.system import (
    NotOfferedError,
    NotReadyError,
    System,
    SystemBudget,
)
from tacit.audit.attack_suite.systems.tacit_session import (
    Column,
    TacitAccount,
    TacitSession,
    budget_for,
    columns_of,
    quiet,
)
from tacit.errors import need
from tacit.tables import Session, one_row_each, unit
from tacit.tables import sum as total

# The environment variable with the address of a database in which tables may be made.
ADDRESS = "TACIT_ATTACKED_POSTGRESQL"
_OPEN = 4  # this many accounts stay open, each with the connections of its table and its ledger
_TYPES = {"bigint": "bigint", "double": "double precision", "varchar": "text"}


class TacitPostgres(TacitSession):
    """Questions of a session on tables of a database that the environment names."""

    name = "tacit-postgresql"

    def __init__(self) -> None:
        self._accounts: deque[contextlib.ExitStack] = deque()

    def refuse_unready(self) -> None:
        if not os.environ.get(ADDRESS):
            raise NotReadyError(
                f"no database: {ADDRESS} names one in which tables may be made and dropped, "
                "postgresql://user@host/database"
            )

    @contextlib.contextmanager
    def session(self, columns: Mapping[str, Column], each: Any, budget: Any) -> Iterator[Any]:
        with (
            _table(columns) as name,
            Session(os.environ[ADDRESS], each, budget, in_memory, table=name) as session,
        ):
            yield session

    joined_count = System.joined_count  # only tables of one database are joined here

    read_sum = System.read_sum  # a database has no files

    def changing_source(self, rows_each: int, *, epsilon: float) -> float:
        name, each = _fresh(), unit("person", rows=rows_each, groups=1)
        _run(
            f"create view {name} as select 7::bigint as person, 1.0::double precision as x "
            "from generate_series(1, 1000) where random() < 0.5"
        )
        opened = Session(os.environ[ADDRESS], each, budget_for(epsilon), in_memory, table=name)
        try:
            with quiet(), opened as session:
                answer: Any = session.agg(s=total("x", 0, 1)).release(epsilon=epsilon)
                return float(answer.value("s"))
        finally:
            _run(f"drop view {name}")

    def account(self, budget: float) -> SystemBudget:
        self._end(_OPEN - 1)  # a server has this many connections, and one case one account
        until = contextlib.ExitStack()
        self._accounts.append(until)
        return _PostgresAccount.fresh(budget, until)

    def close(self) -> None:
        self._end(0)

    def _end(self, left: int) -> None:
        while len(self._accounts) > left:
            self._accounts.popleft().close()


class _PostgresAccount(SystemBudget):
    """A table of its own, and a ledger of its own beside it."""

    def __init__(self, name: str, budget: Any, until: contextlib.ExitStack) -> None:
        self._name, self._until = name, until
        address = os.environ[ADDRESS]
        ledger = f"{address}{'&' if '?' in address else '?'}ledger={name}"
        opened = Session(address, one_row_each, budget, ledger, table=name)
        self._session = until.enter_context(opened)

    @classmethod
    def fresh(cls, budget: float, until: contextlib.ExitStack) -> _PostgresAccount:
        """Return an account whose table and ledger go at the end."""
        name = until.enter_context(_table(columns_of({"x": [i % 10 for i in range(100)]})))
        until.callback(_run, f"drop table if exists tacit.{name}_event, tacit.{name}_head")
        return cls(name, epsilon_budget(repr(budget)), until)

    def ask(self, epsilon: float, label: str) -> float:
        return TacitAccount.ask_session(self._session, epsilon, label)

    def spent(self) -> float:
        return float(self._session.spent.amount)

    def again(self) -> SystemBudget:
        return _PostgresAccount(self._name, None, self._until)

    def files(self) -> Sequence[str]:
        raise NotOfferedError("a budget in a file")

    def fail(self, epsilon: float, label: str) -> None:
        question = self._session.agg(s=total("x", 0, 10))
        hidden = f"{self._name}_hidden"
        _run(f"alter table {self._name} rename to {hidden}")
        _run(f"create view {self._name} as select x / (x - x) as x from {hidden}")
        try:
            question.release(epsilon=repr(epsilon), tag=label)
        finally:
            _run(f"drop view {self._name}")
            _run(f"alter table {hidden} rename to {self._name}")


def _fresh() -> str:
    return f"attacked_{secrets.token_hex(6)}"


@contextlib.contextmanager
def _connected() -> Iterator[Any]:
    with need("psycopg", "postgres").connect(os.environ[ADDRESS], autocommit=True) as connection:
        yield connection


def _run(statement: str) -> None:
    with _connected() as connection:
        connection.execute(statement)


@contextlib.contextmanager
def _table(columns: Mapping[str, Column]) -> Iterator[str]:
    """Make a table, and drop it at the end."""
    name = _fresh()
    shape = ", ".join(f'"{column}" {_TYPES[kind]}' for column, (_, kind) in columns.items())
    try:
        with _connected() as connection:
            connection.execute(f"create table {name} ({shape})")
            with connection.cursor().copy(f"copy {name} from stdin") as copy:
                for row in zip(*(values for values, _ in columns.values()), strict=True):
                    copy.write_row(row)
        yield name
    finally:
        _run(f"drop table if exists {name}")


SYSTEM = TacitPostgres
