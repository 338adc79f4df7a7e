"""Noise within a bound as a spec asks for it: refusals that say the way out, certificates, and readers."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.mechanisms.lattice_laplace import LatticeLaplace
from holdfast.spec.mechanism import MechanismChoice
from holdfast.system.errors import GuaranteeError, HoldfastError, SamplingError, SpecError
from holdfast.testing.contract import Subject
from holdfast.testing.worlds import Case

TARGET = {"standard": "approximate", "epsilon": "1", "delta": "1e-6"}
ONES = {"queries": [{"marginal": ["row"]}, {"marginal": ["row", "column"], "weight": "1/9"}]}


@pytest.mark.parametrize("kind", [LatticeGaussian, LatticeLaplace])
@pytest.mark.parametrize("world", ["2 x 2", "one total", "two states"])
def test_the_smallest_bound_is_named_and_is_the_smallest(kind: Any, world: str, tmp_path: Path) -> None:
    with pytest.raises(GuaranteeError, match="does not reach epsilon 1 with delta 1e-06") as refused:
        Subject.of(Case(world, TARGET, {"bound": 3}), kind, tmp_path)
    enough = int(str(refused.value).split("bound=")[1].split(" ")[0])
    made = Subject.of(Case(world, TARGET, {"bound": enough}), kind, tmp_path).mechanism
    assert made.guarantee.intensity.parameters()["delta"] <= Fraction(1, 10**6)
    with pytest.raises(GuaranteeError):
        Subject.of(Case(world, TARGET, {"bound": enough - 1}), kind, tmp_path)


def test_a_draw_that_would_not_end_is_refused_with_a_bound_that_does(tmp_path: Path) -> None:
    """Noise of width 30 is hardly ever within 1 in each of eight cells."""
    counts = {"standard": "approximate", "epsilon": "50", "delta": "999/1000"}
    wide = {"epsilon_per_unit": "1/1000", "bound": 1}
    with pytest.raises(SamplingError, match="would not end: set bound=") as refused:
        Subject.of(Case("two strata", counts, wide), LatticeLaplace, tmp_path).mechanism.noise  # noqa: B018
    enough = int(str(refused.value).split("bound=")[1].split(" ")[0])
    made = Subject.of(Case("two strata", counts, {**wide, "bound": enough}), LatticeLaplace, tmp_path)
    noise = made.mechanism.noise
    assert noise is not None
    assert noise.work < 1e7


@pytest.mark.parametrize("bound", [0, -3, 10**10, "x", 1.5, True])
def test_what_is_no_bound_is_refused(bound: Any) -> None:
    with pytest.raises(HoldfastError, match="bound"):
        MechanismChoice("lattice-laplace", bound=bound)


def test_a_bound_is_approximate_and_not_per_record_of_crossing_margins(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r'standard="approximate" with epsilon and delta.*or leave out'):
        Subject.of(Case("2 x 2", {"epsilon": "1"}, {"bound": 9}), LatticeLaplace, tmp_path)
    with pytest.raises(SpecError, match='adjacency="semi"'):
        Subject.of(Case("2 x 2", {**TARGET, "adjacency": "unit"}, {"bound": 9}), LatticeGaussian, tmp_path)


def test_readers_of_a_release_know_its_bound(tmp_path: Path) -> None:
    """Intervals of cells are no wider than the bound, a posterior stays within it, a certificate says so."""
    case = Case("two states", {**TARGET, "epsilon": "2", "delta": "1/20"}, {"bound": 4})
    subject = Subject.of(case, LatticeLaplace, tmp_path)
    released = subject.ready.release(hf.SeededEntropy(3), accept_no_protection=True)
    folder = released.write(tmp_path / "release")
    assert hf.verify(folder).kept
    assert '"counts-within-bound"' in released.certificate.to_json()
    found: Any = hf.intervals(folder, level=Fraction(9999, 10000))
    assert int(found.found.half_width.max()) == 4
    model = tmp_path / "model.toml"
    model.write_text('[model]\nkind = "proportions"\nareas = ["row"]\n')
    drawn = hf.infer(folder, model, draws=400, seed=1).draws.tables.reshape(400, -1)
    counts = [int(line.split(",")[-1]) for line in (folder / "table.csv").read_text().split()[1:]]
    moved = drawn - np.array(counts)
    assert int(np.abs(moved).max()) <= 4
    assert np.unique(drawn, axis=0).shape[0] > 3


def test_another_bound_in_a_certificate_is_not_kept(tmp_path: Path) -> None:
    case = Case("2 x 2", {**TARGET, "epsilon": "2", "delta": "1/20"}, {"bound": 8})
    subject = Subject.of(case, LatticeGaussian, tmp_path)
    folder = subject.ready.release(hf.SeededEntropy(3), accept_no_protection=True).write(tmp_path / "release")
    path = folder / "certificate.json"
    path.write_text(path.read_text().replace('"bound": 8', '"bound": 9'))
    failed = {check.name for check in hf.verify(folder).checks if not check.holds}
    assert failed
