"""Top-down releases: measurements first, estimates from them, and a restart in between.

checkpoint.py   what was measured, kept until its release is whole
microdata.py    estimated counts as records, one a person
run.py          where parents are solved: on the cores of this machine, or on Spark
release.py      from a spec to a folder, after a crash from what was measured
"""
