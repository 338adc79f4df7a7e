"""The contract can be failed: each check finds a mechanism that breaks what it says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.contract.cases import uncovered
from tests.contract.neighbours import Neighbours

from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.catalogue import mechanisms
from holdfast.mechanisms.lattice_laplace import LatticeLaplace, LatticeLaplaceRecord
from holdfast.mechanisms.mechanism import Law, Shifted, premises_at
from holdfast.privacy.guarantee import Guarantee, Unit
from holdfast.privacy.intensity import Pure
from holdfast.public import Public
from holdfast.sampling.entropy import Entropy
from holdfast.testing import contract
from holdfast.testing.contract import Subject
from holdfast.testing.worlds import Case

CASE = Case("one total", {"epsilon": "4"}, {"norm": "l2"}, reach=9)


class Bold(LatticeLaplace):
    """States ten percent less than it loses."""

    @property
    def guarantee(self) -> Guarantee:
        return replace(super().guarantee, intensity=Pure(self.epsilon * Fraction(9, 10)))


class Timid(LatticeLaplace):
    """States ten percent more than it loses."""

    @property
    def guarantee(self) -> Guarantee:
        return replace(super().guarantee, intensity=Pure(self.epsilon * Fraction(11, 10)))


@dataclass(frozen=True)
class Other:
    """The one law to draw from, the other to evaluate."""

    drawn: Law
    told: Law

    def sample(self, entropy: Entropy, size: int) -> NDArray[Any]:
        return self.drawn.sample(entropy, size)

    def log_prob(self, points: Any) -> NDArray[np.float64]:
        return self.told.log_prob(points)


def drawn_at(factor: Fraction) -> type[LatticeLaplace]:
    class Drawn(LatticeLaplace):
        """Draws noise of another width than its law has."""

        def law(self, counts: IntArray) -> Any:
            told = super().law(counts)
            return Other(LatticeLaplace(self.premises, self.norm, self.kappa * factor).law(counts), told)

    return Drawn


class Forgetful(LatticeLaplace):
    """Forgets its norm on the way back."""

    @classmethod
    def of(cls, record: LatticeLaplaceRecord, public: Public, unit: Unit) -> "Forgetful":
        return cls(premises_at(public, unit), "l1", record.kappa)


class Leaky(LatticeLaplace):
    """Adds a record to the first cell."""

    def law(self, counts: IntArray) -> Shifted:
        return Shifted(counts + np.eye(counts.size, dtype=np.int64)[0], self.noise)


class Misread(LatticeLaplace):
    """Records another parameter than it has."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {**super().parameters, "kappa": self.kappa / 2}


def failing(kind: type[LatticeLaplace], folder: Path) -> Subject:
    """Return a subject whose mechanism is of a class that breaks something."""
    made = Subject.of(CASE, LatticeLaplace, folder)
    assert isinstance(made.mechanism, LatticeLaplace)
    wrong = kind(made.mechanism.premises, made.mechanism.norm, made.mechanism.kappa)
    return replace(
        made,
        kind=kind,
        ready=replace(made.ready, parts={"table": replace(made.ready.table, mechanism=wrong)}),
    )


@pytest.mark.parametrize(
    ("check", "kind"),
    [
        (contract.the_loss_is_within_the_guarantee, Bold),
        (contract.the_loss_is_within_the_guarantee, Timid),
        (contract.the_draws_follow_the_law, drawn_at(Fraction(9, 10))),
        (contract.the_draws_follow_the_law, drawn_at(Fraction(11, 10))),
        (contract.the_record_leads_back, Forgetful),
        (contract.the_record_leads_back, Misread),
        (contract.the_invariants_are_kept, Leaky),
        (contract.a_release_is_verified_or_refused, Leaky),
        (contract.the_certificate_tells_what_is_public, Misread),
        (contract.the_mechanism_sees_public_values_only, Bold),
    ],
)
def test_what_breaks_the_contract_is_found(
    check: Callable[[Subject], None], kind: type[LatticeLaplace], tmp_path: Path
) -> None:
    check(Subject.of(CASE, LatticeLaplace, tmp_path))
    (tmp_path / "wrong").mkdir()
    with pytest.raises(AssertionError, match=r"^lattice-laplace, one total, epsilon 4, norm l2: .+\.$"):
        check(failing(kind, tmp_path / "wrong"))


def test_a_mechanism_without_a_case_is_found() -> None:
    assert uncovered([*mechanisms(), Neighbours]) == ["neighbours"]
