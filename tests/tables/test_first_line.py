"""Previews, answers and certificates say in their first line whom they protect."""

import json

import pyarrow as pa
import pytest

import tacit as tc
from tacit.cli import run

UNITS = [
    (tc.one_row_each, "protects: each row, which stands for one person"),
    (tc.unit("who", rows=1), "protects: each person (column who), at most 1 row"),
    (
        tc.unit("who", rows=5, groups=2),
        "protects: each person (column who), at most 5 rows, present in at most 2 groups",
    ),
]
TABLE = pa.table({"who": [1, 1, 2], "x": [1, 2, 3]})


@pytest.mark.parametrize(("unit", "line"), UNITS, ids=str)
def test_in_python(unit, line):
    with tc.Session(TABLE, unit=unit, budget=tc.epsilon(3), name="three") as session:
        question = session.agg(n=tc.count())
        preview, answer = question.preview(epsilon=1), question.release(epsilon=1)
        counter = session.count_over_time("x", start=0, every=1, periods=3, epsilon=1)
        shown = [preview, answer, answer.certificate, counter.preview(), counter.update(now=3)]
        assert [str(each).splitlines()[0] for each in shown] == [line] * len(shown)
        assert line in repr(answer)


def test_a_frame_without_a_name_is_told():
    for name in ("three", None):
        with tc.Session(TABLE, unit=tc.one_row_each, budget=tc.epsilon(1), name=name) as session:
            shown = str(session.agg(n=tc.count()).preview(epsilon=1))
            assert ("has no name of its own" in shown) is (name is None)
            assert ("a table without a name" in repr(session)) is (name is None)


@pytest.mark.full
def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("who,age\n1,31\n2,45\n")
    table = "people.csv --types age=integer --who".replace("--who", "--person who --rows 2")
    line = "protects: each person (column who), at most 2 rows"
    over = f"{table} --time age --start 0 --every 50 --periods 2 --now 50 --ledger t.ledger"
    for words in (
        f"preview {table} --count --epsilon 1",
        f"release {table} --count --epsilon 1",
        f"count-over-time {over} --epsilon 1 --preview",
        f"count-over-time {over} --epsilon 1",
    ):
        assert run(words.split()) == 0
        assert capsys.readouterr().out.splitlines()[0] == line
    assert run(f"release {table} --count --epsilon 1 --json".split()) == 0
    told = json.loads(capsys.readouterr().out)["releases"][0]["protects"]
    assert told == {"column": "who", "rows": 2, "groups": 2}
