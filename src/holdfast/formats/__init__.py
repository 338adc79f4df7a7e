"""Releases in the formats of those who receive them: tables with a status of each cell, and descriptions."""
