"""Mechanisms side by side: one target, errors as theory has them, and a choice with its reason."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.example import written
from tests.mechanisms.topdown.small import spec as topdown_spec

from holdfast.comparison import pictures
from holdfast.comparison.compare import compare
from holdfast.comparison.contenders import CONTENDERS, deviation, usual
from holdfast.comparison.tables import Comparison, MechanismRow
from holdfast.comparison.terms import format_intensity, gaussian_terms, pure_terms, zcdp_terms
from holdfast.data.schema import Attributes, Schema
from holdfast.mechanisms.errors.accuracy import Size, margins
from holdfast.mechanisms.k_norm import KNorm
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.privacy.conversion import gdp_within, zcdp_within
from holdfast.privacy.guarantee import Target
from holdfast.privacy.intensity import Approximate, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.privacy.order import at_least_as_strong
from holdfast.releases.prepare import prepare
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.system.errors import GuaranteeError, SpecError
from holdfast.testing.goodness import two_way
from holdfast.testing.worlds import Case
from holdfast.universe.universe import Universe

FAST = tuple(name for name in CONTENDERS if name not in ("k-norm", "conditioned"))
Spec = Callable[..., Path]


def compared(*given: Any, **options: Any) -> Comparison:
    found = compare(*given, **options)
    assert isinstance(found, Comparison)
    return found


@pytest.fixture
def spec(tmp_path: Path) -> Spec:
    return lambda *changes: written(tmp_path, *changes)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    return compared(written(tmp_path_factory.mktemp("demo")), draws=600)


def by_name(comparison: Comparison) -> dict[str, MechanismRow]:
    return {row.name: row for row in comparison.rows}


# the demo

# what implies epsilon 1 at delta 1e-5
RHO, MU = zcdp_within(epsilon=1.0, delta=1e-5).value, gdp_within(epsilon=1.0, delta=1e-5).value


def test_rows_are_sorted_and_mechanisms_on_the_lattice_lead(demo: Comparison) -> None:
    assert [row.l2 for row in demo.rows] == sorted(row.l2 for row in demo.rows)
    l2 = {name: row.l2 for name, row in by_name(demo).items()}
    assert set(l2) == set(usual("lattice-laplace"))
    lattice = ("lattice-laplace", "lattice-gaussian", "k-norm")
    assert max(l2[name] for name in lattice) < min(l2["naive-laplace"], l2["naive-gaussian"])


def test_errors_are_what_theory_says(demo: Comparison) -> None:
    a = np.exp(-1 / 6)
    squares = {
        "projected-gaussian": 9 * 6 / MU**2,  # s sigma^2
        "lattice-gaussian": 9 * 3 / RHO,  # wide enough to be the same
        "naive-gaussian": 16 * 9 / RHO,
        "naive-laplace": 16 * 2 * a / (1 - a) ** 2,
    }
    rows = by_name(demo)
    for name, square in squares.items():
        found = rows[name].deviation
        assert found is not None
        assert abs(found.l2.value - np.sqrt(square)) < 4 * found.l2.standard_error
        assert abs(found.l2.value - 1.2 * np.sqrt(square)) > 4 * found.l2.standard_error
        assert found.l1.value == pytest.approx(16 * found.cell.value)
        assert found.cell.value < found.largest.value < found.l2.value < found.l1.value


def test_k_norm_is_ahead_by_the_root_of_the_volumes(demo: Comparison) -> None:
    k, l1 = by_name(demo)["k-norm"], by_name(demo)["lattice-laplace"]
    assert k.contender is not None
    assert k.deviation is not None
    assert l1.deviation is not None
    assert isinstance(k.contender.mechanism, KNorm)
    predicted = k.contender.mechanism.predicted_ratio
    assert 0.8 < predicted < 0.9
    error = np.hypot(k.deviation.l2.standard_error / k.l2, l1.deviation.l2.standard_error / l1.l2)
    assert abs(np.log(k.l2 / l1.l2 / predicted)) < 3 * error + 0.02
    assert f"{predicted:.2f} times" in k.note


def test_the_best_that_may_be_released_is_chosen_with_its_reason(demo: Comparison) -> None:
    assert demo.choice == "k-norm"
    assert "meet pure epsilon 1; lattice-laplace is next" in demo.why


def test_conversions_and_equal_laws_are_told(demo: Comparison) -> None:
    rows = {row["mechanism"]: row for row in demo.to_dict()["rows"]}
    for name in ("lattice-gaussian", "projected-gaussian", "naive-gaussian"):
        said = rows[name]["converted"]
        assert said.endswith("implies epsilon 1 and delta 1e-05, which is weaker than pure epsilon 1")
    assert rows["k-norm"]["converted"] is None
    assert "is for releases within inequalities" in rows["conditioned"]["note"]
    assert rows["conditioned"]["l2"] is None
    assert rows["lattice-gaussian"]["standard"] == "zcdp"
    assert float(Fraction(rows["lattice-gaussian"]["intensity"]["rho"])) == pytest.approx(RHO, rel=1e-6)
    kept = {name: row["keeps_invariants"] for name, row in rows.items() if name != "conditioned"}
    assert kept == {name: not name.startswith("naive") for name in kept}
    assert [name for name, row in rows.items() if row["integer"] is False] == ["projected-gaussian"]


def test_margins_are_exact_where_they_are_kept(demo: Comparison) -> None:
    rows = {row["mechanism"]: row["margins"] for row in demo.to_dict()["rows"]}
    zero = {"error": 0.0, "standard_error": 0.0, "exact": True}
    assert rows["k-norm"] == {"total": zero, "county": zero, "education": zero}
    assert not rows["projected-gaussian"]["county"]["exact"]
    assert rows["projected-gaussian"]["county"]["error"] < 1e-12
    # four cells of variance 9 / rho: a normal with E|z| = sqrt(2 * 36 / (rho pi))
    expected = np.sqrt(72 / (RHO * np.pi))
    assert rows["naive-gaussian"]["county"]["error"] == pytest.approx(expected, rel=0.05)


# other targets


def test_every_standard_has_its_own_best(spec: Spec) -> None:
    zcdp = compared(spec(('"pure"  ', '"zcdp"  '), ('epsilon = "1"  ', 'rho = "1/2"')), FAST, draws=100)
    assert zcdp.choice == "lattice-gaussian"
    assert "is next" in zcdp.why
    budget = ('epsilon = "1"  ', 'epsilon = "1"\ndelta = "1e-6" ')
    approximate = compared(spec(('"pure"  ', '"approximate"  '), budget), FAST, draws=100)
    assert approximate.choice == "lattice-laplace"
    mu = compared(spec(('"pure"  ', '"gaussian"  '), ('epsilon = "1"  ', 'mu = "1"')), FAST, draws=100)
    assert mu.choice == "lattice-gaussian"
    assert not by_name(mu)["lattice-gaussian"].lacks
    assert by_name(mu)["projected-gaussian"].lacks == "is not whole"
    for comparison in (zcdp, approximate, mu):
        assert not by_name(comparison)["lattice-laplace"].lacks


def test_without_negative_counts_a_public_table_stands_in(tmp_path: Path) -> None:
    path = tmp_path / "small.toml"
    path.write_text(
        '[data]\npath = "small.csv"\ncells = ["r", "c"]\ncount = "n"\n[[invariants]]\nmargin = ["r"]\n'
        '[[invariants]]\nmargin = ["c"]\n[constraints]\nnonnegative = true\n[privacy]\nepsilon = "1"\n'
    )
    found = []
    for counts in ((3, 2, 2, 3), (5, 0, 0, 5)):  # the same margins: the same figures
        cells = zip(("a,x", "a,y", "b,x", "b,y"), counts, strict=True)
        (tmp_path / "small.csv").write_text("r,c,n\n" + "".join(f"{cell},{n}\n" for cell, n in cells))
        found.append(compared(path, ["conditioned", "lattice-laplace"], draws=50))
    comparison = found[0]
    assert found[1].to_dict() == comparison.to_dict()
    assert comparison.choice == "conditioned"
    assert "public table" in by_name(comparison)["conditioned"].note
    assert by_name(comparison)["lattice-laplace"].lacks == "may go below zero"
    conditioned = by_name(comparison)["conditioned"].deviation
    assert conditioned is not None
    assert 0 < conditioned.largest.value <= 3  # the stand-in has two or three in each cell


def test_what_may_break_an_inequality_is_not_chosen(spec: Spec) -> None:
    zeros = "structural_zeros = []"
    asked = (
        zeros,
        '[[constraints.inequalities]]\nwhere = { county = "Alpha", education = "Low" }\nat_least = 9',
    )
    comparison = compared(spec(asked), ["conditioned", "lattice-laplace"], draws=50)
    assert by_name(comparison)["lattice-laplace"].lacks == "may break inequalities"
    assert comparison.choice == "conditioned"
    assert "within the inequalities" in comparison.why


def test_a_parameter_of_the_noise_makes_the_target(spec: Spec) -> None:
    path = spec(('epsilon = "1"  ', ""), ("# epsilon_per_unit", "epsilon_per_unit"))
    comparison = compared(path, ["lattice-laplace", "naive-laplace"], draws=20)
    assert comparison.target == Target("semi", Pure(Fraction(3, 2)))


def test_what_cannot_be_used_is_listed_with_the_reason(spec: Spec) -> None:
    comparison = compared(
        spec(('adjacency = "semi"', 'adjacency = "unit"')), ["k-norm", "naive-laplace"], draws=20
    )
    assert [row.name for row in comparison.rows] == ["naive-laplace", "k-norm"]
    last = comparison.to_dict()["rows"][1]
    assert (last["l2"], last["margins"], last["intensity"]) == (None, None, None)
    assert last["note"].startswith("cannot be used: k-norm is made for the differences at one distance")
    assert comparison.choice is None
    assert comparison.why.startswith("none of these mechanisms can keep every invariant")


def test_the_same_seed_gives_the_same_figures(spec: Spec) -> None:
    path = spec()
    one, two, other = (compared(path, ["naive-laplace"], draws=50, seed=seed) for seed in (1, 1, 2))
    assert one.to_dict() == two.to_dict() != other.to_dict()


def test_without_invariants_naive_noise_is_the_lattice_noise(spec: Spec) -> None:
    none = (('[[invariants]]\nmargin = ["county"]', ""), ('[[invariants]]\nmargin = ["education"]', ""))
    comparison = compared(spec(*none), ["lattice-laplace", "naive-laplace"], draws=50)
    assert {row.lacks for row in comparison.rows} == {""}
    assert comparison.rows[0].l2 == comparison.rows[1].l2
    assert comparison.rows[2].name.startswith('lattice-laplace, norm = "l2", optimise_for')


@pytest.mark.parametrize(
    ("names", "draws", "words"),
    [
        (["lattice-laplas"], 100, "did you mean 'lattice-laplace'"),
        ([], 100, "names none"),
        (["k-norm", "k-norm"], 100, "twice"),
        (["k-norm"], 19, "20 or more"),
    ],
)
def test_bad_input_is_refused(spec: Spec, names: list[str], draws: int, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        compared(spec(), names, draws=draws)


@pytest.mark.parametrize("privacy", [{"standard": "zcdp", "rho": "1"}, {"epsilon": "1"}])
def test_all_that_a_release_would_draw_is_tried_and_chosen_by_all_counts(
    privacy: dict[str, str], tmp_path: Path
) -> None:
    spec = topdown_spec(tmp_path, privacy={**privacy, "adjacency": "unit"})
    names = ["lattice-gaussian", "lattice-laplace", "topdown", "naive-gaussian"]
    comparison = compared(spec, names, draws=200)
    rows = by_name(comparison)
    shape = 'optimise_for = [{ up_to = 2 }, { marginal = ["block", "age", "sex"] }]'
    weighted, isotropic = rows[f"lattice-gaussian, {shape}"], rows["lattice-gaussian"]
    assert f'lattice-laplace, norm = "l2", {shape}' in rows
    assert weighted.deviation is not None
    assert isotropic.deviation is not None
    assert weighted.l2 > isotropic.l2  # worse in cells, and better in the margins
    assert weighted.deviation.margins["age"].value < isotropic.deviation.margins["age"].value / 1.5
    report = {row["mechanism"]: row for row in comparison.to_dict()["rows"]}
    assert report["topdown"]["max"] is None
    assert report["topdown"]["cell"] > 0
    expected = prepare(spec).plan().to_dict()["expected_error"]
    planned = {tuple(row["of"]): row["mean_absolute"] for row in expected}
    assert report["topdown"]["margins"]["tract"]["error"] == pytest.approx(planned["tract",], rel=1e-4)
    assert comparison.choice is not None
    assert "in the geometric mean" in comparison.why


def test_a_budget_that_follows_from_accuracy_is_the_target(spec: Spec) -> None:
    accuracy = "[[accuracy]]\ncells = true\nwithin = 20\n[privacy]"
    path = spec(('epsilon = "1"  ', ""), ("[privacy]", accuracy))
    comparison = compared(path, ["lattice-laplace", "naive-laplace"], draws=20)
    assert isinstance(comparison.intensity, Pure)
    assert comparison.intensity.epsilon < 1


# the terms

TARGETS: list[Intensity] = [
    Pure(Fraction(1)),
    Pure(Fraction(1, 7)),
    Approximate(Fraction(1), Fraction(1, 10**6)),
    ZeroConcentrated(Fraction(1, 2)),
    ZeroConcentrated(Fraction(1, 3)),
    GaussianDP(Fraction(1)),
    GaussianDP(Fraction(5)),
]


@pytest.mark.parametrize("target", TARGETS, ids=format_intensity)
def test_terms_imply_the_target_or_say_that_they_are_weaker(target: Intensity) -> None:
    for terms in (pure_terms(target), zcdp_terms(target), gaussian_terms(target)):
        said = terms.converted or ""
        try:
            implied = at_least_as_strong(terms.intensity, target)
        except GuaranteeError:
            implied = False
        assert implied == ("weaker" not in said)
        assert (terms.intensity == target) == (not said)


def test_terms_are_the_largest_that_do() -> None:
    more = Fraction(101, 100)
    for target in TARGETS:
        found = pure_terms(target).intensity
        assert isinstance(found, Pure)
        assert not at_least_as_strong(Pure(more * found.epsilon), target)
    assert pure_terms(ZeroConcentrated(Fraction(1, 2))).intensity == Pure(Fraction(1))


# the errors


def test_sizes_of_known_draws() -> None:
    schema = Schema(Attributes.of({"r": ("a", "b"), "c": ("x", "y")}))
    rows = csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]))
    of = margins(schema, Universe.of(rows, np.array([5, 5])))
    assert {m.attributes: m.determined for m in of} == {(): True, ("r",): True, ("c",): False}
    draws = np.array([[1, -1, 2, -2], [3, -3, 0, 0]])
    found = deviation([draws], of, keeps_invariants=True)
    assert (found.l1.value, found.largest.value, found.cell.value) == (6, 2.5, 1.5)
    assert found.l2.value == pytest.approx(np.sqrt((10 + 18) / 2))
    assert found.l2.standard_error == pytest.approx(4 / (2 * np.sqrt(14)))
    assert found.margins["c"].value == 3
    assert found.margins["r"].exact
    assert not deviation([draws], of, keeps_invariants=False).margins["r"].exact
    assert deviation([draws[:1], draws[1:]], of, keeps_invariants=True) == found


def test_no_noise_has_no_error() -> None:
    noise = LatticeLaplaceLaw(csr_array(two_way(2, 2)), Fraction(50), "l1").sample(SeededEntropy(0), 20)
    found = deviation([noise], (), keeps_invariants=True)
    assert (found.l2.value, found.l2.standard_error) == (0, 0)


def test_sizes_are_told_in_people() -> None:
    sizes = [Size(8.3e-14, 0.0), Size(1259.7, 1.0), Size(0.0, 0.0, exact=True), Size(float("nan"), 0.0)]
    assert [size.words for size in sizes] == ["0", "1,260", "exact", "-"]


def test_a_picture_begins_with_the_margins_that_released_noise_moves(tmp_path: Path) -> None:
    """Those that all that may be released keeps come last, though noise without invariants moves them."""
    names = ["lattice-laplace", "naive-laplace"]
    spec = Case("two states", {"epsilon": "1"}).spec(LatticeLaplace, tmp_path)
    found = compare(spec, names, draws=50)
    assert isinstance(found, Comparison)
    rows = [row for row in found.rows if row.deviation is not None]
    titles = [title for title, _ in pictures._panels(rows)]
    assert titles[1] == "column is off by"
    assert set(titles[2:-1]) == {"total is off by", "row is off by"}
