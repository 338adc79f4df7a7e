"""The mean of n normal values, given a public normal value [partially-private-data, Example 1].

X_1, ..., X_n are independent normal values of one variance, and the secrets are values of one of them that
are at most ``width`` apart. Jointly with a public Z, the mean given X_1 = v and Z = z is normal, with a
variance that depends on neither v nor z, and

    E(mean | v, z) = mu + b (v - mu) + c (z - mu_Z),     (b, c) = Cov(mean, (X_1, Z)) Cov(X_1, Z)^-1.

So the laws given two values of X_1 are translates of each other, and W_infinity = |b| |v - v'|. The part of z
is the same in both: it cancels, where [partially-private-data, Equation 16] keeps it [theory, 7]. With
c_i = Corr(X_i, Z),

    b = (1 / n) ( 1 - c_1 (c_2 + ... + c_n) / (1 - c_1^2) ),      c_1^2 + ... + c_n^2 <= 1.

* `CorrelatedMean`: all Z with |c_i| <= r for every i. The supremum of |b| is

      (1 / n) ( 1 + r min( (n - 1) r, sqrt((n - 1) (1 - r^2)) ) / (1 - r^2) ),

  which has no bound as r goes to 1: no free lunch [kifer2011].
* `ListedMean`: one covariance matrix, in exact rationals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from holdfast.privacy.claims import claim
from holdfast.privacy.evidence import Proved
from holdfast.privacy.guarantee import format_parameter
from holdfast.privacy.pufferfish.framework import (
    MODELLED,
    DeltaZ,
    Framework,
    LawClass,
    Stated,
    Statistic,
    stated_in_words,
)
from holdfast.privacy.roots import ceil_root
from holdfast.system.errors import GuaranteeError

MEAN = Statistic("mean", "absolute difference")
CoefficientRow = Sequence[Fraction]


def _secrets(n: int, width: Fraction) -> tuple[Stated, Stated]:
    data = {"people": n, "width": str(width)}
    return (
        Stated(_values(n, width), data),
        Stated(_two_values(width), {"by": "person", **data}),
    )


@claim("values-of-people")
def _values(people: int, width: Fraction) -> str:
    return f"the value of each of {people:,} people, within an interval of width {width}"


@claim("any-two-values")
def _two_values(width: Fraction) -> str:
    return f"each person, any two values at most {width} apart"


def _check(n: int, width: Fraction) -> None:
    if n < 1 or width <= 0:
        raise GuaranteeError(f"n = {n} people with values {width} apart: give positive numbers.")


@dataclass(frozen=True)
class CorrelatedMean:
    """The mean of n values, each correlated with what is public by at most ``correlation``."""

    n: int
    width: Fraction
    correlation: Fraction
    public: str | None = None

    def __post_init__(self) -> None:
        _check(self.n, self.width)
        if not 0 <= self.correlation <= 1:
            raise GuaranteeError(f"the correlation {self.correlation} is no bound: give one from 0 to 1.")

    @property
    def framework(self) -> Framework:
        """All public values that are correlated so much with no person's."""
        secrets, pairs = _secrets(self.n, self.width)
        laws = _correlated(self.n, self.correlation)
        data = {"family": "normal", "n": self.n, "correlation": str(self.correlation)}
        public = stated_in_words(self.public, _jointly_normal())
        return Framework(public, secrets, pairs, LawClass(laws, data, "family"), MEAN)

    @property
    def delta(self) -> DeltaZ:
        """The largest translation, infinite where the correlation has no bound below 1."""
        n, r = self.n, self.correlation
        if r == 1 and n > 1:
            return DeltaZ(None, exact=True, evidence=(Proved(_unbounded(), "kifer2011; theory, 7"), MODELLED))
        if n * r**2 <= 1 or n == 1:  # the smaller of the two is rational
            extra = (n - 1) * r**2 / (1 - r**2) if n > 1 else Fraction(0)
        else:
            extra = ceil_root((n - 1) * r**2 / (1 - r**2))
        value = self.width * (1 + extra) / n
        exact = n * r**2 <= 1 or n == 1 or extra**2 == (n - 1) * r**2 / (1 - r**2)
        return DeltaZ(value, exact, (Proved(_moved(value, exact=exact), "theory, 7"), MODELLED))

    @property
    def details(self) -> dict[str, Any]:
        """What it is without public facts, for comparison."""
        return {"without_public": str(self.width / self.n)}


@dataclass(frozen=True)
class ListedMean:
    """The mean of n values, and public ones with these covariances.

    ``person`` has the covariances of (X_1, Z) with X_1, ``mean`` those with the mean, and ``covariance`` is
    the matrix of Z; the first of ``person`` is the variance of X_1, and the first of ``mean`` is that over n.
    """

    n: int
    width: Fraction
    person: CoefficientRow
    mean: CoefficientRow
    covariance: Sequence[CoefficientRow]
    public: str | None = None

    def __post_init__(self) -> None:
        _check(self.n, self.width)
        size = len(self.covariance)
        if (
            any(len(row) != size for row in self.covariance)
            or not len(self.person) == len(self.mean) == size + 1
        ):
            raise GuaranteeError(
                f"the covariances are of different sizes: give {size} rows and columns of what is public, and"
                f" {size + 1} covariances of a person and of the mean."
            )
        if any(self.covariance[i][j] != self.covariance[j][i] for i in range(size) for j in range(i)):
            raise GuaranteeError("the covariance of what is public is not symmetric: correct it.")
        if self.mean[0] * self.n != self.person[0]:
            raise GuaranteeError(
                f"the covariance of a person's value with the mean is {self.mean[0]}, and for {self.n:,}"
                f" independent values it is {self.person[0] / self.n}: correct it."
            )
        self._coefficients  # noqa: B018  raises where there are none

    @property
    def framework(self) -> Framework:
        """One joint law, whatever its means."""
        secrets, pairs = _secrets(self.n, self.width)
        data = {
            "family": "normal",
            "n": self.n,
            "person": [str(entry) for entry in self.person],
            "mean": [str(entry) for entry in self.mean],
            "covariance": [[str(entry) for entry in row] for row in self.covariance],
        }
        public, laws = stated_in_words(self.public, _normal_values()), _listed_normal(self.n)
        return Framework(public, secrets, pairs, LawClass(laws, data, "listed"), MEAN)

    @property
    def delta(self) -> DeltaZ:
        """The translation from one end of the interval to the other."""
        value = abs(self._coefficients[0]) * self.width
        moved = Proved(_moved(value, exact=True), "theory, 7")
        return DeltaZ(value, exact=True, evidence=(moved, MODELLED))

    @property
    def details(self) -> dict[str, Any]:
        """The coefficients of the person's value and of what is public in the conditional mean."""
        return {"coefficients": [str(entry) for entry in self._coefficients]}

    @cached_property
    def _coefficients(self) -> tuple[Fraction, ...]:
        """Cov(mean, (X_1, Z)) Cov(X_1, Z)^-1; checks that all covariances are those of some law."""
        given = [list(self.person), *([self.person[i + 1], *row] for i, row in enumerate(self.covariance))]
        whole = [
            [self.person[0] / self.n, *self.mean],
            *([entry, *row] for entry, row in zip(self.mean, given, strict=True)),
        ]
        if not _no_negative_square(whole):
            raise GuaranteeError("no law has these covariances: a combination has a negative variance.")
        found = _solved(given, self.mean)
        if found is None:
            raise GuaranteeError(
                "what is public determines the value of a person, or has a value twice: no secret is left, or"
                " leave the second out."
            )
        return found


def _solved(matrix: Sequence[CoefficientRow], right: CoefficientRow) -> tuple[Fraction, ...] | None:
    """Return the solution v of matrix v = right by elimination, None where it is not one."""
    rows = [[*row, entry] for row, entry in zip(matrix, right, strict=True)]
    for place in range(len(rows)):
        pivot = next((at for at in range(place, len(rows)) if rows[at][place]), None)
        if pivot is None:
            return None
        rows[place], rows[pivot] = rows[pivot], rows[place]
        lead = rows[place][place]
        rows[place] = [entry / lead for entry in rows[place]]
        for at, row in enumerate(rows):
            if at != place and (factor := row[place]):
                rows[at] = [entry - factor * other for entry, other in zip(row, rows[place], strict=True)]
    return tuple(row[-1] for row in rows)


def _no_negative_square(matrix: Sequence[CoefficientRow]) -> bool:
    """Whether a symmetric matrix is positive semidefinite, by symmetric elimination."""
    rows = [list(row) for row in matrix]
    for place in range(len(rows)):
        lead = rows[place][place]
        if lead < 0 or (lead == 0 and any(rows[place][place:])):
            return False
        for at in range(place + 1, len(rows)):
            if lead and (factor := rows[at][place] / lead):
                rows[at] = [
                    entry - factor * other for entry, other in zip(rows[at], rows[place], strict=True)
                ]
    return True


@claim("public-jointly-normal")
def _jointly_normal() -> str:
    return "a value that is jointly normal with those of all people"


@claim("public-values-jointly-normal")
def _normal_values() -> str:
    return "values that are jointly normal with those of all people"


@claim("normal-correlated")
def _correlated(people: int, correlation: Fraction) -> str:
    return (
        f"independent normal values of {people:,} people of one mean and variance, jointly normal with what"
        f" is public, each correlated with it by at most {correlation}"
    )


@claim("normal-listed")
def _listed_normal(people: int) -> str:
    return (
        f"normal laws of {people:,} independent values and of what is public, with the listed covariances of"
        " the person in question"
    )


@claim("mean-moved")
def _moved(width: Fraction, *, exact: bool) -> str:
    rounded = "" if exact else ", rounded up"
    return f"two values of one person move the mean by at most {format_parameter(width)}{rounded}"


@claim("mean-moved-without-bound")
def _unbounded() -> str:
    return "a public value that may be almost that of one person moves the mean without bound"
