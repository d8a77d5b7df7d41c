"""A preview as plain JSON values, and read back: nothing of it is lost on the way."""

import json
import math
from dataclasses import replace

import pytest

import tacit as tc
from support.clinic import make_clinic
from tacit.errors import UsageError
from tacit.tables.plan.preview import Preview


def test_a_preview_is_read_back_whole(tmp_path):
    with tc.open(make_clinic(tmp_path), ledger=tc.in_memory) as session:
        computed = session.with_column("twice", tc.col("cost") * 2)
        asked = computed.agg(n=tc.count(), m=tc.median("cost", method="smooth"))
        for question in (asked, computed.agg(t=tc.mean("twice"))):
            found = question.preview(epsilon=11, rows=[10, 200], confidence="0.95")
            again = Preview.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False)))
            assert again == found
            assert str(again) == str(found)


def test_an_error_without_end_is_told(tmp_path):
    with tc.open(make_clinic(tmp_path), ledger=tc.in_memory) as session:
        found = replace(session.agg(n=tc.count()).preview(epsilon=1), errors={"n": (math.inf,)})
    said = json.dumps(found.to_json(), allow_nan=False)
    assert Preview.from_json(json.loads(said)).errors == {"n": (math.inf,)}


@pytest.mark.parametrize("said", [{}, {"cost": 1}])
def test_what_is_no_preview_is_refused(said):
    with pytest.raises(UsageError, match="not a preview"):
        Preview.from_json(said)
