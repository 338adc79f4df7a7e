"""How far losses move between tables, against all pairs and all releases of small universes."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest
from tests.contract.cases import NOT_NEGATIVE
from tests.mechanisms.wasserstein.worlds import exponential

from holdfast.lattice.points import lattice_points
from holdfast.mechanisms.wasserstein import loss as module
from holdfast.mechanisms.wasserstein.loss import LossKind, TableLoss
from holdfast.system.errors import SpecError
from holdfast.testing.losses import record_distances

QUERIES = ((1, 2, 0), (0, 1, -3))
SEMI, EACH = {"epsilon": "1"}, {"epsilon": "1", "adjacency": "unit"}
FAR = {"epsilon": "1", "distance": 3}
POINTS = np.array([[0, 0, 0], [1, -1, 0], [2, 3, -5], [-4, 0, 4]])


@pytest.mark.parametrize("queries", [None, QUERIES])
@pytest.mark.parametrize("kind", ["l1", "l2", "linf", "squared"])
def test_losses_are_norms(kind: LossKind, queries: tuple[tuple[int, ...], ...] | None) -> None:
    if kind == "squared" and queries is not None:
        return
    loss = TableLoss(kind, queries, 9)
    seen = POINTS if queries is None else POINTS @ np.array(queries).T
    order = {"l1": 1, "l2": 2, "linf": np.inf, "squared": 2}[kind]
    truth = np.linalg.norm(seen.astype(np.float64), ord=order, axis=1)
    truth = truth**2 if kind == "squared" else truth
    assert np.allclose(loss.values(POINTS), truth)
    with flint.ctx.workprec(100):
        assert np.allclose([float(loss.ball(point).mid()) for point in POINTS], truth)
    per = float(loss.per_l1(3))
    assert (truth >= per * np.abs(POINTS).sum(axis=1) - 1e-12).all()


@pytest.mark.parametrize("privacy", [SEMI, EACH, FAR], ids=["semi", "unit", "farther"])
@pytest.mark.parametrize("world", ["one total", "2 x 3"])
@pytest.mark.parametrize("options", [{"loss": "l1"}, {"loss": "l2"}, {"loss": "linf"}, {"loss": "squared"}])
def test_no_loss_moves_farther_than_its_stretch(
    options: Mapping[str, Any], world: str, privacy: Mapping[str, Any], tmp_path: Path
) -> None:
    """All pairs of tables that are told apart, and all releases; norms attain it."""
    mechanism, subject = exponential(tmp_path, world, privacy, options, NOT_NEGATIVE)
    loss, tables = mechanism.loss_, subject.tables
    losses = np.stack([loss.values(tables - table) for table in tables])
    moved = np.stack([np.abs(losses - row).max(axis=1) for row in losses])
    apart, premises = record_distances(tables), mechanism.premises
    stretch = float(loss.squared_stretch(premises)) ** 0.5
    if premises.adjacency == "unit":
        some = apart > 0
        assert (moved[some] <= stretch * apart[some] + 1e-9).all()
        return
    near = (apart > 0) & (apart <= premises.unit.distance)
    assert moved[near].max() <= stretch + 1e-9
    if options["loss"] != "squared" and "distance" not in privacy:
        assert moved[near].max() == pytest.approx(stretch)


@pytest.mark.parametrize("privacy", [SEMI, EACH])
@pytest.mark.parametrize("kind", ["l1", "l2", "linf"])
def test_queries_move_with_their_columns(kind: str, privacy: Mapping[str, Any], tmp_path: Path) -> None:
    options = {"loss": kind, "queries": "weights.csv"}
    mechanism, subject = exponential(tmp_path, "one total", privacy, options, NOT_NEGATIVE)
    loss, apart = mechanism.loss_, lattice_points(np.ones((1, 3), dtype=np.int64), 4)
    records = np.abs(apart).sum(axis=1) / 2
    stretch = float(loss.squared_stretch(mechanism.premises)) ** 0.5
    steps = mechanism.premises.unit.distance
    moved = loss.values(apart)
    assert (moved <= stretch / steps * records + 1e-9).all()
    assert moved[records == 1].max() == pytest.approx(stretch / steps)
    assert loss.per_record(mechanism.premises) >= Fraction(stretch / steps) - Fraction(1, 10**6)
    assert subject.tables.size


def test_many_queries_are_bounded_by_twice_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.array(QUERIES)
    for kind in ("l1", "l2", "linf"):
        close = module._widest(matrix, kind, None)
        pairs = [
            np.linalg.norm(matrix[:, i] - matrix[:, j], {"l1": 1, "l2": 2, "linf": np.inf}[kind]) ** 2
            for i in range(3)
            for j in range(3)
        ]
        assert close == pytest.approx(max(pairs))
        assert module._widest(matrix, kind, np.array([0, 1, 0])) <= close
        monkeypatch.setattr(module, "MOST_PAIRS", 2)
        assert module._widest(matrix, kind, None) >= close
        monkeypatch.undo()


def test_separate_queries_are_weights_of_cells() -> None:
    loss = TableLoss("l1", ((2, 0, 0), (0, 0, 3), (0, -1, 0), (0, 4, 0)))
    mixed = loss.mixed(Fraction(1, 2))
    assert mixed is not None
    assert np.allclose(mixed.values(POINTS), loss.values(POINTS) / 2)
    assert loss.per_l1(3) == 2
    assert TableLoss("l1", QUERIES).mixed(Fraction(1)) is None
    assert TableLoss("l1", ((1, 0, 0),)).mixed(Fraction(1)) is None
    assert TableLoss("linf", ((2, 0, 0), (0, 1, 0), (0, 0, 1))).mixed(Fraction(1)) is None


def test_squares_need_bounds() -> None:
    with pytest.raises(SpecError, match="has no bound where counts have none"):
        TableLoss("squared")
