"""What was asked: data, invariants, constraints, target and mechanism, checked and serialisable."""

from holdfast.spec.load import read_spec
from holdfast.spec.model import Constraints, Data, Invariant, MechanismChoice, Privacy, Spec, Weights
from holdfast.spec.rational import Rational

__all__ = [
    "Constraints",
    "Data",
    "Invariant",
    "MechanismChoice",
    "Privacy",
    "Rational",
    "Spec",
    "Weights",
    "read_spec",
]
