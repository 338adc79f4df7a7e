"""People by sex and age on top of the redistricting data, whose published numbers they keep.

The census published demographic and housing characteristics a year after the redistricting data, and the two
had to agree. This spec takes the invented persons of the small redistricting spec, each with a sex and an age
[holdfast, spec/census.py], and keeps the numbers of its release by voting age and place to live at every
block.
"""

from random import Random

BEFORE = "pl"
"""The folder of the release whose numbers are kept, beside the spec."""
AGES = ("0-4", "5-17", "18-24", "25-44", "45-64", "65+")
MINORS = 2
"""How many of these are below 18."""


def after_redistricting(persons: str, kinds: tuple[str, ...], prefixes: str) -> dict[str, str]:
    """Return the files of a release on top of that of some persons: its spec and its data, by name."""
    listed = ", ".join(f'"{age}"' for age in AGES)
    minors, adults = (", ".join(f'"{age}"' for age in some) for some in (AGES[:MINORS], AGES[MINORS:]))
    spec = f"""\
# People by sex and age, on top of the redistricting data of `holdfast init --topdown small`: release that
# first, to the folder {BEFORE}. The data beside this file are invented, and of the same people.

[data]
path = "dhc.csv"
cells = ["hhgq", "sex", "age"]
count = "people"
geography = {{ column = "block", prefixes = {{ {prefixes} }} }}

[data.levels]
hhgq = [{", ".join(f'"{kind}"' for kind in kinds)}]
sex = ["f", "m"]
age = [{listed}]

[[invariants]]
total = true
level = "state"

[constraints]                        # no minors in nursing homes
structural_zeros = [{{ hhgq = "nursing", age = [{minors}] }}]

[[published]]                        # the numbers of every block stay as the redistricting data have them
release = "{BEFORE}"
table = "persons"
margin = ["hhgq", "age"]
columns = {{ age = "votingage" }}
recode = {{ age = {{ "0-17" = [{minors}], "18+" = [{adults}] }} }}

[privacy]
standard = "zcdp"
unit = "person"
rho = "2"                            # on top of what the redistricting data cost
adjacency = "unit"

[mechanism]
name = "topdown"
passes = [["sex*age"], ["detailed"]]

[[mechanism.queries]]
marginal = ["sex", "age"]
weight = "2"

[[mechanism.queries]]
marginal = ["hhgq", "sex", "age"]
"""
    return {"dhc.toml": spec, "dhc.csv": _by_sex_and_age(persons)}


def _by_sex_and_age(persons: str) -> str:
    """Return the persons of a file by sex and age, drawn at random within their voting age."""
    chance, counts = Random(2023), dict[tuple[str, str, str, str], int]()
    for line in persons.splitlines()[1:]:
        block, kind, voting, _, _, people = line.split(",")
        ages = AGES[:MINORS] if voting == "0-17" else AGES[MINORS:]
        counts.setdefault((block, kind, "f", ages[0]), 0)
        for _ in range(int(people)):
            cell = block, kind, chance.choice("fm"), chance.choice(ages)
            counts[cell] = counts.get(cell, 0) + 1
    rows = [",".join([*cell, str(count)]) for cell, count in sorted(counts.items())]
    return "\n".join(["block,hhgq,sex,age,people", *rows]) + "\n"
