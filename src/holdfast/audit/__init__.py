"""Looking at guarantees from outside: what invariants leave to protect, and losses by enumeration."""
