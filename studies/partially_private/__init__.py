"""Cases and deaths of Pennsylvania, and the figures of [partially-private-data, Section 4]."""
