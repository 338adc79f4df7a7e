from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.example import changed

from holdfast.data.read import read_table
from holdfast.mechanisms.catalogue import answer
from holdfast.public import publish
from holdfast.releases.prepare import prepare
from holdfast.releases.prepared import Prepared
from holdfast.sampling.entropy import SeededEntropy, SystemEntropy
from holdfast.spec.load import read_spec
from holdfast.system.errors import GuaranteeError, HoldfastError, SpecError
from holdfast.verification.verify import verify

ROWS = np.array([20, 55, 25, 35])
COLUMNS = np.array([50, 35, 30, 20])


def per_unit(example: Path) -> Prepared:
    """Prepare the example with the noise of [integer-subspace-dp, section 6], kappa = 1/4."""
    return prepare(changed(example, privacy={"epsilon": None}, mechanism={"epsilon_per_unit": "1/4"}))


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_ten_thousand_releases_keep_every_margin(example: Path, norm: str) -> None:
    spec = changed(example, mechanism={"norm": norm})
    tables = prepare(spec).sample(size=10_000 if norm == "l1" else 1000).reshape(-1, 4, 4)
    assert (tables.sum(axis=2) == ROWS).all()
    assert (tables.sum(axis=1) == COLUMNS).all()
    assert len({table.tobytes() for table in tables}) > 0.99 * len(tables)


def test_the_noise_is_as_large_as_published(example: Path) -> None:
    """The mean l1 norm at kappa = 1/4 is 35.02.

    Of 50,000 draws it has a standard error of 0.054, so that 0.2 is at a level of 0.0002; noise that
    were larger or smaller by a hundredth would be 0.35 away.
    """
    prepared = per_unit(example)
    norms = [
        np.abs(prepared.sample(SeededEntropy(seed), 10_000) - prepared.table.reading.table.counts).sum(axis=1)
        for seed in range(1, 6)
    ]
    assert np.mean(norms) == pytest.approx(35.02, abs=0.2)
    assert all(abs(np.mean(norm) - 35.02) < 0.5 for norm in norms)  # four standard errors each


def test_a_loop_of_releases_draws_anew(example: Path) -> None:
    prepared = per_unit(example)
    releases = [prepared.release() for _ in range(300)]
    assert all(release.certificate.randomness.secure for release in releases)
    assert all((release.table.margin(["county"]) == ROWS).all() for release in releases)
    assert all((release.table.margin(["education"]) == COLUMNS).all() for release in releases)
    assert len({release.table for release in releases}) == 300


def test_a_seed_repeats_a_release_and_marks_it(example: Path) -> None:
    prepared = prepare(example)
    one, two, other = (prepared.release(SeededEntropy(seed)) for seed in (1, 1, 2))
    assert one.table == two.table
    assert one.table != other.table
    assert not one.certificate.randomness.secure
    assert prepared.release(SystemEntropy()).certificate.randomness.secure


def test_the_mean_of_releases_is_the_table(example: Path) -> None:
    """Each mean of 20,000 has a standard error below 0.04: 0.2 is out of reach for right noise."""
    prepared = prepare(example)
    means = prepared.sample(SeededEntropy(5), 20_000).mean(axis=0)
    np.testing.assert_allclose(means, prepared.table.reading.table.counts, atol=0.2)


@pytest.mark.parametrize(
    ("privacy", "mechanism", "epsilon", "kappa"),
    [
        ({}, {}, Fraction(1), Fraction(1, 6)),
        ({"epsilon": "3/2"}, {}, Fraction(3, 2), Fraction(1, 4)),
        ({"epsilon": None}, {"epsilon_per_unit": "1/4"}, Fraction(3, 2), Fraction(1, 4)),
        ({"epsilon": "2"}, {"epsilon_per_unit": "1/4"}, Fraction(3, 2), Fraction(1, 4)),
        ({"adjacency": "unit"}, {}, Fraction(1), Fraction(1, 2)),
    ],
)
def test_the_guarantee_follows_from_the_noise(
    example: Path, privacy: dict[str, Any], mechanism: dict[str, Any], epsilon: Fraction, kappa: Fraction
) -> None:
    chosen = prepare(changed(example, privacy=privacy, mechanism=mechanism)).mechanism
    assert chosen.parameters["kappa"] == kappa
    assert chosen.guarantee.intensity.standard == "pure"
    assert getattr(chosen.guarantee.intensity, "epsilon", None) == epsilon


def test_irrational_norms_round_to_the_safe_side(example: Path) -> None:
    """The l2 stretch is the root of 6."""
    chosen = prepare(changed(example, mechanism={"norm": "l2"})).mechanism
    assert chosen.parameters["kappa"] ** 2 * 6 <= 1
    assert chosen.parameters["kappa"] ** 2 * 6 > 1 - Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("sections", "error", "words"),
    [
        ({"mechanism": {"name": "swap"}}, SpecError, r"\[mechanism\] name"),
        ({"privacy": {"epsilon": None, "standard": "zcdp", "rho": "1"}}, SpecError, r"privacy\.standard"),
        ({"constraints": {"nonnegative": True}}, SpecError, "nonnegative = true"),
        (
            {"mechanism": {"epsilon_per_unit": "1/5"}},
            GuaranteeError,
            "gives epsilon 6/5 here, above the target epsilon 1",
        ),
    ],
)
def test_what_cannot_be_promised_is_refused(
    example: Path, sections: dict[str, Any], error: type[HoldfastError], words: str
) -> None:
    with pytest.raises(error, match=words):
        prepare(changed(example, **sections))


def test_what_is_unknown_is_refused_before_the_table_is_read(example: Path) -> None:
    (example.parent / "children.csv").unlink()
    with pytest.raises(SpecError, match=r"\[mechanism\] name"):
        prepare(changed(example, mechanism={"name": "swap"}))


@pytest.mark.parametrize("adjacency", ["semi", "unit"])
def test_a_vacuous_guarantee_is_refused(example: Path, adjacency: str) -> None:
    spec = changed(example, privacy={"adjacency": adjacency})
    kept = spec.invariants[0].model_copy(update={"margin": ("county", "education")})
    with pytest.raises(GuaranteeError, match="one possible table"):
        prepare(spec.model_copy(update={"invariants": (kept,)}))


def test_the_mechanism_sees_public_values_only(example: Path) -> None:
    """Another table with the same margins has the same mechanism."""
    spec = read_spec(example)
    reading = read_table(spec)
    swapped = reading.table.counts.copy()
    swapped[[0, 5]] -= 1
    swapped[[1, 4]] += 1
    other = type(reading.table)(reading.table.schema, swapped)
    one, two = (answer(spec, publish(spec, table, ())) for table in (reading.table, other))
    assert (one.parameters, one.guarantee) == (two.parameters, two.guarantee)


def test_structural_zeros_stay_zero(example: Path) -> None:
    table = example.parent / "children.csv"
    table.write_text(table.read_text().replace("Alpha,Low,15", "Alpha,Low,0"))
    zeros = [{"county": "Alpha", "education": "Low"}]
    prepared = prepare(changed(example, constraints={"structural_zeros": zeros}))
    tables = prepared.sample(size=500)
    assert not tables[:, 0].any()
    assert (tables.reshape(-1, 4, 4).sum(axis=2) == [5, 55, 25, 35]).all()


def test_a_release_is_written_and_verified(example: Path, tmp_path: Path) -> None:
    folder = prepare(str(example)).release().write(str(tmp_path / "out"))
    assert folder == tmp_path / "out"
    assert verify(folder).kept
