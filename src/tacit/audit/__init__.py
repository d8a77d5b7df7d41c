"""Privacy claims, checked against their definition: exactly where possible, else by samples."""

from tacit.audit.attack_suite.run import attacks
from tacit.audit.attack_suite.table import AttackTable
from tacit.audit.claims.verify import Verdict, verify
from tacit.audit.replaying.replay import Replay, replay
from tacit.audit.sampling.sampled import SampledAudit, command, sampled
from tacit.audit.sampling.search import Search, search

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
