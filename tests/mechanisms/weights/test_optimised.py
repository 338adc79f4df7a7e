"""Weights that are best for a workload: from the spec to a certificate, and what is refused."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.mechanisms.weights.test_strategy import county_spec, public_of

from holdfast import release, verify
from holdfast.estimation.conforming import Conforming
from holdfast.estimation.l2 import real_l2
from holdfast.lattice.forms import Form
from holdfast.lattice.margins import LevelledAxis, MarginStrategy, Reading
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.mechanisms.weights.axes import MarginAxes
from holdfast.mechanisms.weights.optimised import optimised, proved
from holdfast.mechanisms.weights.queries import OptimumRecord, Wish
from holdfast.mechanisms.weights.spaces import Spaces
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.weighted import kernel_basis
from holdfast.spec.mechanism import MechanismChoice
from holdfast.spec.model import Spec
from holdfast.system.errors import SpecError
from holdfast.testing.worlds import World
from holdfast.universe.space import sensitivity_space

FREE = World({"row": "ab", "column": "xyz"}, (2, 1, 0, 2, 1, 1), ())


def record(tmp_path: Path, world: World | str, *wishes: dict[str, Any]) -> OptimumRecord:
    public = public_of(world, tmp_path)
    return optimised(public, [Wish(**wish) for wish in wishes], public.premises("semi"))


def test_weights_are_rational_and_near_their_bound(tmp_path: Path) -> None:
    """By hand: least 1 / k_1 + (1 / k_1 + 1 / k_2) / 2 where k_1 + k_2 = 2, as rows are kept."""
    found = record(tmp_path, "two states", {"marginal": ["column"]}, {"marginal": ["row", "column"]})
    weights = {each.marginal: float(each.weight) for each in found.weights}
    k = weights["column",], weights["row", "column"]
    assert k == pytest.approx(((5 - 5**0.5) / 2, (5**0.5 - 1) / 2), rel=1e-4)
    assert 0 <= found.gap <= 1e-7
    assert found.bound <= (5**0.5 + 3) / 4 <= found.variance * (1 + 1e-9)


def test_wishes_of_any_weight_have_a_bound(tmp_path: Path) -> None:
    heavy = {"marginal": ["column"], "weight": "1e300"}
    assert record(tmp_path, "two states", heavy, {"marginal": ["row", "column"]}).gap < 1e-5


def test_the_detailed_query_alone_is_the_usual_noise_where_rows_and_columns_are_kept(tmp_path: Path) -> None:
    found = record(tmp_path, "3 x 3", {"up_to": 2})
    public = public_of("3 x 3", tmp_path)
    form, marginals = proved(public, found, public.premises("semi"))
    assert marginals == (("row", "column"),)
    assert found.weights[0].weight == form.parts[0][1] == 3  # three records move six counts: 2 * 3^2 / 6


def test_a_space_that_is_not_asked_for_has_little_weight(tmp_path: Path) -> None:
    """Noise there is ten times as wide as noise that is alike in all cells."""
    found = record(tmp_path, "two states", {"marginal": ["column"]})
    weights = {each.marginal: float(each.weight) for each in found.weights}
    assert weights["row", "column"] == pytest.approx(0.01, rel=1e-3)
    assert weights["column",] == pytest.approx(1.99, rel=1e-3)


def test_all_margins_are_asked_for_in_words(tmp_path: Path) -> None:
    for said in ("all margins up to two", "All margins up to 2"):
        options: Any = MechanismChoice("lattice-gaussian", optimise_for=said)
        assert options.optimise_for == (Wish(up_to=2),)
    found = record(tmp_path, FREE, {"up_to": 1}, {"marginal": ["row"], "weight": "5"})
    assert [query.words for query in found.queries] == ["total (1)", "row (5)", "column (1)"]


def test_weights_where_records_come_and_go(tmp_path: Path) -> None:
    """By hand: least 5 / (2 k_0) + 1 / (2 k_1) where one record more loses (k_0 + k_1) / 4."""
    world = World({"level": "ab"}, (2, 1), ())
    public = public_of(world, tmp_path, neighbours="add-remove")
    found = optimised(public, [Wish(marginal=()), Wish(marginal=("level",))], public.premises("semi"))
    (total, total_k), (level, level_k) = ((each.marginal, each.weight) for each in found.weights)
    assert (total, level) == ((), ("level",))
    assert float(total_k / level_k) == pytest.approx(5**0.5, rel=1e-5)
    assert len(found.losses) == 1


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("kept", [(), ({"margin": ["row"]},), ({"total": True},)])
def test_no_other_weights_have_less_variance_at_the_same_rho(
    kept: tuple[Any, ...], neighbours: str, tmp_path: Path
) -> None:
    """Rho from its definition over all tables near each other, variances by inverting the form."""
    world = World({"row": "ab", "column": "xyz"}, (2, 1, 0, 2, 1, 1), kept)
    public = public_of(world, tmp_path, neighbours=neighbours)
    wishes = [Wish(marginal=("column",)), Wish(marginal=("row", "column"), weight=Fraction(2))]
    found = optimised(public, wishes, public.premises("semi"))
    rows, columns = np.eye(2) - 1 / 2, np.eye(3) - 1 / 3
    spaces = {
        (): np.full((6, 6), 1 / 6),
        ("row",): np.kron(rows, np.full((3, 3), 1 / 3)),
        ("column",): np.kron(np.full((2, 2), 1 / 2), columns),
        ("row", "column"): np.kron(rows, columns),
    }
    # the means over the counts of each margin, cells with weight 2
    seen = np.concatenate([np.eye(6) * (2 / 6) ** 0.5, np.tile(np.eye(3), 2) / 3**0.5])
    cells, come = np.eye(6), neighbours == "add-remove"
    moves = [x - y for x in cells for y in cells if (x != y).any()]
    moves = [u / 2 if come else u for u in moves] + (list(cells) if come or not kept else [])
    moves = [u for u in moves if not (public.universe.matrix @ u).any()]

    def error(weights: dict[tuple[str, ...], float]) -> float:
        form: Any = sum(k * spaces[names] for names, k in weights.items())
        lost = max(float(u @ form @ u) for u in moves) / 2
        return float(np.trace(seen @ np.linalg.pinv(form) @ seen.T)) * lost

    best = {each.marginal: float(each.weight) for each in found.weights}
    least, rng = error(best), np.random.default_rng(1)
    assert least == pytest.approx(found.variance)
    for _ in range(300):
        assert error({names: k * rng.uniform(0.5, 2) for names, k in best.items()}) >= least * (1 - 1e-5)


CROSSING: list[tuple[tuple[str, ...], list[Wish], float]] = [
    (("row", "column"), [Wish(marginal=("row", "column")), Wish(marginal=("row", "column", "slice"))], 1.003),
    (("row", "column", "slice"), [Wish(up_to=2), Wish(marginal=("row", "column", "slice"))], 1 - 1e-7),
]


@pytest.mark.parametrize(("kept", "wishes", "worse"), CROSSING)
@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_where_margins_cross_weights_are_best_for_the_moves_of_several_records(
    kept: tuple[str, ...], wishes: list[Wish], worse: float, neighbours: str, tmp_path: Path
) -> None:
    """Rho by listing all differences of tables: weights for moves of one record are worse, or as good."""
    levels = {"row": "ab", "column": "xyz", "slice": "st"}
    world = World(levels, (3,) * 12, tuple({"margin": [name]} for name in kept))
    public = public_of(world, tmp_path, neighbours=neighbours)
    premises = public.premises("semi")
    apart = premises.unit.distance // (2 if neighbours == "add-remove" else 1)
    moves = sensitivity_space(public.universe, apart)
    found = optimised(public, wishes, premises)
    assert 0 <= found.gap <= 1e-6

    def error(best: OptimumRecord) -> float:
        """Return the sum of weight times variance where the largest loss is the square of its records."""
        axes = MarginAxes.of(public, best.queries)
        assert axes is not None
        spaces = Spaces.of(MarginStrategy(axes.levelled, axes.kept, ()))
        weights = {axes.reading(each.marginal): each.weight for each in best.weights}
        form = Form.of(MarginStrategy(axes.levelled, axes.kept, spaces.strengths(weights)))
        basis = kernel_basis(public.universe.matrix.toarray())
        whole = sum(float(c) * (rows.T @ rows).toarray() for rows, c in form.parts)
        covariance = basis @ np.linalg.inv(basis.T @ whole @ basis) @ basis.T
        lost = float(form.squares(moves).max()) / 2 / apart**2
        lost /= 4 if neighbours == "add-remove" else 1
        asked = [(query.matrix(public), float(query.weight)) for query in found.queries]
        return lost * sum(
            weight * float(np.diagonal(np.asarray(rows @ (rows @ covariance).T)).mean())
            for rows, weight in asked
        )

    assert error(found) == pytest.approx(found.variance, rel=1e-6)
    single = optimised(public, wishes, public.premises("unit"))
    assert error(single) > worse * found.variance
    best = {each.marginal: each.weight for each in found.weights}
    for seed in range(30):  # and other weights are worse, too
        rng = np.random.default_rng(seed)
        turned = [
            each.model_copy(update={"weight": best[each.marginal] * Fraction(rng.uniform(0.6, 1.6))})
            for each in found.weights
        ]
        assert error(found.model_copy(update={"weights": tuple(turned)})) >= found.bound


REFUSED: list[tuple[str, list[dict[str, Any]], str]] = [
    ("two states", [{"marginal": ["row"]}], r"asks for nothing but what the invariants fix: ask"),
    ("two states", [{"marginal": ["colum"]}], r"names 'colum', .* did you mean 'column'"),
    ("a geography", [{"level": "stat"}], r"'stat' is no level of the geography: .*'state'"),
    ("a structural zero", [{"up_to": 1}], r"is for tables without structural zeros, .* give mechanism"),
    ("selections", [{"up_to": 1}], r"all of whose invariants are whole margins"),
    ("two states", [{"marginal": ["column"]}] * 2, r"asks for what one before it asks for: keep one"),
]  # fmt: skip


@pytest.mark.parametrize(("world", "wishes", "said"), REFUSED)
def test_what_is_refused(world: str, wishes: list[dict[str, Any]], said: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=said) as refused:
        record(tmp_path, world, *wishes)
    assert str(refused.value).count(". ") == 0


@pytest.mark.parametrize(
    ("wishes", "said"),
    [
        ("all tables", r"'all tables': write a list of margins, .* or .all margins up to two"),
        ("all margins up to none", r"write a list of margins"),
        ({"marginal": ["row"]}, r"is one table: write a list of them"),
        ([{"marginal": ["row"], "weight": "0"}], r"weight is 0: give a positive number"),
        ([{"marginal": ["row"], "weight": -1}], r"weight is -1: give a positive number"),
        ([{"weight": "1"}], r"asks for nothing: give it marginal, level or up_to"),
        ([{"marginal": ["row"], "up_to": 2}], r"has up_to beside marginal or level"),
        ([{"marginal": ["row", "row"]}], r"names 'row' twice"),
    ],
)  # fmt: skip
def test_wishes_that_make_no_sense(wishes: Any, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        MechanismChoice("lattice-gaussian", optimise_for=wishes)


def test_queries_or_wishes_and_the_l2_norm() -> None:
    own = {"queries": [{"marginal": ["row"]}], "optimise_for": "all margins up to one"}
    with pytest.raises(
        SpecError, match=r"optimise_for finds the weights that queries give: keep one of them"
    ):
        MechanismChoice("lattice-gaussian", **own)
    with pytest.raises(SpecError, match=r'set norm="l2"'):
        MechanismChoice("lattice-laplace", optimise_for="all margins up to one")


def unequal(tmp_path: Path) -> Spec:
    wishes = [{"marginal": ["sex"], "weight": "2"}, {"marginal": ["county", "sex"]}, {"marginal": ["tract"]}]
    spec = county_spec(tmp_path, [], within={"tract": "county"})
    options = MechanismChoice("lattice-gaussian", optimise_for=wishes)
    return spec.model_copy(update={"mechanism": options})


def test_unequal_nodes_are_drawn_with_the_variances_that_were_planned(tmp_path: Path) -> None:
    ready = prepare(unequal(tmp_path))
    mechanism = ready.table.mechanism
    assert isinstance(mechanism, LatticeGaussian)
    assert mechanism.noise is not None
    assert mechanism.strategy is not None
    assert mechanism.strategy.optimum is not None
    best = mechanism.strategy.optimum
    assert mechanism.guarantee.intensity.parameters()["rho"] == Fraction(1, 8)
    draws = mechanism.noise.sample(SeededEntropy(8), 4000)
    assert not (ready.public.universe.matrix @ draws.T).any()
    drawn = sum(
        float(query.weight) * float(((query.matrix(ready.public) @ draws.T) ** 2).mean())
        for query in best.queries
    )
    # two records change, 4 times the rho of one; 4000 draws tell 5 %
    assert drawn == pytest.approx(best.variance * 4 * 8, rel=0.1)
    assert best.gap <= 1e-6


def test_a_certificate_is_verified_and_a_changed_one_is_found(tmp_path: Path) -> None:
    release(unequal(tmp_path), tmp_path / "out")
    assert verify(tmp_path / "out").kept
    path = tmp_path / "out" / "certificate.json"
    whole = path.read_text()

    def changed(change: Any) -> bool:
        content = json.loads(whole)
        change(content["parts"][0]["mechanism"]["optimum"])
        path.write_text(json.dumps(content))
        return verify(tmp_path / "out").kept

    def weight(best: dict[str, Any]) -> None:
        best["weights"][-1]["weight"] = str(Fraction(best["weights"][-1]["weight"]) * 2)

    def bound(best: dict[str, Any]) -> None:
        best["bound"] *= 1.01
        best["variance"] *= 1.01

    assert not changed(weight)
    assert not changed(bound)
    assert not changed(lambda best: best["losses"].reverse())


def test_a_claim_is_not_believed(tmp_path: Path) -> None:
    found = record(tmp_path, "two states", {"marginal": ["column"]}, {"marginal": ["row", "column"]})
    public = public_of("two states", tmp_path)
    first, *rest = found.weights
    halved = first.model_copy(update={"weight": first.weight / 2})
    turned = [each.model_copy(update={"marginal": each.marginal[::-1]}) for each in rest]
    for other, said in (
        ({"weights": (halved, *rest)}, "is not that of its weights"),
        ({"weights": (first, first, *rest)}, "is there twice"),
        ({"weights": found.weights[::-1]}, "out of order"),
        ({"weights": (first, *turned)}, "out of order"),
        ({"weights": (first,)}, "without a law"),
        ({"losses": ()}, "is not that of its invariants"),
        ({"bound": float("nan")}, "its bound"),
        ({"queries": found.queries[::-1]}, "not in their order"),
    ):
        with pytest.raises(SpecError, match=said):
            proved(public, found.model_copy(update=other), public.premises("semi"))


def test_squares_with_negative_strengths_are_a_form_and_its_law_is_drawn() -> None:
    """Weights of residual spaces that no sum of whole margins has: chi-square of its squares, by the law."""
    axes = tuple(axis for axis in (LevelledAxis.of(2, []), LevelledAxis.of(3, [])) if axis is not None)
    spaces = Spaces.of(MarginStrategy(axes, (), ()))
    weights: dict[Reading, Fraction] = {
        (0, 0): Fraction(1, 10),
        (1, 0): Fraction(1),
        (0, 1): Fraction(1),
        (1, 1): Fraction(1, 4),
    }
    form = Form.of(MarginStrategy(axes, (), spaces.strengths(weights)))
    assert min(c for _, c in form.parts) < 0
    points = np.random.default_rng(3).integers(-9, 10, size=(200, 6))
    squares, off = form.rounded(points)
    exact = [form.exact(point) for point in points]
    for square, wanted, error in zip(squares.tolist(), exact, off.tolist(), strict=True):
        assert abs(Fraction(square) - wanted) <= Fraction(error) + wanted / 2**48
    assert form.largest(points) == max(exact)
    law = LatticeGaussianLaw(csr_array((0, 6), dtype=np.int64), Fraction(1), form=form)
    draws = law.sample(SeededEntropy(4), 20000)
    # few steps of rounding: in each space the mean square is its dimension over the weight, within 4 %
    table = draws.reshape(-1, 2, 3).astype(np.float64)
    rows, columns, whole = table.mean(axis=2), table.mean(axis=1), table.mean(axis=(1, 2))
    in_rows = 3 * ((rows - whole[:, None]) ** 2).sum(axis=1).mean()
    in_columns = 2 * ((columns - whole[:, None]) ** 2).sum(axis=1).mean()
    assert 6 * (whole**2).mean() == pytest.approx(10, rel=0.05)
    assert in_rows == pytest.approx(1, rel=0.05)
    assert in_columns == pytest.approx(2, rel=0.05)


def test_a_table_is_processed_in_a_norm_with_negative_strengths() -> None:
    """No step towards another table that is not negative comes nearer: the condition of the minimum."""
    axes = tuple(axis for axis in (LevelledAxis.of(2, []), LevelledAxis.of(3, [])) if axis is not None)
    spaces = Spaces.of(MarginStrategy(axes, ((0, 0),), ()))
    weights: dict[Reading, Fraction] = {(1, 0): Fraction(1, 8), (0, 1): Fraction(1, 9), (1, 1): Fraction(1)}
    margins = MarginStrategy(axes, ((0, 0),), spaces.strengths(weights))
    form = Form(tuple((margins.rows(each), c) for each, c in margins.measured if any(each)), margins)
    assert min(c for _, c in form.parts) < 0
    noisy = np.array([5, -4, 3, 6, 1, 2])
    total = csr_array(np.ones((1, 6), dtype=np.int64))
    near = Conforming.of(total, np.array([13]))
    found = real_l2(noisy, near, form)
    assert (found >= -1e-9).all()
    assert found.sum() == pytest.approx(13)
    gram = sum(float(c) * (rows.T @ rows).toarray() for rows, c in form.parts)
    slope = gram @ (found - noisy)
    for other in np.random.default_rng(1).dirichlet(np.ones(6), 200) * 13:
        assert slope @ (other - found) >= -1e-5
