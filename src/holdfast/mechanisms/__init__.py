"""Mechanisms: each has one ``guarantee``, where its theorem is applied, and one ``law`` for a table."""
