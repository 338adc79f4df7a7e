"""Looking at guarantees from outside: what invariants leave to protect, what guarantees are worth."""
