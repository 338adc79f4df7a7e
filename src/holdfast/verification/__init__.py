"""Verifying a folder of any kind: the one function; processed tables are made again to be verified."""
