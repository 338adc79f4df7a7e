"""Divisions of one budget: exact, and the least error where that is asked for."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.releases.several_tables import frame, several

from holdfast.certificate.certify import guarantee_section
from holdfast.privacy.intensity import GaussianDP, total
from holdfast.releases.division import least_error, part_of
from holdfast.releases.several import prepare_tables
from holdfast.spec.privacy import Privacy

THREE = {"one": ("pqr", (("p",),)), "two": ("r", ()), "three": ("q", ((),))}
FILE = ("000", "001", "010", "011", "100", "111", "111")


@given(st.lists(st.fractions(min_value=0, max_value=10**9), min_size=1, max_size=40), st.sampled_from([3, 4]))
def test_parts_sum_to_the_whole_and_none_is_nothing(powers: list[Fraction], root: int) -> None:
    parts = least_error(powers, root)
    assert sum(parts) == 1
    assert min(parts) > 0


@given(
    st.lists(st.fractions(min_value=Fraction(1, 10**6), max_value=10**6), min_size=1, max_size=12),
    st.fractions(min_value=Fraction(1, 10**9), max_value=10**4).filter(bool),
)
def test_parts_of_a_mu_never_add_up_to_more(weights: list[Fraction], mu: Fraction) -> None:
    """The root of the sum of squares is the whole but for its last digits, and never above it."""
    privacy = Privacy(standard="gaussian", mu=mu)
    parts = [part_of(privacy, weight / sum(weights)) for weight in weights]
    assert all(set(part) == {"mu"} for part in parts)
    whole = total([GaussianDP(part["mu"]) for part in parts])
    assert isinstance(whole, GaussianDP)
    assert mu * (1 - Fraction(1, 10**9)) < whole.mu <= mu


def test_by_weights() -> None:
    spec = several(THREE, division="weights")
    heavy = spec.tables[0].model_copy(update={"weight": Fraction(3)})
    prepared = prepare_tables(spec.model_copy(update={"tables": (heavy, *spec.tables[1:])}), frame(*FILE))
    assert prepared.fractions == (Fraction(3, 5), Fraction(1, 5), Fraction(1, 5))
    assert [one.spec.privacy.epsilon for one in prepared.tables.values()] == list(prepared.fractions)
    assert guarantee_section(prepared.guarantee).intensity == {"epsilon": 1}


@pytest.mark.parametrize(("power", "root"), [(1, 4), (Fraction(1, 2), 3)])
def test_no_other_division_has_less_error(power: Fraction, root: int) -> None:
    """Errors of c / epsilon, or c / root of rho: every division in steps of a hundredth is tried."""
    sizes = [Fraction(5), Fraction(1), Fraction(2)]
    found = least_error([size**2 for size in sizes], root)

    def error(parts: list[float]) -> float:
        pairs = zip(sizes, parts, strict=True)
        return float(sum(float(size) / part ** float(power) for size, part in pairs))

    grid = [(a / 100, b / 100, 1 - (a + b) / 100) for a in range(1, 99) for b in range(1, 99 - a)]
    assert error([float(part) for part in found]) <= min(error(list(parts)) for parts in grid) + 1e-4


@pytest.mark.parametrize("standard", ["pure", "zcdp"])
def test_the_noise_that_is_drawn_errs_less_than_by_equal_parts(standard: str) -> None:
    asked = {"epsilon": "1/4"} if standard == "pure" else {"rho": "1/32"}
    name = "lattice-laplace" if standard == "pure" else "lattice-gaussian"

    def error(division: str) -> float:
        spec = several(THREE, division=division, standard=standard, **asked)
        prepared = prepare_tables(spec.model_copy(update={"mechanism": {"name": name}}), frame(*FILE))
        assert sum(prepared.fractions) == 1
        found = [(one.accuracy, one.public.universe.cells) for one in prepared.tables.values()]
        return float(np.sum([size.cell.value * cells for size, cells in found if size is not None]))

    assert error("least-error") < 0.98 * error("equal")
