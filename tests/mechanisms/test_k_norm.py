"""`k-norm` on small universes: its loss, enumerated, is what it states."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any, NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.data.invariants import margin_block
from holdfast.data.schema import Attributes, Schema
from holdfast.lattice.points import lattice_points
from holdfast.mechanisms.drawing import drawn_by_blocks
from holdfast.mechanisms.k_norm import WORK, KNorm, KNormOptions
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.privacy.claims import Claim
from holdfast.privacy.evidence import Assumed
from holdfast.privacy.guarantee import Adjacency, Scope, Target
from holdfast.privacy.intensity import Pure
from holdfast.privacy.premises import Premises
from holdfast.programs.solver import IntegerSolution, Program
from holdfast.public import Held, Public
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.k_norm import KNormLaw
from holdfast.system.errors import GuaranteeError, SamplingError
from holdfast.testing.goodness import two_way
from holdfast.testing.losses import losses, record_distances
from holdfast.universe.hull.moves import _kept_ways, basic_moves, require_listable
from holdfast.universe.hull.norm import HullNorm
from holdfast.universe.metrics import METRICS
from holdfast.universe.semi_adjacency import SemiAdjacency, semi_adjacency
from holdfast.universe.tables import conforming_tables
from holdfast.universe.universe import Universe

EPSILON = Fraction(12)
"""Strong enough that the outputs left out of the enumeration weigh next to nothing."""


def premises(rows: NDArray[np.int64], table: list[int], adjacency: Adjacency = "semi") -> Premises:
    on = Universe.of(csr_array(rows), rows @ np.array(table))
    return Premises.of(on, Scope.of(on, invariants=("all",), constraints=()), adjacency)


UNIVERSES = {
    "2 x 2, (3,2)/(4,1)": premises(two_way(2, 2), [3, 0, 1, 1]),
    "3 x 3, all margins 1": premises(two_way(3, 3), [1, 0, 0, 0, 1, 0, 0, 0, 1]),
    "3 x 3, an empty row": premises(two_way(3, 3), [1, 1, 0, 0, 1, 1, 0, 0, 0]),
    "2 x 3": premises(two_way(2, 3), [2, 1, 0, 0, 1, 2]),
    "two states": premises(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]), [2, 1, 0, 2]),
    "crossing counts": premises(np.array([[1, 1, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]]), [1, 1, 1, 1]),
    "weights": premises(np.array([[1, 2, 1], [1, 1, 1]]), [1, 1, 1]),
}


def calibrated(name: str, epsilon: Fraction = EPSILON) -> KNorm:
    return KNorm.calibrate(UNIVERSES[name], intensity=Pure(epsilon))


def enumerated(mechanism: KNorm) -> float:
    on = mechanism.premises.universe
    tables = conforming_tables(on, 2000)
    reach = 6 if mechanism.norm.dimension < 4 else 2
    outputs = tables[0] + lattice_points(mechanism.noise.matrix.toarray(), reach)
    apart = record_distances(tables)
    protected = (apart > 0) & (apart <= mechanism.premises.semi_adjacency.worst_case)
    return float(losses(mechanism.law, tables, outputs)[protected].max())


@pytest.mark.parametrize("name", UNIVERSES)
def test_the_enumerated_loss_is_the_guarantee(name: str) -> None:
    mechanism = calibrated(name)
    assert mechanism.guarantee.meets(Target("semi", Pure(EPSILON)))
    loss = enumerated(mechanism)
    assert 0.99 * 12 <= loss <= 12 * (1 + 1e-6)
    assert enumerated(replace(mechanism, epsilon=EPSILON * Fraction(11, 10))) > 12


@pytest.mark.parametrize("name", UNIVERSES)
def test_every_release_keeps_the_invariants(name: str) -> None:
    on = UNIVERSES[name].universe
    table = conforming_tables(on, 2000)[0]
    releases = calibrated(name, Fraction(1)).law(table).sample(SeededEntropy(1), 200)
    assert np.array_equal(on.matrix @ releases.T, np.repeat(on.values[:, None], 200, axis=1))
    assert (releases != table).any()


def test_basic_moves_alone_would_not_protect_three_records() -> None:
    # noise in the norm of the four-entry moves loses more on a cycle of six cells
    mechanism = calibrated("3 x 3, all margins 1")
    noise = KNormLaw(mechanism.noise.matrix, EPSILON, HullNorm(basic_moves(3, 3)))
    object.__setattr__(mechanism, "noise", noise)
    assert enumerated(mechanism) == pytest.approx(24)


def test_the_noise_is_no_larger_than_that_of_l1() -> None:
    # K lies within the l1 ball of the same sensitivity: less noise in the containment order
    on, size = UNIVERSES["3 x 3, all margins 1"], 800
    one = KNorm.calibrate(on, intensity=Pure(Fraction(1))).noise.sample(SeededEntropy(3), size)
    other = LatticeLaplace.calibrate(on, norm="l1", intensity=Pure(Fraction(1))).noise
    assert (one**2).sum() < 0.8 * (other.sample(SeededEntropy(4), size) ** 2).sum()


def test_a_cell_that_must_be_empty_stays_so() -> None:
    mechanism = calibrated("3 x 3, an empty row", Fraction(1, 2))
    assert not mechanism.noise.sample(SeededEntropy(0), 100)[:, 6:].any()


def test_what_it_says_of_itself() -> None:
    mechanism = calibrated("3 x 3, all margins 1", Fraction(1, 2))
    assert mechanism.name == "k-norm"
    assert mechanism.parameters["epsilon"] == Fraction(1, 2)
    assert "30 differences of tables at most 3 records apart" in mechanism.parameters["norm"].words
    assert mechanism.guarantee.intensity == Pure(Fraction(1, 2))
    assert mechanism.guarantee.unit.distance == 3
    assert mechanism.guarantee.evidence[0].kind == "proved"
    *blocks, thinned = mechanism.methods
    assert tuple(blocks) == drawn_by_blocks(mechanism.noise.steps)
    assert thinned == Claim("thinned-to-k", {"acceptance": float(f"{mechanism.noise.acceptance:.2g}")})
    assert "thinned to the K-norm (acceptance 0." in thinned.words
    assert not any(one.id == thinned.id for one in calibrated("2 x 3").methods)
    searched = calibrated("crossing counts").guarantee.evidence
    assert any(isinstance(item, Assumed) and "solve" in item.claim.words + item.reason for item in searched)


def test_per_record_of_distance_is_refused() -> None:
    with pytest.raises(GuaranteeError, match='adjacency="semi"'):
        KNorm.calibrate(replace(UNIVERSES["2 x 3"], adjacency="unit"), intensity=Pure(Fraction(1)))


def test_an_open_number_of_records_is_refused() -> None:
    with pytest.raises(GuaranteeError, match=r'number of records: .* or set name="lattice-laplace" in'):
        KNorm.calibrate(premises(np.array([[1, 1, 0, 0]]), [2, 1, 1, 3]), intensity=Pure(Fraction(1)))


def test_noise_out_of_reach_names_another_mechanism(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = calibrated("crossing counts").noise
    monkeypatch.setattr(KNormLaw, "acceptance", 1e-12)
    with pytest.raises(SamplingError, match=r'set name="lattice-laplace" in .* with norm="l2"'):
        noise.sample(SeededEntropy(0), 1)


def kept(
    shape: tuple[int, ...], margins: list[tuple[str, ...]], counts: NDArray[np.int64] | None = None
) -> Public:
    """Return what is public of a table, of ones unless it is given, that keeps margins; () is the total."""
    names = "abcde"[: len(shape)]
    levels = {name: tuple(map(str, range(size))) for name, size in zip(names, shape, strict=True)}
    schema = Schema(Attributes.of(levels))
    blocks = [margin_block(schema, margin, "".join(margin) or "total") for margin in margins]
    table = np.ones(schema.size, dtype=np.int64) if counts is None else counts
    return Public(schema, "count", tuple(Held(block, block.evaluate(table)) for block in blocks))


TWO_WAYS: list[tuple[str, ...]] = [("a", "b"), ("b", "c"), ("a", "c")]


def test_where_l1_noise_is_refused_too_other_noise_is_named() -> None:
    with pytest.raises(
        GuaranteeError, match=r'set name="anchored-laplace", or name="lattice-laplace" and norm='
    ):
        KNorm.answer(kept((58, 46), [("a",), ("b",)]), Target("semi", Pure(EPSILON)), KNormOptions())


@pytest.mark.parametrize(
    ("shape", "margins"),
    [((3000,), [()]), ((200,), [()]), ((6, 6, 6), TWO_WAYS), ((4, 200), [("a",)]), ((1000,), [])],
)
def test_what_is_too_large_is_refused_by_its_sizes(
    shape: tuple[int, ...], margins: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is listed, and no program is asked for the semi-adjacency, the sensitivity or anything else."""

    def never(*_: object, **__: object) -> NoReturn:
        raise AssertionError("the sizes settle it")

    monkeypatch.setitem(METRICS, "replace", replace(METRICS["replace"], semi_adjacency=never))
    monkeypatch.setitem(METRICS, "replace", replace(METRICS["replace"], sensitivity=never))
    monkeypatch.setattr("holdfast.universe.hull.moves.sensitivity_space", never)
    with pytest.raises(GuaranteeError, match=r'cannot all be listed .* set name="lattice-laplace"'):
        KNorm.answer(kept(shape, margins), Target("semi", Pure(EPSILON)), KNormOptions())


@pytest.mark.parametrize(
    ("shape", "margins"),
    [
        ((2, 2, 2), [("a",), ("b",), ("c",)]),
        ((2, 2, 2), TWO_WAYS),
        ((3, 3), [("a",), ("b",)]),
        ((2, 3), [()]),
    ],
)
def test_what_was_refused_by_sizes_has_no_nearer_tables(
    shape: tuple[int, ...], margins: list[tuple[str, ...]]
) -> None:
    """All margins of k attributes kept: no two tables are less than 2^k records apart; enumerated."""
    public = kept(shape, margins)
    require_listable(public.universe)
    assert public.margins is not None
    tables = conforming_tables(public.universe, 5000)
    apart = record_distances(tables)
    assert int(apart[apart > 0].min()) == 2 ** _kept_ways(public.margins)


def test_a_long_search_is_refused_after_counted_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be listed as far as a short search knows is refused; the whole search is never asked."""
    margins = [("a", "b", "c"), ("c", "d"), ("a", "d"), ("b", "d")]
    public = kept((2, 2, 2, 2), margins)
    asked: list[int | None] = []

    def recorded(universe: Universe, work: int | None = None) -> SemiAdjacency:
        asked.append(work)
        return semi_adjacency(universe, work)

    monkeypatch.setitem(METRICS, "replace", replace(METRICS["replace"], semi_adjacency=recorded))
    monkeypatch.setattr("holdfast.mechanisms.k_norm.WORK", 0)
    options = KNormOptions()
    with pytest.raises(GuaranteeError, match=r'fewer than 16 records.* set name="lattice-laplace" in'):
        KNorm.answer(public, Target("semi", Pure(EPSILON)), options)
    distance = semi_adjacency(public.universe).worst_case
    assert distance < 16
    public = kept((2, 2, 2, 2), margins)
    with pytest.raises(GuaranteeError, match=rf"takes no more than {distance} records"):
        KNorm.answer(public, Target("semi", Pure(EPSILON), distance=distance), options)
    assert asked == [0, 0]
    monkeypatch.undo()
    given = KNorm.answer(public, Target("semi", Pure(EPSILON), distance=distance), options)
    assert given.guarantee.unit.distance == distance


def test_a_given_distance_is_held_against_a_short_search_before_anything_is_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The list alone can take seconds, and so can a whole search."""

    def never(*_: object) -> None:
        raise AssertionError("the search settles it")

    monkeypatch.setattr("holdfast.mechanisms.k_norm.sensitivity_moves", never)
    counts = np.random.default_rng(0).integers(0, 1000, 27)
    public = kept((3, 3, 3), TWO_WAYS, counts)
    with pytest.raises(GuaranteeError, match=r"no short search shows .* no more than 5 records"):
        KNorm.answer(public, Target("semi", Pure(EPSILON), distance=5), KNormOptions())


@pytest.mark.parametrize("shape", [(2, 2, 2, 2), (3, 3, 3), (5, 5, 2), (4, 4, 4), (58, 2, 3)])
@pytest.mark.parametrize("ways", [1, 2])
@pytest.mark.parametrize("distance", [None, 2, 4, 6])
def test_what_is_refused_is_refused_by_short_searches_alone(
    shape: tuple[int, ...], ways: int, distance: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No program of the norms is solved, no search is whole, and few vectors are listed."""
    monkeypatch.setattr("holdfast.universe.sensitivity.norms_of", _never)
    found = METRICS["replace"].semi_adjacency

    def short(universe: Universe, work: int | None = None) -> SemiAdjacency:
        assert work == WORK
        return found(universe, work)

    monkeypatch.setitem(METRICS, "replace", replace(METRICS["replace"], semi_adjacency=short))
    names = [tuple("abcd"[place] for place in some) for some in combinations(range(len(shape)), ways)]
    counts = np.random.default_rng(0).integers(0, 4, int(np.prod(shape)))
    public = kept(shape, names, counts)
    target = Target("semi", Pure(EPSILON), distance=distance)
    with pytest.raises((GuaranteeError, _ListedError)):
        KNorm.answer(public, target, KNormOptions())


def test_a_short_search_solves_no_program_of_thousands_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """One over 32 cells had 14,880 rows and took 12 s, and all others before it one."""
    rows: list[int] = []
    solve = Program.solve

    def recorded(program: Program, **bounds: Any) -> IntegerSolution:
        rows.append(program.rows)
        return solve(program, **bounds)

    monkeypatch.setattr(Program, "solve", recorded)
    names = [tuple("abcde"[place] for place in some) for some in combinations(range(5), 2)]
    counts = np.array([place * 7 % 5 + 1 for place in range(32)])
    with pytest.raises(GuaranteeError, match="no short search shows"):
        KNorm.answer(kept((2,) * 5, names, counts), Target("semi", Pure(EPSILON)), KNormOptions())
    assert 100 < max(rows) < 3000


class _ListedError(Exception):
    """What is listed is accepted so far."""


def _never(*_: object) -> NoReturn:
    raise _ListedError


def test_a_given_distance_has_a_list_with_a_limit() -> None:
    public, options = kept((3, 3, 3), [("a",), ("b",), ("c",)]), KNormOptions()
    with pytest.raises(GuaranteeError, match="tables 4 records apart cannot all be listed"):
        KNorm.answer(public, Target("semi", Pure(EPSILON), distance=4), options)


def test_a_distance_at_which_nothing_changes_is_told_as_too_small() -> None:
    public, options = kept((2, 2, 2), TWO_WAYS), KNormOptions()
    with pytest.raises(GuaranteeError, match="distance = 2 does not cover one"):
        KNorm.answer(public, Target("semi", Pure(EPSILON), distance=2), options)


def test_a_search_that_ends_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    public = kept((2, 2, 2), TWO_WAYS)
    expected = semi_adjacency(public.universe)
    asked: list[int | None] = []

    def recorded(universe: Universe, work: int | None = None) -> SemiAdjacency:
        asked.append(work)
        return semi_adjacency(universe, work)

    monkeypatch.setitem(METRICS, "replace", replace(METRICS["replace"], semi_adjacency=recorded))
    mechanism = KNorm.answer(public, Target("semi", Pure(EPSILON)), KNormOptions())
    assert mechanism.premises.semi_adjacency == expected
    assert asked == [WORK]


def test_adjacency_unit_is_refused_before_anything_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> NoReturn:
        raise AssertionError("the adjacency settles it")

    monkeypatch.setattr("holdfast.privacy.premises.refuse_one_table", never)
    with pytest.raises(GuaranteeError, match='adjacency="semi"'):
        KNorm.answer(kept((3, 3), []), Target("unit", Pure(EPSILON)), KNormOptions())
