"""A certificate that another version of Tacit planned otherwise says which version that was."""

from __future__ import annotations

import pyarrow as pa
import pytest

import tacit as tc
from tacit.report.verify import digest, verify_body


@pytest.mark.parametrize("version", ["0.0.1", None])
def test_what_fails_names_the_version_that_made_it(version: str | None) -> None:
    with tc.Session(
        pa.table({"x": [1.0, 2.0]}), unit=tc.one_row_each, budget=tc.epsilon(1)
    ) as session:
        body = dict(session.agg(m=tc.mean("x", 0, 1)).release(epsilon="1/2").certificate.body)
    versions = body["versions"] if version is None else {**body["versions"], "tacit": version}
    told = {**body, "versions": versions}
    sealed = {**told, "digest": digest(told)}
    assert verify_body(sealed, None)  # the version alone is no reason to refuse
    other = {**sealed, "composition": {**sealed["composition"], "loss": "7"}}
    found = verify_body({**other, "digest": digest(other)}, None)
    assert found.failures
    assert all(("made by Tacit 0.0.1" in text) == (version is not None) for text in found.failures)
