"""One thing that is released: a table, or a file of records, with all that is settled before its draw."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from holdfast.certificate.model import Certificate
from holdfast.engines.spark_session import require_installed
from holdfast.mechanisms.mechanism import Making, Mechanism
from holdfast.outputs import Output
from holdfast.privacy.guarantee import Guarantee
from holdfast.releases.expected import WhatIfBudgets
from holdfast.releases.plan import PartPlan
from holdfast.sampling.entropy import Entropy
from holdfast.spec.model import Spec
from holdfast.system.errors import ReleaseError
from holdfast.system.ways import option

if TYPE_CHECKING:
    from holdfast.ledger.account import Ledger
    from holdfast.ledger.rows import Charge

SPARE = 1 << 16
"""Bytes beside the table, or the records, and their certificate."""
ENGINES = ("embedded", "spark")


@dataclass(frozen=True, eq=False, repr=False)
class Draw:
    """A draw that is settled and not made."""

    outputs: Callable[[Making], Mapping[str, Output]]
    """Draws what is published, by name."""
    report: Callable[[], Mapping[str, Any] | None] = lambda: None
    """Tells the curator what a draw that was written did, where there is something to tell."""


class PreparedPart(ABC):
    """Confidential data, and everything that is settled before their release is drawn."""

    name: str
    """What it is called among the parts of a release."""
    spec: Spec
    mechanism: Mechanism[Any, Any]

    @property
    def guarantee(self) -> Guarantee:
        """What is proved of every release."""
        return self.mechanism.guarantee

    @property
    @abstractmethod
    def warnings(self) -> tuple[str, ...]:
        """What a curator should look at in the data."""

    @property
    @abstractmethod
    def size(self) -> str:
        """How much is released, in words that are public."""

    @property
    @abstractmethod
    def identity(self) -> bytes:
        """What tells the data from others; confidential."""

    @abstractmethod
    def certify(self, *, secure: bool, microdata: bool = False) -> Certificate:
        """Record a release; nothing in the record depends on the draw."""

    @abstractmethod
    def draw(self, source: Entropy, engine: str) -> Draw:
        """Settle everything but the noise; what no source of noise could draw is refused here."""

    @abstractmethod
    def room(self, *, microdata: bool) -> int:
        """No fewer bytes than the files take beside the certificate."""

    @abstractmethod
    def charge(self, ledger: "Ledger", certificate: Certificate) -> "Charge":
        """Return what a ledger is told of the release."""

    @abstractmethod
    def plan(self, spent: float, what_if: WhatIfBudgets | None = None) -> PartPlan:
        """Return how it would be drawn, after so many seconds were spent on preparing it.

        With ``what_if`` also how far counts would be off at other budgets.
        """


def require_able(
    kinds: Iterable[type[Mechanism[Any, Any]]],
    *,
    engine: str,
    microdata: bool,
    utility: bool,
    quoted: bool,
    jobs: int | None = None,
) -> None:
    """Raise ReleaseError where mechanisms are asked for what they cannot do, before anything is read."""
    every = tuple(kinds)
    if engine not in ENGINES:
        raise ReleaseError(f"there is no engine {engine!r}: choose {' or '.join(ENGINES)}.")
    if any(engine not in kind.engines for kind in every):
        raise ReleaseError(
            "an engine is for records that are swapped and for top-down releases: leave it out."
        )
    if jobs is not None:
        if jobs < 1:
            raise ReleaseError(f"{option('jobs', jobs)} is no number of processes: give 1 or more.")
        if engine != "embedded" or not all(kind.parallel for kind in every):
            raise ReleaseError(
                f"{option('jobs')} is for top-down releases that this machine makes: leave it out."
            )
    if microdata and not all("microdata" in kind.extras for kind in every):
        raise ReleaseError(
            f"{option('microdata')} is for top-down releases, whose counts are records: leave it out."
        )
    if utility and not all(kind.reports for kind in every):
        raise ReleaseError("a report of utility is for records that are swapped: leave it out.")
    if quoted and any(kind.output == "microdata" for kind in every):
        raise ReleaseError(f"records are written as they are: leave out {option('quote_formulas')}.")
    if engine == "spark":
        require_installed()
