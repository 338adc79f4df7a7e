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
utility.py       what releases that use public facts are worth
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
from holdfast.privacy.pufferfish.utility import (
    CongenialErrors,
    congenial_errors,
    expected_variance,
    gradient_tail,
)

__all__ = [
    "COUNT",
    "RECORDS",
    "CongenialErrors",
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
    "congenial_errors",
    "delta_of_tables",
    "expected_variance",
    "framework_of_tables",
    "gradient_tail",
    "in_parallel",
    "in_sequence",
    "post_processed",
    "semantics",
    "tp_of_tables",
]
