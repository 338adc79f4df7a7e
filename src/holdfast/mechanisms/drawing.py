"""How draws are made, as claims: what samplers say by name and in numbers is put into words here."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from holdfast.privacy.claims import Claim, claim
from holdfast.sampling.lattice.plan import Block, Method
from holdfast.system.errors import GuaranteeError, SamplingError

Exactly = Literal["listed", "dynamic", "totals", "thinned", "lattice"]
"""How cells are drawn whose law depends on the table."""


class MethodWords(NamedTuple):
    """What is done, and why it can be."""

    words: str
    why: str


METHODS: Mapping[Method, MethodWords] = {
    "independent": MethodWords("independent cells", "no invariant touches them"),
    "free-of-anchors": MethodWords("independent cells", "anchors close what the invariants keep"),
    "total-by-halving": MethodWords(
        "one total, by halving", "half of the cells are free, given what they leave to the others"
    ),
    "total-by-compositions": MethodWords("one total, by compositions", "one sum ties the cells"),
    "total-half-last": MethodWords(
        "one total, half of the cells last", "one sum ties the cells, and free cells are drawn fastest"
    ),
    "crossing-in-turn": MethodWords(
        "crossing invariants, one after the other", "the invariants cross, and each can be met in turn"
    ),
    "crossing-by-rejection": MethodWords(
        "crossing invariants, by rejection",
        "the invariants have weights or the noise is very wide, so they are solved for",
    ),
    "crossing-by-angles": MethodWords(
        "crossing invariants, by angles on a torus", "the invariants cross, and all of them are met at once"
    ),
    "crossing-by-halving-axes": MethodWords(
        "crossing margins, by halving every axis", "sums over boxes are nearly Gaussian given others"
    ),
    "crossing-cell-by-cell": MethodWords(
        "crossing invariants, cell by cell", "a Gaussian law given some cells is nearly Gaussian"
    ),
    "all-by-widths": MethodWords(
        "all cells together, by Gaussians of many widths", "one radius ties all cells in the l2 norm"
    ),
    "weighted-by-halving-axes": MethodWords(
        "weighted margins, by halving every axis",
        "sums over boxes are nearly Gaussian given others, each with the width of its margin",
    ),
    "weighted-by-coordinates": MethodWords(
        "weighted queries, coordinate by coordinate", "a Gaussian law given some cells is nearly Gaussian"
    ),
}


class WithinBoundsError(SamplingError):
    """No exact draw within the bounds ends in reasonable time; ``otherwise`` is what to do beside it."""

    def __init__(self, why: str, otherwise: str) -> None:
        super().__init__(
            "not every table with these invariants can be released within its bounds in reasonable time"
            f" ({why}): use lattice-laplace and postprocess its release, {otherwise}."
        )
        self.otherwise = otherwise


class DifferencesError(GuaranteeError):
    """Noise needs the differences of all tables that few records apart, and there are too many to list."""


def drawn_by_blocks(blocks: Iterable[Block]) -> tuple[Claim, ...]:
    """Return how components are drawn, a claim for those of one kind."""
    return tuple(_blocks(*block.components, block.method, rounded(block.acceptance)) for block in blocks)


def rounded(acceptance: float) -> float:
    """Return a share of accepted draws to two digits, in which computers agree."""
    return float(f"{acceptance:.2g}")


def accepted(acceptance: float) -> str:
    """Return what is said of a share of accepted draws, "" where they all are."""
    return "" if acceptance == 1 else f" (acceptance {acceptance:g})"


@claim("blocks-drawn")
def _blocks(blocks: int, smallest: int, largest: int, method: Method, acceptance: float) -> tuple[str, str]:
    number = "one block" if blocks == 1 else f"{blocks:,} blocks"
    cells = "one cell" if largest == 1 else f"{largest:,} cells"
    size = cells if smallest == largest else f"{smallest:,} to {cells}"
    words, why = METHODS[method]
    return f"{number} of {size}: {words}{accepted(acceptance)}", why


@claim("cells-drawn")
def drawn_cells(cells: int, method: Exactly) -> str:
    """Claim how cells are drawn whose law depends on the table."""
    how = {
        "listed": ", from a list of all releases",
        "dynamic": " within bounds, by dynamic programming or rejection",
        "totals": " with totals, by tables of counts and rejection",
        "thinned": ", by thinning draws of the l1 law",
        "lattice": ", by noise that all tables share",
    }
    return f"{cells:,} cells{how[method]}"


@claim("cells-drawn-by-a-chain")
def drawn_by_chain(cells: int, steps: int) -> str:
    """Claim how cells are drawn by a Markov chain."""
    return f"{cells:,} cells within bounds, by {steps:,} steps of a Markov chain"
