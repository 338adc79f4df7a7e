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
from holdfast.privacy.tradeoff import EpsilonDelta, Gaussian, Tradeoff, at_least, group, tensor

__all__ = [
    "Approximate",
    "Assumed",
    "EpsilonDelta",
    "Estimated",
    "Evidence",
    "Functional",
    "Gaussian",
    "GaussianDP",
    "Guarantee",
    "Intensity",
    "Orders",
    "Proved",
    "Pure",
    "Scope",
    "Target",
    "Tradeoff",
    "Unit",
    "ZeroConcentrated",
    "at_least",
    "at_least_as_strong",
    "both_orders",
    "compose",
    "convert",
    "gdp_to_epsilon",
    "group",
    "loss_of",
    "parallel",
    "post_processed",
    "posterior_bounds",
    "tensor",
    "zcdp_to_epsilon",
    "zcdp_within",
]
