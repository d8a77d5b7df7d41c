"""Words of answers and steps: found where they are made, loaded when they are asked for."""

import json
import subprocess
import sys

import pytest

from tacit.report.text import answer_words, distance_words, step_words, words_of_step

ALONE = """
import json, sys
from tacit.report.text import question_words
from tacit.report.text import step_words
before = "tacit.tables.answers" in sys.modules
asked = {"aggregates": [["x", {"kind": "median", "column": "x", "lower": "0", "upper": "9"}]]}
asked |= {"by": [], "keys": None, "where": [], "derived": []}
print(json.dumps([before, question_words({"query": asked}), step_words({"step": "count_rows"})]))
"""


@pytest.mark.full
def test_words_are_there_before_any_table_was_opened() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, check=True, text=True)
    before, question, step = json.loads(done.stdout)
    assert not before
    assert question.startswith("The median of x")
    assert step == "Count the rows"


def test_what_nobody_has_words_for() -> None:
    assert words_of_step("nothing") is None
    assert step_words({"step": "nothing"}) == "nothing"
    assert distance_words({"step": "nothing", "distance": "1"}, "PureDP", False) == "1 row in all"
    with pytest.raises(LookupError):
        answer_words("nothing")
