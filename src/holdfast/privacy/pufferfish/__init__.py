"""Promises that are honest about public facts: Pufferfish frameworks and epsilon-TP.

framework.py     public facts, secrets, discriminative pairs, and the laws of the data
tables.py        frameworks of tables whose invariants are public
families/        other classes of laws, each with its Delta_z
delta.py         Delta_z, how far a secret moves the data
guarantee.py     epsilon-TP as a value; what implies it, and what it implies
order.py         which frameworks hold others
semantics.py     what it means to an analyst
conditioning.py  what conditioning on public facts costs
composition.py   several releases
"""

from holdfast.privacy.pufferfish.composition import in_parallel, in_sequence, post_processed
from holdfast.privacy.pufferfish.conditioning import conditioned_intensity
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
from holdfast.privacy.pufferfish.semantics import Semantics, semantics
from holdfast.privacy.pufferfish.tables import TableLaws, delta_of_tables, framework_of_tables, tp_of_tables

__all__ = [
    "COUNT",
    "RECORDS",
    "DeltaZ",
    "Framework",
    "LawClass",
    "LawKind",
    "Semantics",
    "Stated",
    "Statistic",
    "TPGuarantee",
    "TableLaws",
    "conditioned_intensity",
    "delta_of_tables",
    "framework_of_tables",
    "in_parallel",
    "in_sequence",
    "post_processed",
    "semantics",
    "tp_of_tables",
]
