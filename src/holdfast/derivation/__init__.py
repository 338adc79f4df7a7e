"""What a release claims, worked out again: read anew, counted again, and derived from what it publishes.

verifying.py   one verification: the certificate is read once
quick.py       a second reader: the seal, the files and exact counts, from plain JSON
derive.py      tables: every section of a certificate, as it follows
several.py     what stands beside tables, and what joins several of one file; one verified table
records.py     files of records: surveyed again, and what follows
labels.py      what an invariant is called, against what it counts
"""
