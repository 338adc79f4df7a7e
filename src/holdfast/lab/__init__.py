"""What research on noise under invariants needs and no release does: import it, release nothing by it.

Exact integer algebra (the Smith normal form), the Markov chains that papers draw by, lag couplings that say
how far a chain is from its law, tails of noise on a lattice beside printed bounds, and noise in real numbers
by the size of a norm. Nothing of Holdfast but `holdfast.lab` and its studies imports from here; a test holds
it to that. What takes part in releases is in `holdfast.workshop`.
"""

from holdfast.lab.autocorrelation import autocorrelation_time
from holdfast.lab.gibbs_metropolis import GibbsMetropolis, dual_basis, lattice_basis
from holdfast.lab.independent import FreeCells, IndependentChain, free_cells
from holdfast.lab.k_norm_real import RealKNorm, zero_margin_laplace
from holdfast.lab.norm_balls import NormBall, NormLaw
from holdfast.lab.shells import RadialLaw, ShellLattice, shell_counts
from holdfast.lab.smith import Smith, smith_normal_form
from holdfast.lab.tails import Tail, divided_holds_from, holds_from, largest_share, tails_of
from holdfast.mechanisms.projected_gaussian import NullSpace
from holdfast.sampling.chains.coupling import (
    ChainLength,
    MeetingTimes,
    TvBound,
    chain_length,
    iterations_for,
    least_bound,
    meeting_times,
    tv_bound,
)
from holdfast.sampling.chains.kernel import ChainLaw, LaplaceTarget, MarkovWalk, non_negative, run
from holdfast.sampling.chains.row_pairs import RowPairs
from holdfast.sampling.entropy import SeededEntropy

__all__ = [
    "ChainLaw",
    "ChainLength",
    "FreeCells",
    "GibbsMetropolis",
    "IndependentChain",
    "LaplaceTarget",
    "MarkovWalk",
    "MeetingTimes",
    "NormBall",
    "NormLaw",
    "NullSpace",
    "RadialLaw",
    "RealKNorm",
    "RowPairs",
    "SeededEntropy",
    "ShellLattice",
    "Smith",
    "Tail",
    "TvBound",
    "autocorrelation_time",
    "chain_length",
    "divided_holds_from",
    "dual_basis",
    "free_cells",
    "holds_from",
    "iterations_for",
    "largest_share",
    "lattice_basis",
    "least_bound",
    "meeting_times",
    "non_negative",
    "run",
    "shell_counts",
    "smith_normal_form",
    "tails_of",
    "tv_bound",
    "zero_margin_laplace",
]
