"""Swapping by risk: the enumerated example, by hand where it is small, and what a public proxy loses."""

from fractions import Fraction
from itertools import permutations
from math import inf

import pytest

from holdfast import audit
from holdfast.audit import targeting
from holdfast.audit.targeting import at_risk
from holdfast.mechanisms.swapping.bounds import epsilon
from holdfast.system.errors import GuaranteeError

TWENTIETH, HALF = Fraction(1, 20), Fraction(1, 2)


def test_those_at_risk_alone_leave_every_file_as_it_is() -> None:
    report = audit.targeted_swapping()
    assert report.files == 3
    assert (report.rules[0].epsilon, report.rules[0].delta) == (inf, 1.0)
    for held in permutations(targeting.TENURES):
        assert targeting._targeted(held) == {targeting._file(held): 1}


def test_a_rule_that_moves_somebody_for_sure_has_delta_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targeting, "TENURES", ("own", "own", "own", "rent"))
    report = audit.targeted_swapping()
    assert report.files == 2
    assert report.rules[0].delta == 1.0


def slow(rates: dict[str, Fraction]) -> float:
    """Return the largest loss between the three files of a rule with two rates, by hand.

    Of the files one, two and three, with 2, 1 and 0 owners in North, only in the second is anybody at risk.
    With odds o a permutation that moves k of four records has the chance o^k / d_k / C.
    """
    from math import log

    def law(file: int) -> list[Fraction]:
        rate = rates["risk"] if file == 1 else rates["other"]
        o = rate / (1 - rate)
        if file == 1:  # two of six pairs to exchange stay in the file, and so on: counted below
            return _counted(("own", "rent", "own", "rent"), o)
        return _counted(("own", "own", "rent", "rent") if file == 0 else ("rent", "rent", "own", "own"), o)

    laws = [law(file) for file in range(3)]
    apart = {(0, 1): 2, (1, 2): 2, (0, 2): 4}
    return max(
        log(laws[a][y] / laws[b][y]) / apart[min(a, b), max(a, b)]
        for a, b in permutations(range(3), 2)
        for y in range(3)
    )


def _counted(held: tuple[str, ...], o: Fraction) -> list[Fraction]:
    weights = {0: Fraction(1), 2: o**2, 3: o**3 / 2, 4: o**4 / 9}
    found = [Fraction(0)] * 3
    for order in permutations(range(4)):
        moved = sum(a != b for a, b in enumerate(order))
        found[2 - [held[order[0]], held[order[1]]].count("own")] += weights[moved]
    return [one / sum(found) for one in found]


@pytest.mark.parametrize("rates", [(TWENTIETH, HALF), (Fraction(1, 3), Fraction(9, 10)), (HALF, HALF)])
def test_the_second_rule_is_enumerated_and_finite(rates: tuple[Fraction, Fraction]) -> None:
    rate, risk_rate = rates
    report = audit.targeted_swapping(100, rate, risk_rate)
    assert report.rules[1].epsilon == pytest.approx(slow({"risk": risk_rate, "other": rate}))
    assert report.rules[1].delta == 0
    for rule in report.rules[2:]:
        assert rule.bound is not None
        assert rule.epsilon <= rule.bound


def test_targeting_may_lose_more_than_a_swap_of_all_at_either_rate() -> None:
    report = audit.targeted_swapping(100, TWENTIETH, HALF)
    assert report.rules[1].epsilon > max(rule.bound or 0 for rule in report.rules)
    assert report.rules[1].epsilon > float(epsilon(4, TWENTIETH, "slides"))


def test_a_proxy_loses_what_the_stratum_of_the_largest_loss_does() -> None:
    report = audit.targeted_swapping(500, TWENTIETH, HALF)
    marked, others = report.proxy
    assert (marked.epsilon, others.epsilon) == (epsilon(500, HALF), epsilon(500, TWENTIETH))
    assert report.proxy_epsilon == (others.epsilon, others.epsilon_tight)
    assert marked.selected == 250
    assert others.selected == 25
    assert report.to_dict()["public_proxy"]["epsilon"] == float(others.epsilon)


def test_risk_is_alone_in_a_place() -> None:
    assert at_risk(("own", "own", "rent", "rent")) == [False] * 4
    assert at_risk(("own", "rent", "own", "rent")) == [True] * 4
    assert at_risk(("own", "own", "own", "rent")) == [False, False, True, True]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"stratum_size": 1}, "published as it is"),
        ({"rate": Fraction(0)}, "a swap rate is 0: give a rate above 0"),
        ({"risk_rate": Fraction(1)}, "a swap rate is 1: give a rate above 0"),
        ({"rate": Fraction(1, 10**12)}, "a swap rate is out of reach"),
    ],
)
def test_bad_questions_are_refused(given: dict[str, Fraction], said: str) -> None:
    with pytest.raises(GuaranteeError, match=said):
        audit.targeted_swapping(**given)  # type: ignore[arg-type]
