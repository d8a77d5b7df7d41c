"""Tacit: a service in a process of its own, asked over HTTP with the token of an analyst."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from tacit.accounting import epsilon as epsilon_budget
from tacit.audit.attack_suite.system import (
    Bounds,
    NotOfferedError,
    NotReadyError,
    Rows,
    System,
    SystemBudget,
)
from tacit.audit.attack_suite.systems.tacit_session import (
    UNBOUNDED_EPSILON,
    Column,
    TacitAccount,
    TacitSession,
    budget_for,
    columns_of,
    quiet,
    write_parquet,
)
from tacit.client.connection import Connection, connect
from tacit.errors import DataSourceError, MissingExtraError, need
from tacit.tables import col, count, one_row_each
from tacit.tables import sum as total

_REPLY_TIMEOUT = 60.0
_DAY = 86_400
# Bytes of a Parquet file before its first page, and bytes of that page that are spoilt.
_MAGIC, _SPOILT = 4, 36
_FAILED = 500  # from here on a status says that the service failed, and not that it refused
# A service keeps some files open for each one with rows, and a process may open only this many.
_MAX_OPEN_SERVICES = 300
_SETTINGS = 'latency = "1/100"\n'


class TacitService(TacitSession):
    """Questions over HTTP to data sets that a curator declares while the service runs."""

    name = "tacit-service"

    def refuse_unready(self) -> None:
        try:
            for module in ("fastapi", "uvicorn", "sqlalchemy", "httpx"):
                need(module, "serve")
        except MissingExtraError as error:
            raise NotReadyError(str(error)) from None

    @property
    def _service(self) -> _Served:
        """The service that is asked, the last: another one where it holds many files."""
        # One that an account is stored in continues next to it.
        if self._all and self._all[-1].full and not self._all[-1].has_account:
            self._all.pop().stop()
        if not self._all or self._all[-1].full:
            self._all.append(_Served())
        return self._all[-1]

    @cached_property
    def _all(self) -> list[_Served]:
        return []

    def close(self) -> None:
        for served in self._all:
            served.stop()

    def session(self, columns: Mapping[str, Column], each: Any, budget: Any) -> Connection:
        service = self._service
        name = service.fresh()
        write_parquet(columns, service.data / f"{name}.parquet")
        fields = {"path": f"data/{name}.parquet"}
        service.declare(name, {"rows": fields}, each, budget)
        return service.analyst(name)

    def repeated(
        self, columns: Mapping[str, Column], price: float
    ) -> contextlib.AbstractContextManager[Any]:
        service, rows = self._service, repr(columns)
        if rows not in service.sessions:
            opened = self.session(columns, one_row_each, epsilon_budget(UNBOUNDED_EPSILON))
            service.sessions[rows] = service.until.enter_context(opened)
        return contextlib.nullcontext(service.sessions[rows])

    def joined_count(self, keys: Rows, public_keys: Rows, *, epsilon: float) -> float:
        service = self._service
        tables: dict[str, dict[str, Any]] = {}
        name = service.fresh()
        for table, head, rows in (("rows", "v", keys), ("sites", "region", public_keys)):
            cells = "\n".join("," if key is None else f"{key},1" for key in rows)
            (service.data / f"{name}-{table}.csv").write_text(f"site,{head}\n{cells}\n")
            site = {"site": {"kind": "integer"}}
            tables[table] = {"path": f"data/{name}-{table}.csv", "columns": site}
        tables["sites"] |= {"public": True, "key": "site"}
        tables["sites"]["columns"]["region"] = {"kind": "integer", "keys": [1]}
        service.declare(name, tables, one_row_each, epsilon_budget(UNBOUNDED_EPSILON))
        with quiet(), service.analyst(name) as connection:
            question = connection.filter().join("sites").filter(col("region") == 1)
            answer: Any = question.agg(n=count()).release(epsilon=epsilon)
            return float(answer.value("n"))

    def read_sum(
        self, text: str, column: str, kind: str, bounds: Bounds, *, epsilon: float
    ) -> float:
        service = self._service
        name = service.fresh()
        (service.data / f"{name}.csv").write_text(text)
        fields = {"path": f"data/{name}.csv", "columns": {column: {"kind": kind}}}
        service.declare(name, {"rows": fields}, one_row_each, budget_for(epsilon))
        with quiet(), service.analyst(name) as connection:
            answer: Any = connection.agg(s=total(column, *bounds)).release(epsilon=epsilon)
            return float(answer.value("s"))

    planned_counts = System.planned_counts  # analysts ask one question at a time

    # Curators declare files, which do not change by being read.
    changing_source = System.changing_source

    def account(self, budget: float) -> SystemBudget:
        service = self._service
        name = service.fresh()
        path = service.data / f"{name}.parquet"
        write_parquet(columns_of({"x": [i % 10 for i in range(100)]}), path)
        fields = {"path": f"data/{name}.parquet"}
        service.declare(name, {"rows": fields}, one_row_each, epsilon_budget(repr(budget)))
        return _ServiceAccount(service, name, path)

    def written(self, where: str, rows: Rows) -> str:
        self._service.has_account = (
            True  # its log is read below, also if another one is asked meanwhile
        )
        before = {id(served): served.log.stat().st_size for served in self._all}
        text = super().written(where, rows)
        if where.startswith("log"):
            for served in self._all:
                new = served.log.read_bytes()[before.get(id(served), 0) :]
                text += new.decode(errors="replace")
        return text


class _ServiceAccount(SystemBudget):
    """A data set of the service, and the connection of one analyst."""

    def __init__(self, service: _Served, name: str, path: Path) -> None:
        self._service, self._name, self._path = service, name, path
        service.has_account = True
        self._connection = service.until.enter_context(service.analyst(name))

    def ask(self, epsilon: float, label: str) -> float:
        return TacitAccount.ask_session(self._connection, epsilon, label)

    def spent(self) -> float:
        return float(self._connection.spent.amount)

    def again(self) -> SystemBudget:
        return _ServiceAccount(self._service, self._name, self._path)

    def files(self) -> Sequence[str]:
        raise NotOfferedError("a budget in a file that analysts reach")

    def fail(self, epsilon: float, label: str) -> None:
        content = self._path.read_bytes()
        question = self._connection.agg(s=total("x", 0, 10))
        self._path.write_bytes(content[:_MAGIC] + bytes(_SPOILT) + content[_MAGIC + _SPOILT :])
        try:
            question.release(epsilon=repr(epsilon), tag=label)
        finally:
            self._path.write_bytes(content)


class _Served:
    """A folder that ``tacit serve`` serves on a free port of this machine, until it is stopped."""

    has_account = False  # whether an account is stored in it

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="tacit-attacked-"))
        self.until = contextlib.ExitStack()
        self.sessions: dict[str, Connection] = {}
        self.data, self.log = self.folder / "data", self.folder / "service.log"
        self.data.mkdir()
        (self.folder / "service.toml").write_text(_SETTINGS)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = str(probe.getsockname()[1])
        self.address = f"http://127.0.0.1:{port}"
        words = [sys.executable, "-m", "tacit", "serve", str(self.folder), "--port", port]
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(words, stdout=out, stderr=out)
        try:
            self._wait()
            self._curator = self.until.enter_context(self._client(self._token("curator")))
        except BaseException:
            self.stop()
            raise

    def _wait(self) -> None:
        httpx, end = need("httpx", "serve"), time.monotonic() + _REPLY_TIMEOUT
        while True:
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.address}/readyz", timeout=5).status_code == 200:
                    return
            if self._process.poll() is not None or time.monotonic() > end:
                raise NotReadyError("the service did not start")
            time.sleep(0.1)

    def _client(self, token: str) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        httpx = need("httpx", "serve")
        return httpx.Client(base_url=self.address, headers=headers, timeout=_REPLY_TIMEOUT)

    def _token(self, role: str) -> str:
        from tacit.service.access import Grant
        from tacit.service.database import Database
        from tacit.service.folder import signing_key
        from tacit.service.settings import Settings
        from tacit.service.tokens import Tokens

        database = Database(Settings.load(self.folder).database)
        try:
            tokens = Tokens(database, signing_key(self.folder), time.time)
            name = f"{role}-{secrets.token_hex(4)}"
            return str(tokens.create(name, [Grant(role, "*")], _DAY)[0])
        finally:
            database.close()

    @property
    def full(self) -> bool:
        """True if the service has as many open files with rows as it should."""
        return sum(1 for _ in self.data.iterdir()) >= _MAX_OPEN_SERVICES

    def fresh(self) -> str:
        """Return a name that no data set has."""
        return f"d{secrets.token_hex(6)}"

    def declare(self, name: str, tables: Mapping[str, Any], each: Any, budget: Any) -> None:
        """Declare a data set as a curator does."""
        column = each.column
        shape = {"person": column, "rows": each.rows, "groups": each.groups} if column else "row"
        price = {"epsilon": str(budget.amount)}
        if budget.delta:
            price["delta"] = str(budget.delta)
        fields = {"unit": shape, "budget": price, "tables": dict(tables)}
        reply = self._curator.put(f"/v1/datasets/{name}", json={"declaration": fields})
        if reply.status_code >= _FAILED:
            raise DataSourceError(f"the service failed: {reply.text:.200}")
        if reply.status_code != 201:
            raise NotOfferedError(f"a data set so declared: {reply.text:.200}")

    def analyst(self, name: str) -> Connection:
        """Return a connection to a data set, with a token of its own."""
        return connect(self.address, self._token("analyst"), dataset=name)

    def stop(self) -> None:
        """Stop the service, and remove the folder."""
        self.until.close()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


SYSTEM = TacitService
