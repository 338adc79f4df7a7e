"""What decades of the US census did, by the five building blocks of a guarantee [swapping-slides].

A guarantee says of which files it is (domain), which of them it compares (scope), whose change counts
(unit), how far apart outputs are said to be (standard), and how far they are (intensity). Two guarantees
compare only where all of these are looked at: a rho of persons and one of housing units, a rho and an
epsilon, one subject to invariants and one that is not.

Persons and units have losses of their own. What was advertised for a product adds them up, and is nobody's.

Where one is added or removed, a change is two of that, so its rho is at most four times as much
[semi-dp, Lemma 39]; the bureau's document of S-DHC says twice, which holds for counts of disjoint cells.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

FILES = "all census edited files"
STATES = "population of each state, the District of Columbia and Puerto Rico"
HOUSING = "housing units in each block"
FACILITIES = "occupied group-quarters facilities by type in each block"
INVARIANTS = (STATES, HOUSING, FACILITIES)
"""What the 2020 system kept exactly [semi-dp, Section 6]."""
SAME = "files with the same state populations, housing units by block, and facilities by type and block"
ZCDP, PURE = "zCDP", "pure"
NOTES = (
    f"Exact in 2020: the {STATES}; the {HOUSING}; the {FACILITIES}.",
    "zCDP bounds the normalised Renyi distance of outputs, pure privacy the log ratio of their chances.",
)
"""What the short words of the table stand for."""

SEMI_DP = "semi-dp, Section 6"
TDA = "swapping-slides, TDA Satisfies DP"
DHC = (
    "uscensusbureau/DAS_2020_DHC_Production_Code, configs/production/dhc/person_US.ini and unit_US.ini,"
    " whose strategies (20220922_exp_iteration_23_1) are summed over levels and queries"
)
DHC_A_CODE = "uscensusbureau/DAS_2020_DDHCA_Production_Code, configs/safetab-p/NMFv7-2020/config.json, summed"
DHC_B_CODE = "uscensusbureau/DAS_2020_DDHCB_Production_Code, configs/safetab-h/NMFv5/config.json, summed"
S_DHC_CODE = (
    "uscensusbureau/DAS_2020_SDHC_Production_Code, configs/phsafe/NMFv8/us/config.json, summed, and"
    " PHSafe_Documentation.pdf, Approach"
)
PEW = "Pew Research Center, Who Are the People in Your Neighborhood? (22 February 2011)"
BALLESTEROS = (
    "Ballesteros et al., Evaluating the Impacts of Swapping on the US Decennial Census, arXiv:2502.01320"
)
TARGETED = "theory, 8, Selection by risk"
PERMUTATION = "swapping-slides, Permutation swapping"


def _summed(settings: str) -> Fraction:
    return sum(map(Fraction, settings.split()), Fraction())


PERSON, UNIT = Fraction("2.56"), Fraction("0.07")
DHC_PERSON = _summed("0.011 0.43 1.3888 0.6214 0.6214 0.496 1.2987 0.0949")
"""Of one person in the DHC: blocks, block groups, two parts of tracts, places, counties, states, nation."""
DHC_UNIT = _summed("0.016 0.426 1.6861 0.9712 0.9712 1.4454 1.7012 0.4834")
"""Of one housing unit in the DHC: the queries of households and of units, by the same levels."""
DHC_A = 5 * Fraction("0.008") + 2 * Fraction("2.134") + 4 * Fraction("0.159")
"""Of one person added or removed, in the states: the sum over levels of the production settings."""
DHC_B = 2 * (5 * Fraction("0.006915") + 2 * Fraction("1.9208") + 4 * Fraction("0.142869"))
"""Of one household, over both kinds of tables."""
S_DHC = _summed("0.546663 0.004518 0.01899 0.679419 0.007691")
"""Of one person added or removed: PH1, PH4 and PH7; their three denominators; PH2; PH3; PH6."""


@dataclass(frozen=True)
class System:
    """A way in which a census was protected: its five building blocks, and where they are told.

    ``rho`` is that of one unit; None where no finite one is known.
    """

    product: str
    method: str
    scope: str
    """Which files are compared."""
    invariants: tuple[str, ...]
    """What all of these share exactly."""
    unit: str
    standard: str
    intensity: str
    rho: Fraction | None
    sources: tuple[str, ...]
    domain: str = FILES

    @property
    def blocks(self) -> Mapping[str, str]:
        """The five in words."""
        return {
            "domain": self.domain,
            "scope": self.scope,
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
            "invariants": list(self.invariants),
            "rho": None if self.rho is None else float(self.rho),
            "sources": list(self.sources),
        }


def _topdown(product: str, unit: str, rho: Fraction, *sources: str, onto: str = "") -> System:
    """Return a file that TopDown made, subject to the invariants of 2020."""
    where = " in tables of persons" if onto and unit == ANSWERS else ""
    return System(
        product, f"TopDown{onto}", SAME, INVARIANTS, unit, ZCDP, f"rho {float(rho):g}{where}", rho, sources
    )


def _added(product: str, method: str, unit: str, rho: Fraction, change: str, source: str) -> System:
    """Return tables with noise and no invariants, whose unit is added or removed."""
    intensity = f"rho {float(rho):.5g} in the states; for a change {change}"
    unit = f"one {unit} added or removed"
    return System(product, method, "all files", (), unit, ZCDP, intensity, rho, (source,))


ANSWERS, CHANGED = "one person whose answers change", "one housing unit or facility that changes"
ONTO = ", keeping the numbers of the redistricting file"
NOISE = "counts with noise, in as much detail as noisy sizes allow"
SYSTEMS = (
    _topdown("2020 redistricting file, persons", ANSWERS, PERSON, SEMI_DP, TDA),
    _topdown("2020 redistricting file, housing units", CHANGED, UNIT, SEMI_DP, TDA),
    _topdown("2020 DHC, persons", ANSWERS, DHC_PERSON, TDA, DHC, onto=ONTO),
    _topdown("2020 DHC, housing units", CHANGED, DHC_UNIT, TDA, DHC, onto=ONTO),
    _added(
        "2020 Detailed DHC-A",
        f"SafeTab-P: {NOISE}",
        "person",
        DHC_A,
        f"at most {float(4 * DHC_A):.5g}, four times as much",
        DHC_A_CODE,
    ),
    _added(
        "2020 Detailed DHC-B",
        f"SafeTab-H: {NOISE}",
        "household",
        DHC_B,
        f"at most {float(4 * DHC_B):.5g}, four times as much",
        DHC_B_CODE,
    ),
    _added(
        "2020 Supplemental DHC (S-DHC)",
        "PHSafe: counts of persons by household with noise, large households cut",
        "person",
        S_DHC,
        f"{float(2 * S_DHC):.5g}, twice as much by its document",
        S_DHC_CODE,
    ),
    System(
        "censuses of 1990, 2000 and 2010",
        "swapping of households that were judged at risk",
        "files that differ in who lives where: the population of each block was kept in 2010, and what else"
        " agreed was never published",
        ("population of each block",),
        "one household",
        "none was stated",
        "none is known: who is at risk depends on what the swap hides, so that the formula of permutation"
        " swapping does not hold of it",
        None,
        (PEW, BALLESTEROS, TARGETED),
    ),
    System(
        "permutation swapping, for comparison",
        "no census of these: all households of a stratum are selected at one rate",
        "files with the same counts of the key by what is swapped; counts of the key by all that is held",
        ("counts of the key by what is swapped", "counts of the key by all that is held"),
        "one household in which files differ; any two that differ do so in two or more",
        PURE,
        "epsilon ln(b + 1) - ln(p / (1 - p)) for strata of up to b households at a rate p up to 1/2",
        None,
        (PERMUTATION,),
        "all files of households",
    ),
)
SOURCES = tuple(dict.fromkeys(source for system in SYSTEMS for source in system.sources))
"""All of them once, as they are numbered below tables."""


def numbers_of(system: System) -> str:
    """Return the places of its sources among all."""
    return ", ".join(str(SOURCES.index(source) + 1) for source in system.sources)
