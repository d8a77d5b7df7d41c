#!/usr/bin/env bash
# ipumspy 0.9.0 with pandas 3.1.1 (Python 3.11): a fixed-width extract with its DDI codebook.
#
# Guess: a blank field is NA in every column; codes that the codebook declares as missing are NA, or
#        can be asked for; the codes of a variable are all those of the codebook.
# Seen:  a blank field is NA in a column without implied decimals, and 0.0 in one with them
#        (dcml="2", as PERWT has); missing="Y" and invalrng are not read, so that 9999999 is
#        averaged; of two codes with one label the list of codes has the last one alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3.11}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check ipumspy==0.9.0 pandas==3.1.1
cat >"$folder/seen.py" <<'PY'
import sys
from pathlib import Path

from ipumspy import readers

folder = Path(sys.argv[1])


def variable(name, start, width, decimals="0", inside=""):
    return (
        f'<var ID="{name}" name="{name}" files="F1" dcml="{decimals}" intrvl="discrete">'
        f'<location StartPos="{start}" EndPos="{start + width - 1}" width="{width}"/>'
        f"<labl>{name}</labl>{inside}<txt>text</txt><concept>c</concept>"
        '<varFormat type="numeric" schema="other"/></var>'
    )


def category(value, label, more=""):
    return f"<catgry{more}><catValu>{value}</catValu><labl>{label}</labl></catgry>"


sex = category(1, "Male") + category(2, "Other") + category(3, "Other")
sex += category(9, "Unknown", ' missing="Y"')
income = '<invalrng><item VALUE="9999999"/></invalrng>'
(folder / "usa.xml").write_text(
    '<?xml version="1.0" encoding="UTF-8"?><codeBook xmlns="ddi:codebook:2_5" version="2.5">'
    "<stdyDscr><citation><titlStmt><titl>t</titl></titlStmt><serStmt>"
    '<serName abbr="usa">usa</serName><serInfo>doi</serInfo></serStmt></citation>'
    "<stdyInfo><notes>2019 ACS</notes></stdyInfo><dataAccs><useStmt><citReq>c</citReq>"
    "<conditions>c</conditions></useStmt></dataAccs></stdyDscr>"
    '<fileDscr ID="F1"><fileTxt><fileName>usa.dat</fileName><fileCont>f</fileCont>'
    '<fileStrc type="rectangular"/><fileType charset="ISO-8859-1"/>'
    "<format>fixed length fields</format><filePlac>p</filePlac></fileTxt></fileDscr><dataDscr>"
    + variable("SEX", 1, 1, inside=sex)
    + variable("INC", 2, 7, inside=income)
    + variable("PERWT", 9, 6, decimals="2")
    + "</dataDscr></codeBook>"
)
ddi = readers.read_ipums_ddi(folder / "usa.xml")
print("codes of SEX:", ddi.get_variable_info("SEX").codes)


def read(*lines):
    (folder / "usa.dat").write_text("\n".join(lines) + "\n")
    return readers.read_microdata(ddi, folder / "usa.dat")


print("mean of 100 and a missing code:", read("10000100  1234", "99999999  1234")["INC"].mean())
print("a blank INC:", read("10000100  1234", "2         1234")["INC"].isna().sum(), "missing")
print("a blank PERWT:", read("10000100  1234", "20000200      ")["PERWT"].tolist())
PY
"$folder/venv/bin/python" -W ignore "$folder/seen.py" "$folder" | tee "$folder/seen.txt"
diff - "$folder/seen.txt" <<'SEEN'
codes of SEX: {'Male': 1, 'Other': 3, 'Unknown': 9}
mean of 100 and a missing code: 5000049.5
a blank INC: 1 missing
a blank PERWT: [12.34, 0.0]
SEEN
