"""What mechanisms and tests are made of, for those who build their own."""

from typing import TYPE_CHECKING, Any

from holdfast.certificate.public import Published, mechanism_of, public_of
from holdfast.data.two_by_two import Margins, TwoByTwo
from holdfast.estimation.conforming import Conforming
from holdfast.inference.count_test import CountLaw, power
from holdfast.inference.intervals import interval, intervals, simultaneous
from holdfast.inference.odds_ratio import OddsRatioTest, odds_ratio_test, stratified_odds_ratio_test
from holdfast.inference.posterior.gibbs import gibbs
from holdfast.inference.posterior.model import CountModel
from holdfast.inference.posterior.model_spec import Believed
from holdfast.inference.posterior.problem import Problem
from holdfast.inference.posterior.table_constraints import TableConstraints
from holdfast.inference.posterior.whole_tables import importance, rejection
from holdfast.inference.projected_power import projected_power
from holdfast.lattice.arrays import IntArray
from holdfast.lattice.markov import markov_basis, markov_basis_two_way
from holdfast.mechanisms.canonical import Normal, Tulap
from holdfast.mechanisms.conditioned import Conditioned
from holdfast.mechanisms.details import ReleasedFiles
from holdfast.mechanisms.k_norm import KNorm
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.mechanisms.likelihood import AddedNoise, NoisySums
from holdfast.mechanisms.mechanism import (
    AT_ONCE,
    Additive,
    Law,
    Making,
    Mechanism,
    MechanismRecord,
    NoiseLaw,
    TableMechanism,
    Traits,
    drawn_exactly,
    premises_at,
    premises_for,
    pure,
)
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.mechanisms.records import RecordsMechanism
from holdfast.mechanisms.swapping.details import SwappingRecord
from holdfast.mechanisms.swapping.mechanism import PermutationSwapping
from holdfast.mechanisms.swapping.options import PermutationSwappingOptions
from holdfast.mechanisms.truncation.congeniality import Inequalities, congeniality
from holdfast.outputs import EstimateOutput, Output, StatisticOutput, TableOutput
from holdfast.privacy.law_distance import DiscreteLaw, bottleneck, largest_quantile_gap
from holdfast.privacy.premises import Premises
from holdfast.privacy.pufferfish.families import (
    CorrelatedMean,
    DependentCounts,
    DisclosedCount,
    JointLaws,
    ListedCounts,
    ListedLaws,
    ListedMean,
    Person,
    Presence,
)
from holdfast.processing.contraction import contracted, contractions, nearest_ordered, whole_ordered
from holdfast.processing.methods import METHODS
from holdfast.processing.processed import bias
from holdfast.public import Public
from holdfast.sampling.entropy import Entropy
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.spec.mechanism import MechanismOptions
from holdfast.spec.values import PositiveRational
from holdfast.system.checks import Check
from holdfast.system.errors import SpecError
from holdfast.universe.limits import Limits
from holdfast.universe.universe import Universe

if TYPE_CHECKING:
    from holdfast.mechanisms.catalogue import MECHANISMS

__all__ = [
    "AT_ONCE",
    "MECHANISMS",
    "METHODS",
    "AddedNoise",
    "Additive",
    "Believed",
    "Check",
    "Conditioned",
    "Conforming",
    "CorrelatedMean",
    "CountLaw",
    "CountModel",
    "DependentCounts",
    "DisclosedCount",
    "DiscreteLaw",
    "DoubleGeometric",
    "Entropy",
    "EstimateOutput",
    "Inequalities",
    "IntArray",
    "JointLaws",
    "KNorm",
    "LatticeGaussian",
    "LatticeGaussianLaw",
    "LatticeLaplace",
    "LatticeLaplaceLaw",
    "Law",
    "Limits",
    "ListedCounts",
    "ListedLaws",
    "ListedMean",
    "Making",
    "Margins",
    "Mechanism",
    "MechanismOptions",
    "MechanismRecord",
    "NoiseLaw",
    "NoisyCount",
    "NoisySums",
    "Normal",
    "OddsRatioTest",
    "Output",
    "PermutationSwapping",
    "PermutationSwappingOptions",
    "Person",
    "PositiveRational",
    "Premises",
    "Presence",
    "Problem",
    "Public",
    "Published",
    "RecordsMechanism",
    "ReleasedFiles",
    "SpecError",
    "StatisticOutput",
    "SwappingRecord",
    "TableConstraints",
    "TableMechanism",
    "TableOutput",
    "Traits",
    "Tulap",
    "TwoByTwo",
    "Universe",
    "bias",
    "bottleneck",
    "congeniality",
    "contracted",
    "contractions",
    "drawn_exactly",
    "gibbs",
    "importance",
    "interval",
    "intervals",
    "largest_quantile_gap",
    "markov_basis",
    "markov_basis_two_way",
    "mechanism_of",
    "nearest_ordered",
    "odds_ratio_test",
    "power",
    "premises_at",
    "premises_for",
    "projected_power",
    "public_of",
    "pure",
    "rejection",
    "simultaneous",
    "stratified_odds_ratio_test",
    "whole_ordered",
]


def __getattr__(name: str) -> Any:
    """Give `MECHANISMS` to who asks for it: a mechanism of another package imports from here to be loaded."""
    if name == "MECHANISMS":
        from holdfast.mechanisms.catalogue import mechanisms  # noqa: PLC0415 - loads every mechanism

        return mechanisms()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
