"""The redistricting data of the 2020 US census as a spec of persons and units, with invented data beside it.

The shares of rho by level and query are those of the production code for persons (rho 2.56) and units (rho
0.07), as the bureau published them with the data [swapping-slides]. Weights here are numerators: those of a
level have one denominator, 4097 at most levels, 4102 at tracts and 4099 at block groups.

The small one has the same form with four races and wider shares, and is released in a minute; on top of it
comes a release by sex and age [holdfast, spec/census_after.py].
"""

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from random import Random

from holdfast.spec.census_after import after_redistricting
from holdfast.spec.example import write_files
from holdfast.system.errors import SpecError

LEVELS = {"us": 0, "state": 2, "county": 5, "tract": 11, "block_group": 12, "block": 15}
SHARES = {
    "us": "104/4099",
    "state": "1440/4099",
    "county": "447/4099",
    "tract": "687/4099",
    "block_group": "1256/4099",
    "block": "165/4099",
}
UNIT_SHARES = {
    "us": "1/205",
    "state": "1/205",
    "county": "7/82",
    "tract": "364/1025",
    "block_group": "1759/4100",
    "block": "99/820",
}
QUERIES = {
    (): (0, 3773, 3126, 1567, 1705, 5),
    ("cenrace",): (52, 6, 10, 8, 3, 9),
    ("hispanic",): (26, 6, 10, 5, 3, 5),
    ("votingage",): (26, 6, 10, 5, 3, 5),
    ("hhinstlevels",): (26, 6, 10, 5, 3, 5),
    ("hhgq",): (26, 6, 10, 5, 3, 5),
    ("hispanic", "cenrace"): (130, 12, 28, 1933, 1055, 21),
    ("votingage", "cenrace"): (130, 12, 28, 20, 9, 21),
    ("votingage", "hispanic"): (26, 6, 10, 5, 3, 5),
    ("votingage", "hispanic", "cenrace"): (442, 34, 101, 67, 24, 71),
    ("hhgq", "votingage", "hispanic", "cenrace"): (3213, 230, 754, 482, 1288, 3945),
}
"""The weights of each query by level, in the order of the levels."""
INSTITUTIONAL = ("correctional", "juvenile", "nursing", "other-institutional")
OTHER = ("college", "military", "other-noninstitutional")
FACILITIES = (*INSTITUTIONAL, *OTHER)
RACES = "WBIAPO"
"""White, Black, American Indian and Alaska Native, Asian, Pacific Islander, some other race."""
PLACES = ("household", *FACILITIES)
KINDS = ("pl94", "small", "dhc")


def write_topdown(folder: Path, kind: str) -> tuple[Path, ...]:
    """Write a spec and the invented files of persons and units that it names; return their paths.

    Nothing is overwritten; raises SpecError for another kind.
    """
    if kind not in KINDS:
        raise SpecError(f"--topdown is {kind!r}: write {', '.join(KINDS[:-1])} or {KINDS[-1]}.")
    small = kind != "pl94"
    races = _races(4 if small else 63)
    persons, units = _invented(races, tracts=2 if small else 1)
    if kind == "dhc":
        return write_files(folder, after_redistricting(persons, PLACES, _prefixes()))
    files = {"topdown.toml": _spec(races, small=small), "persons.csv": persons, "units.csv": units}
    return write_files(folder, files)


def _prefixes() -> str:
    return ", ".join(f"{level} = {length}" for level, length in LEVELS.items())


def _races(number: int) -> tuple[str, ...]:
    """Return so many sets of races, single ones first."""
    every = ["".join(each) for size in range(1, 7) for each in combinations(RACES, size)]
    return tuple(every[:number])


def _listed(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _spec(races: tuple[str, ...], *, small: bool) -> str:
    prefixes = _prefixes()
    shares, others = (
        ", ".join(f'{level} = "{share}"' for level, share in each.items()) for each in (SHARES, UNIT_SHARES)
    )
    return f"""\
# Persons and units of the redistricting data of the 2020 US census{", a small one" if small else ""}:
# shares of rho by level and query as in the production code. The data beside this file are invented.

[data]                               # one geography for both files
geography = {{ column = "block", prefixes = {{ {prefixes} }} }}

[privacy]
standard = "zcdp"
adjacency = "unit"                   # rho for one record of a file

[mechanism]
name = "topdown"

[[tables]]
name = "persons"
cells = ["hhgq", "votingage", "hispanic", "cenrace"]

[tables.data]                        # your own file: a row for each block and cell with people
path = "persons.csv"
count = "people"

[tables.data.levels]
hhgq = {_listed(PLACES)}
votingage = ["0-17", "18+"]
hispanic = ["no", "yes"]
cenrace = {_listed(races)}

[tables.privacy]
unit = "person"
rho = "{"4" if small else "2.56"}"

[[tables.invariants]]
total = true
level = "state"

[tables.constraints]                 # no minors in nursing homes
structural_zeros = [{{ hhgq = "nursing", votingage = "0-17" }}]

[tables.mechanism]
name = "topdown"
allocation = {{ {shares} }}
passes = [["total"], ["detailed"]]   # totals first, and what no pass names with the last

{"".join(_queries())}
[[tables]]
name = "units"
cells = ["kind"]

[tables.data]                        # housing units and facilities of every block
path = "units.csv"
count = "units"

[tables.data.levels]
kind = {_listed(("occupied", "vacant", *FACILITIES))}

[tables.privacy]
unit = "household"
rho = "{"1/2" if small else "0.07"}"

[[tables.invariants]]                # housing units of every block
name = "housing units"
where = {{ kind = ["occupied", "vacant"] }}
level = "block"

[[tables.invariants]]                # facilities by type of every block
name = "facilities"
margin = ["kind"]
where = {{ kind = {_listed(FACILITIES)} }}
level = "block"

[tables.mechanism]
name = "topdown"
allocation = {{ {others} }}

[[tables.mechanism.queries]]
marginal = ["kind"]

[[constraints.across]]
name = "people where facilities are"
left = {{ table = "persons", margin = ["hhgq"], where = {{ hhgq = {_listed(FACILITIES)} }} }}
sense = ">="
right = {{ table = "units", margin = ["kind"], where = {{ kind = {_listed(FACILITIES)} }} }}
zero = true

[[constraints.across]]
name = "people in households where housing units are"
left = {{ table = "persons", where = {{ hhgq = "household" }} }}
sense = "<="
right = {{ table = "units", where = {{ kind = ["occupied", "vacant"] }}, times = 99 }}
"""


def _queries() -> Iterator[str]:
    for marginal, weights in QUERIES.items():
        recoded = marginal == ("hhinstlevels",)
        lines = ["[[tables.mechanism.queries]]"]
        if recoded:
            lines.append('name = "hhinstlevels"')
        lines.append(f"marginal = {_listed(('hhgq',) if recoded else marginal)}")
        if recoded:
            groups = {"household": ("household",), "institutional": INSTITUTIONAL, "other": OTHER}
            bins = ", ".join(f"{name} = {_listed(levels)}" for name, levels in groups.items())
            lines.append(f"recode = {{ hhgq = {{ {bins} }} }}")
        some = (f'{level} = "{weight}"' for level, weight in zip(LEVELS, weights, strict=True) if weight)
        lines.append(f"weight = {{ {', '.join(some)} }}")
        yield "\n".join(lines) + "\n\n"


def _invented(races: tuple[str, ...], *, tracts: int) -> tuple[str, str]:
    """Return the files of persons and units of some invented blocks of two counties."""
    chance = Random(2020)
    persons, units = ["block,hhgq,votingage,hispanic,cenrace,people"], ["block,kind,units"]
    for county, tract, group, block in product("13", range(1, tracts + 1), "12", "123"):
        code = f"44{int(county):03}{tract:06}{group}{int(block):03}"
        homes = chance.choice([0, 0, 3, 20, 60])
        counts: dict[tuple[str, ...], int] = {}
        for _ in range(int(homes * 2.4)):
            race = races[min(int(chance.expovariate(0.9)), len(races) - 1)]
            ages, origins = chance.choice(["18+", "18+", "18+", "0-17"]), chance.choice(["no"] * 5 + ["yes"])
            _one_more(counts, ("household", ages, origins, race))
        facility = chance.choice(FACILITIES) if chance.random() < 0.4 else None
        for _ in range(chance.randint(2, 40) if facility else 0):
            _one_more(counts, (facility or "", "18+", "no", races[min(int(chance.expovariate(1)), 3)]))
        if not counts:  # places with nobody are listed, or their absence would tell of them
            counts["household", "18+", "no", races[0]] = 0
        persons += [",".join([code, *cell, str(count)]) for cell, count in sorted(counts.items())]
        vacant = homes and chance.randint(0, homes // 4)
        units += [f"{code},occupied,{homes - vacant}", f"{code},vacant,{vacant}"]
        units += [f"{code},{facility},1"] if facility else []
    return "\n".join(persons) + "\n", "\n".join(units) + "\n"


def _one_more(counts: dict[tuple[str, ...], int], cell: tuple[str, ...]) -> None:
    counts[cell] = counts.get(cell, 0) + 1
