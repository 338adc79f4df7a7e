"""What mechanisms, tests and studies are made of, for those who build their own."""

from holdfast.certificate.public import Published, mechanism_of, public_of
from holdfast.data.two_by_two import Margins, TwoByTwo
from holdfast.estimation.conforming import Conforming
from holdfast.estimation.ordered import nearest_ordered, whole_ordered
from holdfast.inference.count_law import CountLaw
from holdfast.inference.count_test import power
from holdfast.inference.intervals import interval, intervals, simultaneous
from holdfast.inference.odds_ratio import OddsRatioTest, odds_ratio_test
from holdfast.inference.posterior.asked import Believed
from holdfast.inference.posterior.facts import Facts
from holdfast.inference.posterior.gibbs import gibbs
from holdfast.inference.posterior.importance import importance
from holdfast.inference.posterior.likelihood import AddedNoise, NoisySums
from holdfast.inference.posterior.model import CountModel
from holdfast.inference.posterior.problem import Problem
from holdfast.inference.posterior.rejection import rejection
from holdfast.inference.projected_power import projected_power
from holdfast.inference.stratified import stratified_odds_ratio_test
from holdfast.lattice.markov import markov_basis, markov_basis_two_way
from holdfast.mechanisms.canonical import Normal, Tulap
from holdfast.mechanisms.catalogue import MECHANISMS
from holdfast.mechanisms.conditioned import Conditioned
from holdfast.mechanisms.congeniality import Inequalities, congeniality
from holdfast.mechanisms.k_norm import KNorm
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.mechanisms.mechanism import (
    Additive,
    Law,
    Mechanism,
    MechanismOptions,
    MechanismRecord,
    NoiseLaw,
    Traits,
    premises_at,
    premises_for,
)
from holdfast.mechanisms.noisy_count import NoisyCount
from holdfast.mechanisms.projected_noise import ProjectedNoise
from holdfast.postprocess.bias import bias
from holdfast.postprocess.contraction import contracted, contractions
from holdfast.postprocess.methods import METHODS
from holdfast.premises import Premises
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
from holdfast.privacy.wasserstein import DiscreteLaw, bottleneck, largest_quantile_gap
from holdfast.public import Public
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.universe.limits import Limits
from holdfast.universe.universe import Universe

__all__ = [
    "MECHANISMS",
    "METHODS",
    "AddedNoise",
    "Additive",
    "Believed",
    "Conditioned",
    "Conforming",
    "CorrelatedMean",
    "CountLaw",
    "CountModel",
    "DependentCounts",
    "DisclosedCount",
    "DiscreteLaw",
    "Facts",
    "Inequalities",
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
    "Margins",
    "Mechanism",
    "MechanismOptions",
    "MechanismRecord",
    "NoiseLaw",
    "NoisyCount",
    "NoisySums",
    "Normal",
    "OddsRatioTest",
    "Person",
    "Premises",
    "Presence",
    "Problem",
    "ProjectedNoise",
    "Public",
    "Published",
    "Traits",
    "Tulap",
    "TwoByTwo",
    "Universe",
    "bias",
    "bottleneck",
    "congeniality",
    "contracted",
    "contractions",
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
    "rejection",
    "simultaneous",
    "stratified_odds_ratio_test",
    "whole_ordered",
]
