"""TPC-H, protected by customer: error and cost of each query beside the engine's own answer.

Tables at the scale that is given (0.1 by default), made by ``tpchgen-cli`` of the package index.
Each query is asked at an epsilon of its own (1 by default), under a budget without end.  CPU time
of this process, best of three, of a question that no earlier one has prepared.  The error is
relative: the median over all groups and columns of five releases.  What is refused says why.

Run: ``python benchmarks/tpch.py [scale] [epsilon]``.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

import tacit as tc
from tacit.errors import TacitError

TABLES = ("customer", "lineitem", "nation", "orders", "part", "region", "supplier")
RUNS = 5

ITEMS = """
select o_custkey, l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_discount,
    l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipmode,
    o_orderdate, o_orderpriority, o_shippriority
from lineitem join orders on l_orderkey = o_orderkey
"""
"""The remedy where a table lacks the person: a view that has it.  Each row is one customer's."""

ORDERS = """
select o_custkey, o_orderkey, o_orderdate, o_orderpriority, coalesce(o_late, false) as o_late
from orders left join (
    select l_orderkey, bool_or(l_commitdate < l_receiptdate) as o_late
    from lineitem group by l_orderkey
) on l_orderkey = o_orderkey
"""
"""The remedy for ``exists``: a column of the view says it.  An order and its items are one
customer's."""

DECLARED = """
name = "tpch"
unit = { person = "o_custkey", rows = 100 }
budget = { epsilon = 1000000 }

[tables.items]
path = "items.parquet"
[tables.items.columns]
l_quantity = { kind = "decimal", bounds = [0, 50] }
l_extendedprice = { kind = "decimal", bounds = [0, 105000] }
l_discount = { kind = "decimal", bounds = [0, "0.1"] }
l_tax = { kind = "decimal", bounds = [0, "0.08"] }
l_returnflag = { kind = "text", keys = ["A", "N", "R"] }
l_linestatus = { kind = "text", keys = ["F", "O"] }
l_shipmode = { kind = "text", keys = ["MAIL", "SHIP"] }

[tables.orders]
path = "orders.parquet"
[tables.orders.columns.o_orderpriority]
kind = "text"
keys = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]

[tables.customer]
path = "customer.parquet"
person = "c_custkey"

[tables.supplier]
path = "supplier.parquet"
public = true
key = "s_suppkey"

[tables.supplier.columns]
s_nationkey = { kind = "integer", bounds = [0, 24] }

[tables.nation]
path = "nation.parquet"
public = true
key = "n_nationkey"
[tables.nation.columns]
n_name = { kind = "text", keys = ["CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"] }

[tables.region]
path = "region.parquet"
public = true
key = "r_regionkey"

[tables.part]
path = "part.parquet"
public = true
key = "p_partkey"
"""


class Query(NamedTuple):
    """A query: its number, what it is about, its text, and the form that is asked, if another."""

    number: str
    about: str
    sql: str
    asked: str = ""


REVENUE = "l_extendedprice * (1 - l_discount)"
YEAR = "l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'"
SMALL = f"{YEAR} and l_discount between 0.05 and 0.07 and l_quantity < 24"
SEPTEMBER = "l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-10-01'"
QUARTER = "o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-10-01'"
HIGH = "o_orderpriority in ('1-URGENT', '2-HIGH')"
PROMOTED = f"sum(case when p_type like 'PROMO%' then {REVENUE} else 0 end)"
PARTS = "items join part on items.l_partkey = part.p_partkey"
LOCAL = """items join customer on items.o_custkey = customer.c_custkey
            join supplier on items.l_suppkey = supplier.s_suppkey
            join nation on supplier.s_nationkey = nation.n_nationkey
            join region on nation.n_regionkey = region.r_regionkey
        where c_nationkey = s_nationkey and r_name = 'ASIA'
            and o_orderdate >= date '1994-01-01' and o_orderdate < date '1995-01-01'"""

QUERIES = [
    Query(
        "1",
        "prices and discounts by flag and status",
        f"""select l_returnflag, l_linestatus, sum(l_quantity) as sum_qty,
            sum(l_extendedprice) as sum_base_price, sum({REVENUE}) as sum_disc_price,
            sum({REVENUE} * (1 + l_tax)) as sum_charge, avg(l_quantity) as avg_qty,
            avg(l_extendedprice) as avg_price, avg(l_discount) as avg_disc, count(*) as count_order
        from items where l_shipdate <= date '1998-09-02'
        group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus""",
    ),
    Query(
        "3",
        "the ten orders of most revenue",
        f"""select l_orderkey, sum({REVENUE}) as revenue, o_orderdate, o_shippriority
        from items join customer on items.o_custkey = customer.c_custkey
        where c_mktsegment = 'BUILDING' and o_orderdate < date '1995-03-15'
            and l_shipdate > date '1995-03-15'
        group by l_orderkey, o_orderdate, o_shippriority
        order by revenue desc, o_orderdate limit 10""",
    ),
    Query(
        "4",
        "late orders by priority, by `exists`",
        f"""select o_orderpriority, count(*) as order_count from orders
        where {QUARTER} and exists (select * from items
            where l_orderkey = o_orderkey and l_commitdate < l_receiptdate)
        group by o_orderpriority order by o_orderpriority""",
    ),
    Query(
        "4, view",
        "the same, by a column of the view",
        f"""select o_orderpriority, count(*) as order_count from orders
        where {QUARTER} and o_late group by o_orderpriority order by o_orderpriority""",
    ),
    Query(
        "5",
        "revenue by nation, five joins",
        f"select n_name, sum({REVENUE}) as revenue from {LOCAL} group by n_name order by n_name",
    ),
    Query(
        "5, people",
        "the same, a total of each customer first",
        f"select s_nationkey as code, sum({REVENUE}) as revenue from {LOCAL} group by code",
        f"""select code, sum(total) as revenue from (
            select o_custkey, min(s_nationkey) as code, clamp(sum({REVENUE}), 0, 150000) as total
            from {LOCAL} group by o_custkey) as customers
        where code in (8, 9, 12, 18, 21) group by code""",
    ),
    Query(
        "6",
        "revenue of a change of discounts",
        f"select sum(l_extendedprice * l_discount) as revenue from items where {SMALL}",
    ),
    Query(
        "6, people",
        "the same, a total of each customer first",
        f"select sum(l_extendedprice * l_discount) as revenue from items where {SMALL}",
        f"""select sum(total) as revenue from (
            select o_custkey, clamp(sum(l_extendedprice * l_discount), 0, 10000) as total
            from items where {SMALL} group by o_custkey) as customers""",
    ),
    Query(
        "10",
        "the twenty customers who return most",
        f"""select o_custkey, sum({REVENUE}) as revenue from items
        where o_orderdate >= date '1993-10-01' and o_orderdate < date '1994-01-01'
            and l_returnflag = 'R'
        group by o_custkey order by revenue desc limit 20""",
    ),
    Query(
        "12",
        "late items by mode and priority",
        f"""select l_shipmode, sum(case when {HIGH} then 1 else 0 end) as high_line_count,
            sum(case when {HIGH} then 0 else 1 end) as low_line_count
        from items where l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate
            and l_shipdate < l_commitdate and l_receiptdate >= date '1994-01-01'
            and l_receiptdate < date '1995-01-01'
        group by l_shipmode order by l_shipmode""",
    ),
    Query(
        "14",
        "share of promoted parts, a quotient",
        f"""select 100.00 * {PROMOTED} / sum({REVENUE}) as promo_revenue
        from {PARTS} where {SEPTEMBER}""",
    ),
    Query(
        "14, sums",
        "the two sums of the quotient",
        f"select {PROMOTED} as promoted, sum({REVENUE}) as revenue from {PARTS} where {SEPTEMBER}",
    ),
    Query(
        "14, people",
        "the same, totals of each customer first",
        f"select {PROMOTED} as promoted, sum({REVENUE}) as revenue from {PARTS} where {SEPTEMBER}",
        f"""select sum(promo) as promoted, sum(total) as revenue from (
            select o_custkey, clamp({PROMOTED}, 0, 150000) as promo,
                clamp(sum({REVENUE}), 0, 300000) as total
            from {PARTS} where {SEPTEMBER} group by o_custkey) as customers""",
    ),
]


def generate(scale: str, folder: Path) -> None:
    """Make the tables of the specification, as files."""
    program = shutil.which("tpchgen-cli", path=str(Path(sys.executable).parent))
    if program is None:
        raise SystemExit("tpchgen-cli is not there: pip install 'tacit-dp[bench]'")
    command = [program, "parquet", "-s", scale, "--tables", ",".join(TABLES), "-o", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def declare(folder: Path) -> None:
    """Make the views that have the customer, and declare the data set."""
    connection = duckdb.connect()
    for table in ("lineitem", "orders"):
        (folder / f"{table}.parquet").rename(folder / f"all_{table}.parquet")
        connection.execute(f"create view {table} as from '{folder}/all_{table}.parquet'")
    for name, sql in (("items", ITEMS), ("orders", ORDERS)):
        connection.execute(f"copy ({sql}) to '{folder}/{name}.parquet'")
    (folder / "tpch.toml").write_text(DECLARED)


def plain(folder: Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for table in ("items", *TABLES):
        path = folder / f"{table}.parquet"
        if path.exists():
            connection.execute(f"create view {table} as from '{path}'")
    return connection


def cpu(run: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def error(query: Query, answers: list[Any], truth: duckdb.DuckDBPyConnection) -> float:
    """The median relative error over groups and columns; groups that nobody has are left out."""
    relation = truth.execute(query.sql)
    names = [column[0] for column in relation.description]
    off = []
    for answer in answers:
        found = answer.to_dict()
        rows = {key: place for place, key in enumerate(answer.keys)}
        by = [names.index(name) for name in answer.by]
        for row in truth.execute(query.sql).fetchall():
            place = rows[tuple(row[i] for i in by)]
            for i, name in enumerate(names):
                if i not in by and row[i]:
                    off.append(abs(found[name][place] / float(row[i]) - 1))
    return statistics.median(off)


def measured(query: Query, session: tc.Session, truth: Any, epsilon: str) -> str:
    serial = iter(range(1000))

    def ask() -> Any:
        session.refresh()
        return session.sql(query.asked or query.sql).release(epsilon, tag=str(next(serial)))

    own = cpu(lambda: truth.execute(query.sql).fetchall())
    try:
        answers = [ask() for _ in range(RUNS)]
    except TacitError as refused:
        told = " ".join(str(refused).split())
        return f"| {query.number} | {query.about} | refused: {told} | {1000 * own:.0f} | |"
    off = f"{100 * error(query, answers, truth):.2g}%"
    cost = cpu(ask)
    return f"| {query.number} | {query.about} | {off} | {1000 * own:.0f} | {1000 * cost:.0f} |"


def main(scale: str = "0.1", epsilon: str = "1") -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(scale, folder)
        declare(folder)
        truth = plain(folder)
        print(f"Scale {scale}, protected by customer, epsilon {epsilon} a query.\n")
        print("| query | about | error | engine's own, ms | Tacit, ms |")
        print("|---|---|---|---|---|")
        with tc.open(folder / "tpch.toml", ledger=tc.in_memory) as session:
            for query in QUERIES:
                of = session.table("orders") if query.sql.find("from orders") >= 0 else session
                print(measured(query, of, truth, epsilon), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
