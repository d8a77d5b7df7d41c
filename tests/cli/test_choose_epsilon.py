"""``tacit choose-epsilon``: the epsilon of a disclosure risk."""

from __future__ import annotations

from pathlib import Path


def test_choose_epsilon(tacit, folder: Path) -> None:
    ask = "choose-epsilon median --records 1,2,3,10 --size 3 --risk 1/3"
    done = tacit(f"{ask} --plot risk.png")
    assert done.code == 0
    assert "2.772588" in done.out
    assert (folder / "risk.png").exists()
    shown = tacit(f"{ask} --json").json
    assert shown["bound"] <= shown["epsilon"] < 2.7726
    assert shown["worlds"] == 4
