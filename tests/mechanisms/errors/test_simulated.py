"""What few draws of large tables show of all counts together."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from tests.mechanisms.errors.test_laws import of_sizes

from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.simulated import SimulatedTest, shown_within, simulated_errors
from holdfast.mechanisms.mechanism import DrawArray, NoiseLaw
from holdfast.sampling.entropy import Entropy, SeededEntropy

PUBLIC = of_sizes({"a": 20, "b": 20}, [["a"]], {"name": "lattice-laplace"}, epsilon="1").public
CELLS = Counts(("a", "b"))


@dataclass(frozen=True)
class Ones(NoiseLaw):
    """Noise that is 1 in a share of the cells and 0 in the others, where one draw takes long."""

    share: float
    """How often a cell is 1."""
    work: float = 4e5
    """Ten draws of it may be made [holdfast, mechanisms/errors/accuracy.py]."""
    other: float | None = None
    """How often a cell of the second half is."""

    def sample(self, entropy: Entropy, size: int = 1) -> DrawArray:
        """Draw it with a generator of its own."""
        assert isinstance(entropy, SeededEntropy)
        other = self.share if self.other is None else self.other
        shares = np.where(np.arange(400) < 200, self.share, other)
        return np.random.default_rng(int(entropy.words(1)[0])).random((size, 400)) < shares

    def log_prob(self, noise: DrawArray) -> DrawArray:
        """Nobody asks."""
        raise NotImplementedError


def shown(law: Ones, level: str) -> SimulatedTest:
    found = shown_within(law, PUBLIC, CELLS, Fraction(0), Fraction(level))
    assert found is not None
    return found


def test_few_draws_of_many_counts_show_what_holds_and_not_what_does_not() -> None:
    """4,000 counts: the standard error is 0.0047 at 0.9, and 4.3 of these are asked for."""
    assert shown(Ones(0.05), "0.9") == SimulatedTest(10, holds=True, able=True)
    assert not shown(Ones(0.1), "0.9").holds
    assert not shown(Ones(0.09), "0.9").holds  # which holds, and is not shown
    assert not shown(Ones(0.11), "0.9").holds


def test_what_few_draws_cannot_show_is_told() -> None:
    assert shown(Ones(0.0), "0.995") == SimulatedTest(10, holds=True, able=True)
    assert not shown(Ones(0.0), "0.9999").able  # one count in 10,000, of 4,000
    assert not shown(Ones(0.001, other=0.1), "0.9").able  # counts that differ need draws of their own
    assert shown_within(Ones(0.05, work=4e8), PUBLIC, CELLS, Fraction(0), Fraction(1, 2)) is None


@pytest.mark.parametrize("level", ["0.9", "0.95"])
def test_enough_draws_show_it_of_each_count(level: str) -> None:
    """Of 400 counts with a standard error of 0.0047, none is so far off that another law is taken for it."""
    assert shown(Ones(0.01, work=1000.0), level) == SimulatedTest(4_000, holds=True, able=True)
    assert not shown(Ones(1 - float(level), work=1000.0), level).holds
    assert shown(Ones(0.001, work=1000.0, other=0.02), level).holds
    assert not shown(Ones(0.001, work=1000.0, other=0.11), level).holds


def test_a_hint_takes_no_more_work_than_may_be_spent_in_passing() -> None:
    """A refusal that names other noise with its errors is not kept waiting for them."""
    for work, draws in ((6e6, 1), (2e6, 5), (1.0, 4_000)):
        (found,) = simulated_errors(Ones(0.25, work=work), PUBLIC, [CELLS], hint=True) or ()
        assert found.draws == draws
        assert found.mean_absolute == pytest.approx(0.25, abs=0.1)
    assert simulated_errors(Ones(0.25, work=2e7), PUBLIC, [CELLS], hint=True) is None
