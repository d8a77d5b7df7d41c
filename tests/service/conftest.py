"""What the tests of the service share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.service.client import Client, running
from support.service.hosting import hosted_clinic


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with running(hosted_clinic(tmp_path_factory.mktemp("clinic"))) as client:
        yield client
