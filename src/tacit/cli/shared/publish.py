"""Answers printed or written in a format of official statistics."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.cli.shared.options import FormatOptions
from tacit.cli.shared.output import check_writable, note
from tacit.errors import UsageError

if TYPE_CHECKING:
    from tacit.tables import Answer
    from tacit.tables.publish.publications import PublishOptions

_BY_NAME = ("structure", "dataflow", "ids", "constants", "names", "labels")


class Publisher:
    """Writes the answer of a command in the format of its flags, if they name one."""

    def __init__(self, flags: FormatOptions, time: str | None = None) -> None:
        self.format, self._output = flags.format, flags.output
        self._options = _options_of(flags, time) if flags.format else None
        if self._options is None:
            given = [name for name in ("output", *_BY_NAME) if getattr(flags, name)]
            if given:
                raise UsageError(f"--{given[0]} is an option of --format: name one, such as px")

    def check(self, others: Sequence[str], tables: int) -> None:
        """Raise if the answer could not be written, before anything is spent."""
        # others: flags that print something else; tables: the number of answers.
        if self._options is None or self.format is None:
            return
        if others:
            raise UsageError(f"print {others[0]} or a --format, not both")
        if tables > 1:
            raise UsageError("--format writes one table, and the plan has several; use --json")
        self._options.check(self.format)
        if self.format == "csvw" and self._output is None:
            raise UsageError("--format csvw writes two files: name the first with --output t.csv")
        if self._output is not None:
            check_writable(self._output, "a table")

    def write(self, answer: Answer) -> None:
        """Print the answer, or write its file."""
        from tacit.tables.export import write_file
        from tacit.tables.publish.publications import files_of

        if self._options is None or self.format is None:
            return
        name = Path(self._output or "answer").name
        for file, text in files_of(answer, self.format, name, self._options).items():
            if self._output is None:
                print(text, end="" if text.endswith("\n") else "\n")
            else:
                path = Path(os.path.expanduser(self._output)).with_name(file)
                write_file(path, text.encode())
                note(f"wrote {path}")


def _options_of(flags: FormatOptions, time: str | None) -> PublishOptions:
    from tacit.cli.shared.flag_values import column_names
    from tacit.tables.publish.publications import PublishOptions, pairs

    return PublishOptions(
        structure=flags.structure,
        dataflow=flags.dataflow,
        ids=pairs(column_names(flags.ids or ()), "--ids"),
        constants=pairs(column_names(flags.constants or ()), "--constants"),
        names=flags.names,
        time=time,
        labels=column_names(flags.labels) if flags.labels else None,
    )
