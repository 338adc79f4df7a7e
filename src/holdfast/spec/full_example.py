"""The example with every kind of invariant: people by county, age and sex, and places by weights."""

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
