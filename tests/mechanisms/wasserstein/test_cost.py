"""What is lost with the normaliser, against all pairs of tables of small universes."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.contract.cases import NOT_NEGATIVE
from tests.mechanisms.wasserstein.worlds import exponential, log_weights, spent

from holdfast.mechanisms.wasserstein import cost as module
from holdfast.mechanisms.wasserstein.cost import LISTED, SAME, TWICE, KappaCosts
from holdfast.privacy.profile import NormLoss
from holdfast.testing.losses import record_distances

PRIOR = {"prior": "past.csv"}
SEMI, EACH = {"epsilon": "1"}, {"epsilon": "1", "adjacency": "unit"}


@pytest.mark.parametrize("kappa", ["1/10", "1", "5"])
@pytest.mark.parametrize("privacy", [SEMI, EACH], ids=["semi", "unit"])
@pytest.mark.parametrize("options", [{"loss": "l2"}, {**PRIOR, "loss": "l1"}, {**PRIOR, "loss": "linf"}])
def test_listed_costs_are_what_is_lost(
    options: Mapping[str, Any], privacy: Mapping[str, Any], kappa: str, tmp_path: Path
) -> None:
    """The largest loss of all pairs, to nine digits, and a profile that no pair is above."""
    mechanism, subject = exponential(tmp_path, "one total", privacy, options, NOT_NEGATIVE)
    costs = KappaCosts(mechanism.premises, mechanism.loss_, mechanism.measure)
    found = costs.at(Fraction(kappa))
    assert found.how == LISTED
    by = float(Fraction(kappa) / mechanism.kappa)
    tables = subject.tables
    logs = np.stack([log_weights(mechanism, table, tables, by=by) for table in tables])
    # a guarantee of epsilon 1 spends its loss
    lost = spent(mechanism.guarantee, tables, logs) * float(
        next(iter(mechanism.guarantee.intensity.parameters().values()))
    )
    assert lost <= float(found.epsilon) <= 2 * float(found.base)
    assert float(found.epsilon) == pytest.approx(min(lost, 2 * float(found.base)), rel=1e-6)
    assert -1 <= found.gamma <= 1
    assert isinstance(found.profile, NormLoss)
    shares = logs - np.log(np.exp(logs).sum(axis=1, keepdims=True))
    apart = record_distances(tables)
    for i, j in np.argwhere(apart > 0):
        assert (shares[i] - shares[j]).max() <= 2 * apart[i, j] * float(found.profile.kappa) * (1 + 1e-9)


def test_the_factor_is_dropped_summed_or_paid(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for options, constraints, how, gamma in (
        ({"loss": "l2"}, {}, SAME, 0),
        ({"base": "counting"}, {}, SAME, 0),
        ({"loss": "l2"}, NOT_NEGATIVE, LISTED, None),
    ):
        mechanism, _ = exponential(tmp_path, "one total", SEMI, options, constraints)
        assert mechanism.cost.how == how
        assert gamma is None or mechanism.cost.gamma == gamma
    monkeypatch.setattr(module, "TABLES", 3)  # too few to list this universe
    mechanism, _ = exponential(tmp_path, "one total", SEMI, {"loss": "l2"}, NOT_NEGATIVE)
    assert mechanism.cost.how == TWICE
    assert mechanism.cost.gamma == 1
    mechanism, _ = exponential(tmp_path, "one total", SEMI, {"loss": "l1"}, NOT_NEGATIVE)
    assert mechanism.cost.how != TWICE  # as for `conditioned`
