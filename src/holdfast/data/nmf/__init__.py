"""Noisy measurements of others: files in the layout of the 2020 census products, opened into a folder.

files.py finds them, blocks.py and lists.py read them, queries.py says what their rows count, tree.py makes a
geography of their codes, consistency.py looks for what contradicts or lacks, opened.py is the folder,
opening.py the way from one to the other.
"""
