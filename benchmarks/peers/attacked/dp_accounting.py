"""dp_accounting (Google): privacy-loss distributions and their composition."""

from __future__ import annotations

import importlib
import re
from typing import Any

from tacit.audit.attack_suite.system import InstalledLibrary, NotOfferedError


class DpAccounting(InstalledLibrary):
    """``PLDAccountant``, pessimistic, at its default interval."""

    name = "dp-accounting"
    distribution = "dp-accounting"
    modules = ("dp_accounting", "dp_accounting.pld")

    def claim(self, name: str) -> float:
        """Return the epsilon of a composition."""
        attack, _, what = name.partition(": ")
        if attack != "composition":
            raise NotOfferedError(f"a claim about {attack}")
        base: Any = importlib.import_module("dp_accounting")
        pld: Any = importlib.import_module("dp_accounting.pld")
        times, size, delta = (float(x) for x in re.findall(r"[\d.]+(?:e-?\d+)?", what))
        if "gaussian" in what:
            event = base.GaussianDpEvent(size)
        else:
            kept = pld.privacy_loss_distribution.from_randomized_response(
                2 / (1 + 2.718281828459045**size), 2
            )
            return float(kept.self_compose(int(times)).get_epsilon_for_delta(delta))
        accountant = pld.PLDAccountant()
        accountant.compose(base.SelfComposedDpEvent(event, int(times)))
        return float(accountant.get_epsilon(delta))


SYSTEM = DpAccounting
