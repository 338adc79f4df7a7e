"""Permutation swapping of files of records: records in, records out.

design.py      which columns stratify, which are swapped, and at what rate
survey.py      one pass over a file: its strata, and all that swapping leaves as it is
group.py       the swap of some whole strata, in memory
embedded.py    a file of any size, group after group, on this machine
spark.py       the same groups on Spark
households.py  persons who follow their household
mandated.py    invariants that were asked for: kept by every swap, or refused
facts.py       what is public of a file before it is swapped
certify.py     the certificate of a swapped file
account.py     what a ledger is told of it
renumber.py    new ids for old ones
outputs.py     the files of a swapped release
simulate.py    one tabulation under many seeded swaps, to compare with noise
utility.py     what a swap did to the data, for the curator's eyes only
units.py       the units of a file: records, or households with their rows
asked.py       what a spec asks of a swap
doubts.py      what looks wrong in records that are to be swapped
drawing.py     a release of which only the draw is missing
prepare.py     from a spec to a swap of which only the draw is missing
plan.py        how that would be drawn, and what it takes
release.py     a swapped file in its folder, with its certificate
verify.py      a swapped file against its certificate, and that against what follows
"""
