"""The example that a new user starts from: four counties' children by education of the parents.

The full one has every kind of invariant: people by county, age and sex, and places by weights.
"""

from collections.abc import Mapping
from pathlib import Path

from holdfast.system.errors import SpecError
from holdfast.system.files import write_new_text

FULL_SPEC = """\
[data]
path = "people.csv"                  # CSV or Parquet, relative to this file
cells = ["county", "age", "sex"]     # the columns whose levels make the cells
count = "people"                     # records in each row; without it every row is one record

[data.levels]                        # levels that are not declared are taken from the data, and so published
county = ["Alpha", "Beta", "Gamma"]
age = ["0", "18", "65"]
sex = ["female", "male"]

[[invariants]]                       # the total; equals is optional and checked against the data
total = true
equals = 900

[[invariants]]                       # a margin: the number of people in each county
margin = ["county"]

[[invariants]]                       # the count of a selection, here a range of levels that are numbers
name = "adults"
where = { age = [18, 120] }

[[invariants]]                       # several attributes, several levels
where = { county = ["Alpha", "Beta"], sex = "female" }

[[invariants]]                       # a margin within a selection
margin = ["sex"]
where = { county = "Gamma" }

[[invariants]]                       # any whole-number combinations of cells, from a file
name = "places"
weights = { file = "weights.csv" }

[constraints]                        # what everybody knows without the data
structural_zeros = [{ county = "Beta", age = "65" }]

[privacy]
unit = "record"                      # the person behind one record
standard = "pure"
epsilon = "1"                        # in quotes and exact: "1", "1/2", "0.25"
adjacency = "semi"                   # or "unit"

[mechanism]
name = "lattice-laplace"
norm = "l1"                          # or "l2"
"""

PEOPLE = """\
county,age,sex,people
Alpha,0,female,82
Alpha,0,male,75
Alpha,18,female,138
Alpha,18,male,131
Alpha,65,female,41
Alpha,65,male,27
Beta,0,female,46
Beta,0,male,52
Beta,18,female,71
Beta,18,male,64
Gamma,0,female,29
Gamma,0,male,33
Gamma,18,female,58
Gamma,18,male,30
Gamma,65,female,14
Gamma,65,male,9
"""

WEIGHTS = """\
invariant,county,age,sex,weight
school places,Alpha,0,female,2
school places,Alpha,0,male,2
school places,Beta,0,female,1
school places,Beta,0,male,1
"""

FULL_FILES = {"holdfast.toml": FULL_SPEC, "people.csv": PEOPLE, "weights.csv": WEIGHTS}


EXAMPLE_DATA = """\
county,education,children
Alpha,Low,15
Alpha,Medium,1
Alpha,High,3
Alpha,Very High,1
Beta,Low,20
Beta,Medium,10
Beta,High,10
Beta,Very High,15
Gamma,Low,3
Gamma,Medium,10
Gamma,High,10
Gamma,Very High,2
Delta,Low,12
Delta,Medium,14
Delta,High,7
Delta,Very High,2
"""

EXAMPLE_SPEC = """\
# What to release, what to keep exactly, and how strongly to protect the rest.

[data]
path = "children.csv"            # CSV or Parquet, relative to this file
cells = ["county", "education"]  # the columns whose levels make the cells of the table
count = "children"               # records in each row; without it every row is one record

# The levels, in order. Levels that are left out are taken from the data, and so reveal which occur.
[data.levels]
county = ["Alpha", "Beta", "Gamma", "Delta"]
education = ["Low", "Medium", "High", "Very High"]

# Invariants are released exactly as they are in the data: nothing protects them.
[[invariants]]
margin = ["county"]              # the number of children in each county

[[invariants]]
margin = ["education"]           # the number of children at each level of education

# Other invariants:
#   total = true                                      the total of the table
#   where = { county = "Alpha" }                      the count of a selection
#   where = { county = ["Alpha", "Beta"] }            several levels
#   where = { age = [18, 120] }                       a range, when all levels are numbers
#   margin = ["education"]                            with a where: the margin within a selection
#   weights = { file = "weights.csv" }                any whole-number combinations of cells:
#                                                     columns invariant, county, education, weight

# Constraints are what everybody knows without the data.
[constraints]
nonnegative = false              # lattice-laplace keeps counts unbiased, so some fall below zero
structural_zeros = []            # cells that cannot be: [{ county = "Alpha", education = "Low" }]

# The target. A release is refused when it would not reach it.
[privacy]
unit = "record"                  # the person behind one record; or any noun, "household"
# records_per_unit = 3           # where one of them can have several records
standard = "pure"                # the standard of lattice-laplace: no exceptions, however rare
epsilon = "1"                    # in quotes and exact: "1", "1/2", "0.25"; smaller protects more
adjacency = "semi"               # tables that differ as little as the invariants allow; or "unit"

# What the page says of the publication, all of it optional.
# [publication]
# title = "Children by county and education of the parents"
# publisher = "Office of Examples"
# contact = "statistics@example.org"
# period = "2024"
# url = "https://example.org/children"
# licence = "CC BY 4.0"
# status = true                  # tables have a column that says which counts are exact
# formats = ["xlsx"]             # written with the release: see `holdfast export --help`

[mechanism]
name = "lattice-laplace"         # whole-number noise that keeps every invariant
norm = "l1"                      # how the size of the noise is measured; or "l2"
# epsilon_per_unit = "1/4"       # instead of epsilon: the privacy loss for each unit of distance
# Other mechanisms: "k-norm", "conditioned" (without negative counts, if asked for), and with
# standard = "zcdp" and rho in place of epsilon "lattice-gaussian". See `holdfast compare`.
"""

EXAMPLE_FILES = {"holdfast.toml": EXAMPLE_SPEC, "children.csv": EXAMPLE_DATA}


def write_example(folder: str | Path, *, full: bool = False) -> tuple[Path, ...]:
    """Write the example files to a folder, none of which may exist.

    The ``full`` one has every kind of invariant.

    >>> [path.name for path in hf.write_example(".")]
    ['holdfast.toml', 'children.csv']
    """
    return write_files(Path(folder), FULL_FILES if full else EXAMPLE_FILES)


def write_files(folder: Path, files: Mapping[str, str]) -> tuple[Path, ...]:
    """Write files to a folder, none of which may exist; return their paths."""
    if not folder.is_dir():
        raise SpecError(f"{folder} is not a folder: create it first.")
    paths = tuple(folder / name for name in files)
    for path in paths:
        if path.exists():
            raise SpecError(f"{path} exists already: name another folder, nothing is overwritten.")
    try:
        for path, text in zip(paths, files.values(), strict=True):
            write_new_text(path, text)
    except FileExistsError:
        raise SpecError(f"{path} exists already: name another folder, nothing is overwritten.") from None
    except OSError as error:
        raise SpecError(f"{folder} cannot be written ({error.strerror}): name another folder.") from None
    return paths
