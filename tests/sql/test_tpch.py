"""The queries of TPC-H: what is answered is what DuckDB answers, and what is not says why."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import duckdb
import pytest

import tacit as tc
from house.project import ROOT
from tacit.errors import UsageError

REFUSED = {
    "3": "the keys of l_orderkey, o_orderdate, o_shippriority are not public",
    "4": "EXISTS",
    "10": "the keys of o_custkey are not public",
}
SIZES = {"lineitem": 3000, "orders": 700, "customer": 100, "part": 40, "supplier": 20}
SIZES |= {"nation": 25, "region": 3}
TABLES = {
    "lineitem": "pick(i, 1, 700) as l_orderkey, pick(i, 2, 40) as l_partkey, "
    "pick(i, 3, 20) as l_suppkey, cast(1 + pick(i, 4, 50) as decimal(15, 2)) as l_quantity, "
    "cast(900 + pick(i, 5, 10000000) / 1000 as decimal(15, 2)) as l_extendedprice, "
    "cast(pick(i, 6, 11) / 100 as decimal(15, 2)) as l_discount, "
    "cast(pick(i, 7, 9) / 100 as decimal(15, 2)) as l_tax, "
    "['A', 'N', 'R'][1 + pick(i, 8, 3)] as l_returnflag, "
    "['F', 'O'][1 + pick(i, 9, 2)] as l_linestatus, "
    "date '1993-06-01' + cast(pick(i, 10, 900) as integer) as l_shipdate, "
    "l_shipdate + cast(pick(i, 11, 60) - 20 as integer) as l_commitdate, "
    "l_shipdate + cast(pick(i, 12, 60) as integer) as l_receiptdate, "
    "['AIR', 'MAIL', 'SHIP'][1 + pick(i, 13, 3)] as l_shipmode",
    "orders": "i as o_orderkey, pick(i, 14, 100) as o_custkey, "
    "date '1993-06-01' + cast(pick(i, 15, 900) as integer) as o_orderdate, "
    "['1-URGENT', '2-HIGH', '3-MEDIUM', '4-NOT SPECIFIED', '5-LOW'][1 + pick(i, 16, 5)] "
    "as o_orderpriority, 0 as o_shippriority",
    "customer": "i as c_custkey, pick(i, 17, 25) as c_nationkey, 'BUILDING' as c_mktsegment",
    "part": "i as p_partkey, ['PROMO TIN', 'SMALL TIN'][1 + pick(i, 18, 2)] as p_type",
    "supplier": "i as s_suppkey, pick(i, 19, 25) as s_nationkey",
    "nation": "i as n_nationkey, case i when 8 then 'INDIA' when 9 then 'INDONESIA' when 12 then "
    "'JAPAN' when 18 then 'CHINA' when 21 then 'VIETNAM' else 'N' || i end as n_name, "
    "case when i in (8, 9, 12, 18, 21) then 2 else 1 end as n_regionkey",
    "region": "i as r_regionkey, ['AFRICA', 'AMERICA', 'ASIA'][i + 1] as r_name",
}


@pytest.fixture(scope="module")
def tpch() -> Any:
    place = ROOT / "benchmarks" / "tpch.py"
    spec = importlib.util.spec_from_file_location("tpch_benchmark", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(tpch: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small tables with the columns of the specification, and a few of its values."""
    place = tmp_path_factory.mktemp("tpch")
    connection = duckdb.connect()
    connection.execute("create macro pick(i, k, n) as cast(hash(i, k) % n as bigint)")
    for table, columns in TABLES.items():
        rows = f"select {columns} from range({SIZES[table]}) as t(i)"
        connection.execute(f"copy ({rows}) to '{place}/{table}.parquet'")
    tpch.declare(place)
    declared = (place / "tpch.toml").read_text()
    (place / "tpch.toml").write_text(declared.replace("1000000", "1" + "0" * 15))
    return place


@pytest.mark.full
def test_what_is_answered_is_what_the_engine_answers(tpch: Any, folder: Path) -> None:
    pytest.importorskip("sqlglot")
    truth = tpch.plain(folder)
    asked = 0
    with tc.open(folder / "tpch.toml", ledger=tc.in_memory) as session:
        for query in tpch.QUERIES:
            of = session.table("orders") if "from orders" in query.sql else session
            if query.number in REFUSED:
                with pytest.raises(UsageError, match=REFUSED[query.number]):
                    of.sql(query.sql).release(epsilon=1)
                continue
            answer = of.sql(query.asked or query.sql).release(epsilon=10**13)
            assert answer.certificate.verify(session.ledger), query.number
            assert tpch.error(query, [answer], truth) < 1e-6, query.number
            asked += 1
    assert asked == 10
