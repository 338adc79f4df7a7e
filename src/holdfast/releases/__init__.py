"""The road of every release, of one table, of several, or of records: prepare, plan, charge, draw, hand over.

prepare.py     from a spec to what is settled before a draw, whatever it releases
part.py        one thing that is released: what all kinds have in common
table.py       a table of counts, or statistics of it
records.py     a file of records that are swapped
several.py     several tables of one file: each prepared with its share of one budget
division.py    the budget, divided among the tables
joint.py       the files that all tables together compare, and what holds of all
shared.py      the counts that several tables show
prepared.py    all parts before their draw, and the release that is drawn
plan.py        how it would be drawn, and what that takes
handover.py    the one order in which nothing is lost or seen early
checkpoint.py  what was drawn, kept until its release is whole
resume.py      a charge whose release failed
"""
