"""Privacy claims, checked against their definition: exactly where possible, else by samples."""

from tacit.audit.attack_suite.run import AttackTable, attacks
from tacit.audit.comparison import compare
from tacit.audit.replay import ReplayResult, replay
from tacit.audit.sampled import SampledAudit, command, sampled
from tacit.audit.search import SearchResult, search
from tacit.audit.verify import Verdict, verify

__all__ = [
    "AttackTable",
    "ReplayResult",
    "SampledAudit",
    "SearchResult",
    "Verdict",
    "attacks",
    "command",
    "compare",
    "replay",
    "sampled",
    "search",
    "verify",
]
