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
from holdfast.privacy.posterior_posterior import posterior_distance, with_record
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
    congenial_errors,
    delta_of_tables,
    expected_variance,
    framework_of_tables,
    gradient_tail,
    in_parallel,
    in_sequence,
    semantics,
    tp_of_tables,
)
from holdfast.privacy.radial import radial_loss
from holdfast.privacy.rejections import Rejections, check_chances, check_test
from holdfast.privacy.subspace import SubspaceGuarantee
from holdfast.privacy.tradeoff import EpsilonDelta, Gaussian, Tradeoff, at_least, group, tensor
from holdfast.universe.hull.containment import Ball

__all__ = [
    "COUNT",
    "RECORDS",
    "Approximate",
    "Assumed",
    "Ball",
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
    "Rejections",
    "Scope",
    "Semantics",
    "Stated",
    "Statistic",
    "SubspaceGuarantee",
    "TPGuarantee",
    "Target",
    "Tradeoff",
    "Unit",
    "ZeroConcentrated",
    "at_least",
    "at_least_as_strong",
    "both_orders",
    "check_chances",
    "check_test",
    "compose",
    "conditioned_intensity",
    "congenial_errors",
    "convert",
    "delta_of_tables",
    "expected_variance",
    "framework_of_tables",
    "gdp_to_epsilon",
    "gradient_tail",
    "group",
    "in_parallel",
    "in_sequence",
    "loss_of",
    "parallel",
    "post_processed",
    "posterior_bounds",
    "posterior_distance",
    "radial_loss",
    "semantics",
    "tensor",
    "tp_of_tables",
    "with_record",
    "zcdp_to_epsilon",
    "zcdp_within",
]
