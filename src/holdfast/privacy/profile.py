"""How a mechanism's loss grows with the distance between two tables.

A guarantee at one semi-adjacency says nothing at another. When invariants are added, as composition does,
the semi-adjacency changes and the loss is asked for again: that is what a profile can answer. It can also
answer per record of distance, for releases that are accounted for so [theory, 10].

The loss of noise whose density depends on its norm alone [congenial-dp, Theorem A.1].

Let f > 0 on a normed space be (i) decreasing in |x|, and let (ii) f(x) exp(alpha |x|) increase in |x|. Then

    f(x - a) / f(x - b) <= exp(alpha |a - b|)    for all x, a, b.

*Proof.* If |x - a| > |x - b| the ratio is at most 1 by (i). Else (ii) bounds it by exp(alpha (|x - b| - |x
- a|)), and the triangle inequality does the rest.

With f(x) = h(|x|), (i) and (ii) say that -log h rises, and nowhere faster than alpha: the least alpha is
its largest slope. It is needed, too, as a = 0 and x, b on one line show. So it is the loss for each unit of
distance, and post-processed noise can be looked at by its own density: an L1 projection of two Laplace
counts to their known sum, with the weight beta on the first, loses epsilon / (2 max(beta, 1 - beta)), where
its proof as post-processing gives epsilon.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from holdfast.privacy.integer_gaussian import mu_per_record
from holdfast.privacy.intensity import (
    Approximate,
    GaussianDP,
    GaussianNoise,
    Intensity,
    Pure,
    ZeroConcentrated,
)
from holdfast.privacy.roots import ceil_root
from holdfast.system.errors import GuaranteeError
from holdfast.universe.sensitivity import Sensitivity

GaussianStandard = Literal["zcdp", "gaussian"]
"""The standards in which Gaussian noise is stated."""


@dataclass(frozen=True)
class NormLoss:
    """A pure loss of kappa for each unit of a norm between the tables [integer-subspace-dp, Theorem 10]."""

    kappa: Fraction
    norm: Literal["l1", "l2"]

    def at(self, distance: int, sensitivity: Sensitivity) -> Pure:
        """Return the loss for tables at most ``distance`` records apart."""
        del distance
        square = sensitivity.l1**2 if self.norm == "l1" else sensitivity.l2_squared
        return Pure(ceil_root(self.kappa**2 * square))

    def per_record(self, spread: Fraction, step: int = 2, longest: int | None = None) -> Pure:
        """Return the loss for each record of distance: ||u||_1 is step d, ||u||_2^2 at most spread d^2."""
        del longest
        return Pure(step * self.kappa if self.norm == "l1" else ceil_root(self.kappa**2 * spread))

    def to_dict(self) -> dict[str, str]:
        """Return what `profile_of` reads."""
        return {"kind": "norm", "kappa": str(self.kappa), "norm": self.norm}


@dataclass(frozen=True)
class SquaredLoss:
    """A loss of ||x - x'||_2^2 / (2 sigma^2) in zCDP [bun2016, Proposition 1.6; theory, 4], or as mu."""

    sigma_squared: Fraction
    standard: GaussianStandard = "zcdp"

    def at(self, distance: int, sensitivity: Sensitivity) -> GaussianNoise | GaussianDP:
        """Return the loss for tables at most ``distance`` records apart."""
        del distance
        return of_noise(sensitivity.l2_squared / (2 * self.sigma_squared), self.standard)

    def per_record(
        self, spread: Fraction, step: int = 2, longest: int | None = None
    ) -> GaussianNoise | GaussianDP:
        """Return rho for each record of distance: d records are worth d^2 of it, as ||u||_2^2 says.

        ``longest`` is what `mu_per_record` asks for.
        """
        del step
        return of_noise(spread / (2 * self.sigma_squared), self.standard, longest)

    def to_dict(self) -> dict[str, str]:
        """Return what `profile_of` reads."""
        stated = {} if self.standard == "zcdp" else {"standard": self.standard}
        return {"kind": "squared", "sigma_squared": str(self.sigma_squared), **stated}


@dataclass(frozen=True)
class FormLoss:
    """A loss by a quadratic form of x - x' = u: rho, also as mu, or a pure epsilon's square [theory, 13].

    It is at most ``record`` d^2 for tables d records apart, and at most ``largest`` ||u||_2^2.
    """

    standard: Literal["zcdp", "gaussian", "pure"]
    record: Fraction
    largest: Fraction

    def at(self, distance: int, sensitivity: Sensitivity) -> Intensity:
        """Return the loss for tables at most ``distance`` records apart."""
        return self._intensity(min(self.record * distance**2, self.largest * sensitivity.l2_squared))

    def per_record(self, spread: Fraction, step: int = 2, longest: int | None = None) -> Intensity:
        """Return the loss for each record of distance, ||u||_2^2 being at most spread d^2."""
        del step
        return self._intensity(min(self.record, self.largest * spread), longest)

    def _intensity(self, size: Fraction, longest: int | None = 1) -> Intensity:
        return Pure(ceil_root(size)) if self.standard == "pure" else of_noise(size, self.standard, longest)

    def to_dict(self) -> dict[str, str]:
        """Return what `profile_of` reads."""
        sizes = {"record": str(self.record), "largest": str(self.largest)}
        return {"kind": "form", "standard": self.standard, **sizes}


@dataclass(frozen=True)
class PerRecord:
    """An intensity for one record of distance; more records weaken it [semi-dp, Proposition 15]."""

    intensity: Intensity

    def at(self, distance: int, sensitivity: Sensitivity) -> Intensity:
        """Return the intensity for tables at most ``distance`` records apart."""
        del sensitivity
        return self.intensity.group(distance)

    def per_record(self, spread: Fraction, step: int = 2, longest: int | None = None) -> Intensity:
        """Return the intensity itself."""
        del spread, step, longest
        return self.intensity

    def to_dict(self) -> dict[str, str]:
        """Return what `profile_of` reads; a tradeoff function has no such text."""
        numbers = {name: str(value) for name, value in self.intensity.parameters().items()}
        if not numbers:
            raise GuaranteeError("a tradeoff function is not written down: state epsilon, rho or mu instead.")
        if isinstance(self.intensity, GaussianNoise):
            numbers["mu"] = str(self.intensity.mu)
        return {"kind": "record", "standard": self.intensity.standard, **numbers}


def of_noise(
    rho: Fraction, standard: GaussianStandard, longest: int | None = 1
) -> GaussianNoise | GaussianDP:
    """Return what integer Gaussian noise loses in the standard in which it is stated.

    Of a loss for each record, ``longest`` is what `mu_per_record` asks for.
    """
    return GaussianNoise.of(rho, longest) if standard == "zcdp" else GaussianDP(mu_per_record(rho, longest))


Profile = NormLoss | SquaredLoss | FormLoss | PerRecord


def profile_of(content: Mapping[str, str]) -> Profile:
    """Return the profile that a mapping describes."""
    match content:
        case {"kind": "norm", "kappa": kappa, "norm": "l1" | "l2" as norm}:
            return NormLoss(Fraction(kappa), norm)
        case {"kind": "squared", "sigma_squared": sigma_squared, "standard": "gaussian"}:
            return SquaredLoss(Fraction(sigma_squared), "gaussian")
        case {"kind": "squared", "sigma_squared": sigma_squared}:
            return SquaredLoss(Fraction(sigma_squared))
        case {
            "kind": "form",
            "standard": "zcdp" | "gaussian" | "pure" as standard,
            "record": record,
            "largest": largest,
        }:
            return FormLoss(standard, Fraction(record), Fraction(largest))
        case {"kind": "record", "standard": standard, **numbers}:
            return PerRecord(intensity_of(standard, numbers))
    raise GuaranteeError(f"the loss {dict(content)} is not known: it was written by another version.")


def intensity_of(standard: str, numbers: Mapping[str, str]) -> Intensity:
    """Return the intensity of a standard with these parameters."""
    match standard, {name: Fraction(value) for name, value in numbers.items()}:
        case "pure", {"epsilon": epsilon}:
            return Pure(epsilon)
        case "approximate", {"epsilon": epsilon, "delta": delta}:
            return Approximate(epsilon, delta)
        case "zcdp", {"rho": rho, "mu": mu}:
            return GaussianNoise(rho, mu)
        case "zcdp", {"rho": rho}:
            return ZeroConcentrated(rho)
        case "gaussian", {"mu": mu}:
            return GaussianDP(mu)
    raise GuaranteeError(f"the standard {standard!r} is not known: it was written by another version.")


def radial_loss(radii: ArrayLike, log_density: ArrayLike) -> float:
    """Return the least alpha of the theorem over listed radii: the largest fall of log f for each unit.

    Where the radii are all that there are, as 0, 1, 2, ... for the l1 norm of whole numbers, this is the
    theorem; between radii of real noise, and beyond the last one, nothing is said. Raises GuaranteeError
    where f rises somewhere.

    >>> radial_loss([0, 1, 2, 3], [0.0, -0.5, -1.0, -1.5])
    0.5
    """
    r, values = np.asarray(radii, dtype=np.float64), np.asarray(log_density, dtype=np.float64)
    if r.shape != values.shape or r.ndim != 1 or r.size < 2 or not (np.diff(r) > 0).all() or r[0] < 0:
        raise GuaranteeError(
            "radii are two at least, rising from 0, each with its log density: correct them."
        )
    if not np.isfinite(values).all():
        raise GuaranteeError("the density must be positive at every radius: give those where it is.")
    slopes = -np.diff(values) / np.diff(r)
    if (slopes < 0).any():
        place = float(r[1:][slopes < 0][0])
        raise GuaranteeError(
            f"the density rises up to the radius {place:g}: the theorem is for falling ones."
        )
    return float(slopes.max())
