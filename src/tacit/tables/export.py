"""Answers as columns, and as files of other programs."""

from __future__ import annotations

import io
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, get_args, overload

from tacit.calls import public
from tacit.errors import UsageError, did_you_mean, need, shown_value

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

# The columns of a released answer: wide, a row per group, or long, a row a number.
#
# All of it is a new arrangement of released numbers, which costs nothing and reads no row.


# A released number or category, or one a bin; None where it was refused or is not known.
Released: TypeAlias = "int | float | str | list[Released] | None"

Form = Literal["wide", "long"]  # how an answer becomes a table

_SUFFIXES = (("", "value"), ("_error", "standard_error"), ("_low", "low"), ("_high", "high"))
_LONG = (("value", "value"), ("lower", "low"), ("upper", "high"))
_MAX_INTEGER = 2**63 - 1


class ExportColumn(NamedTuple):
    """A column of a table."""

    name: str
    values: list[Any]  # its cells; None for what is missing
    number: bool  # whether it holds numbers, be they all missing

    @property
    def plain(self) -> list[Any]:
        """Its cells as one type, which tables with typed columns hold.

        >>> ExportColumn("n", [2, None, 0.5], True).plain
        [2.0, None, 0.5]
        >>> ExportColumn("n", [10**20, 1], True).plain
        [1e+20, 1.0]
        >>> ExportColumn("site", [1, "x", None], False).plain
        ['1', 'x', None]
        """
        # Integers that 64 bits do not hold, or that are next to others, are floats; keys of
        # several types are text.
        known = [value for value in self.values if value is not None]
        types = {type(value) for value in known}
        if types == {int} and all(-_MAX_INTEGER <= value <= _MAX_INTEGER for value in known):
            return self.values
        if self.number or (types and types <= {int, float}):
            return [None if value is None else float(value) for value in self.values]
        if len(types) <= 1:
            return self.values
        return [None if value is None else str(value) for value in self.values]


_FORMS = get_args(Form)


class ExportStatistic(NamedTuple):
    """The released numbers of a label.

    Attributes:
        label: what it is called.
        column: ``value``, ``standard_error``, ``low`` and ``high``, each a list over the groups;
            with ``bins``, a list of lists.
        edges: of the bins, where they are bins of numbers.
    """

    label: str
    column: Mapping[str, Sequence[Released]]
    edges: Sequence[object] | None = None


def columns_of(
    by: Sequence[str],
    keys: Sequence[Sequence[Any]],
    statistics: Sequence[ExportStatistic],
    form: Form = "wide",
    labels: Mapping[str, Mapping[Any, str]] | None = None,
) -> list[ExportColumn]:
    """Return the columns of an answer.

    >>> n = ExportStatistic("n", {"value": [5], "standard_error": [1.5], "low": [2], "high": [8]})
    >>> [column.name for column in columns_of(["site"], [["a"]], [n])]
    ['site', 'n', 'n_error', 'n_low', 'n_high']
    >>> [column.name for column in columns_of(["site"], [["a"]], [n], "long")]
    ['site', 'statistic', 'value', 'lower', 'upper', 'standard_error']
    >>> columns_of(["site"], [[1]], [n], labels={"site": {1: "north"}})[1]
    ExportColumn(name='site_label', values=['north'], number=False)
    """
    if form not in _FORMS:
        raise UsageError(
            f"an answer has no form {shown_value(form)}; "
            f"{did_you_mean(str(form), ['wide', 'long'])}"
        )
    if form == "long":
        columns = _long(by, keys, statistics)
    else:
        columns = [ExportColumn(name, [key[i] for key in keys], False) for i, name in enumerate(by)]
        for one in statistics:
            columns += _wide(one)
    return _with_labels(columns, by, labels or {})


def _with_labels(
    columns: Sequence[ExportColumn], by: Sequence[str], labels: Mapping[str, Mapping[Any, str]]
) -> list[ExportColumn]:
    """Return columns with those of the labels of keys, each behind its key."""
    taken, shown = {column.name for column in columns}, list(columns[len(by) :])
    for name, column in reversed(list(zip(by, columns, strict=False))):
        if name in labels:
            known = labels[name]
            called = f"{name}_label"
            while called in taken:
                called = f"{called}_label"
            taken.add(called)
            texts = [None if key is None else known.get(key) for key in column.values]
            shown.insert(0, ExportColumn(called, texts, False))
        shown.insert(0, column)
    return shown


def _wide(one: ExportStatistic) -> list[ExportColumn]:
    """Return the columns of a label: four, or four for each bin of a histogram."""
    parts: Mapping[str, Any] = one.column
    bins = parts.get("bins")
    if bins is None:
        return [ExportColumn(one.label + s, list(one.column[part]), True) for s, part in _SUFFIXES]
    return [
        ExportColumn(f"{one.label} {name}{suffix}", [row[i] for row in parts[part]], True)
        for i, name in enumerate(bins)
        for suffix, part in _SUFFIXES
    ]


def _long(
    by: Sequence[str], keys: Sequence[Sequence[Any]], statistics: Sequence[ExportStatistic]
) -> list[ExportColumn]:
    """Return a row per number, group by group: its names, the number, and its interval."""
    names = ["statistic"]
    if any("bins" in one.column for one in statistics):
        names.append("bin")
    if any(one.edges is not None for one in statistics):
        names += ["bin_lower", "bin_upper"]
    numbers = [*(name for name, _ in _LONG), "standard_error"]
    table: dict[str, list[Any]] = {name: [] for name in [*names, *numbers]}
    indices: list[int] = []
    for index in range(len(keys)):
        for one in statistics:
            for row in _rows(one, index):
                indices.append(index)
                for name, cells in table.items():
                    cells.append(row.get(name))
    called = distinct_names(by, table)
    groups = [ExportColumn(n, [keys[p][i] for p in indices], False) for i, n in enumerate(called)]
    texts = ("statistic", "bin")
    return groups + [ExportColumn(name, cells, name not in texts) for name, cells in table.items()]


def _rows(one: ExportStatistic, index: int) -> Iterable[dict[str, Any]]:
    """Return the numbers of a label in a group, a row each."""
    parts: dict[str, Any] = {name: one.column[part][index] for name, part in _LONG}
    parts["standard_error"] = one.column["standard_error"][index]
    bins = one.column.get("bins")
    if bins is None:
        return [{"statistic": one.label, **parts}]
    rows = []
    for i, name in enumerate(bins):
        row = {"statistic": one.label, "bin": str(name), **{k: v[i] for k, v in parts.items()}}
        if one.edges is not None:
            row |= {"bin_lower": one.edges[i], "bin_upper": one.edges[i + 1]}
        rows.append(row)
    return rows


def distinct_names(by: Iterable[str], taken: Iterable[str]) -> list[str]:
    """Return the names of the grouping columns, next to those of the long form.

    >>> distinct_names(["site", "value"], ["statistic", "value"])
    ['site', 'group_value']
    """
    reserved = set(taken)
    used = reserved | {*by}
    names = []
    for name in by:
        if name in reserved:
            while name in used:
                name = f"group_{name}"
            used.add(name)
        names.append(name)
    return names


# Tables as files of other tools: CSV, Excel, Arrow and Parquet.


_FORMULA = re.compile(r"[\s'\"]*[=+\-@＝＋－＠]|[\t\r\n]")
_BREAKS = re.compile(r'[",\r\n]')
_NUMBER = re.compile(r"[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?")

# What a sheet of Excel holds: rows with the header, columns, characters of a cell.
_MAX_ROWS, _MAX_COLUMNS, _LONGEST = 1_048_576, 16_384, 32_767
_EXACT = 10**15  # Excel holds fifteen digits of a number


def csv_text(columns: Sequence[ExportColumn], *, escape_formulas: bool = True) -> str:
    r"""Return a table as CSV: UTF-8, commas, a line of names, nothing for what is missing.

    >>> csv_text([ExportColumn("site", ["=1+1", "-5"], False), ExportColumn("n", [2, None], True)])
    "site,n\n'=1+1,2\n-5,\n"
    """
    # escape_formulas: whether text that a spreadsheet would run as a formula (it starts with ``=``,
    #   ``+``, ``-`` or ``@`` and is no number) gets an apostrophe before it.
    #
    # Source: OWASP, *CSV injection*.
    cell = _harmless if escape_formulas else _same
    cells = [c.values if c.number else [cell(value) for value in c.values] for c in columns]
    lines = [[cell(column.name) for column in columns], *zip(*cells, strict=True)]
    return "".join(",".join(map(_field, line)) + "\n" for line in lines)


def _same(value: Any) -> Any:
    return value


def _harmless(value: Any) -> Any:
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def _field(value: Any) -> str:
    """Return a cell; text that is empty, or would end a cell or a line, is in quotes."""
    # The writer of the standard library leaves a lone carriage return bare, which others read as
    # the end of a line.
    if value is None:
        return ""
    text = str(value)
    if not text or _BREAKS.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def arrow_table(columns: Sequence[ExportColumn]) -> Any:
    """A table of pyarrow; what is missing is null, in columns that have a type all the same."""
    pa = need("pyarrow", "arrow")
    arrays = []
    for column in columns:
        cells = column.plain
        empty = all(cell is None for cell in cells)
        plain = pa.float64() if column.number else pa.string()
        arrays.append(pa.array(cells, plain if empty else None))
    return pa.table(arrays, names=[column.name for column in columns])


def parquet_bytes(columns: Sequence[ExportColumn]) -> bytes:
    """Return a table as a Parquet file."""
    table = arrow_table(columns)
    out = io.BytesIO()
    need("pyarrow.parquet", "arrow").write_table(table, out)
    return out.getvalue()


def excel_bytes(columns: Sequence[ExportColumn], about: Iterable[tuple[str, str]] = ()) -> bytes:
    """Return a table as a workbook of Excel, in which no text is a formula."""
    rows = len(columns[0].values) if columns else 0
    if rows >= _MAX_ROWS or len(columns) > _MAX_COLUMNS:
        raise UsageError(
            f"a sheet of Excel holds {_MAX_ROWS - 1:,} rows and {_MAX_COLUMNS:,} columns, and "
            f"this table has {rows:,} and {len(columns):,}; use to_csv or to_parquet"
        )
    made = need("xlsxwriter", "excel")
    out = io.BytesIO()
    book = made.Workbook(out, {"in_memory": True})
    head = book.add_format({"bold": True, "bottom": 1, "align": "left"})
    fill = book.add_format({"text_wrap": True, "valign": "top"})
    sheet = book.add_worksheet("answer")
    for index, column in enumerate(columns):
        _write(sheet, 0, index, column.name, head)
        for row, value in enumerate(column.values, start=1):
            _write(sheet, row, index, value)
        longest = max([len(str(v)) for v in (column.name, *column.values[:200])])
        sheet.set_column(index, index, min(max(longest + 2, 8), 40))
    sheet.freeze_panes(1, 0)
    if rows and columns:
        sheet.autofilter(0, 0, rows, len(columns) - 1)
    told = book.add_worksheet("about")
    told.set_column(0, 0, 18)
    told.set_column(1, 1, 90)
    for row, (name, text) in enumerate(about):
        _write(told, row, 0, name, head)
        _write(told, row, 1, text, fill)
    book.close()
    return out.getvalue()


def _write(sheet: Any, row: int, column: int, value: Any, form: Any = None) -> None:
    """Write a cell as what it is: a number, true or false, or text that stays text."""
    if value is None:
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value, form)
    elif isinstance(value, (int, float)) and abs(value) < _EXACT:
        sheet.write_number(row, column, value, form)
    else:
        text = str(value)
        if len(text) > _LONGEST:
            raise UsageError(
                f"a cell of Excel holds {_LONGEST:,} characters, and a text of this table has "
                f"{len(text):,}; use to_csv or to_parquet"
            )
        sheet.write_string(row, column, text, form)


def write_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file."""
    try:
        Path(os.path.expanduser(path)).write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


# What an answer becomes in other tools: ``to_pandas``, ``to_csv`` and the like.


@public
class Exports(ABC):
    """Released numbers, which become the tables and files of other tools.

    Every method takes a ``form``.  In the ``"wide"`` one, the default, a row is a group: its
    columns are the grouping columns, then for each label ``label``, ``label_error`` (the standard
    error of the noise), and ``label_low``, ``label_high`` (an interval that holds the value without
    noise in 95 of 100 releases).  A histogram has these for each bin.  In the ``"long"`` one a row
    is a number: the grouping columns, ``statistic`` (the label), for histograms and the like
    ``bin``, for bins of numbers ``bin_lower`` and ``bin_upper``, then ``value``, ``lower``,
    ``upper`` and ``standard_error``; a grouping column of such a name has ``group_`` before it.
    Where a file of SPSS, Stata or SAS has labels of the values of a grouping column, they are in a
    column next to it, ``sex_label`` next to ``sex``.

    Example:
        >>> import pyarrow, tacit as tc
        >>> ages = pyarrow.table({"age": [31, 45, 52]})
        >>> session = tc.Session(ages, unit=tc.one_row_each, budget=tc.epsilon(1))
        >>> answer = session.agg(n=tc.count()).release(epsilon=1)
        >>> list(answer.to_pandas()), list(answer.to_dict("long"))[:2]
        (['n', 'n_error', 'n_low', 'n_high'], ['statistic', 'value'])
    """

    by: tuple[str, ...]
    keys: list[tuple[object, ...]]

    @property
    def key_labels(self) -> dict[str, Mapping[object, str]]:
        """The labels of the values of grouping columns, by name, where the file has some."""
        return {}

    @abstractmethod
    def statistics(self) -> Sequence[ExportStatistic]:
        """Return what was released, by label."""

    @abstractmethod
    def about_lines(self) -> Sequence[tuple[str, str]]:
        """Return what a reader of the table should know of it: names and texts."""

    def to_dict(self, form: Form = "wide") -> dict[str, list[Released]]:
        """Return the answer as columns.

        Args:
            form: ``"wide"``, a row per group (the default), or ``"long"``, a row per number.

        Raises:
            UsageError: a form other than ``"wide"`` and ``"long"``.
        """
        return {column.name: column.values for column in self._columns_in(form)}

    def to_pandas(self, form: Form = "wide") -> pandas.DataFrame:
        """Return the answer as a pandas DataFrame (extra ``pandas``), as :meth:`to_dict`."""
        library = need("pandas", "pandas")
        columns = self._columns_in(form)
        table: pandas.DataFrame = library.DataFrame(
            {
                c.name: library.Series(c.plain, dtype=None if _known(c) else _empty(c))
                for c in columns
            }
        )
        return table

    def to_polars(self, form: Form = "wide") -> polars.DataFrame:
        """Return the answer as a polars DataFrame (extra ``polars``), as :meth:`to_dict`."""
        library = need("polars", "polars")
        columns = self._columns_in(form)
        table: polars.DataFrame = library.DataFrame(
            [
                library.Series(c.name, c.plain, dtype=None if _known(c) else _polars(library, c))
                for c in columns
            ]
        )
        return table

    def to_arrow(self, form: Form = "wide") -> pyarrow.Table:
        """Return the answer as an Arrow table (extra ``arrow``), as :meth:`to_dict`."""
        return arrow_table(self._columns_in(form))

    @overload
    def to_csv(
        self, path: None = None, *, form: Form = "wide", escape_formulas: bool = True
    ) -> str: ...

    @overload
    def to_csv(
        self, path: str | os.PathLike[str], *, form: Form = "wide", escape_formulas: bool = True
    ) -> None: ...

    def to_csv(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        form: Form = "wide",
        escape_formulas: bool = True,
    ) -> str | None:
        """Write the answer to a CSV file, or return its text where no path is given.

        Args:
            path: of the file.
            form: ``"wide"`` or ``"long"``.
            escape_formulas: whether a text that a spreadsheet would run as a formula, as
                ``=HYPERLINK(...)``, gets an apostrophe before it; with False it stays as it is.

        Raises:
            UsageError: another form, or a file that cannot be written.
        """
        text = csv_text(self._columns_in(form), escape_formulas=escape_formulas)
        if path is None:
            return text
        write_file(path, text.encode())
        return None

    def to_excel(self, path: str | os.PathLike[str], *, form: Form = "wide") -> None:
        """Write the answer to a workbook of Excel (needs the extra ``excel``).

        Its second sheet says whom the answer protects, what it cost and what the intervals mean.
        No text of it is a formula.

        Args:
            path: of the file, which ends in ``.xlsx``.
            form: ``"wide"`` or ``"long"``.

        Raises:
            MissingExtraError: XlsxWriter is not installed.
            UsageError: another form or ending, more than a sheet holds, or a file that cannot be
                written.
        """
        if not os.fspath(path).lower().endswith(".xlsx"):
            raise UsageError(f"a workbook of Excel ends in .xlsx, and {path} does not")
        write_file(path, excel_bytes(self._columns_in(form), self.about_lines()))

    def to_parquet(self, path: str | os.PathLike[str], *, form: Form = "wide") -> None:
        """Write the answer to a Parquet file (needs the extra ``arrow``).

        Args:
            path: of the file.
            form: ``"wide"``, a row per group (the default), or ``"long"``, a row per number.

        Raises:
            MissingExtraError: pyarrow is not installed.
            UsageError: another form, or a file that cannot be written.
        """
        write_file(path, parquet_bytes(self._columns_in(form)))

    def _columns_in(self, form: Form) -> list[ExportColumn]:
        labels = self.key_labels
        return columns_of(self.by, self.keys, self.statistics(), form, labels)


def _known(column: ExportColumn) -> bool:
    return any(value is not None for value in column.values)


def _empty(column: ExportColumn) -> str:
    return "float64" if column.number else "object"


def _polars(polars: Any, column: ExportColumn) -> Any:
    return polars.Float64 if column.number else polars.String
