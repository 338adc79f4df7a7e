"""The mechanisms that are compared, each calibrated to the target of a spec on the same premises."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from holdfast.compare.terms import gaussian_terms, pure_terms, zcdp_terms
from holdfast.errors import GuaranteeError
from holdfast.mechanisms.conditioned import Base, Conditioned
from holdfast.mechanisms.k_norm import KNorm
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.mechanisms.naive import NaiveGaussian, NaiveLaplace
from holdfast.mechanisms.norm_balls import BallNorm, NormBall, Space
from holdfast.mechanisms.premises import Premises
from holdfast.mechanisms.projected_gaussian import ProjectedGaussian
from holdfast.mechanisms.protocol import Mechanism
from holdfast.privacy.guarantee import Target
from holdfast.privacy.intensity import Approximate, Intensity, Pure, ZeroConcentrated
from holdfast.spec.model import Spec

MOST_DIMENSIONS = 100
"""Of a lattice for which all differences of tables are listed: an 11 x 11 table."""


@dataclass(frozen=True, eq=False)
class Contender:
    """A calibrated mechanism.

    ``converted`` says how the target was turned into its standard, None where it has the target's own;
    ``note`` says what else is to be known of its law.
    """

    mechanism: Mechanism | ProjectedGaussian | NormBall
    converted: str | None = None
    note: str | None = None

    @property
    def keeps_invariants(self) -> bool:
        """Whether its tables have the invariants; all have where there are none."""
        kept = bool(getattr(self.mechanism, "keeps_invariants", True))
        return kept or self.mechanism.premises.universe.rank == 0

    @property
    def integer(self) -> bool:
        """Whether its tables are whole numbers, drawn exactly."""
        return not getattr(self.mechanism, "real", False)

    @property
    def nonnegative(self) -> bool:
        """Whether no count falls below zero."""
        return bool(getattr(self.mechanism, "nonnegative", False))

    def meets(self, target: Target) -> bool:
        """Whether what is proved of it implies the target; not where no theorem says so."""
        try:
            return self.mechanism.guarantee.meets(target)
        except GuaranteeError:
            return False


Enter = Callable[[Spec, Premises, Intensity], Contender]


def _lattice_laplace(spec: Spec, premises: Premises, target: Intensity) -> Contender:
    terms, norm = pure_terms(target), spec.mechanism.norm
    found = LatticeLaplace.calibrate(premises, norm=norm, intensity=terms.intensity)
    return Contender(found, terms.converted, None if norm == "l1" else "in the l2 norm")


def _lattice_gaussian(_spec: Spec, premises: Premises, target: Intensity) -> Contender:
    terms = zcdp_terms(target, premises)
    return Contender(LatticeGaussian.calibrate(premises, intensity=terms.intensity), terms.converted)


def _k_norm(_spec: Spec, premises: Premises, target: Intensity) -> Contender:
    if premises.universe.dimension > MOST_DIMENSIONS:
        raise GuaranteeError(
            f"the differences of tables are too many to list in {premises.universe.dimension:,} dimensions:"
            f" {MOST_DIMENSIONS} are the most."
        )
    terms = pure_terms(target)
    found = KNorm.calibrate(premises, intensity=terms.intensity)
    return Contender(found, terms.converted, _against_l1(found))


def _against_l1(mechanism: KNorm) -> str:
    if mechanism.norm.additive:
        return "same law as lattice-laplace in l1: K is the l1 ball here"
    ratio = predicted_ratio(mechanism)
    return f"from the volume of K, its L2 should be about {ratio:.2f} times that of lattice-laplace in l1"


def predicted_ratio(mechanism: KNorm) -> float:
    """Return what theory predicts for the L2 of k-norm over that of lattice-laplace in l1.

    For wide noise the lattice is as good as its span, of dimension s. Noise with density proportional to
    exp(-epsilon ||z||_K) is R V with R ~ Gamma(s + 1) of rate epsilon and V uniform in K
    [semi-dp, Algorithm 3], so

        E ||z||_2^2 = (s + 1) (s + 2) / epsilon^2  x  the mean of ||V||_2^2 over K,

    and the same for l1 with its ball B of radius max ||u||_1 over S_a in place of K. The ratio of the two is
    that of the second moments of K and B. K lies in B and has, for tables, about its shape; scaling a body by
    c multiplies its volume by c^s and its second moment by c^2. Hence

        L2(K) / L2(B)  is about  (vol K / vol B)^(1/s),

    within a few percent, and the ratio of volumes is the share of l1 draws that thinning to K keeps, since
    both laws have the normaliser s! vol / epsilon^s.
    """
    return float(mechanism.noise.acceptance ** (1 / mechanism.norm.dimension))


def _conditioned(spec: Spec, premises: Premises, target: Intensity) -> Contender:
    nonnegative = spec.constraints.nonnegative
    # under inequalities the Gaussian has no theorem: a pure law, which implies more, takes its place
    pure = isinstance(target, Pure) or nonnegative
    intensity: Pure | ZeroConcentrated | Approximate
    if pure:
        intensity, converted = (found := pure_terms(target)).intensity, found.converted
    else:
        intensity, converted = (zcdp := zcdp_terms(target, premises)).intensity, zcdp.converted
    base: Base = "double-geometric" if pure else "discrete-gaussian"
    mechanism = Conditioned.calibrate(premises, intensity=intensity, base=base, nonnegative=nonnegative)
    same = "lattice-laplace in l1" if pure else "lattice-gaussian"
    note = (
        "measured on a public table fitted to the invariants: errors depend on the table, as counts stay"
        " non-negative, and they are biased"
        if nonnegative
        else f"same law as {same}"
    )
    return Contender(mechanism, converted, note)


def _projected_gaussian(_spec: Spec, premises: Premises, target: Intensity) -> Contender:
    terms = gaussian_terms(target)
    found = ProjectedGaussian.calibrate(premises, intensity=terms.intensity)
    return Contender(found, terms.converted, "real numbers in floating point: not for a release")


def _naive_laplace(_spec: Spec, premises: Premises, target: Intensity) -> Contender:
    terms = pure_terms(target)
    return Contender(NaiveLaplace.calibrate(premises, intensity=terms.intensity), terms.converted)


def _naive_gaussian(_spec: Spec, premises: Premises, target: Intensity) -> Contender:
    terms = zcdp_terms(target, premises)
    return Contender(NaiveGaussian.calibrate(premises, intensity=terms.intensity), terms.converted)


def _norm_ball(norm: BallNorm, space: Space) -> Enter:
    def enter(_spec: Spec, premises: Premises, target: Intensity) -> Contender:
        terms = pure_terms(target)
        found = NormBall.calibrate(premises, norm=norm, intensity=terms.intensity, space=space)
        return Contender(found, terms.converted, "real numbers in floating point: not for a release")

    return enter


STANDARD: Mapping[str, Enter] = {
    "lattice-laplace": _lattice_laplace,
    "lattice-gaussian": _lattice_gaussian,
    "k-norm": _k_norm,
    "conditioned": _conditioned,
    "projected-gaussian": _projected_gaussian,
    "naive-laplace": _naive_laplace,
    "naive-gaussian": _naive_gaussian,
}
"""Compared unless others are asked for, in the order in which equals are preferred."""
CONTENDERS: Mapping[str, Enter] = {
    **STANDARD,
    "l1": _norm_ball("l1", "span"),
    "l2": _norm_ball("l2", "span"),
    "linf": _norm_ball("linf", "span"),
    "naive-l1": _norm_ball("l1", "cells"),
    "naive-l2": _norm_ball("l2", "cells"),
    "naive-linf": _norm_ball("linf", "cells"),
}
