"""A released answer as a cube: dimensions with codes and labels, and cells."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from tacit.errors import UsageError, did_you_mean
from tacit.tables.export import ExportStatistic, distinct_names

# SDMX, JSON-stat and PC-Axis are arrangements of one cube.  It is made of released numbers, public
# keys and metadata; nothing here reads a row.

MISSING, EMPTY = "_U", "_EMPTY"  # the codes of a missing key and of an empty text
MEASURES = (
    ("value", "value"),
    ("standard_error", "standard error"),
    ("lower", "lower end of the 95% interval"),
    ("upper", "upper end of the 95% interval"),
)
Number: TypeAlias = "float | int | None"
MAX_CELLS = 1_000_000  # of a cube: a guard against the product of many keys that are rarely paired

# Why a number is missing.
#
# suppressed: partition selection dropped the group, if there is one; refused: a test refused the
# answer; unknown: the statistic has no such number; absent: the group is not part of this table.
State = Literal["released", "suppressed", "refused", "unknown", "absent"]
STATE_WORDS: Mapping[State, str] = {
    "suppressed": "suppressed",
    "refused": "refused",
    "unknown": "not available",
    "absent": "not in this table",
}


class Dimension(NamedTuple):
    """A dimension of a cube."""

    name: str  # distinct among the dimensions
    codes: tuple[str, ...]  # distinct, and never empty
    labels: tuple[str, ...]  # distinct too, as some readers know the categories by them alone
    column: str | None = None  # the grouping column; None for bins and statistics


class Cell(NamedTuple):
    """The numbers of a cell, None where they are missing."""

    state: State
    value: Number = None
    standard_error: Number = None
    lower: Number = None
    upper: Number = None

    @property
    def numbers(self) -> tuple[Number, ...]:
        """Its numbers in the order of :data:`MEASURES`."""
        return self[1:]

    def state_of(self, number: Number) -> State:
        """Return the state of one of its numbers."""
        missing = number is None and self.state == "released"
        return "unknown" if missing else self.state


@dataclass(frozen=True)
class Cube:
    """A released answer, every combination of its categories a cell."""

    dimensions: tuple[Dimension, ...]
    cells: tuple[Cell, ...]  # row-major: the last dimension changes first
    title: str
    about: tuple[tuple[str, str], ...]  # what a reader should know: names and texts
    facts: Mapping[str, Any]  # the same as plain JSON values

    @property
    def note(self) -> str:
        """What a reader should know, as one text."""
        return "; ".join(f"{name}: {text}" for name, text in self.about)


def cube_of(
    by: Sequence[str],
    keys: Sequence[Sequence[Any]],
    statistics: Sequence[ExportStatistic],
    *,
    labels: Sequence[str] | None = None,
    key_labels: Mapping[str, Mapping[Any, str]] | None = None,
    hidden: Sequence[Sequence[Any]] = (),
    selected: bool = False,
    about: Sequence[tuple[str, str]] = (),
    facts: Mapping[str, Any] | None = None,
) -> Cube:
    """Return the cube of an answer.

    >>> n = ExportStatistic("n", {"value": [5], "standard_error": [1.5], "low": [2], "high": [8]})
    >>> cube = cube_of(["site"], [["01"]], [n])
    >>> [(one.name, one.codes) for one in cube.dimensions], cube.cells[0].value
    ([('site', ('01',)), ('statistic', ('n',))], 5)
    """
    # key_labels: of the keys, by column.
    # hidden: the released groups that the answer leaves out.
    # selected: whether partition selection chose the groups, so that those that are not released
    #   are suppressed; groups that the question lists are all in the answer.
    chosen = _chosen(statistics, labels)
    if not keys:
        raise UsageError("the answer has no group, and so no cell to publish")
    bins = _bins(chosen)
    names = distinct_names(by, ["statistic", "bin", "measure"])
    dimensions = [
        _dimension(name, column, [key[i] for key in keys], (key_labels or {}).get(column, {}))
        for i, (name, column) in enumerate(zip(names, by, strict=True))
    ]
    size = math.prod([len(one.codes) for one in dimensions]) * len(chosen) * len(bins or [1])
    if size > MAX_CELLS:
        raise UsageError(
            f"the table has {size:,} combinations of its keys, and {MAX_CELLS:,} is the maximum; "
            "publish it by to_csvw, which writes a row per group"
        )
    parts = [list(dict.fromkeys(plain_key(key[i]) for key in keys)) for i in range(len(by))]
    of_key = {tuple(plain_key(part) for part in key): index for index, key in enumerate(keys)}
    left_out = {tuple(plain_key(part) for part in key) for key in hidden}
    cells = []
    for key in itertools.product(*parts):
        index = of_key.get(key)
        state: State = "suppressed" if selected and key not in left_out else "absent"
        for bin_index in range(len(bins)) if bins else [None]:
            for one in chosen:
                cells.append(Cell(state) if index is None else _cell(one, index, bin_index))
    if bins:
        dimensions.append(_named("bin", bins))
    dimensions.append(_named("statistic", [one.label for one in chosen]))
    title = ", ".join(one.label for one in chosen) + (f" by {', '.join(by)}" if by else "")
    return Cube(tuple(dimensions), tuple(cells), title, tuple(about), facts or {})


def _chosen(
    statistics: Sequence[ExportStatistic], labels: Sequence[str] | None
) -> list[ExportStatistic]:
    known = {one.label: one for one in statistics}
    if isinstance(labels, str):
        raise UsageError(f"labels is a list: labels=[{labels!r}]")
    for label in labels or ():
        if label not in known:
            raise UsageError(f"there is no answer {label!r}; {did_you_mean(label, known)}")
    return [known[label] for label in dict.fromkeys(labels or known)]


def _bins(chosen: Sequence[ExportStatistic]) -> list[str]:
    """Return the bins that all labels have; none where they have one number per group."""
    shapes: dict[tuple[str, ...], list[str]] = {}
    for one in chosen:
        names = tuple(str(name) for name in one.column.get("bins") or ())
        shapes.setdefault(names, []).append(one.label)
    if len(shapes) > 1:
        ways = " or ".join(f"labels={group}" for group in shapes.values())
        raise UsageError(
            "the answers have different dimensions (one number per group, or the bins of a "
            f"histogram), and a table has one set of them; publish a file for each: {ways}"
        )
    return list(next(iter(shapes), ()))


def plain_key(part: Any) -> Any:
    """Return a part of a key that tells true and false from 1 and 0."""
    if part is None or isinstance(part, (str, int, float)):
        return (part,) if isinstance(part, bool) else part
    if hasattr(part, "isoformat"):
        return part.isoformat()
    raise UsageError(f"a key is text, a number or a date, and not {type(part).__name__}")


def _dimension(
    name: str, column: str, parts: Sequence[Any], labels: Mapping[Any, str]
) -> Dimension:
    # Each part of a key once, in the order of the answer.
    distinct = list({plain_key(part): part for part in parts}.values())
    known = {str(part) for part in distinct}
    codes: dict[str, None] = {}
    for part in distinct:
        text = "" if part is None else str(part)
        code = text or (MISSING if part is None else EMPTY)
        while code in codes or (not text and code in known):
            code += "_"
        codes[code] = None
    texts = [
        labels.get(part, "missing" if part is None else str(part) or "(empty)") for part in distinct
    ]
    return Dimension(name, tuple(codes), tuple(distinct_labels(texts, [*codes])), column)


def _named(name: str, labels: Sequence[str]) -> Dimension:
    codes = [label or EMPTY for label in labels]
    return Dimension(name, tuple(codes), tuple(distinct_labels(codes, codes)))


def distinct_labels(labels: Sequence[str], codes: Sequence[str]) -> list[str]:
    """Return labels that differ: each of those that are equal with its code.

    >>> distinct_labels(["Other", "North", "Other"], ["8", "1", "9"])
    ['Other (8)', 'North', 'Other (9)']
    """
    times, known = Counter(labels), set(labels)
    made: dict[str, None] = {}
    for label, code in zip(labels, codes, strict=True):
        text = f"{label} ({code})" if times[label] > 1 else label
        while text in made or (text != label and text in known):
            text += "'"
        made[text] = None
    return list(made)


def _cell(one: ExportStatistic, index: int, bin_index: int | None) -> Cell:
    def number(part: str) -> Any:
        cell: Any = one.column[part][index]
        if bin_index is not None:
            cell = cell[bin_index]
        if isinstance(cell, str):
            raise UsageError(
                f"{one.label!r} is text, and these formats hold numbers; use to_csv or to_csvw"
            )
        return cell if cell is not None and math.isfinite(cell) else None

    if one.column.get("refused") and one.column["refused"][index]:
        return Cell("refused")
    value = number("value")
    if value is None:
        return Cell("unknown")
    return Cell("released", value, number("standard_error"), number("low"), number("high"))


def time_dimensions(cube: Cube, time: str | None) -> list[str]:
    """Return the dimension of time in a list; an empty one where no column is named."""
    if time is None:
        return []
    names = {one.column: one.name for one in cube.dimensions if one.column is not None}
    if time not in names:
        raise UsageError(f"there is no grouping column {time!r}; {did_you_mean(time, names)}")
    return [names[time]]
