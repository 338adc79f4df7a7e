"""Contingency tables: their schema, margins, selections and invariants, and their files."""
