"""Claims held against their definition: exactly where outputs can be listed, else by samples."""

from tacit.audit.claims.verify import Verdict, verify
from tacit.audit.sampling.sampled import SampledAudit, command, sampled

__all__ = ["SampledAudit", "Verdict", "command", "sampled", "verify"]
