"""Promises that are honest about public facts: Pufferfish frameworks and epsilon-TP.

framework.py  public facts, secrets, discriminative pairs, and the laws of the data
delta.py      Delta_z, how far a secret moves the data
guarantee.py  epsilon-TP as a value
"""

from holdfast.privacy.pufferfish.delta import DeltaZ
from holdfast.privacy.pufferfish.framework import (
    COUNT,
    RECORDS,
    Framework,
    LawClass,
    LawKind,
    Stated,
    Statistic,
)
from holdfast.privacy.pufferfish.guarantee import TPGuarantee

__all__ = [
    "COUNT",
    "RECORDS",
    "DeltaZ",
    "Framework",
    "LawClass",
    "LawKind",
    "Stated",
    "Statistic",
    "TPGuarantee",
]
