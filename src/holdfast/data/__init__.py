"""Data: attributes and cells, tables and records, geographies, invariants as matrices; reading, writing."""
