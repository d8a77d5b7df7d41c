"""The lines of a CSV file: the fast reader against the definition, over hostile bytes."""

from __future__ import annotations

import io

from tacit.tables.engines.csv import CsvFormat, cleaned, file_lines, parse

PLAIN = CsvFormat(delimiter=",")


def test_in_a_table_of_one_column_an_empty_line_is_a_row():
    assert parse(b"a\n\nb\n", PLAIN, 1) == [["a"], [None], ["b"]]


def test_fields_run_over_lines_only_where_that_is_declared():
    text = b'1,"a\nb"\n2,"c\n3,d\n4,e\n'
    rows = parse(text, PLAIN, 2)
    assert rows == [[None, None], ['b"', None], [None, None], ["3", "d"], ["4", "e"]]
    several = CsvFormat(delimiter=",", multiline=2)
    assert parse(text, several, 2) == [["1", "a\nb"], [None, None], ["3", "d"], ["4", "e"]]


def test_every_line_that_is_wrong_is_told_with_its_number():
    found = []
    blocks = file_lines(io.BytesIO(b'1,2\n1\n\n1,2,3\n"\n4,5\n'), "utf-8", 3)
    b"".join(cleaned(blocks, PLAIN, 2, lambda line, wrong: found.append((line, wrong))))
    assert found == [(1, "short"), (3, "long"), (4, "spoiled")]
