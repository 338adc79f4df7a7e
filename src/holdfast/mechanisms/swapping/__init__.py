"""Permutation swapping of files of records: records in, records out.

mechanism.py   the mechanism: its guarantee, and all that is asked of it
options.py     what a spec says of a swap, and what no swap can do
rounds.py      rates by stratum, and rounds within finer places
bounds.py      what swapping loses, by two bounds, and the rates that lose so much
details.py     what a certificate says of a swap: its record, its strata, its caveats
permute.py     who takes whose values, drawn in integers
tallies.py     counts that were asked for: kept by every swap, or refused
public.py      what is public of a file before it is swapped, from one pass over it
units.py       the units of a file: records, or households with their rows
file.py        a file before its swap, and after it
embedded.py    a file of any size, group after group, on this machine
spark.py       the same groups on Spark
outputs.py     the files of a swapped release, with new ids for old ones
utility.py     what swaps do to the data, for the curator's eyes only
warnings.py    held columns that give a swap away
"""
