"""Composition of epsilon-TP by listing joint releases: what holds, and what the printed lemmas miss."""

from fractions import Fraction
from itertools import product
from math import inf, log

import numpy as np
import pytest
from tests.privacy.pufferfish.enumerated import distance, loss, randomised, release, secrets, tp_loss

from holdfast.privacy.evidence import Assumed, stated
from holdfast.privacy.intensity import Pure
from holdfast.privacy.law_distance import bottleneck
from holdfast.privacy.pufferfish import (
    COUNT,
    DeltaZ,
    Framework,
    LawClass,
    Stated,
    TPGuarantee,
    conditioned_intensity,
    in_parallel,
    in_sequence,
    post_processed,
)
from holdfast.system.errors import GuaranteeError

BITS: list[tuple[int, ...]] = list(product((0, 1), repeat=2))
FAIR = dict.fromkeys(BITS, 1 / 4)
THREE: list[tuple[int, ...]] = list(product((0, 1), repeat=3))
FRAMEWORK = Framework(Stated("z", {"z": 1}), Stated("s"), Stated("p"), LawClass("l"), COUNT)
ONE = DeltaZ(Fraction(1), exact=True, evidence=())
WHY = Assumed(stated("the parts are independent given what is public", "they are of different places"))


def promised(epsilon: str, *, pointwise: bool = True, framework: Framework = FRAMEWORK) -> TPGuarantee:
    delta = ONE if pointwise else None
    return TPGuarantee(framework, Pure(Fraction(epsilon)), (), delta, pointwise=pointwise)


def test_two_releases_that_tell_nothing_tell_everything_together() -> None:
    """Lemma 6 as printed is false: both are functions of the data, so independent given them."""
    first = [pair for pair in secrets(BITS) if pair[0] == {(0, 0), (0, 1)}]  # the secret is X_1
    xor = {x: np.eye(2)[x[0] ^ x[1]] for x in BITS}
    second = {x: np.eye(2)[x[1]] for x in BITS}
    both = {x: np.kron(xor[x], second[x]) for x in BITS}
    assert tp_loss([FAIR], first, xor) == tp_loss([FAIR], first, second) == 0
    assert tp_loss([FAIR], first, both) == inf


def test_disjoint_parts_that_depend_on_each_other_tell_everything_together() -> None:
    """Lemma 7 as printed is false: the parts are X_1, X_2 and X_3 = X_1 xor X_2."""
    data: list[tuple[int, ...]] = [(a, b, a ^ b) for a, b in BITS]
    prior = dict.fromkeys(data, 1 / 4)
    pairs = secrets(data)
    parts = [{x: np.eye(2)[x[part]] for x in data} for part in (1, 2)]
    about_1 = pairs[:1]
    assert all(tp_loss([prior], about_1, part) == 0 for part in parts)
    assert tp_loss([prior], about_1, {x: np.kron(parts[0][x], parts[1][x]) for x in data}) == inf


@pytest.mark.parametrize("seed", range(20))
def test_pointwise_losses_add_up_under_every_law(seed: int) -> None:
    """Random laws of three bits: Delta_z by transport, two mechanisms within it, and their joint release."""
    rng = np.random.default_rng(seed)
    mass = rng.integers(0, 5, len(THREE)) * (rng.random(len(THREE)) < 0.7)
    if not mass.any():
        mass[0] = mass[-1] = 1
    prior = {x: m / mass.sum() for x, m in zip(THREE, mass, strict=True)}
    exact = {x: Fraction(int(m), int(mass.sum())) for x, m in zip(THREE, mass, strict=True)}
    pairs, radius = secrets(THREE), Fraction(0)
    for one, other in pairs:
        laws = [{x: exact[x] for x in secret if exact[x]} for secret in (one, other)]
        if all(laws):
            distances = [[Fraction(distance(x, y)) for y in laws[1]] for x in laws[0]]
            masses = [[m / sum(law.values()) for m in law.values()] for law in laws]
            radius = max(radius, bottleneck(distances, *masses).radius)
    mechanisms = [randomised(THREE, THREE, epsilon) for epsilon in (0.3, 0.5)]
    losses = [
        max(loss(mechanism[x], mechanism[y]) for x in THREE for y in THREE if distance(x, y) <= radius)
        for mechanism in mechanisms
    ]
    assert losses == pytest.approx([0.3 * float(radius), 0.5 * float(radius)])
    both = {x: np.kron(mechanisms[0][x], mechanisms[1][x]) for x in THREE}
    assert tp_loss([prior], pairs, mechanisms[0]) <= losses[0] + 1e-12
    assert tp_loss([prior], pairs, both) <= sum(losses) + 1e-12


@pytest.mark.parametrize("seed", range(10))
def test_independent_parts_cost_the_largest_epsilon(seed: int) -> None:
    """Two bits in each of two parts, any law in a part, none between them."""
    rng = np.random.default_rng(seed)
    left, right = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
    data = [(*a, *b) for a in BITS for b in BITS]
    prior = {x: float(left[2 * x[0] + x[1]] * right[2 * x[2] + x[3]]) for x in data}
    mechanisms = [randomised(BITS, BITS, epsilon) for epsilon in (0.4, 0.9)]
    one = {x: mechanisms[0][x[:2]] for x in data}
    two = {x: mechanisms[1][x[2:]] for x in data}
    both = {x: np.kron(one[x], two[x]) for x in data}
    pairs = secrets(data)
    alone = max(tp_loss([prior], pairs, one), tp_loss([prior], pairs, two))
    assert tp_loss([prior], pairs, both) == pytest.approx(alone)


def test_a_public_total_makes_parts_dependent() -> None:
    """Given the total of two parts, the release of the one tells of the other: more than the largest."""
    data: list[tuple[int, ...]] = [(a, b) for a, b in BITS if a + b == 1]
    prior = dict.fromkeys(data, 1 / 2)
    parts = [{x: np.array([0.25, 0.75])[[x[part], 1 - x[part]]] for x in data} for part in (0, 1)]
    pairs = secrets(data)
    each = [tp_loss([prior], pairs, part) for part in parts]
    assert each == pytest.approx([log(3), log(3)])
    both = {x: np.kron(parts[0][x], parts[1][x]) for x in data}
    assert tp_loss([prior], pairs, both) == pytest.approx(2 * log(3))


def test_post_processing_with_what_is_public_costs_nothing() -> None:
    """Every function of the release and of the sum, on three bits given their sum."""
    data = [x for x in THREE if sum(x) == 2]
    prior: dict[tuple[int, ...], float] = dict.fromkeys(data, 1 / 3)
    mechanism = randomised(data, THREE, 0.7)
    before = tp_loss([prior], secrets(data), mechanism)
    rng = np.random.default_rng(1)
    for _ in range(20):
        kernel = rng.dirichlet(np.ones(3) / 3, size=len(THREE))  # a release given the first one, and z
        after = {x: release(dict(enumerate(mass)), dict(enumerate(kernel))) for x, mass in mechanism.items()}
        assert tp_loss([prior], secrets(data), after) <= before + 1e-9
    guarantee = post_processed(promised("1"))
    assert guarantee.intensity == Pure(Fraction(1))
    assert post_processed(guarantee) == guarantee
    assert guarantee.evidence[-1].claim.words.startswith("what is computed from a release")


def test_conditioning_costs_more_than_twice_where_records_are_tied() -> None:
    """Lemma 8 as printed is false: 000 or 111, an epsilon-DP release of the bits, and 3 epsilon."""
    epsilon, tied = 0.4, THREE[:: len(THREE) - 1]  # 000 and 111
    base = randomised(THREE, THREE, epsilon)
    assert loss(base[0, 0, 0], base[0, 0, 1]) == pytest.approx(epsilon)
    conditioned = randomised(tied, tied, epsilon)
    lost = tp_loss([dict.fromkeys(tied, 1 / 2)], secrets(tied), conditioned)
    assert lost == pytest.approx(3 * epsilon)
    three = DeltaZ(Fraction(3), exact=True, evidence=())
    assert conditioned_intensity(Pure(Fraction(2, 5)), three, Fraction(0)).epsilon == Fraction(6, 5)


def test_conditioning_costs_twice_delta_z_at_most() -> None:
    """All 255 sets of three bits, product laws given each, and the base conditioned on it."""
    rng, epsilon = np.random.default_rng(5), 0.6
    for code in range(1, 256):
        allowed = [x for place, x in enumerate(THREE) if code >> place & 1]
        chances = rng.integers(1, 4, 3)
        weight = {
            x: int(np.prod([c if bit else 4 - c for c, bit in zip(chances, x, strict=True)])) for x in allowed
        }
        pairs, radius = secrets(allowed), Fraction(0)
        for one, other in pairs:
            laws = [{x: Fraction(weight[x]) for x in secret} for secret in (one, other)]
            distances = [[Fraction(distance(x, y)) for y in laws[1]] for x in laws[0]]
            masses = [[m / sum(law.values()) for m in law.values()] for law in laws]
            radius = max(radius, bottleneck(distances, *masses).radius)
        total = sum(weight.values())
        lost = tp_loss(
            [{x: w / total for x, w in weight.items()}], pairs, randomised(allowed, allowed, epsilon)
        )
        bound = conditioned_intensity(Pure(Fraction(3, 5)), DeltaZ(radius, exact=True, evidence=())).epsilon
        assert lost <= float(bound) + 1e-9


def test_values_add_up_or_say_why_not() -> None:
    both = in_sequence([promised("1/3"), promised("1/2")])
    assert both.amount == Fraction(5, 6)
    assert both.pointwise
    weak = promised("1/3", pointwise=False)
    with pytest.raises(GuaranteeError, match="may tell it together"):
        in_sequence([weak, promised("1/2")])
    argued = in_sequence([weak, promised("1/2")], independent=WHY)
    assert argued.amount == Fraction(5, 6)
    assert not argued.pointwise
    assert WHY in argued.evidence
    other = Framework(Stated("z", {"z": 2}), Stated("s"), Stated("p"), LawClass("l"), COUNT)
    with pytest.raises(GuaranteeError, match="different frameworks"):
        in_sequence([promised("1"), promised("1", framework=other)])
    with pytest.raises(GuaranteeError, match="no release"):
        in_sequence([])


def test_parts_take_the_largest_and_share_what_is_public() -> None:
    north = Framework(Stated("z", {"z": 1}), Stated("s", {"of": "north"}), Stated("p"), LawClass("l"), COUNT)
    found = in_parallel(
        {"south": promised("1/3"), "north": promised("1/2", framework=north)}, independent=WHY
    )
    assert found.amount == Fraction(1, 2)
    assert found.framework.secrets.data == {"south": {}, "north": {"of": "north"}}
    assert not found.pointwise
    assert WHY in found.evidence
    other = Framework(Stated("z", {"z": 2}), Stated("s"), Stated("p"), LawClass("l"), COUNT)
    with pytest.raises(GuaranteeError, match="different facts to be public"):
        in_parallel({"a": promised("1"), "b": promised("1", framework=other)}, independent=WHY)
    with pytest.raises(GuaranteeError, match="no release"):
        in_parallel({}, independent=WHY)


def test_gamma_lies_between_nothing_and_one() -> None:
    with pytest.raises(GuaranteeError, match="from 0 to 1"):
        conditioned_intensity(Pure(Fraction(1)), ONE, Fraction(2))
