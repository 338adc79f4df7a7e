"""The guarantee of several tables against all files of records: every pair, every output near them."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import logsumexp
from tests.releases.several_tables import COLUMNS, frame, several
from tests.universe.test_semi_adjacency import from_definition

from holdfast.certificate.certify import guarantee_section
from holdfast.privacy.conversion import gdp_to_delta
from holdfast.releases.prepare import prepare
from holdfast.releases.several import Together, prepare_tables
from holdfast.releases.table import PreparedTable
from holdfast.system.errors import GuaranteeError

FILE = ("000", "000", "000", "111")
TWO = {"one": ("pq", (("p",),)), "two": ("qr", (("r",),))}


def files(size: int) -> Iterator[NDArray[np.int64]]:
    """Yield all files of so many records over three attributes of two levels, as counts."""
    for cells in product(range(size + 1), repeat=8):
        if sum(cells) == size:
            yield np.array(cells).reshape(2, 2, 2)


def table(file: NDArray[np.int64], prepared: PreparedTable) -> NDArray[np.int64]:
    names = prepared.public.schema.names
    others = tuple(axis for axis, name in enumerate(COLUMNS) if name not in names)
    return np.asarray(file.sum(axis=others).ravel())


def kept(file: NDArray[np.int64], prepared: Together) -> list[list[int]]:
    return [
        held.block.evaluate(table(file, one)).tolist()
        for one in prepared.tables.values()
        for held in one.public.invariants
    ]


def loss(one: PreparedTable, pair: tuple[NDArray[np.int64], NDArray[np.int64]]) -> float:
    """Return the largest log ratio of the laws of two tables, over the outputs of the lattice near them.

    Where bounds leave few outputs all are near, and laws are made to add up to 1.
    """
    near = np.array(list(product(range(-7, 8), repeat=2)))
    basis = np.array([[1, -1, 0, 0], [0, 0, 1, -1]])
    if one.public.universe.matrix.toarray()[0].tolist() == [1, 0, 1, 0]:
        basis = basis[:, [0, 2, 1, 3]]
    outputs = pair[0] + near @ basis
    logs = np.array([one.mechanism.law(counts).log_prob(outputs) for counts in pair])
    possible = np.isfinite(logs).any(axis=0)
    if not possible.all():
        logs = logs[:, possible] - logsumexp(logs, axis=1, keepdims=True)
    return float((logs[0] - logs[1]).max())


def within(file: NDArray[np.int64], prepared: Together) -> bool:
    """Whether a file keeps the inequalities of all tables."""
    bounds = [(table(file, one), one.public.floors) for one in prepared.tables.values()]
    return all(floors is None or (floors[0] @ counts >= floors[1]).all() for counts, floors in bounds)


def scope_of(prepared: Together) -> list[NDArray[np.int64]]:
    """Return all files that agree with the true one on all that is public."""
    true = np.zeros((2, 2, 2), dtype=np.int64)
    for record in FILE:
        true[tuple(int(level) for level in record)] += 1
    known = kept(true, prepared)
    return [file for file in files(len(FILE)) if kept(file, prepared) == known and within(file, prepared)]


def worst(prepared: Together, distance: int) -> float:
    """Return the exact loss of both tables together over all pairs of the joint scope."""
    scope = scope_of(prepared)
    assert len(scope) >= 10
    found = 0.0
    for x, y in product(scope, repeat=2):
        if 0 < np.abs(x - y).sum() <= 2 * distance:
            pairs = [(table(x, one), table(y, one)) for one in prepared.tables.values()]
            losses = [loss(one, pair) for one, pair in zip(prepared.tables.values(), pairs, strict=True)]
            found = max(found, sum(losses))
    return found


def test_all_tables_together_lose_what_is_claimed() -> None:
    prepared = prepare_tables(several(TWO), frame(*FILE))
    assert prepared.scope.unit.distance == 3  # each table alone takes 2 records
    assert [one.public.premises("semi").semi_adjacency.worst_case for one in prepared.tables.values()] == [
        2,
        2,
    ]
    section = guarantee_section(prepared.guarantee)
    assert section.intensity == {"epsilon": 1}
    assert "at most 3 records" in section.statement
    assert worst(prepared, 3) == pytest.approx(1)  # attained


def test_the_distances_of_the_tables_alone_are_not_enough() -> None:
    """Each table with half of the budget at its own 2 records: together they lose half more."""
    spec = several(TWO)
    half = spec.privacy.model_copy(update={"epsilon": Fraction(1, 2)})
    alone = {table.name: prepare(spec.spec(table, half), frame(*FILE)).table for table in spec.tables}
    prepared = replace(prepare_tables(spec, frame(*FILE)), tables=alone)
    assert worst(prepared, 3) == pytest.approx(1.5)
    with pytest.raises(GuaranteeError, match="the table 'one' is protected for other pairs of files"):
        prepared.guarantee  # noqa: B018


def test_per_record_of_distance_the_parts_add_up() -> None:
    prepared = prepare_tables(several(TWO, adjacency="unit"), frame(*FILE))
    assert guarantee_section(prepared.guarantee).intensity == {"epsilon": 1}
    assert worst(prepared, 1) == pytest.approx(1)
    assert worst(prepared, 3) == pytest.approx(3)


@pytest.mark.parametrize(("adjacency", "distance"), [("semi", 6), ("unit", 2)])
def test_a_unit_of_several_records_is_covered(adjacency: str, distance: int) -> None:
    """Two records of a household change, each with those that change along: twice as far."""
    spec = several(TWO, adjacency=adjacency, unit="household", records_per_unit=2)
    prepared = prepare_tables(spec, frame(*FILE))
    section = guarantee_section(prepared.guarantee)
    told = section.unit
    assert (told.name, told.distance, told.records_per_unit) == ("household", distance, 2)
    assert section.intensity == {"epsilon": 1}
    assert "as one household has at most 2" in section.statement
    assert worst(prepared, distance) == pytest.approx(1)  # attained


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
def test_a_table_that_the_others_give_away_is_refused(adjacency: str) -> None:
    given = {"one": ("pq", (("p",),)), "two": ("pqr", (("p", "q"),))}
    with pytest.raises(GuaranteeError, match=r"leave one possible table of p, q"):
        prepare_tables(several(given, adjacency=adjacency), frame("000", "010", "101", "111", "011"))


CAPPED = {"one": {"nonnegative": True, "inequalities": [{"where": {"p": "0", "q": "1"}, "at_most": 1}]}}


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
def test_inequalities_of_one_table_narrow_the_files_of_all(adjacency: str) -> None:
    spec = several(TWO, constraints=CAPPED, adjacency=adjacency)
    spec = spec.model_copy(update={"mechanism": {"name": "wasserstein-exponential", "loss": "l1"}})
    prepared = prepare_tables(spec, frame(*FILE))
    assert len(scope_of(prepared)) < len(scope_of(prepare_tables(several(TWO), frame(*FILE))))
    section = guarantee_section(prepared.guarantee)
    unit, epsilon = section.unit, float(section.intensity["epsilon"])
    assert epsilon <= 1
    files_of = [tuple(file.ravel().tolist()) for file in scope_of(prepared)]
    assert unit.distance == (from_definition(files_of)[0] if adjacency == "semi" else 1)
    found = worst(prepared, unit.distance)
    assert found <= epsilon * (1 + 1e-9)
    assert found > epsilon / 3


def test_a_distance_that_misses_one_person_is_refused() -> None:
    with pytest.raises(GuaranteeError, match=r"distance = 2 does not cover one person.*takes 3 records"):
        prepare_tables(several(TWO, distance=2), frame(*FILE))
    assert prepare_tables(several(TWO, distance=4), frame(*FILE)).scope.unit.distance == 4


def test_rho_adds_up() -> None:
    spec = several(TWO, standard="zcdp", rho="1/2")
    spec = spec.model_copy(update={"mechanism": {"name": "lattice-gaussian"}})
    prepared = prepare_tables(spec, frame(*FILE))
    section = guarantee_section(prepared.guarantee)
    assert section.intensity["rho"] <= Fraction(1, 2)
    assert section.intensity["rho"] > Fraction(2, 5)


def tells(prepared: Together, narrower: float, epsilon: float) -> float:
    """Return the largest delta of both tables together at an epsilon, over all pairs of the joint scope.

    Outputs are listed; ``narrower`` noise has so much of its standard deviation.
    """
    steps = np.array(list(product(range(-9, 10), repeat=2)))
    scope = [[table(file, one) for one in prepared.tables.values()] for file in scope_of(prepared)]
    moved = {tuple(tuple(b - a) for a, b in zip(x, y, strict=True)) for x, y in product(scope, repeat=2)}
    worst = 0.0
    for difference in moved:
        laws = []
        for one, u in zip(prepared.tables.values(), difference, strict=True):
            fixed = one.public.universe.matrix.toarray()[0].tolist()
            basis = np.array([[1, -1, 0, 0], [0, 0, 1, -1]])
            z = steps @ (basis if fixed == [1, 1, 0, 0] else basis[:, [0, 2, 1, 3]])
            noise = one.mechanism.noise
            assert noise is not None
            logs = np.array([noise.log_prob(z), noise.log_prob(z - np.array(u))]) / narrower**2
            laws.append(logs - logsumexp(logs, axis=1, keepdims=True))
        (p, q), (r, s) = laws
        both = np.exp((p[:, None] + r).ravel()), np.exp((q[:, None] + s).ravel())
        worst = max(worst, float(np.maximum(both[0] - np.exp(epsilon) * both[1], 0).sum()))
    return worst


@pytest.mark.parametrize("division", ["equal", "least-error"])
def test_mu_adds_up_in_squares(division: str) -> None:
    """No pair of files of the joint scope is told apart better, and with a tenth less noise one is."""
    spec = several(TWO, division=division, standard="gaussian", mu="7/3")
    spec = spec.model_copy(update={"mechanism": {"name": "lattice-gaussian"}})
    prepared = prepare_tables(spec, frame(*FILE))
    mu = guarantee_section(prepared.guarantee).intensity["mu"]
    assert Fraction(7, 3) - Fraction(1, 10**10) < mu <= Fraction(7, 3)
    assert [set(share) for share in prepared.shares.values()] == [{"mu"}, {"mu"}]
    for epsilon in (0.5, 2.0, 4.0):
        assert tells(prepared, 1, epsilon) <= gdp_to_delta(mu=float(mu), epsilon=epsilon).value
        assert tells(prepared, 0.9, epsilon) > gdp_to_delta(mu=float(mu), epsilon=epsilon).value
