"""What can be learnt from a release: intervals, posteriors and tests that use the invariants."""
