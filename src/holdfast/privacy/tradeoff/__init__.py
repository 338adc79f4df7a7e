"""The calculus of tradeoff functions: what can be told apart, and how well."""

from holdfast.privacy.tradeoff.closed_forms import PERFECTLY_PRIVATE, EpsilonDelta, Gaussian
from holdfast.privacy.tradeoff.composition import group, tensor
from holdfast.privacy.tradeoff.function import Bound, Certainty, Tradeoff
from holdfast.privacy.tradeoff.order import at_least, envelope, symmetrise
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear, tradeoff_of, tradeoff_of_lattice

__all__ = [
    "PERFECTLY_PRIVATE",
    "Bound",
    "Certainty",
    "EpsilonDelta",
    "Gaussian",
    "PiecewiseLinear",
    "Tradeoff",
    "at_least",
    "envelope",
    "group",
    "symmetrise",
    "tensor",
    "tradeoff_of",
    "tradeoff_of_lattice",
]
