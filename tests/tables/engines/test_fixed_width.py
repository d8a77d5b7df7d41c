"""Files of fixed width: every field by its positions, every line by itself."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import pytest

import tacit as tc
from tacit.cli import run
from tacit.errors import UsageError
from tacit.report.text import reading_words
from tacit.tables.open_source import open_source
from tacit.tables.question import charge_of
from tacit.tables.reading import Reading

LAYOUT = [
    {"name": "id", "start": 1, "width": 3, "kind": "integer"},
    {"name": "age", "start": 4, "end": 6, "kind": "integer"},
    {"name": "name", "start": 7, "width": 5, "kind": "text"},
    {"name": "pay", "start": 12, "width": 6, "decimals": 2},
    {"name": "both", "start": 1, "width": 6},
]
# Lines with what they are; each is of its own fate, whatever stands beside it.
LINES: list[tuple[bytes, tuple[Any, ...] | None]] = [
    (b"  1 23Zoe    1234", (1, 23, "Zoe", 12.34, "1 23")),
    (b"  2 45Bob      99", (2, 45, "Bob", 0.99, "2 45")),
    (b"  3", (3, None, None, None, "3")),
    (b"", None),
    (b" 4a 50 Ann -12345678 too long", (None, 50, "Ann", -123.45, "4a 50")),
    ("  5 66Zoë    12.5".encode(), (5, 66, "Zoë", 12.5, "5 66")),
    (b"  6 77  \xff    1000", (None,) * 5),  # no UTF-8
    (b"  7 88\0       100", (None,) * 5),
    (b"  8 99a\x1fb    1000", (None,) * 5),
    (b'  9  1"x,y    100', (9, 1, '"x,y', 1.0, "9  1")),
    (b"                 ", (None,) * 5),
    (b"001099NULL 000100", (1, 99, "NULL", 1.0, "001099")),
]


def rows_of(path: Path, **options: Any) -> list[tuple[Any, ...]]:
    with open_source(path, layout=LAYOUT, **options) as source:
        return source.engine.rows(f"select * from {source.relation}")


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_each_line_is_read_by_itself_whatever_stands_beside_it(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "t.dat"
    order = list(LINES)
    random.Random(7).shuffle(order)
    for lines in (LINES, order, LINES[4:7]):
        path.write_bytes(end.join([line for line, _ in lines]) + end)
        truth = [row for _, row in lines if row is not None]
        assert rows_of(path) == truth


@pytest.mark.parametrize("name", ["t.txt", "t.fwf", "t.dat.gz", "t.txt.gz"])
def test_names_and_packed_files(tmp_path: Path, name: str) -> None:
    data = LINES[0][0] + b"\n" + LINES[1][0] + b"\n"
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert rows_of(tmp_path / name) == [LINES[0][1], LINES[1][1]]


def test_positions_count_characters_or_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.dat"
    for positions, lines in (
        ("bytes", "  1 23Zoë   1234\n  2 45€5 001234\n"),
        ("characters", "  1 23Zoë    1234\n  2 45€5   001234\n"),
    ):
        path.write_text(lines, encoding="utf-8")
        read = [row[2:4] for row in rows_of(path, positions=positions)]
        assert read == [("Zoë", 12.34), ("€5", 12.34)]
    path.write_text("  1 23Zoëë001234\n", encoding="utf-8")
    assert rows_of(path, positions="bytes")[0][2:4] == ("Zoëë", 1.23)  # one is cut
    path.write_bytes("  1 23Zo\xeb\xeb\xeb 1234\n".encode("latin-1"))
    for positions in ("characters", "bytes"):
        assert rows_of(path, positions=positions, encoding="latin-1")[0][2] == "Zoëëë"


def test_the_shorter_cut_of_bytes_is_what_python_reads(tmp_path: Path) -> None:
    """Of random lines the fields in bytes are those of the bytes themselves."""
    draw, path, layout = random.Random(3), tmp_path / "t.dat", LAYOUT[2:3]
    lines = ["".join(draw.choices("aé€😀 ", k=draw.randint(3, 9))) for _ in range(60)]
    path.write_text("\n".join(["x" + line for line in lines]) + "\n", encoding="utf-8")
    with open_source(path, layout=layout, positions="bytes") as source:
        rows = [row[0] for row in source.engine.rows(f"select * from {source.relation}")]
    for line, cell in zip(lines, rows, strict=True):
        parts, place = [], 1
        for character in "x" + line:  # one that begins in the field is in it
            parts += [character] if 7 <= place <= 11 else []
            place += len(character.encode())
        assert cell == ("".join(parts).strip(" ") or None), line


def test_implied_decimals_are_the_nearest_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.dat"
    numbers = [0, 1, 99, 1234, 999999, -12345, 29, 57, 113]
    path.write_text("".join(f"{'':11}{n:6d}\n" for n in numbers))
    assert [row[3] for row in rows_of(path)] == [float(f"{n}e-2") for n in numbers]


def test_the_positions_that_a_question_reads_are_part_of_it(tmp_path: Path) -> None:
    path, keys = tmp_path / "t.dat", set()
    path.write_bytes(LINES[0][0] + b"\n")
    moved = [{**LAYOUT[1], "start": 5}, *LAYOUT[:1], *LAYOUT[2:]]
    other = [LAYOUT[0], LAYOUT[1], *({**one, "start": 2, "end": 2} for one in LAYOUT[4:])]
    other = [{k: v for k, v in one.items() if k != "width" or "end" not in one} for one in other]
    for layout in (LAYOUT, moved, other):
        session = tc.Session(path, tc.one_row_each, tc.epsilon(1), tc.in_memory, layout=layout)
        with session:
            keys.add(charge_of(session.agg(m=tc.mean("age", 0, 99)), epsilon=1).key)
            reading = session.agg(m=tc.mean("age", 0, 99))._query.describe()["reading"]
        assert list(reading["layout"]) == ["age"]
        assert Reading.read(reading).describe(["age"]) == reading
    assert len(keys) == 2  # another column that is not read changes nothing
    assert "by fixed positions (age at 4-6)" in reading_words(reading)


def test_a_declaration_holds_a_layout_and_is_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.dat"
    path.write_bytes(b"".join(LINES[0][0] + b"\n" for _ in range(40)))
    layout = tmp_path / "columns.csv"
    layout.write_text("name, start, width, type, decimals\nid,1,3,integer,\npay,12,6,,2\n")
    out = tmp_path / "t.toml"
    assert run(["init", str(path), "--layout", str(layout), "--out", str(out)]) == 0
    text = out.read_text()
    assert '{ name = "pay", start = 12, width = 6, decimals = 2 }' in text
    text = text.replace('person = "id", rows = "?", groups = "?"', 'person = "id", rows = 1')
    text = text.replace('epsilon = "?"', "epsilon = 9").replace('bounds = "?"', "bounds = [0, 99]")
    out.write_text(text)
    assert run(["check", str(out)]) == 0, capsys.readouterr().err
    saved = tmp_path / "n.json"
    question = ["release", str(out), "--mean", "pay", "--epsilon", "1", "--certificate", str(saved)]
    assert run(question) == 0, capsys.readouterr().err
    assert run(["verify", str(saved)]) == 0
    assert tc.Certificate.load(saved).body["question"]["query"]["reading"]["layout"] == {
        "id": [1, 3],
        "pay": [12, 17, 2],
    }
    assert run(["check", str(path), "--layout", str(layout), "--json"]) == 0


@pytest.mark.parametrize(
    ("layout", "named"),
    [
        ([], "lists the columns"),
        ("columns.csv", "lists the columns"),
        ([{"start": 1, "width": 2}], "column 1 of layout= has no name"),
        ([{"name": "a", "start": 0, "width": 2}], "start of 'a' of layout= is a whole number"),
        ([{"name": "a", "start": 1}], "either its width or its end"),
        ([{"name": "a", "start": 1, "width": 2, "end": 3}], "either its width or its end"),
        ([{"name": "a", "start": 5, "end": 3}], "starts at 5 and ends before, at 3"),
        ([{"name": "a", "start": 1, "end": 1 << 21}], "a line has at most"),
        ([{"name": "a", "start": 1, "end": 2, "kind": "int"}], "did you mean 'integer'"),
        ([{"name": "a", "start": 1, "end": 2, "kind": "text", "decimals": 1}], "has decimals"),
        ([{"name": "a", "start": 1, "end": 2, "pos": 1}], "has 'pos'"),
        ([{"name": "a", "start": True, "end": 2}], "whole number"),
        (2 * [{"name": "a", "start": 1, "end": 2}], "names 'a' twice"),
    ],
)
def test_a_layout_that_cannot_be_is_refused_where_it_is(layout: Any, named: str) -> None:
    with pytest.raises(UsageError, match=named):
        open_source("none.dat", layout=layout)


@pytest.mark.parametrize(
    "options",
    [
        *({name: value} for name, value in [("delimiter", ";"), ("quote", "'"), ("multiline", 2)]),
        {"header": False},
        {"positions": "bits"},
        {"positions": "bytes", "encoding": "utf-16"},
        {"types": {"pay": "integer"}},
    ],
)
def test_options_that_contradict_a_layout_are_refused(options: Any) -> None:
    with pytest.raises(UsageError):
        open_source("none.dat", layout=LAYOUT, **options)
    if list(options) == ["positions"]:
        with pytest.raises(UsageError, match="positions= is what a layout= counts"):
            open_source("none.dat", positions="bytes")


def test_a_line_more_or_less_changes_no_other_whatever_bytes_it_has(tmp_path: Path) -> None:
    path, draw = tmp_path / "t.dat", random.Random(5)
    base = [line for line, _ in LINES]
    path.write_bytes(b"\n".join(base) + b"\n")
    before = rows_of(path)
    for _ in range(2):
        lines = list(base)
        for _ in range(30):
            line = bytes(draw.choices(range(256), k=draw.randint(1, 30)))
            lines.insert(draw.randint(0, len(lines)), line.translate(None, b"\n\r"))
        path.write_bytes(b"\n".join(lines) + b"\n")
        after = iter(rows_of(path))
        assert all(row in after for row in before)  # each in its turn
