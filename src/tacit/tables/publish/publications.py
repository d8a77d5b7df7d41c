"""Answers as files of official statistics: SDMX-CSV, JSON-stat, PC-Axis, CSVW."""

from __future__ import annotations

import io
import os
import zipfile
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, NamedTuple, overload

from tacit.calls import public
from tacit.errors import UsageError, did_you_mean
from tacit.tables.export import Exports, Form, write_file
from tacit.tables.publish.cube import Cube, cube_of
from tacit.tables.publish.formats import (
    METADATA,
    Version,
    check_sdmx,
    csvw,
    json_stat,
    px,
    sdmx_csv,
)


@public
class Publications(Exports):
    """Released numbers as files of official statistics.

    SDMX-CSV, JSON-stat and PC-Axis hold a cube: a dimension for each grouping column, one for the
    bins of histograms, and one for the statistics.  Each cell has its value, the standard error of
    its noise and the ends of its 95% interval, and says if it was suppressed.  CSVW is the table of
    ``to_csv`` with a description of its columns.  The guide *Publish in SDMX, JSON-stat, PC-Axis,
    CSVW* shows how each of them says so, and what readers make of it.
    """

    _hidden: Sequence[Sequence[Any]] = ()  # released groups that are not shown

    @property
    @abstractmethod
    def selected(self) -> bool:
        """Whether partition selection chose the groups: others may exist, and are suppressed."""

    @abstractmethod
    def facts(self) -> Mapping[str, object]:
        """Return the data set, the privacy loss and unit, and the certificate, as plain JSON."""

    @overload
    def to_sdmx_csv(
        self,
        path: None = None,
        *,
        structure: str | None = None,
        dataflow: str | None = None,
        version: Version = "2.0",
        ids: Mapping[str, str] | None = None,
        constants: Mapping[str, str] | None = None,
        names: bool = False,
        labels: Sequence[str] | None = None,
    ) -> str: ...

    @overload
    def to_sdmx_csv(
        self,
        path: str | os.PathLike[str],
        *,
        structure: str | None = None,
        dataflow: str | None = None,
        version: Version = "2.0",
        ids: Mapping[str, str] | None = None,
        constants: Mapping[str, str] | None = None,
        names: bool = False,
        labels: Sequence[str] | None = None,
    ) -> None: ...

    def to_sdmx_csv(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        structure: str | None = None,
        dataflow: str | None = None,
        version: Version = "2.0",
        ids: Mapping[str, str] | None = None,
        constants: Mapping[str, str] | None = None,
        names: bool = False,
        labels: Sequence[str] | None = None,
    ) -> str | None:
        """Write the answer to an SDMX-CSV file, or return its text where no path is given.

        Each row is an observation with the attributes OBS_STATUS, CONF_STATUS, STANDARD_ERROR,
        LOWER, UPPER and COMMENT_DSET.

        Args:
            path: Path of the file.
            structure: The data structure definition, such as ``"ESTAT:VISITS(1.0)"``.
            dataflow: The dataflow, named in the same way; this or ``structure``.
            version: ``"2.0"`` or ``"1.0"`` of SDMX-CSV; 1.0 names a dataflow.
            ids: Ids of dimensions, such as ``{"site": "REF_AREA", "statistic": "INDICATOR"}``; the
                default is the name in capitals.
            constants: Dimensions or attributes that are the same in each row, such as
                ``{"FREQ": "A", "TIME_PERIOD": "2025"}``.
            names: Whether a column with names follows each column (``labels=name`` of SDMX-CSV
                2.0), which carries the labels of keys.
            labels: Labels of the statistics to publish; all of them by default.

        Raises:
            UsageError: An invalid identifier, two columns of one id, answers of different
                dimensions or without a group, or a file that cannot be written.

        Example:
            >>> import pyarrow, tacit as tc
            >>> ages = pyarrow.table({"site": ["01", "02", "02"]})
            >>> session = tc.Session(ages, unit=tc.one_row_each, budget=tc.epsilon(1))
            >>> answer = session.group_by("site", keys=["01", "02"]).agg(n=tc.count())
            >>> answer = answer.release(epsilon=1)
            >>> answer.to_sdmx_csv(structure="ME:SITES(1.0)").partition("OBS_VALUE")[0]
            'STRUCTURE,STRUCTURE_ID,ACTION,SITE,STATISTIC,'
        """
        text = sdmx_csv(
            self._cube(labels),
            structure=structure,
            dataflow=dataflow,
            version=version,
            ids=ids,
            constants=constants,
            names=names,
        )
        return _written(path, text)

    @overload
    def to_json_stat(
        self, path: None = None, *, time: str | None = None, labels: Sequence[str] | None = None
    ) -> str: ...

    @overload
    def to_json_stat(
        self,
        path: str | os.PathLike[str],
        *,
        time: str | None = None,
        labels: Sequence[str] | None = None,
    ) -> None: ...

    def to_json_stat(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        time: str | None = None,
        labels: Sequence[str] | None = None,
    ) -> str | None:
        """Write the answer to a JSON-stat 2.0 file, or return its text where no path is given.

        Args:
            path: Path of the file.
            time: The grouping column that is a time.
            labels: Labels of the statistics to publish; all of them by default.

        Raises:
            UsageError: Answers of different dimensions or without a group, no such column, or a
                file that cannot be written.

        Example:
            >>> import json, pyarrow, tacit as tc
            >>> ages = pyarrow.table({"site": ["01", "02", "02"]})
            >>> session = tc.Session(ages, unit=tc.one_row_each, budget=tc.epsilon(1))
            >>> answer = session.group_by("site", keys=["01", "02"]).agg(n=tc.count())
            >>> answer = answer.release(epsilon=1)
            >>> published = json.loads(answer.to_json_stat())
            >>> published["version"], published["dimension"]["site"]["category"]["index"]
            ('2.0', {'01': 0, '02': 1})
        """
        return _written(path, json_stat(self._cube(labels), time=time))

    @overload
    def to_px(
        self, path: None = None, *, time: str | None = None, labels: Sequence[str] | None = None
    ) -> str: ...

    @overload
    def to_px(
        self,
        path: str | os.PathLike[str],
        *,
        time: str | None = None,
        labels: Sequence[str] | None = None,
    ) -> None: ...

    def to_px(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        time: str | None = None,
        labels: Sequence[str] | None = None,
    ) -> str | None:
        """Write the answer to a PC-Axis file, or return its text where no path is given.

        It is in UTF-8, which its keyword CODEPAGE says.  A quotation mark in a key or a label
        becomes an apostrophe, as the format has none.

        Args:
            path: Path of the file.
            time: The grouping column that is a time.
            labels: Labels of the statistics to publish; all of them by default.

        Raises:
            UsageError: Answers of different dimensions or without a group, no such column, a text
                of more than 256 characters, or a file that cannot be written.

        Example:
            >>> import pyarrow, tacit as tc
            >>> ages = pyarrow.table({"site": ["01", "02", "02"]})
            >>> session = tc.Session(ages, unit=tc.one_row_each, budget=tc.epsilon(1))
            >>> answer = session.group_by("site", keys=["01", "02"]).agg(n=tc.count())
            >>> answer = answer.release(epsilon=1)
            >>> 'VALUES("site")="01",' in answer.to_px()
            True
        """
        return _written(path, px(self._cube(labels), time=time))

    def to_csvw(self, path: str | os.PathLike[str], *, form: Form = "wide") -> None:
        """Write the answer to a CSV file, and its metadata to ``PATH-metadata.json`` (CSVW).

        Text is written as it is, so that its readers get the keys of the answer; ``to_csv`` writes
        a file for spreadsheets.

        Args:
            path: Path of the CSV file.
            form: ``"wide"``, a row per group (the default), or ``"long"``, a row per number.

        Raises:
            UsageError: Another form, or a file that cannot be written.
        """
        table, metadata = self._csvw(PurePath(path).name, form)
        write_file(path, table.encode())
        write_file(f"{os.fspath(path)}{METADATA}", metadata.encode())

    def _csvw(self, name: str, form: Form) -> tuple[str, str]:
        return csvw(
            name,
            self._columns_in(form),
            len(self.by),
            labels=[one.label for one in self.statistics()],
            title=", ".join(one.label for one in self.statistics()),
            about=self.about_lines(),
            facts=self.facts(),
            key_labels=self.key_labels,
        )

    def _cube(self, labels: Sequence[str] | None) -> Cube:
        return cube_of(
            self.by,
            self.keys,
            self.statistics(),
            labels=labels,
            key_labels=self.key_labels,
            hidden=self._hidden,
            selected=self.selected,
            about=self.about_lines(),
            facts=self.facts(),
        )


def _written(path: str | os.PathLike[str] | None, text: str) -> str | None:
    if path is None:
        return text
    write_file(path, text.encode())
    return None


# The same by the names of formats, for the command line and the service.


class Format(NamedTuple):
    """A format that an answer is published in."""

    media_type: str
    ending: str  # of its files


FORMATS: Mapping[str, Format] = {
    "sdmx-csv": Format("application/vnd.sdmx.data+csv; version=2.0.0; charset=utf-8", ".csv"),
    "sdmx-csv-1": Format("application/vnd.sdmx.data+csv; version=1.0.0; charset=utf-8", ".csv"),
    "json-stat": Format("application/json; charset=utf-8", ".json"),
    "px": Format("text/x-pcaxis; charset=utf-8", ".px"),
    "csvw": Format("application/zip", ".zip"),
}


@dataclass(frozen=True)
class PublishOptions:
    """Options of the formats by name; those that a format does not read are not set."""

    structure: str | None = None
    dataflow: str | None = None
    ids: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    names: bool = False
    time: str | None = None
    labels: tuple[str, ...] | None = None
    form: Form = "wide"

    def check(self, format: str) -> None:
        """Raise if a format is unknown, or an option is missing or not of the format."""
        if format not in FORMATS:
            raise UsageError(f"there is no format {format!r}; {did_you_mean(format, FORMATS)}")
        for name in set(vars(self)) - _OPTIONS[format]:
            if getattr(self, name) != getattr(_DEFAULTS, name):
                formats = [one for one, names in _OPTIONS.items() if name in names]
                raise UsageError(f"{name} is an option of {' and '.join(formats)}, not of {format}")
        if format in _VERSIONS:
            check_sdmx(self.structure, self.dataflow, _VERSIONS[format], self.names, self.constants)


_DEFAULTS = PublishOptions()
_VERSIONS: Mapping[str, Version] = {"sdmx-csv": "2.0", "sdmx-csv-1": "1.0"}
_SDMX = {"structure", "dataflow", "ids", "constants", "names", "labels"}
_OPTIONS: Mapping[str, set[str]] = {
    "sdmx-csv": _SDMX,
    "sdmx-csv-1": _SDMX,
    "json-stat": {"time", "labels"},
    "px": {"time", "labels"},
    "csvw": {"form"},
}


def pairs(texts: Iterable[str], what: str) -> dict[str, str]:
    """Read ``NAME=VALUE`` texts.

    >>> pairs(["site=REF_AREA"], "ids")
    {'site': 'REF_AREA'}
    """
    given = [text.partition("=") for text in texts]
    for name, sign, value in given:
        if not (name and sign and value):
            raise UsageError(f"{what}: write NAME=VALUE, not {name + sign + value!r}")
    return {name: value for name, _, value in given}


def files_of(
    answer: Publications, format: str, name: str, options: PublishOptions
) -> dict[str, str]:
    """Return the files of an answer in a format: their names, from that of the first, and texts."""
    options.check(format)
    if format == "csvw":
        table, metadata = answer._csvw(name, options.form)
        return {name: table, f"{name}{METADATA}": metadata}
    given = {one: getattr(options, one) for one in _OPTIONS[format]}
    if format in _VERSIONS:
        return {name: answer.to_sdmx_csv(version=_VERSIONS[format], **given)}
    write = answer.to_px if format == "px" else answer.to_json_stat
    return {name: write(**given)}


def packed(files: Mapping[str, str]) -> bytes:
    """Return files as a ZIP archive: the same bytes for the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name), text.encode(), zipfile.ZIP_DEFLATED)
    return out.getvalue()
