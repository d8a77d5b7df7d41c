"""What one measure of privacy loss says in another; formulas and proofs stand with the measures."""

from tacit.core.measures.conversion import concentrated_epsilon, pure_to_concentrated

__all__ = ["concentrated_epsilon", "pure_to_concentrated"]
