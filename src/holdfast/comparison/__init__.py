"""Mechanisms compared for one target: tables with noise, and records that are swapped beside noise."""
