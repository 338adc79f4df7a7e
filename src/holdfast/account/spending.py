"""The composed total of all releases charged so far and a new one [theory, 10].

Releases of one file are composed on their joint scope; what different files cost adds up. A ledger accounts
for the adjacency of its first release: others are brought to it by how their loss grows with the distance.
Accounts of secrets have rules of their own [theory, 7]. A total never falls.
"""

from typing import Literal

from holdfast.account.book import Book
from holdfast.account.pufferfish import spend_tp
from holdfast.account.terms import amount, intensity_stated
from holdfast.errors import GuaranteeError
from holdfast.privacy.ledger.entry import MEASURES, OF_SECRETS, Charge
from holdfast.privacy.ledger.past import Past, Spent
from holdfast.privacy.order import convert
from holdfast.privacy.roots import ceil_root

CONVERTIBLE = {("pure", "zcdp"), ("pure", "gaussian"), ("gaussian", "zcdp")}
"""Which intensities have a theorem that turns them into those of another ledger."""


def spend(past: Past, new: Charge) -> Spent:
    """Return the composed total with a new release, and the checkpoint after it."""
    if new.standard in OF_SECRETS:
        return spend_tp(past, new)
    match past.standard:
        case "tp" | "rho-tp":
            return spend_tp(past, new)
        case standard:
            return _spend(past, new, standard)


def _spend(past: Past, new: Charge, standard: Literal["pure", "zcdp", "gaussian"]) -> Spent:
    if new.standard != standard and (new.standard, standard) not in CONVERTIBLE:
        raise GuaranteeError(
            f"the ledger adds up {MEASURES[standard]}, and this release states {MEASURES[new.standard]},"
            ' which gives none: set standard = "pure" in [privacy], with a mechanism for it such as'
            " lattice-laplace."
        )
    book = Book(past, new)
    least = [past.total]
    if new.unit["adjacency"] == book.adjacency:
        least.append(amount(convert(intensity_stated(new), standard)))
    total = ceil_root(book.sum) if standard == "gaussian" else book.sum
    own = None if standard == "gaussian" else book.own  # squares of mu are no parts of a mu
    return Spent(max(total, *least), book.state, book.entries, own)
