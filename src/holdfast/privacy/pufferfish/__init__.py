"""Promises that are honest about public facts: Pufferfish frameworks and epsilon-TP.

framework.py    public facts, secrets, discriminative pairs, laws of the data; which frameworks hold others
delta.py        Delta_z, how far a secret moves the data, and what a family of laws is
tables.py       frameworks of tables whose invariants are public
families/       other classes of laws, each with its Delta_z
guarantee.py    epsilon-TP as a value: what implies it, what it implies, what it means to an analyst
composition.py  what conditioning on public facts costs, and what several releases cost together
utility.py      what releases that use public facts are worth
models.py       models as files state them
of_model.py     the guarantee that a stated model gives
"""

from holdfast.privacy.pufferfish.composition import (
    conditioned_intensity,
    in_parallel,
    in_sequence,
    post_processed,
)
from holdfast.privacy.pufferfish.framework import (
    COUNT,
    RECORDS,
    DeltaZ,
    Framework,
    LawClass,
    Stated,
    Statistic,
)
from holdfast.privacy.pufferfish.guarantee import Semantics, TPGuarantee, semantics
from holdfast.privacy.pufferfish.tables import (
    NamedTable,
    TableLaws,
    delta_of_tables,
    framework_of_tables,
    tp_of_tables,
)
from holdfast.privacy.pufferfish.utility import (
    CongenialErrors,
    congenial_errors,
    expected_variance,
    gradient_tail,
)
from holdfast.spec.privacy import LawKind

__all__ = [
    "COUNT",
    "RECORDS",
    "CongenialErrors",
    "DeltaZ",
    "Framework",
    "LawClass",
    "LawKind",
    "NamedTable",
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
