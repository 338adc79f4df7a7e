"""L2 costs on real tables, relative to the table: ||M(X) - phi(X)||_2 / ||phi(X)||_2.

The mechanisms are those of Figures 2 and 3, at mu = 1 and epsilon = 1. Their noise depends on the shape of
the table and on its semi-adjacency, not on its counts, so what differs is how much the noise weighs.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

import numpy as np

from studies.semi_dp.data import Counts
from studies.semi_dp.designs import both_margins, entropy, generator
from studies.semi_dp.figure_2 import gaussians
from studies.semi_dp.figure_3 import k_norms
from studies.semi_dp.numbers import Number, mean_cost

PART = "real tables"
EPSILON = Fraction(1)


def run(
    tables: Mapping[str, Counts], seed: int, replicates: int, draws: int, advance: Callable[[], None]
) -> Iterator[Number]:
    """Measure the relative costs of all mechanisms on all tables."""
    for title, table in tables.items():
        premises = both_margins(table)
        rows, columns = table.shape
        name = f"{title} ({rows} x {columns}, n = {int(table.sum()):,})"
        source = generator(seed, PART, title)
        size = float(np.linalg.norm(table))
        yield Number(PART, "semi-adjacency", name, "", premises.semi_adjacency.worst_case)
        for series, law in gaussians(premises):
            noise = law.sample(entropy(source), draws) / size
            yield mean_cost(PART, f"Gaussian: {series}", name, "", noise, replicates)
        for series, sample in k_norms(premises, (rows, columns), EPSILON):
            noise = sample(source, draws) / size
            yield mean_cost(PART, f"pure: {series}", name, "", noise, replicates)
            if series.endswith("integers"):
                advance()
