"""Certificates: what was released, under which proof, for a person and for a machine."""

from tacit.report.certificate import Certificate, issue
from tacit.report.issued import Verification, versions
from tacit.report.registry import RegistryEntry

__all__ = ["Certificate", "RegistryEntry", "Verification", "issue", "versions"]
