"""What a session refuses to plan."""

import pyarrow as pa
import pytest

import tacit as tc
from tacit.errors import UsageError

PEOPLE = pa.table({"age": [31, 67]})


def opened():
    return tc.Session(PEOPLE, tc.one_row_each, tc.epsilon(1), tc.in_memory, name="people")


def test_what_is_no_plan_of_this_session_is_refused():
    session, other = opened(), opened()
    n = session.agg(n=tc.count())
    for wrong, told in [
        ([], "list of questions"),
        (n, "list of questions"),
        ([n, "n"], "list of questions"),
        ([n, other.agg(n=tc.count())], "one session"),
    ]:
        with pytest.raises(UsageError, match=told):
            session.plan(wrong)
    for named, told in [
        ({"least": "best"}, "least is"),
        ({"least": "worst", "weights": {"n": 2}}, "least is"),
        ({"unlisted": "keep"}, "unlisted is"),
        ({"nonnegative": 1}, "nonnegative is"),
        ({"weights": {"m": 2}}, "there is no answer"),
    ]:
        with pytest.raises(UsageError, match=told):
            session.plan([n], **named)
    assert session.plan([n], weights={"n": 2}).labels == ("n",)
