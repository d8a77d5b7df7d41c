#!/usr/bin/env bash
# sdmx1 2.28.0 (Python 3.11, pandas 3.1.1): an SDMX-CSV 2.0 observation without a value, in a file
# whose other observations have one, and one with the value NaN.
#
# Guess: both are missing (NaN) in the Series of sdmx.to_pandas.
# Seen:  NaN is missing; the empty value raises ValueError ("could not convert string to float"),
#        and none of the observations is returned.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check 'sdmx1==2.28.0' 'pandas==3.1.1'
cat >"$folder/seen.py" <<'PY'
import sys
from pathlib import Path

import sdmx
from sdmx.model import common, v30

agency = common.Agency(id="STAT")
structure = v30.DataStructureDefinition(id="PEOPLE", maintainer=agency, version="1.0")
structure.dimensions.append(v30.Dimension(id="REF_AREA"))
structure.measures = v30.MeasureDescriptor()
structure.measures.append(v30.Measure(id="OBS_VALUE"))
for value in ("NaN", ""):
    path = Path(sys.argv[1], "data.csv")
    path.write_text(
        "STRUCTURE,STRUCTURE_ID,ACTION,REF_AREA,OBS_VALUE\n"
        "datastructure,STAT:PEOPLE(1.0),I,0101,12.5\n"
        f"datastructure,STAT:PEOPLE(1.0),I,0102,{value}\n"
    )
    message = sdmx.read_sdmx(path, structure=structure)
    try:
        print(repr(value), sdmx.to_pandas(message.data[0]).to_dict())
    except ValueError as error:
        print(repr(value), "ValueError:", str(error).splitlines()[0])
PY
"$folder/venv/bin/python" -W ignore "$folder/seen.py" "$folder" | tee "$folder/seen.txt"
diff - "$folder/seen.txt" <<'SEEN'
'NaN' {('0101',): 12.5, ('0102',): nan}
'' ValueError: could not convert string to float: '': Error while type casting for column 'OBS_VALUE'
SEEN
