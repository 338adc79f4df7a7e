"""Guarantees as values: make, compare, compose and convert them."""

from holdfast.privacy.composition import Orders, both_orders, compose, parallel, post_processed
from holdfast.privacy.conversion import (
    gdp_to_epsilon,
    zcdp_to_epsilon,
    zcdp_within,
)
from holdfast.privacy.evidence import Assumed, Estimated, Evidence, Proved
from holdfast.privacy.guarantee import Guarantee, Scope, Target, Unit
from holdfast.privacy.intensity import Approximate, Functional, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.privacy.order import at_least_as_strong, convert
from holdfast.privacy.prior_posterior import loss_of, posterior_bounds
from holdfast.privacy.pufferfish import (
    COUNT,
    RECORDS,
    DeltaZ,
    Framework,
    LawClass,
    Semantics,
    Stated,
    Statistic,
    TPGuarantee,
    conditioned_intensity,
    delta_of_tables,
    framework_of_tables,
    in_parallel,
    in_sequence,
    semantics,
    tp_of_tables,
)
from holdfast.privacy.tradeoff import EpsilonDelta, Gaussian, Tradeoff, at_least, group, tensor

__all__ = [
    "COUNT",
    "RECORDS",
    "Approximate",
    "Assumed",
    "DeltaZ",
    "EpsilonDelta",
    "Estimated",
    "Evidence",
    "Framework",
    "Functional",
    "Gaussian",
    "GaussianDP",
    "Guarantee",
    "Intensity",
    "LawClass",
    "Orders",
    "Proved",
    "Pure",
    "Scope",
    "Semantics",
    "Stated",
    "Statistic",
    "TPGuarantee",
    "Target",
    "Tradeoff",
    "Unit",
    "ZeroConcentrated",
    "at_least",
    "at_least_as_strong",
    "both_orders",
    "compose",
    "conditioned_intensity",
    "convert",
    "delta_of_tables",
    "framework_of_tables",
    "gdp_to_epsilon",
    "group",
    "in_parallel",
    "in_sequence",
    "loss_of",
    "parallel",
    "post_processed",
    "posterior_bounds",
    "semantics",
    "tensor",
    "tp_of_tables",
    "zcdp_to_epsilon",
    "zcdp_within",
]
