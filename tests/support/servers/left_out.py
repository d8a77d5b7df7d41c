"""Skipped tests that need a missing program, and their summary at the end of the run.

A test, or a fixture, that needs a program calls ``leave_out("PostgreSQL", "apt-get install ...")``
or is marked ``pytest.mark.skipif(..., reason=reason(...))``.  The summary at the end of the run
counts these apart from every other skipped test (``tests/conftest.py``), so that nobody takes a
run that left out a whole engine for a whole one.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Iterable
from typing import Any, NoReturn

import pytest

BEGINS = "left out for want of "


def reason(what: str, remedy: str) -> str:
    """The reason to skip a test that needs ``what``, which ``remedy`` brings.

    >>> reason("Java", "apt-get install default-jre-headless")
    'left out for want of Java: apt-get install default-jre-headless'
    """
    return f"{BEGINS}{what}: {remedy}"


def leave_out(what: str, remedy: str) -> NoReturn:
    """Skip the test that asks, or every test of the fixture that asks."""
    pytest.skip(reason(what, remedy))


def if_installed(package: str) -> Any:
    """A package that only the fixtures of a file need, which leave its tests out without it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        return None


def needs(package: str, remedy: str) -> pytest.MarkDecorator:
    """Mark a test that needs a package, which ``remedy`` brings; it is not imported for that."""
    absent = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(absent, reason=reason(package, remedy))


def told(skipped: Iterable[object]) -> list[str]:
    """One line for each thing that was missing, from the reports of the skipped tests."""
    reasons = [report.longrepr for report in skipped if isinstance(report.longrepr, tuple)]  # type: ignore[attr-defined]
    counts = Counter(str(text).partition(BEGINS)[2] for _, _, text in reasons if BEGINS in text)
    return [
        f"{count} test{'s' if count > 1 else ''} {BEGINS}{missing}"
        for missing, count in sorted(counts.items())
    ]
