"""The law of the noise of a release, made again from its certificate: nothing but public values is in it."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from holdfast.certificate.published import universe_of
from holdfast.errors import ReleaseError
from holdfast.mechanisms.protocol import NoiseLaw
from holdfast.sampling.lattice_gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice_laplace import LatticeLaplaceLaw
from holdfast.universe.universe import Universe


def noise_of(content: Mapping[str, Any]) -> NoiseLaw:
    """Return the law of the noise on the lattice of the certificate's invariants, over the possible cells.

    Raises ReleaseError where the noise has no law of its own because it depends on the table.
    """
    mechanism = content.get("mechanism")
    if not isinstance(mechanism, Mapping) or not isinstance(mechanism.get("name"), str):
        raise ReleaseError("the certificate names no mechanism: restore it from the release.")
    name = mechanism["name"]
    if mechanism.get("additive", True) is not True:
        raise ReleaseError(
            f"the noise of {name} depends on the confidential table, so its law is not public and neither"
            " intervals nor biases follow from the release: use a release with additive noise."
        )
    if name not in LAWS:
        raise ReleaseError(f"the mechanism {name!r} of the certificate is not known: use a newer holdfast.")
    _, universe = universe_of(content)
    try:
        return LAWS[name](universe, content)
    except (LookupError, TypeError, ValueError, ZeroDivisionError):
        raise ReleaseError(
            f"the parameters of {name} in the certificate are damaged: restore it from the release."
        ) from None


def _lattice_laplace(universe: Universe, content: Mapping[str, Any]) -> NoiseLaw:
    mechanism = content["mechanism"]
    kappa, norm = Fraction(str(mechanism["epsilon_per_unit"])), mechanism["norm"]
    if kappa <= 0 or norm not in ("l1", "l2"):
        raise ValueError
    return LatticeLaplaceLaw(universe.matrix, kappa, norm)


def _lattice_gaussian(universe: Universe, content: Mapping[str, Any]) -> NoiseLaw:
    sigma_squared = Fraction(str(content["mechanism"]["sigma_squared"]))
    if sigma_squared <= 0:
        raise ValueError
    return LatticeGaussianLaw(universe.matrix, sigma_squared)


def _conditioned(universe: Universe, content: Mapping[str, Any]) -> NoiseLaw:
    if content["mechanism"]["base"] == "discrete-gaussian":
        return _lattice_gaussian(universe, content)
    return _lattice_laplace(universe, {**content, "mechanism": {**content["mechanism"], "norm": "l1"}})


def _k_norm(universe: Universe, content: Mapping[str, Any]) -> NoiseLaw:
    from holdfast.sampling.k_norm import KNormLaw  # noqa: PLC0415 - loaded late
    from holdfast.universe.hull.lattice import span_matrix  # noqa: PLC0415
    from holdfast.universe.hull.moves import sensitivity_moves  # noqa: PLC0415
    from holdfast.universe.hull.norm import HullNorm  # noqa: PLC0415

    epsilon = Fraction(str(content["mechanism"]["epsilon"]))
    distance = content["universe"]["semi_adjacency"]["worst_case"]
    if epsilon <= 0 or type(distance) is not int:
        raise ValueError
    moves = sensitivity_moves(universe, distance)
    return KNormLaw(span_matrix(universe, moves), epsilon, HullNorm(moves))


LAWS: Mapping[str, Callable[[Universe, Mapping[str, Any]], NoiseLaw]] = {
    "lattice-laplace": _lattice_laplace,
    "lattice-gaussian": _lattice_gaussian,
    "conditioned": _conditioned,
    "k-norm": _k_norm,
}
"""How each mechanism's noise is made from its universe and the certificate."""
