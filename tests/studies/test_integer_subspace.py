"""The study of integer subspaces: its quick run comes to the expected numbers, and wrong laws do not."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.typing import NDArray
from studies.expected import violations
from studies.integer_subspace import convergence, cost, counties, crossing, delinquent, illinois, run, tails
from studies.integer_subspace.designs import (
    CHILDREN_L1,
    COUNTIES,
    CROSSING,
    CROSSING_FRAME,
    CROSSING_L1,
    CROSSING_L2,
    DESIGNS,
    MARGINS,
    MARGINS_FRAME,
    REGIONS,
)
from studies.integer_subspace.fourier import crossing_law, margins_law
from studies.integer_subspace.one_total import cell_law, norm_law
from studies.outcome import Number, Outcome

from holdfast.lab.gibbs_metropolis import lattice_basis
from holdfast.lab.shells import RadialLaw, ShellLattice, shell_counts
from holdfast.lab.smith import smith_normal_form
from holdfast.lab.tails import divided_holds_from, holds_from, largest_share, tails_of
from holdfast.lattice.points import lattice_points
from holdfast.sampling.chains.coupling import MeetingTimes
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import DataError
from holdfast.testing.goodness import lattice_law, two_way

T = TypeVar("T")
Integers = NDArray[np.int64]
PICTURES = {
    "crossing": {"crossing_noise", "crossing_convergence"},
    "delinquent": {"table_1", "figure_1"},
    "tails": {"tails"},
    "counties": {"counties"},
    "cost": {"cost"},
}


def silent(things: Iterable[T], what: str) -> Iterator[T]:
    yield from things


def off(part: str, numbers: dict[str, Number]) -> set[str]:
    found = violations(run.EXPECTED, part, numbers, "quick")
    return {name for name in numbers if any(f"{part}: {name} is" in line for line in found)}


@pytest.mark.parametrize("part", PICTURES)
def test_the_quick_run_comes_to_the_expected_numbers(
    part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    number = list(run.SIMULATED).index(part) + 1
    code = run.main(["--quick", "--parts", str(number), "--output", str(tmp_path)])
    printed = capsys.readouterr().out
    assert code == 0, printed
    assert {path.stem for path in tmp_path.glob("*.png")} == PICTURES[part]
    numbers = json.loads((tmp_path / "numbers.json").read_text())["parts"][part]["numbers"]
    expected = json.loads(run.EXPECTED.read_text())["parts"][part]
    assert set(numbers) == {name for name, entry in expected.items() if "quick" in entry["tolerance"]}
    assert len(numbers) >= 8


def test_every_part_is_run() -> None:
    assert set(PICTURES) == set(run.SIMULATED)
    assert set(json.loads(run.EXPECTED.read_text())["parts"]) == {*run.SIMULATED, "illinois"}


def test_missing_data_is_said_and_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--parts", str(run.REAL), "--data", str(tmp_path / "nowhere")]
    assert run.main(["--quick", *data, "--output", str(tmp_path)]) == 0
    assert "Skipped: Figure 2" in capsys.readouterr().out


@pytest.mark.parametrize("epsilon", [Fraction(24, 100), Fraction(26, 100)])
def test_noise_of_another_parameter_is_off(epsilon: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Outcome({}, (), {"convergence": Figure()})
    monkeypatch.setattr(convergence, "study", lambda *_: nothing)  # chains are looked at below
    for part, names in (
        (crossing, ("CROSSING_L1", "CROSSING_L2")),
        (delinquent, ("CHILDREN_L1", "CHILDREN_L2")),
    ):
        for name in names:
            monkeypatch.setattr(part, name, replace(getattr(part, name), epsilon=epsilon))
    found = off("crossing", crossing.study(crossing.QUICK, silent).numbers)
    assert {"l1: E norm", "l2: E norm", "l1: P(z = 0) of a cell in two counts", "l2: P(norm >= 40)"} <= found
    found = off("delinquent", delinquent.study(delinquent.QUICK, silent).numbers)
    assert {"l1: E norm", "l2: E norm", "l1: P(z = 0) of a cell"} <= found


def test_other_counts_and_another_chain_are_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counties, "COUNTIES", replace(COUNTIES, epsilon=Fraction(196, 1000)))
    assert {"E norm", "E |z| of a county"} <= off("counties", counties.study(counties.QUICK, silent).numbers)
    for rate in (Fraction(9, 10), Fraction(11, 10)):
        monkeypatch.setattr(cost, "DESIGNS", (replace(CHILDREN_L1, rate=rate),))
        assert f"{CHILDREN_L1.name}: acceptance" in off("cost", cost.study(cost.QUICK, silent).numbers)


def enumerated(
    matrix: Integers, epsilon: Fraction, norm: str, radius: int
) -> tuple[Integers, NDArray[np.float64]]:
    law = lattice_law(matrix, float(epsilon), norm, radius, rarest=0)
    return np.array(list(law)), np.array(list(law.values()))


@pytest.mark.parametrize(("rows", "columns", "radius"), [(2, 2, 40), (2, 3, 14), (3, 2, 14), (3, 3, 6)])
def test_the_law_of_margins_is_the_enumerated_one(rows: int, columns: int, radius: int) -> None:
    epsilon = Fraction(5, 4)
    points, shares = enumerated(two_way(rows, columns), epsilon, "l1", radius)
    law = margins_law(rows, columns, epsilon, side=64)
    assert law.mean_norm == pytest.approx(np.abs(points).sum(axis=1) @ shares, rel=1e-5)
    assert law.normaliser == pytest.approx(1 / shares.max(), rel=1e-5)
    for value in range(4):
        assert law.cells["every cell"][value] == pytest.approx(shares[points[:, 0] == value].sum(), rel=1e-4)


def test_the_law_of_crossing_counts_is_the_enumerated_one() -> None:
    epsilon, kinds = Fraction(5, 2), {"one or three": (0, 1, 3, 6), "two": (2, 4, 5)}
    points, shares = enumerated(REGIONS, epsilon, "l1", 4)
    law = crossing_law(REGIONS, kinds, epsilon, side=64)
    assert law.mean_norm == pytest.approx(np.abs(points).sum(axis=1) @ shares, rel=1e-6)
    for kind, cells in kinds.items():
        for cell in cells:  # they are alike
            for value in range(3):
                share = shares[points[:, cell] == value].sum()
                assert law.cells[kind][value] == pytest.approx(share, rel=1e-5)
    for law_of_cell in crossing_law(CROSSING, crossing.KINDS, Fraction(1, 4)).cells.values():
        assert law_of_cell[0] + 2 * law_of_cell[1:].sum() == pytest.approx(1, abs=1e-9)


def test_the_law_of_one_total_is_the_enumerated_one() -> None:
    epsilon = Fraction(1)
    points, shares = enumerated(np.ones((1, 4), dtype=np.int64), epsilon, "l1", 16)
    norms, law = np.abs(points).sum(axis=1), norm_law(4, epsilon)
    for m in range(5):
        assert law[m] == pytest.approx(shares[norms == 2 * m].sum(), rel=1e-6)
    for value, share in enumerate(cell_law(4, epsilon, 4)):
        assert share == pytest.approx(shares[points[:, 0] == value].sum(), rel=1e-6)


HALF = np.array([[1, -1, 0], [1, 1, -2]])


@pytest.mark.parametrize(
    ("matrix", "frame"),
    [
        (two_way(2, 2), np.array([[1, -1, -1, 1]])),
        (two_way(3, 3), np.kron(HALF, HALF)),
        (REGIONS, CROSSING_FRAME[7:, ::2]),
        (np.ones((1, 4), dtype=np.int64), MARGINS_FRAME[:3, :4]),
    ],
)
def test_shells_are_those_of_all_points(matrix: Integers, frame: Integers) -> None:
    radius = 4
    points = lattice_points(matrix, radius)
    squares = (points**2).sum(axis=1)
    # a point with an entry beyond the radius has a square of at least (radius + 1)^2
    most = (radius + 1) ** 2 - 1
    assert (
        shell_counts(lattice_basis(matrix), frame, most)
        == np.bincount(squares, minlength=most + 1)[: most + 1].tolist()
    )


def test_a_frame_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="orthogonal"):
        shell_counts(lattice_basis(two_way(3, 3)), lattice_basis(two_way(3, 3)), 10)


def test_the_frames_lie_in_their_lattices() -> None:
    assert not (MARGINS @ MARGINS_FRAME.T).any()
    assert not (CROSSING @ CROSSING_FRAME.T).any()


def test_radial_laws_are_the_enumerated_ones_and_do_not_depend_on_how_far_was_counted() -> None:
    matrix, frame = two_way(3, 3), np.kron(HALF, HALF)
    near, far = (ShellLattice.of(lattice_basis(matrix), frame, most) for most in (400, 4_000))
    points, shares = enumerated(matrix, Fraction(2), "l2", 6)
    norms = np.linalg.norm(points, axis=1)
    laplace = RadialLaw.laplace(far, 2.0)
    assert laplace.mean_norm == pytest.approx(norms @ shares, rel=1e-4)
    for least in (2.0, sqrt(6), 4.0):
        tail = laplace.tails[np.searchsorted(far.norms, least)]
        assert tail == pytest.approx(shares[norms >= least - 1e-9].sum(), rel=1e-4)
    for make, parameter in ((RadialLaw.laplace, 0.5), (RadialLaw.gaussian, 20.0)):
        one, other = make(near, parameter), make(far, parameter)
        assert one.beyond > other.beyond
        assert one.normaliser == pytest.approx(other.normaliser, rel=1e-3)
        assert one.mean_norm == pytest.approx(other.mean_norm, rel=1e-3)


def test_the_theorems_hold_on_both_lattices() -> None:
    for name, (design, frame) in tails.LATTICES.items():
        lattice = ShellLattice.of(design.kernel("reduced").basis, frame, 10_000)
        for tail in tails_of(lattice, tails.EPSILON, tails.VARIANCE):
            assert largest_share(tail) < 1, name
            norm = tail.law.norm_with_tail(1e-3)
            assert tail.log_bound(np.array(norm)) > 0  # it says nothing there
            assert tail.reaches(1e-3) > 1.5 * norm
            # over the normaliser it holds later: a bound that fails is seen
            assert lattice.norms[1] < divided_holds_from(tail) < norm


def test_lemma_11_begins_where_it_says() -> None:
    lattice = ShellLattice.of(lattice_basis(MARGINS), MARGINS_FRAME, 400)
    start, counts = holds_from(lattice), np.cumsum(lattice.points)
    bound = 2 * lattice.ball / lattice.volume
    for count, (norm, following) in zip(counts, pairwise(lattice.norms), strict=False):
        holds = count <= bound * max(norm, start) ** lattice.dimension * (1 + 1e-12)
        assert holds or following <= start
    assert counts[np.searchsorted(lattice.norms, start, side="right") - 1] > bound * (0.999 * start) ** 9


def test_exact_draws_are_told_from_other_laws_by_their_norms() -> None:
    # At 1.358 / sqrt(n) one run in twenty of the right law would be told apart; the seed is fixed.
    law = crossing.radial_law(CROSSING_L2, CROSSING_FRAME, 20_000)
    draws = 20_000
    for epsilon, within in ((Fraction(24, 100), False), (Fraction(1, 4), True), (Fraction(26, 100), False)):
        noise = replace(CROSSING_L2, epsilon=epsilon).law.sample(SeededEntropy(6), draws)
        distance = convergence.kolmogorov(CROSSING_L2.norms(noise), crossing.norm_distribution(law))
        assert (distance <= convergence.floor(draws)) == within


def test_distances_of_known_samples() -> None:
    assert convergence.kolmogorov(np.array([0, 0, 1, 3]), np.array([0.5, 0.75, 0.75, 1.0])) == 0
    assert convergence.kolmogorov(np.array([2, 2]), np.array([0.25, 1.0])) == 1
    assert convergence.kolmogorov(np.array([0, 1]), np.array([0.25, 0.5, 1.0])) == 0.5
    met = MeetingTimes(10, np.array([11, 15, 16, 26, 40]), 100)
    assert convergence.excess(met, 5).tolist() == [0, 0, 1, 2, 3]
    assert convergence.shown_within(met, 0.4) == 16


def test_the_kernel_is_spanned_by_columns_of_the_smith_form_not_by_rows() -> None:
    # [integer-subspace-dp, Proposition 8] prints "the bottom rows of V"
    for design in DESIGNS:
        V, rank = smith_normal_form(design.matrix).V, design.matrix.shape[0]
        assert not (design.matrix @ V[:, rank:]).any()
        assert (design.matrix @ V[rank:].T).any()


def csv(folder: Path, rows: int) -> None:
    lines = ["fips,state_fips,state,county,pop2010,pop2020"]
    lines += [f"{k},17,Illinois,County {k},{1000 * (k % 7 + 1) + k},1" for k in range(rows)]
    (folder / illinois.FILE).write_text("\n".join(lines) + "\n")


def test_counties_are_read_smallest_first(tmp_path: Path) -> None:
    csv(tmp_path, 102)
    names, people = illinois.read(tmp_path)
    assert names[:2] == ["County 0", "County 7"]
    assert (np.diff(people) > 0).all()
    numbers = illinois.study(tmp_path, illinois.QUICK, silent).numbers
    assert off("illinois", numbers) == {"population", "E |z| over the population of the smallest"}
    csv(tmp_path, 101)
    with pytest.raises(DataError, match="101 rows"):
        illinois.read(tmp_path)


def test_a_chain_is_followed_from_its_start() -> None:
    found = convergence.follow(CROSSING_L1, 300, (1, 50), SeededEntropy(1), silent)
    assert found[1].mean() < found[50].mean()
    assert {steps: norms.shape for steps, norms in found.items()} == {1: (300,), 50: (300,)}
