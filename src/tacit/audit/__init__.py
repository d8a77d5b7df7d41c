"""Claims held against their definition: exactly where outputs can be listed, else by samples."""

from tacit.audit.claims.verify import Verdict, verify

__all__ = ["Verdict", "verify"]
