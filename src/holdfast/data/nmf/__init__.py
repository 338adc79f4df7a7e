"""Noisy measurements of others: files in the layout of the 2020 census products, opened into a folder.

files.py finds them, blocks.py reads them, codebook.py and queries.py say what their rows count, tree.py makes
a geography of their codes, opened.py is the folder, opening.py the way from one to the other.
"""
