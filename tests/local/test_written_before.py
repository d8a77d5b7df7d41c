"""Reports, states of collectors and files of devices that an earlier version wrote still read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import tacit as tc
from tacit.errors import BudgetError

KEPT = Path(__file__).parent / "written_before"
SPORT = tc.local.UnaryEncoding(["swim", "run", "rest"], 1)
ESTIMATED = [-7.6090344736494515, 14.031435741645753, 5.375247655527671]


def test_reports_are_collected():
    collector = tc.local.Collector(SPORT, replay="exact")
    assert collector.add_file(KEPT / "day.reports") == 40
    assert collector.add_file(KEPT / "day.reports") == 0
    assert collector.estimate().counts.tolist() == pytest.approx(ESTIMATED, rel=1e-12)


def test_a_collector_goes_on():
    collector = tc.local.Collector.load(KEPT / "day.state")
    assert (collector.n, collector.refused) == (40, {})
    assert collector.estimate().counts.tolist() == pytest.approx(ESTIMATED, rel=1e-12)
    assert collector.add_file(KEPT / "day.reports") == 0  # it knows each of these reports


def test_a_device_gives_its_permanent_answer_and_pays_for_another(tmp_path):
    shutil.copy(KEPT / "device.json", tmp_path)
    device = tc.local.Device(budget=10, path=tmp_path / "device.json")
    spent = device.spent
    assert device.report(SPORT, "run").tolist() == [2]
    assert device.spent == spent
    device.report(SPORT, "swim")
    assert device.spent == 2 * spent


def test_a_device_keeps_its_budget(tmp_path):
    shutil.copy(KEPT / "device.json", tmp_path)
    device = tc.local.Device(budget=10, path=tmp_path / "device.json")
    left = device.left(SPORT)
    for period in range(left):
        device.report(SPORT, "run", period=str(period))
    with pytest.raises(BudgetError):
        device.report(SPORT, "run", period=str(left))
