#!/bin/bash
# frictionless 5.21.0 describes a column of amounts with decimal commas (`12,50`) as places on the
# earth: type geopoint, longitude 12 and latitude 50, and reads the cells as pairs of numbers.
#
# Guess: string, or number with `decimalChar` ",".
# Seen: geopoint, in a file with semicolons as offices of statistics write them.  One cell in ten may
# be no place (`512,75`): the type stays, and its value is lost.  From two in ten on it is string.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q frictionless==5.21.0
cd "$folder"
venv/bin/python - <<'PY'
from frictionless import Resource

for far, kind in ((0, "geopoint"), (1, "geopoint"), (2, "string")):
    cells = [f"{10 + i},50" for i in range(10 - far)] + [f"{512 + i},75" for i in range(far)]
    with open(f"pay{far}.csv", "w") as file:
        file.write("\n".join(["code;pay", *(f"0{i};{cell}" for i, cell in enumerate(cells)), ""]))
    resource = Resource(f"pay{far}.csv")
    rows = resource.read_rows()
    types = [field.type for field in resource.schema.fields]
    print(far, types, [row["pay"] for row in (rows[0], rows[-1])])
    assert types[1] == kind, "changed"
    if far < 2:
        assert tuple(rows[0]["pay"]) == (10, 50), "changed"
    if far == 1:
        assert rows[-1]["pay"] is None, "changed"
PY
