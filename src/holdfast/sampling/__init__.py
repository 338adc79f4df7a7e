"""Drawing integers: entropy, exact laws, and the planner that chooses among them.

Nothing here knows of privacy or of tables: a law lives on a lattice and has a rational parameter.
"""
