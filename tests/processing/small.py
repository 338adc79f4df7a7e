"""A small table with small counts and a cell that cannot occur."""

SPEC = """\
[data]
path = "data.csv"
cells = ["town", "kind"]
count = "n"
[[invariants]]
margin = ["town"]
[constraints]
structural_zeros = [{ town = "b", kind = "w" }]
[privacy]
epsilon = "1/2"
"""
DATA = "town,kind,n\na,u,0\na,v,1\na,w,30\nb,u,0\nb,v,25\n"
