"""Privacy claims, checked against their definition: exactly where possible, else by samples."""

from tacit.audit.attack_suite.run import AttackTable, attacks
from tacit.audit.replay import Replay, replay
from tacit.audit.sampled import SampledAudit, command, sampled
from tacit.audit.search import Search, search
from tacit.audit.verify import Verdict, verify

__all__ = [
    "AttackTable",
    "Replay",
    "SampledAudit",
    "Search",
    "Verdict",
    "attacks",
    "command",
    "replay",
    "sampled",
    "search",
    "verify",
]
