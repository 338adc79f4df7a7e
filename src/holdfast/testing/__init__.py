"""What a mechanism must pass, for those of any package.

`contract` has the checks, `worlds` the small tables that they are made on; `losses` and `goodness` hold what
is stated against lists of all tables and of all likely outputs.
"""
