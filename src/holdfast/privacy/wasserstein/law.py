"""A law with finitely many values, in exact rationals."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Generic, TypeVar

from holdfast.errors import GuaranteeError
from holdfast.visible import visible

Value = TypeVar("Value")


@dataclass(frozen=True)
class DiscreteLaw(Generic[Value]):
    """Values with their probabilities, which are positive and sum to 1."""

    values: tuple[Value, ...]
    probabilities: tuple[Fraction, ...]

    @classmethod
    def of(
        cls, values: Iterable[Value], probabilities: Iterable[Fraction], name: str = "the law"
    ) -> "DiscreteLaw[Value]":
        """Return a law without the values that it gives no chance; GuaranteeError where it is none."""
        listed, chances = tuple(values), tuple(probabilities)
        if len(listed) != len(chances):
            raise GuaranteeError(
                f"{name} has {len(listed):,} values and {len(chances):,} probabilities: give one for each."
            )
        for value, chance in zip(listed, chances, strict=True):
            if chance < 0:
                raise GuaranteeError(
                    f"{name} gives {visible(str(value))} the negative probability {chance}: correct it."
                )
        (weights,), whole = common_weights(chances)
        if (total := Fraction(sum(weights), whole)) != 1:
            raise GuaranteeError(
                f"the probabilities of {name} sum to {total}, not to 1: correct them, say as fractions."
            )
        if len(set(listed)) < len(listed):
            raise GuaranteeError(f"{name} lists a value twice: give each its probability once.")
        kept = [(value, chance) for value, chance in zip(listed, chances, strict=True) if chance]
        return cls(tuple(value for value, _ in kept), tuple(chance for _, chance in kept))


def common_weights(*laws: Sequence[Fraction]) -> tuple[list[list[int]], int]:
    """Return all numbers as whole ones over one denominator, and that denominator."""
    whole = lcm(*{chance.denominator for law in laws for chance in law})
    return [[chance.numerator * (whole // chance.denominator) for chance in law] for law in laws], whole
