"""Claims held against their definition: exactly where outputs can be listed, else by samples."""

from tacit.audit.attack_suite.run import attacks
from tacit.audit.attack_suite.table import AttackTable
from tacit.audit.claims.verify import Verdict, verify
from tacit.audit.sampling.sampled import SampledAudit, command, sampled

__all__ = ["AttackTable", "SampledAudit", "Verdict", "attacks", "command", "sampled", "verify"]
