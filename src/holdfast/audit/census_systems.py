"""What decades of the US census did, by the five building blocks of a guarantee [swapping-slides].

A guarantee says of which files it is (domain), which of them it compares (scope), whose change counts
(unit), how far apart outputs are said to be (standard), and how far they are (intensity). Two guarantees
compare only where all of these are looked at: a rho of persons and one of housing units, a rho and an
epsilon, one subject to invariants and one that is not.

Persons and units have losses of their own. What was advertised for a product adds them up, and is nobody's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

FILES = "census edited files, as they could be"
STATES = "population of each state, the District of Columbia and Puerto Rico"
HOUSING = "housing units in each block"
FACILITIES = "occupied group-quarters facilities by type in each block"
INVARIANTS = (STATES, HOUSING, FACILITIES)
"""What the 2020 system kept exactly [semi-dp, Section 6]."""
ZCDP, PURE = "zCDP: the normalised Renyi distance", "pure: the largest log ratio of probabilities"
TDA = "swapping-slides, TDA Satisfies DP"


@dataclass(frozen=True)
class System:
    """A way in which a census was protected: its five building blocks, and where they are told.

    ``rho`` is that of one unit; None where the sources state a total alone, or nothing.
    """

    product: str
    method: str
    domain: str
    scope: tuple[str, ...]
    """What compared files share exactly; all files are compared where there is nothing."""
    unit: str
    standard: str
    intensity: str
    rho: Fraction | None
    sources: tuple[str, ...]

    @property
    def blocks(self) -> Mapping[str, str]:
        """The five in words."""
        shared = f"files that share the {'; the '.join(self.scope)}" if self.scope else "all files"
        return {
            "domain": self.domain,
            "scope": shared,
            "unit": self.unit,
            "standard": self.standard,
            "intensity": self.intensity,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by name."""
        return {
            "product": self.product,
            "method": self.method,
            "building_blocks": dict(self.blocks),
            "invariants": list(self.scope),
            "rho": None if self.rho is None else float(self.rho),
            "sources": list(self.sources),
        }


PERSON, UNIT = Fraction("2.56"), Fraction("0.07")
DHC_A = 5 * Fraction("0.008") + 2 * Fraction("2.134") + 4 * Fraction("0.159")
"""Of one person added or removed, in the states: the sum over levels of the production settings."""
DHC_B = 2 * (5 * Fraction("0.006915") + 2 * Fraction("1.9208") + 4 * Fraction("0.142869"))
"""Of one household, over both kinds of tables."""

SYSTEMS = (
    System(
        "2020 redistricting file, persons",
        "TopDown",
        FILES,
        INVARIANTS,
        "one person whose answers change",
        ZCDP,
        "rho 2.56",
        PERSON,
        ("semi-dp, Section 6", TDA),
    ),
    System(
        "2020 redistricting file, housing units",
        "TopDown",
        FILES,
        INVARIANTS,
        "one housing unit or facility that changes",
        ZCDP,
        "rho 0.07",
        UNIT,
        ("semi-dp, Section 6", TDA),
    ),
    System(
        "2020 DHC",
        "TopDown, on top of the redistricting file, whose numbers it keeps",
        FILES,
        INVARIANTS,
        "one person, or one housing unit: the sources do not divide the total",
        ZCDP,
        "rho 15.29 for persons and housing units together",
        None,
        (TDA,),
    ),
    System(
        "2020 Detailed DHC-A",
        "SafeTab-P: counts with noise, their detail by noisy sizes",
        FILES,
        (),
        "one person added or removed; who changes is two of these",
        ZCDP,
        f"rho {float(DHC_A):g} in the states, and {float(4 * DHC_A):g} for a change",
        DHC_A,
        ("uscensusbureau/DAS_2020_DDHCA_Production_Code, configs/safetab-p/NMFv7-2020/config.json, summed",),
    ),
    System(
        "2020 Detailed DHC-B",
        "SafeTab-H: counts with noise, their detail by noisy sizes",
        FILES,
        (),
        "one household added or removed",
        ZCDP,
        f"rho {float(DHC_B):g} in the states",
        DHC_B,
        ("uscensusbureau/DAS_2020_DDHCB_Production_Code, configs/safetab-h/NMFv5/config.json, summed",),
    ),
    System(
        "censuses of 1990, 2000 and 2010",
        "swapping of households; permutation swapping is much like it",
        FILES,
        ("counts of the key by what is swapped", "counts of the key by all that is held"),
        "one household in which files differ; any two that differ do so in two or more",
        PURE,
        "epsilon ln(b + 1) - ln(p / (1 - p)) for strata of up to b households at a rate p up to 1/2;"
        " rate and key"
        " were never published, so that no number follows",
        None,
        ("swapping-slides, Permutation swapping",),
    ),
)
