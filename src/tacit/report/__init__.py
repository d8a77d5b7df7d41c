"""Certificates: what was released, under which proof, for a person and for a machine."""

from tacit.report.certificate import Certificate, issue
from tacit.report.check.issued import versions
from tacit.report.check.verification import Verification
from tacit.report.registry.entry import RegistryEntry

__all__ = ["Certificate", "RegistryEntry", "Verification", "issue", "versions"]
