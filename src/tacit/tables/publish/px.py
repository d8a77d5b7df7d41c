"""PC-Axis files."""

from __future__ import annotations

import datetime
import re
import textwrap
from collections.abc import Iterable
from decimal import Decimal

from tacit.errors import UsageError
from tacit.tables.publish.cube import MEASURES, Cube, Dimension, distinct_labels, time_dimensions

# Source: Statistics Sweden, *PX file format specification*, AXIS-VERSION 2013.

NOT_AVAILABLE, SUPPRESSED = '"."', '".."'  # DATASYMBOL1 and DATASYMBOL2
_LONGEST = 256  # characters of a text
_MAX_DECIMALS = 15
# The forms of time of TLIST, by the pattern of the codes.
_TIMES = {
    "A1": re.compile(r"(\d{4})"),
    "Q1": re.compile(r"(\d{4})-?Q([1-4])"),
    "M1": re.compile(r"(\d{4})-(\d\d)"),
    "D1": re.compile(r"(\d{4})-(\d\d)-(\d\d)"),
}
_BETWEEN = {"Q1": "Q", "M1": "M"}


def px(cube: Cube, *, time: str | None = None) -> str:
    """Return a cube as a PC-Axis file: a line per group and statistic, a column per number."""
    codes, labels = zip(*MEASURES, strict=True)
    rows, heading = list(cube.dimensions), Dimension("measure", codes, labels)
    released = cube.facts.get("released")
    numbers = [[_number(n) for n in cell.numbers] for cell in cube.cells]
    decimals = max((_decimals(text) for line in numbers for text in line if text), default=0)
    title = textwrap.shorten(cube.title, _LONGEST, placeholder=" ...")
    lines = [
        'CHARSET="ANSI";',
        'AXIS-VERSION="2013";',
        'CODEPAGE="utf-8";',
        'LANGUAGE="en";',
        *([f'CREATION-DATE="{_moment(released)}";'] if released else []),
        f"DECIMALS={min(decimals, _MAX_DECIMALS)};",
        f"SHOWDECIMALS={min(decimals, 6)};",
        'MATRIX="tacit";',
        'SUBJECT-CODE="tacit";',
        _keyword("SUBJECT-AREA", [str(cube.facts.get("dataset", "statistics"))]),
        _keyword("CONTENTS", [title]),
        _keyword("UNITS", ["number"]),
        _keyword("TITLE", [title]),
        _keyword("STUB", [one.name for one in rows]),
        _keyword("HEADING", [heading.name]),
    ]
    for one in (*rows, heading):
        name = _text(one.name)
        shown = distinct_labels([_text(label) for label in one.labels], one.codes)
        lines.append(_keyword(f'VALUES("{name}")', shown))
        own = distinct_labels([_text(code) for code in one.codes], one.codes)
        lines.append(_keyword(f'CODES("{name}")', own))
    times = time_dimensions(cube, time)
    lines += [_timeval(one) for one in rows if one.name in times and _timeval(one)]
    lines += ['DATASYMBOL1="not available";', 'DATASYMBOL2="suppressed to protect people";']
    if cube.about:
        lines.append(_long("NOTE", "#".join(f"{name}: {text}" for name, text in cube.about)))
    lines.append("DATA=")
    for line, cell in zip(numbers, cube.cells, strict=True):
        hidden = cell.state in ("suppressed", "refused")
        symbol = SUPPRESSED if hidden else NOT_AVAILABLE
        lines.append(" ".join(text or symbol for text in line) + " ")
    return "\n".join(lines) + ";\n"


def _number(number: float | int | None) -> str:
    """Return a number without an exponent; nothing for a missing one.

    >>> _number(12), _number(1e-7), _number(2.5e20), _number(None)
    ('12', '0.0000001', '250000000000000000000', '')
    """
    return "" if number is None else format(Decimal(repr(number)), "f").removesuffix(".0")


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def _text(text: str) -> str:
    """Return a text as PC-Axis holds it: on one line, without quotation marks."""
    # A text has no escapes; and pyaxis splits a file at the first ``DATA=``, be it in a text.
    plain = " ".join(text.replace('"', "'").replace("DATA=", "DATA =").split())
    if len(plain) > _LONGEST:
        raise UsageError(
            f"a text of PC-Axis has {_LONGEST} characters at most, and a key or a label of this "
            f"table has {len(plain)}; use to_json_stat or to_csvw"
        )
    return plain


def _keyword(name: str, texts: Iterable[str]) -> str:
    """Return a keyword with its texts, a line each: none is split in two."""
    return f"{name}=" + ",\n".join(f'"{_text(text)}"' for text in texts) + ";"


def _long(name: str, text: str) -> str:
    """Return a keyword with one text, which goes on from line to line."""
    plain = " ".join(text.replace('"', "'").replace("DATA=", "DATA =").split())
    parts = [plain[i : i + _LONGEST] for i in range(0, len(plain), _LONGEST)]
    return f"{name}=" + "\n".join(f'"{part}"' for part in parts) + ";"


def _timeval(one: Dimension) -> str:
    """Return the keyword of a dimension of time; nothing if its codes have no common form.

    >>> _timeval(Dimension("month", ("2026-01", "2026-02"), ("January", "February")))
    'TIMEVAL("month")=TLIST(M1),"2026M01","2026M02";'
    """
    for form, pattern in _TIMES.items():
        matches = [pattern.fullmatch(code) for code in one.codes]
        if all(matches):
            between = _BETWEEN.get(form, "")
            codes = [f'"{between.join(match.groups())}"' for match in matches if match]
            return f'TIMEVAL("{_text(one.name)}")=TLIST({form}),{",".join(codes)};'
    return ""


def _moment(text: str) -> str:
    return datetime.datetime.fromisoformat(text).strftime("%Y%m%d %H:%M")
