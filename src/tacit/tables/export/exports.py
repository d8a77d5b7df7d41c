"""What an answer becomes in other tools: ``to_pandas``, ``to_csv`` and the like."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

from tacit.calls import public
from tacit.errors import UsageError, need
from tacit.tables.export.columns import Column, Form, Released, Statistic, columns_of
from tacit.tables.export.files import (
    arrow_table,
    csv_text,
    excel_bytes,
    parquet_bytes,
    write_file,
)

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Exports"]


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

    @abstractmethod
    def statistics(self) -> Sequence[Statistic]:
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
        """Return the answer as a pandas DataFrame (needs the extra ``pandas``).

        Args:
            form: ``"wide"``, a row per group (the default), or ``"long"``, a row per number.
        """
        found = need("pandas", "pandas")
        columns = self._columns_in(form)
        table: pandas.DataFrame = found.DataFrame(
            {c.name: found.Series(c.plain, dtype=None if _known(c) else _empty(c)) for c in columns}
        )
        return table

    def to_polars(self, form: Form = "wide") -> polars.DataFrame:
        """Return the answer as a polars DataFrame (needs the extra ``polars``).

        Args:
            form: ``"wide"``, a row per group (the default), or ``"long"``, a row per number.
        """
        found = need("polars", "polars")
        columns = self._columns_in(form)
        table: polars.DataFrame = found.DataFrame(
            [
                found.Series(c.name, c.plain, dtype=None if _known(c) else _polars(found, c))
                for c in columns
            ]
        )
        return table

    def to_arrow(self, form: Form = "wide") -> pyarrow.Table:
        """Return the answer as an Arrow table (needs the extra ``arrow``).

        Args:
            form: ``"wide"``, a row per group (the default), or ``"long"``, a row per number.
        """
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

    def _columns_in(self, form: Form) -> list[Column]:
        return columns_of(self.by, self.keys, self.statistics(), form)


def _known(column: Column) -> bool:
    return any(value is not None for value in column.values)


def _empty(column: Column) -> str:
    return "float64" if column.number else "object"


def _polars(polars: Any, column: Column) -> Any:
    return polars.Float64 if column.number else polars.String
