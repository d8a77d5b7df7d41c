"""Reading a file of each format against its plain reader: CPU seconds and memory.

100,000 rows of 20 columns; each figure is of a process of its own, on Linux, which has read ten
rows in the same way: so neither the imports nor the engine itself count.
Run: ``python benchmarks/file_formats.py [rows] [names ...]``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROWS = 100_000
FILES = ["delta", "v.feather", "v.orc", "v.avro", "v.jsonl", "v.zsav", "v.dta", "v.xpt", "v.xlsx"]
SURVEYS = {".zsav": "read_sav", ".dta": "read_dta", ".xpt": "read_xport"}


def table(rows: int) -> Any:
    import numpy as np
    import pyarrow as pa

    draw = np.random.default_rng(1)
    numbers = {f"x{i}": draw.normal(size=rows).round(6) for i in range(16)}
    return pa.table(
        {
            "person": draw.integers(0, 10**9, rows),
            "site": [f"site {i % 10}" for i in range(rows)],
            **{f"n{i}": draw.integers(0, 100, rows) for i in range(2)},
            **numbers,
        }
    )


def write_all(folder: Path, rows: int) -> None:
    import deltalake
    import fastavro
    import openpyxl
    import pyreadstat
    from pyarrow import feather, orc

    data = table(rows)
    deltalake.write_deltalake(str(folder / "delta"), data, partition_by=["site"])
    feather.write_feather(data, str(folder / "v.feather"))
    orc.write_table(data, str(folder / "v.orc"))
    kinds = {"int64": "long", "double": "double", "string": "string"}
    fields = [{"name": f.name, "type": ["null", kinds[str(f.type)]]} for f in data.schema]
    with (folder / "v.avro").open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, data.to_pylist())
    with (folder / "v.jsonl").open("w") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in data.to_pylist())
    frame = data.to_pandas()
    pyreadstat.write_sav(frame, folder / "v.zsav", compress=True)
    pyreadstat.write_dta(frame, folder / "v.dta")
    pyreadstat.write_xport(frame, folder / "v.xpt")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    sheet.append(data.column_names)
    for row in zip(*data.to_pydict().values(), strict=True):
        sheet.append(row)
    book.save(folder / "v.xlsx")


def plain(path: Path) -> Callable[[], object]:
    name = path.name
    if name == "delta":
        import deltalake

        return lambda: deltalake.DeltaTable(str(path)).to_pyarrow_table()
    if name == "v.feather":
        from pyarrow import feather

        return lambda: feather.read_table(str(path), memory_map=False)
    if name == "v.orc":
        from pyarrow import orc

        return lambda: orc.read_table(str(path))
    if name == "v.avro":
        import fastavro

        return lambda: list(fastavro.reader(path.open("rb")))
    if path.suffix in SURVEYS:
        import pyreadstat

        return lambda: getattr(pyreadstat, SURVEYS[path.suffix])(path)
    import pandas

    if name == "v.xlsx":
        __import__("openpyxl")
        return lambda: pandas.read_excel(path)
    return lambda: pandas.read_json(path, lines=True)


def ours(path: Path) -> Callable[[], object]:
    import pyarrow  # noqa: F401

    from tacit.tables.open_source import open_source

    names = table(1).column_names
    more: Any = {"header": names} if path.suffix == ".jsonl" else {}
    kinds = {
        n: "text" if n == "site" else "integer" if n in ("person", "n0", "n1") else "float"
        for n in names
    }
    if path.suffix in (".jsonl", ".xlsx"):
        more["types"] = kinds
    modules: Any = {"delta": "deltalake", "v.avro": "fastavro", "v.xlsx": "openpyxl"}
    modules |= {f"v{end}": "pyreadstat" for end in SURVEYS}
    if path.name in modules:
        __import__(modules[path.name])

    def read() -> object:
        with open_source(path, **more) as source:
            counts = ", ".join(f'count("{name}")' for name in names)
            return source.engine.rows(f"select {counts} from {source.relation} as t")

    return read


def peak() -> float:
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) / 1000


def size(path: Path) -> float:
    """Return the megabytes of a file, or of the files of a table."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*.parquet")) / 1e6
    return path.stat().st_size / 1e6


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_all(folder, rows)
        (folder / "ten").mkdir()
        write_all(folder / "ten", 10)
        print("format: megabytes; plain reader: seconds, MB; Tacit: seconds, MB")
        for each in sys.argv[2:] or FILES:
            told = [
                subprocess.run(
                    [sys.executable, __file__, way, str(folder / each)],
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout.strip()
                for way in ("plain", "ours")
            ]
            print(f"{each}: {size(folder / each):.1f}; {told[0]}; {told[1]}")


if __name__ == "__main__":
    if sys.argv[1:2] in (["plain"], ["ours"]):
        path, way = Path(sys.argv[2]), {"plain": plain, "ours": ours}[sys.argv[1]]
        way(path.parent / "ten" / path.name)()
        run = way(path)
        before, start = peak(), time.process_time()
        run()
        print(f"{time.process_time() - start:.2f}, {peak() - before:.0f}", flush=True)
        os._exit(0)  # deltalake may abort a process that ends
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
