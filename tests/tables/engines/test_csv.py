"""Odd lines of a CSV file: what stands in them, and that they change no other row."""

from __future__ import annotations

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.examples import examples
from support.tables.hostile_lines import hostile
from tacit.tables.engines import csv as csv_lines
from tacit.tables.engines.csv import LINE_LIMIT, CsvFormat, cleaned, file_lines, parse, records

forms = st.sampled_from(
    [
        CsvFormat(delimiter=","),
        CsvFormat(delimiter=",", null=("NA", "a")),
        CsvFormat(delimiter=",", quote=""),
        CsvFormat(delimiter=";", quote="'"),
        CsvFormat(delimiter=",", encoding="cp1252"),
        CsvFormat(delimiter=",", encoding="iso8859-1"),
        CsvFormat(delimiter=",", multiline=3),
    ]
)
PLAIN = CsvFormat(delimiter=",")


def read_back(text: bytes, form: CsvFormat, width: int) -> list[list[str | None]]:
    """Read what was written anew by the plainest reader there is: each row is in order."""
    fixed = CsvFormat(delimiter=form.delimiter, quote=form.quote, multiline=form.multiline)
    lines = text.decode().encode().split(b"\n")
    assert lines.pop() == b""
    found = list(records(lines, fixed, width))
    assert all(wrong == "" for _, wrong, _ in found)
    return [[None if c in form.null else c for c in cells] for _, _, cells in found]


@examples(4)
@given(hostile, forms, st.integers(1, 4), st.integers(1, 9))
@example(b"", PLAIN, 2, 1)
@example(b'"a\n"b,c\n', PLAIN, 2, 4)
@example(b"\xef\xbb\xbf1,2\r", PLAIN, 2, 4)
@example(b'1,"2""",\n', PLAIN, 3, 9)
def test_the_fast_reader_agrees_with_the_definition(data, form, width, block):
    blocks = file_lines(io.BytesIO(data), form.encoding, block)
    text = b"".join(cleaned(blocks, form, width))
    assert read_back(text, form, width) == parse(data, form, width)


@examples(2)
@given(hostile, hostile, hostile, st.integers(1, 3))
def test_a_line_changes_no_other_row(before, line, after, width):
    """No row steers another: the rows of a file are those of its parts, one after the other."""
    line = line.replace(b"\n", b"").replace(b"\r", b"")
    before, after = (part.removeprefix(b"\xef\xbb\xbf") for part in (before, after))
    before = before + b"\n" if before else before
    rows = parse(b"\n" + before + line + b"\n" + after, PLAIN, width)
    alone = [parse(b"\n" + part, PLAIN, width) for part in (before, line + b"\n", after)]
    first = parse(b"\n", PLAIN, width)
    apart = [*alone[0], *alone[1][len(first) :], *alone[2][len(first) :]]
    assert rows == apart


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"# x,1\n", [["# x", "1"]]),
        (b"\n \n\n1,2\n\n", [[" ", None], ["1", "2"]]),
        (b"1\n1,2,3\n1,2", [["1", None], [None, None], ["1", "2"]]),
        (b'a"b,"c\n1,2\n', [[None, None], ["1", "2"]]),
        (b'a"b,c\n', [['a"b', "c"]]),
        (b'"a"b,c\n', [[None, None]]),
        (b' "a",b\n', [[' "a"', "b"]]),
        (b'"a,""b""",\r\n', [['a,"b"', None]]),
        (b"1,2\r3,4\r\n5,6\n", [["1", "2"], ["3", "4"], ["5", "6"]]),
        (b"\xff,1\n\0,2\n3,4\n", [[None, None], [None, None], ["3", "4"]]),
        (b"03/13/2020,\\N\n", [["03/13/2020", "\\N"]]),
        (b"x" * (LINE_LIMIT + 1) + b",1\n1,2\n", [[None, None], ["1", "2"]]),
        (b"", []),
    ],
)
def test_what_stands_in_odd_lines(data, rows):
    assert parse(data, PLAIN, 2) == rows
    text = b"".join(cleaned(file_lines(io.BytesIO(data)), PLAIN, 2))
    assert read_back(text, PLAIN, 2) == rows


def test_a_line_of_a_hundred_megabytes_takes_no_more_memory_than_a_block(monkeypatch):
    class Endless(io.RawIOBase):
        given = 0

        def read(self, size=-1):
            if self.given >= 100 << 20:
                return b"" if self.given > 100 << 20 else self._last()
            self.given += 1 << 20
            return b"x" * (1 << 20)

        def _last(self):
            self.given += 1
            return b"\n1,2\n"

    blocks = list(file_lines(Endless(), "utf-8", 1 << 20))
    assert max(map(len, blocks)) <= 3 << 20
    assert b"".join(cleaned(blocks, PLAIN, 2)) == b",\n1,2\n"
    assert csv_lines.LINE_LIMIT == LINE_LIMIT
