"""What was asked: data, invariants, constraints, target and mechanism, checked and serialisable."""
