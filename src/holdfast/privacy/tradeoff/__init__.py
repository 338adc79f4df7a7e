"""The calculus of tradeoff functions: what can be told apart, and how well."""

from holdfast.privacy.tradeoff.bound import Bound, Certainty
from holdfast.privacy.tradeoff.envelope import envelope, symmetrise
from holdfast.privacy.tradeoff.epsilon_delta import EpsilonDelta
from holdfast.privacy.tradeoff.finite import tradeoff_of, tradeoff_of_lattice
from holdfast.privacy.tradeoff.function import Tradeoff
from holdfast.privacy.tradeoff.gaussian import PERFECTLY_PRIVATE, Gaussian
from holdfast.privacy.tradeoff.group import group
from holdfast.privacy.tradeoff.order import at_least
from holdfast.privacy.tradeoff.piecewise import PiecewiseLinear
from holdfast.privacy.tradeoff.tensor import tensor

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
