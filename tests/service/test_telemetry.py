"""The structured log: listed events with listed fields, and no text of an exception."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from tacit.errors import UsageError
from tacit.service.telemetry import JsonLines, configure, log


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    out = io.StringIO()
    handler = configure(out)
    yield out
    logging.getLogger().removeHandler(handler)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.disabled, logger.propagate = False, True


def test_a_line_is_json_and_holds_its_fields(written: io.StringIO) -> None:
    log("release", release="r1", dataset="visits\nforged: line", state="done")
    (line,) = written.getvalue().splitlines()
    assert json.loads(line)["dataset"] == "visits\nforged: line"


@pytest.mark.parametrize("fields", [{"answer": 5}, {"release": "r", "seconds": 1.5}])
def test_what_is_not_listed_is_not_logged(written: io.StringIO, fields: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        log("release", **fields)
    with pytest.raises(UsageError):
        log("answer")
    assert written.getvalue() == ""


def test_of_an_exception_only_kinds_and_places_are_logged(written: io.StringIO) -> None:
    try:
        try:
            int("4711 of the patient")
        except ValueError as error:
            raise RuntimeError("Conversion Error: 4711 of the patient") from error
    except RuntimeError:
        log("unexpected", level=logging.ERROR, error=True, request="r", route="/v1/me")
    text = written.getvalue()
    assert "4711" not in text
    assert [e.split()[0] for e in json.loads(text)["error"]] == ["RuntimeError", "ValueError"]
    assert "test_telemetry.py:" in text


def test_what_libraries_say_is_left_out(written: io.StringIO) -> None:
    logging.getLogger("some.driver").warning("row %s", "4711")
    logging.getLogger("some.driver").warning("row 4711")
    try:
        int("4711 of the patient")
    except ValueError:
        logging.getLogger("uvicorn.error").exception("in the application: 4711")
    logging.getLogger("uvicorn.access").info("GET /?token=4711")
    text = written.getvalue()
    assert "4711" not in text
    assert len(text.splitlines()) == 3


def test_the_server_may_say_that_it_started(written: io.StringIO) -> None:
    logging.getLogger("uvicorn.error").info("Application startup complete.")
    assert json.loads(written.getvalue())["message"] == "Application startup complete."


def test_a_second_configuration_takes_the_place_of_the_first(written: io.StringIO) -> None:
    again = io.StringIO()
    configure(again)
    log("stopped")
    assert written.getvalue() == ""
    assert len(again.getvalue().splitlines()) == 1
    handlers = logging.getLogger().handlers
    for handler in [h for h in handlers if isinstance(h.formatter, JsonLines)]:
        logging.getLogger().removeHandler(handler)
