import numpy as np
from scipy.sparse import csr_array

from holdfast.privacy.evidence import Assumed
from holdfast.privacy.premises import semi_evidence
from holdfast.universe.semi_adjacency import semi_adjacency
from holdfast.universe.sensitivity import sensitivity
from holdfast.universe.universe import Universe

# two tables, three records apart; two people who exchange their values make a semi-adjacency of 2
WEIGHTS = np.array([[1, 1, 1], [1, 7, 3]])
UNIVERSE = Universe.of(csr_array(WEIGHTS), WEIGHTS @ [1, 3, 5])


def test_a_distance_that_was_asked_for_is_told_from_the_semi_adjacency() -> None:
    found = semi_evidence(semi_adjacency(UNIVERSE), sensitivity(UNIVERSE, 3), frozenset({"l1"}), distance=3)
    claims = [evidence.claim.words for evidence in found]
    assert "changing at most 2 records" in claims[0]
    assert claims[1] == "tables up to 3 records apart are compared, as was asked"
    assert "at most 6 in l1" in claims[2]


def test_norms_below_the_plain_bound_rest_on_the_solver() -> None:
    margin = Universe.of(csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 1]])), np.array([4, 4]))
    adjacency, space = semi_adjacency(margin), sensitivity(margin, 2)
    plain = semi_evidence(adjacency, space, frozenset({"l1"}))
    assert not any(isinstance(evidence, Assumed) for evidence in plain)
    smaller = semi_evidence(adjacency, space, frozenset({"l1"}), distance=3)
    assert any(isinstance(evidence, Assumed) for evidence in smaller)
