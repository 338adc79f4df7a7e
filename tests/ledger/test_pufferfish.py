"""Accounts of epsilon-TP: what the lemmas compose, what they do not, and old accounts beside them."""

from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest
from tests.small_releases import prepared

from holdfast.ledger import BudgetError, Charge, Ledger, Row
from holdfast.ledger.charged import tp_charge
from holdfast.ledger.checkpoint import Replay
from holdfast.ledger.composition import spend
from holdfast.ledger.verify import verify_ledger
from holdfast.privacy.intensity import Pure
from holdfast.privacy.pufferfish import COUNT, DeltaZ, Framework, LawClass, Stated, TPGuarantee
from holdfast.sampling.entropy import SeededEntropy
from holdfast.system.errors import GuaranteeError

ONE = DeltaZ(Fraction(1), exact=True, evidence=())


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def framework(public: int = 1, laws: str = "l") -> Framework:
    return Framework(
        Stated("z", {"z": public}), Stated("s"), Stated("p"), LawClass("l", {"laws": laws}), COUNT
    )


def made(
    epsilon: str,
    *,
    of: Framework | None = None,
    pointwise: bool = True,
    file: str = "file",
) -> Charge:
    guarantee = TPGuarantee(of or framework(), Pure(Fraction(epsilon)), (), ONE, pointwise=pointwise)
    return tp_charge(dataset=digest(file), guarantee=guarantee, certificate=digest("certificate"))


def totals(*charges: Charge) -> list[Fraction]:
    past, found = Replay("tp"), []
    for index, charge in enumerate(charges, 1):
        spent = spend(past, charge)
        past.add(Row(index, "", charge, spent.total, ""), spent)
        found.append(spent.total)
    return found


def test_pointwise_releases_add_up() -> None:
    assert totals(made("1/3"), made("1/2"), made("1/6")) == [Fraction(1, 3), Fraction(5, 6), 1]


@pytest.mark.parametrize(
    ("second", "complaint"),
    [
        (made("1", pointwise=False), "may tell it together"),
        (made("1", of=framework(public=2)), "other public facts"),
        (made("1", of=framework(laws="other")), "another framework"),
        (made("1", file="other"), "another framework"),
    ],
)
def test_what_no_lemma_composes_is_refused(second: Charge, complaint: str) -> None:
    with pytest.raises(GuaranteeError, match=complaint):
        totals(made("1"), second)


def test_one_release_that_is_not_pointwise_stands_alone() -> None:
    assert totals(made("1", pointwise=False)) == [1]
    with pytest.raises(GuaranteeError, match="may tell it together"):
        totals(made("1", pointwise=False), made("1"))


def test_a_ledger_is_charged_verified_and_never_overdrawn(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "tp.ledger", standard="tp", budget=Fraction(1))
    assert ledger.charge(made("1/3"), spend).total == Fraction(1, 3)
    assert ledger.charge(made("1/3"), spend).total == Fraction(2, 3)
    with pytest.raises(BudgetError, match="not enough"):
        ledger.charge(made("1/2"), spend)
    assert Ledger.open(ledger.path).spent() == Fraction(2, 3)
    assert verify_ledger(ledger.path).kept


def test_other_standards_and_epsilon_tp_do_not_mix(tmp_path: Path) -> None:
    pure = Ledger.create(tmp_path / "pure.ledger", standard="pure", budget=Fraction(9))
    with pytest.raises(GuaranteeError, match="opened for it"):
        pure.charge(made("1"), spend)
    tp = Ledger.create(tmp_path / "tp.ledger", standard="tp", budget=Fraction(9))
    with pytest.raises(GuaranteeError, match="set laws in"):
        prepared("lattice-laplace").release(SeededEntropy(1), ledger=tp)
    assert pure.rows() == tp.rows() == ()


def test_a_release_of_secrets_is_charged_to_either_kind(tmp_path: Path) -> None:
    asked = prepared("lattice-laplace, secrets")
    tp = Ledger.create(tmp_path / "tp.ledger", standard="tp", budget=Fraction(2))
    folder = tmp_path / "release"
    asked.publish(folder, seed=1, ledger=tp)
    assert tp.spent() == 1
    check = verify_ledger(tp.path, releases=[folder])
    assert check.kept, check.problems
    pure = Ledger.create(tmp_path / "pure.ledger", standard="pure", budget=Fraction(2))
    asked.release(SeededEntropy(1), ledger=pure)
    assert [row.charge.standard for row in (*tp.rows(), *pure.rows())] == ["tp", "pure"]
